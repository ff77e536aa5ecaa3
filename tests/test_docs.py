"""The written words against the code: programs in the README run, links lead somewhere, every dependency has its
reason, every make target is described. (Examples in docstrings are a part of `make test` of their own.)"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def programs() -> list[str]:
    """The programs of the README, in order."""
    return re.findall(r"^```python\n(.*?)^```", read("README.md"), re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_readme_run() -> None:
    assert len(programs()) >= 3
    names: dict[str, Any] = {"__name__": "readme"}
    for number, program in enumerate(programs()):
        # text that is no file: capture knows it because Python compiled it under a name in brackets
        exec(compile(program, f"<README, program {number}>", "exec"), names)
    assert names["ms"].get_context("mode") == names["ms"].GRAPH_MODE
    assert len(names["gradients"]) == len(names["net"].trainable_params()) == 4
    assert [g.shape for g in names["gradients"]] == [p.shape for p in names["net"].trainable_params()]


def drawn(svg: str) -> str:
    """A picture without its tool tips: they name the file that the program stands in."""
    return re.sub(r"<title>[^<]*</title>", "", svg)


def test_the_picture_of_the_readme_is_what_its_program_draws() -> None:
    """To make it anew: ``view.save("docs/images/gradient.svg")``."""
    program = next(p for p in programs() if "ms.show.grad" in p)
    names: dict[str, Any] = {"__name__": "readme", "ms": __import__("msnb")}
    exec(compile(program, "<README, the picture>", "exec"), names)
    view = names["ms"].show.grad(names["f"], names["x"], names["w"])
    assert drawn(view.svg) == drawn(read("docs/images/gradient.svg"))
    told = re.search(r"print\(ms.grad.*# (.*)", program)
    assert told is not None
    numbers = [float(word) for word in told[1].strip("[]").split()]
    assert names["ms"].grad(names["f"])(names["x"], names["w"]).tolist() == pytest.approx(numbers, rel=1e-6)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def declared() -> set[str]:
    """Names of all dependencies in pyproject.toml, extras included."""
    text = read("pyproject.toml")
    project = text[text.index("\ndependencies") : text.index("[tool.hatch")]
    return {name.lower() for name in re.findall(r'"([A-Za-z0-9_-]+)>=', project)}


def test_every_dependency_has_a_reason() -> None:
    page = read("docs/dependencies.md").lower()
    assert {"numpy", "ml_dtypes", "safetensors", "nbval", "mpi4py"} <= declared()
    explained = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    assert [name for name in sorted(declared()) if not re.search(rf"\b{re.escape(name)}\b", explained)] == []


def test_the_version_is_told_once() -> None:
    import msnb

    version = re.search(r'^version = "(.*)"', read("pyproject.toml"), re.MULTILINE)
    assert version is not None
    assert msnb.__version__ == version.group(1)
    assert f"## {version.group(1)}" in read("CHANGELOG.md")


def test_make_help_names_the_targets() -> None:
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("quickstart", "lab", "test", "lint", "bench"):
        assert f"make {target} " in done.stdout
