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
from msnb.api import recompile_limit
from msnb.api.recompile_limit import MANY, OFTEN
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


# ---- the limit ------------------------------------------------------------------------------------------------------


def by_size(x: ms.Tensor) -> ms.Tensor:
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total + x[i] * 1.5
    return total


def test_a_structure_too_many_runs_as_python_until_it_comes_again(notices: list[str]) -> None:
    f = ms.jit(by_size)
    for n in range(1, MANY + 1):
        f(ops.ones(n))
    assert len(f.versions) == MANY
    for n in (20, 21, 20, 21, 20, 20):  # the last three in a row are two
        assert float(f(ops.ones(n))) == 1 + 1.5 * (n - 1)
    assert len(f.versions) == MANY and "6 calls of 2 other structures ran as Python" in f.explain()
    assert float(f(ops.ones(20))) == 29.5 and len(f.versions) == MANY + 1
    assert float(f(ops.ones(20))) == 29.5 and f.versions[0].calls == 2
    for _ in range(OFTEN - 3):
        f(ops.ones(21)), f(ops.ones(22))
    assert len(f.versions) == MANY + 1
    f(ops.ones(21))
    assert len(f.versions) == MANY + 2
    assert len([text for text in notices if "has been compiled" in text]) == 1


def test_large_programs_reach_the_limit_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompile_limit, "LARGE", 100)
    f = ms.jit(by_size)
    for n in (40, 41, 42, 43, 44):
        f(ops.ones(n))
    assert len(f.versions) == recompile_limit.LEAST


def test_what_is_one_structure() -> None:
    x, other = ops.ones(3), ops.zeros(3)
    key = recompile_limit.structure(([x, 2], {"a": np.float32(0.5)}), {"rows": range(4)})
    assert key == recompile_limit.structure(([other, 2], {"a": np.float32(0.5)}), {"rows": range(4)})
    for wrong in (
        (([x, 3], {"a": np.float32(0.5)}), {"rows": range(4)}),
        (((x, 2), {"a": np.float32(0.5)}), {"rows": range(4)}),
        (([ops.ones(4), 2], {"a": np.float32(0.5)}), {"rows": range(4)}),
        (([x, 2.0], {"a": np.float32(0.5)}), {"rows": range(4)}),
        (([x, 2], {"a": np.float32(0.5)}), {"rows": range(5)}),
    ):
        assert key != recompile_limit.structure(*wrong)


def test_fullgraph_and_what_needs_a_program_compile_each(mode: int) -> None:
    f, g = ms.jit(by_size, fullgraph=True), ms.jit(by_size)
    for n in range(1, MANY + 4):
        f(ops.ones(n)), g(ops.ones(n))
    assert len(f.versions) == MANY + 3 and len(g.versions) == MANY
    graph, tensors, finish = g.graph_for((ops.ones(30),))
    assert len(g.versions) == MANY + 1 and graph.params and tensors and finish


def test_sizes_that_are_symbols_do_not_count() -> None:
    f = ms.jit(summed)
    for n in range(2, 40):
        assert float(f(ops.ones(n))) == n
    assert f.explain().count("version ") >= 30 and f.limit.versions == 2


class Steps(ms.nn.Cell):
    """State, draws, prints and an error, by a list of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.drop = ms.nn.Dense(3, 3), ms.nn.Dropout(p=0.5)
        self.count = ms.Parameter(ms.Tensor(0.0), requires_grad=False)

    def construct(self, rows: list[ms.Tensor]) -> ms.Tensor:
        total = ms.Tensor(0.0)
        for row in rows:
            total = total + self.drop(ops.tanh(self.dense(row))).sum()
        self.count = self.count + len(rows)
        print("rows", len(rows))
        if len(rows) == 25:
            raise ValueError("25 rows")
        return total


def trained(mode: int, capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], str]:
    ms.set_context(mode=mode)
    ms.set_seed(5)
    net = Steps()
    optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    step = ms.value_and_grad(net, None, optimizer.parameters)
    seen: list[Any] = []
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 21, 25, 22, 2, 25, 21):
        rows = [ms.Tensor(rng.standard_normal(3, np.float32)) for _ in range(n)]
        try:
            value, gradients = step(rows)
        except ValueError as error:
            seen.append(str(error).split(".")[0])
            continue
        optimizer(gradients)
        seen += [value.asnumpy(), *(g.asnumpy() for g in gradients), net.count.asnumpy()]
    return seen, capsys.readouterr().out


def test_a_step_beyond_the_limit_does_what_the_compiled_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    (eager, said), (graph, also) = trained(ms.PYNATIVE_MODE, capsys), trained(ms.GRAPH_MODE, capsys)
    assert said == also and said.count("rows") == 16
    for a, b in zip(eager, graph, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


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
