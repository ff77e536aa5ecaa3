"""A function that is compiled again and again: told once, kept by bytes; what was converted for captures is bounded."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.graph.capture.frontend import converter

jit_module = importlib.import_module("msnb.api.jit")


def summed(x: ms.Tensor) -> ms.Tensor:
    return x.sum()


@ms.jit
def decorated(x: ms.Tensor) -> ms.Tensor:
    return x * 2


class Scaled:
    @ms.jit
    def twice(self, x: ms.Tensor) -> ms.Tensor:
        return x * 2


# ---- versions -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_cycle_of_many_shapes_compiles_each_once(notices: list[str]) -> None:
    f = ms.jit(summed)
    for _ in range(2):
        for n in range(1, 71):
            assert float(f(ops.ones(n))) == n
    assert f._made == 70


def test_many_versions_are_told_once_with_what_changes(notices: list[str]) -> None:
    def summed(x: ms.Tensor) -> ms.Tensor:
        total = x[0]
        for i in range(1, x.shape[0]):  # needs the size as a number: a version per size
            total = total + x[i]
        return total

    f = ms.jit(summed)
    for n in range(1, 13):
        f(ops.ones(n))
    (told,) = [text for text in notices if "has been compiled" in text]
    assert (
        "summed" in told
        and "8 times" in told
        and "x f32[7] -> f32[8]" in told
        and "ms.explain(summed)" in told
        and "Pad" in told
    )


def test_few_versions_are_not_told(notices: list[str]) -> None:
    f = ms.jit(summed)
    for _ in range(3):
        for n in range(1, 8):
            f(ops.ones(n))
    assert not notices


def test_versions_are_bounded_by_bytes_and_the_oldest_unused_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ms.jit(summed)
    f(ops.ones(1))
    monkeypatch.setattr(jit_module, "MOST_BYTES", int(3.5 * f.versions[0].bytes))
    for n in (2, 3, 1, 4):  # 1 is used again before there are too many
        f(ops.ones(n))
    assert len(f.versions) == 3 and f._made == 4
    f(ops.ones(1))
    assert f._made == 4
    f(ops.ones(2))
    assert f._made == 5


def test_a_version_counts_its_constants() -> None:
    big = ms.Tensor(np.ones(100_000, np.float32))
    small, large = ms.jit(lambda x: x + 1), ms.jit(lambda x: x + ops.exp(ms.Tensor(np.ones(100_000, np.float32))))
    small(big)
    large(big)
    assert large.versions[0].bytes > small.versions[0].bytes


# ---- converted functions --------------------------------------------------------------------------------------------


def test_converted_functions_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(converter, "MOST_TEMPLATES", 20)
    converter._templates.clear()
    made = []
    for n in range(40):
        path = tmp_path / f"text{n}.py"
        path.write_text(f"def f(x):\n    return (lambda y: y * {n})(x) + {n}\n")
        space: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        made.append(ms.jit(space["f"]))
        assert float(made[-1](ms.Tensor(1.0))) == 2 * n
    assert len(converter._templates) <= 20
    assert float(made[0](ms.Tensor([1.0])[0])) == 0.0  # one that left is still called, and captured again
    assert made[1](ops.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.long
def test_code_of_converted_functions_goes_with_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(converter, "MOST_TEMPLATES", 5)
    gc.collect()
    before = len(converter._converted)
    for n in range(60):
        path = tmp_path / f"text{n}.py"
        path.write_text(f"def f(x):\n    return x + {n}\n")
        space: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        ms.jit(space["f"])(ms.Tensor(1.0))
    del space
    gc.collect()
    assert len(converter._converted) <= before + 20


def test_programs_do_not_keep_arenas_alive() -> None:
    pytest.importorskip("llvmlite")
    with ms.set_context(jit_level="O1"):
        functions = []
        for n in range(1, 9):
            f = ms.jit(lambda x: ops.softmax(ops.exp(x), -1) @ ops.tanh(x) + ops.cumsum(x, 0))
            f(ms.Tensor(np.ones((64 * n, 64 * n), np.float32)))
            functions.append(f)
        programs = [f.versions[0].compiled.executable for f in functions]
        held = {id(p._arena()) for p in programs if p._arena() is not None}
    assert any(p.peak for p in programs) and len(held) <= 2


# ---- pickles --------------------------------------------------------------------------------------------------------


def test_a_jitted_function_is_pickled_by_its_name() -> None:
    decorated(ops.ones(2))
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(Scaled.twice)) is Scaled.twice


_TRAVELS = """
import sys
import msnb as ms
import cloudpickle
k = ms.Tensor([3.0])
def make(n):
    return ms.jit(lambda x: x * k + n)
f = make(2)
f(ms.Tensor([1.0]))
@ms.jit
def g(x):
    return f(x) * 2
g(ms.Tensor([1.0]))
sys.stdout.buffer.write(cloudpickle.dumps((f, g)))
"""


@pytest.mark.long
def test_cloudpickle_takes_the_source_function(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    script = tmp_path / "travels.py"
    script.write_text(_TRAVELS)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, timeout=60, env=env)
    assert run.returncode == 0, run.stderr.decode()
    f, g = pickle.loads(run.stdout)
    with ms.set_context(mode=ms.PYNATIVE_MODE):
        assert f.__msnb_fn__(ms.Tensor([1.0])).tolist() == [5.0] and not f.versions
    assert g.__msnb_fn__.__name__ == "g"
