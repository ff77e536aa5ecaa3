# Everything a person types here. A fresh machine needs python3 (3.10 or later, with its venv module) and make.
#
#   make quickstart   LeNet-5 on real digits in both modes, in the terminal
#   make lab          JupyterLab on a copy of notebooks/ in lab/, opened at its start page
#   make docs         the documentation as a site with search: build/site/index.html, no network needed to read it
#   make test         everything CI runs, three cases of each test   (ALL=1: every case; FAST=1: two minutes of it)
#   make lint         style, types, layers, sizes
#   make fuzz         random programs with state, every way they can run: an hour   (PROGRAMS=20000 SEED=1 JOBS=2)
#   make bench        measured ratios, as tables    (CASES="lenet_step dispatch" PEERS="torch jax" ROUNDS=2: only these)
#   make test-torch   models and operators of PyTorch converted and compared with it (an environment under build/peers)
#   make test-mindspore  every shared name called in MindSpore and in the alias: where they differ  (NAMES="ops.Diag")
#   make test-gpu     operators, libraries and training steps on the GPU of this machine, against the CPU
#   make bench-gpu    a GPU's measured ratios, beside PyTorch and JAX  (ONLY="mlp,lenet" PEERS="torch" OUT=docs/gpu.md)
#   make bench-peers  the frameworks to compare with, each in an environment of its own under build/peers
#   make soak         mixed work for MINUTES=20, a line of memory, handles and threads per minute
#
# The environment is .venv. It is made once and brought up to date only when pyproject.toml or the built extension
# changes; delete it to start anew. Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed.dev
DOCS   := build/docs-venv
LABARGS ?=

.DEFAULT_GOAL := help
.PHONY: help quickstart lab docs test lint fuzz bench bench-peers test-torch test-mindspore test-gpu bench-gpu soak install clean

help:
	@sed -n '3,15s/^# *//p' Makefile

install: $(STAMP)

$(STAMP): pyproject.toml tools/make_venv.py extensions/msnb-lab/labextension/package.json
	@$(PYTHON) tools/make_venv.py $(VENV) "notebook,dev"

# a kernel, and no JupyterLab: a quarter of what development needs
$(VENV)/.installed.quickstart: pyproject.toml tools/make_venv.py extensions/msnb-lab/labextension/package.json
	@$(PYTHON) tools/make_venv.py $(VENV) quickstart

quickstart: $(VENV)/.installed.quickstart
	@$(PY) tools/quickstart.py

lab: $(STAMP)
	@$(PY) tools/lab.py $(LABARGS)

docs: $(DOCS)/.installed.docs
	@$(DOCS)/bin/python -m tools.docs_site.build

$(DOCS)/.installed.docs: pyproject.toml tools/make_venv.py
	@$(PYTHON) tools/make_venv.py $(DOCS) docs

test: $(STAMP)
	@$(PY) tools/check.py $(if $(filter-out 0,$(FAST)),--fast) $(if $(filter-out 0,$(ALL)),--all)

lint: $(STAMP)
	@$(PY) tools/check.py --only lint

fuzz: $(STAMP)
	@$(PY) -m tests.fuzz --programs $(or $(PROGRAMS),20000) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS))

bench: $(STAMP)
	@$(PY) bench/harness.py $(CASES)

test-gpu: $(STAMP)
	@$(PY) -m pytest -q tests/gpu

bench-gpu: $(STAMP)
	@$(PY) -m bench.gpu $(if $(ONLY),--only "$(ONLY)") $(if $(PEERS),--peers "$(PEERS)") --out $(or $(OUT),build/gpu.md)

soak: $(STAMP)
	@$(PY) bench/soak.py $(MINUTES)

bench-peers: $(STAMP)
	@$(PY) bench/peers.py install $(PEERS)

test-torch: $(STAMP)
	@$(PY) tools/test_torch.py

test-mindspore: $(STAMP)
	@$(PY) tools/test_mindspore.py $(NAMES)

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
