"""Programs of changing sizes from one image: what is bound to a size is what would have been built for it."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.core.types import tensor_type
from msnb.devices.cpu.program.build.builder import ProgramBuild
from msnb.devices.cpu.program.build.image_template import ImageTemplate
from msnb.devices.cpu.program.run.executor import NativeProgram
from msnb.devices.cpu.program.run.native_template import _alike
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.graph.compile.symbolic_passes import SymbolicPasses
from msnb.ir.graph import Graph
from msnb.ir.size_binding import bind_sizes
from msnb.ir.text.parser import parse
from msnb.ops.definition.symbolic_sizes import symbol

pytest.importorskip("llvmlite")
Loss = Callable[[ms.Tensor], ms.Tensor]


@pytest.fixture(autouse=True)
def compiled(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Machine code, and no programs of earlier runs on disk."""
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    with ms.set_context(mode=ms.GRAPH_MODE, jit_level="O1"):
        yield


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Per program that was asked for: whether a template gave it."""
    answers: list[bool] = []
    program = SymbolicPasses.program

    def told(*args: Any) -> Any:
        made = program(*args)
        answers.append(made is not None)
        return made

    monkeypatch.setattr(SymbolicPasses, "program", told)
    return answers


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has no template."""
    seen: list[Any] = []
    make = NativeProgram.template

    def told(program: Any, graph: Graph, sizes: Any, passes: Any) -> Any:
        made = make(program, graph, sizes, passes)
        if made is None:
            seen.append(sizes)
        return made

    monkeypatch.setattr(NativeProgram, "template", told)
    return seen


def rows(*shape: int) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(shape).normal(size=shape).astype(np.float32))


def compare(loss: Loss, weights: Any, sizes: Any) -> None:
    """Values and gradients of a compiled function, size by size, against eager mode."""
    gradient = ms.value_and_grad(loss, 0, weights) if weights else ms.value_and_grad(loss, 0)
    step = ms.jit(lambda x: gradient(x))
    for shape in sizes:
        value, found = step(rows(*shape))
        with ms.set_context(mode=ms.PYNATIVE_MODE):
            want, wanted = gradient(rows(*shape))
        np.testing.assert_allclose(float(value), float(want), rtol=2e-3, err_msg=str(shape))
        (dx, dw), (wx, ww) = (found, wanted) if weights else ((found, ()), (wanted, ()))
        for a, b in zip((dx, *dw), (wx, *ww), strict=True):
            scale = max(1.0, float(np.abs(b.asnumpy()).max()))
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-4 * scale, err_msg=str(shape))


class Attention(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.o, self.norm = nn.Dense(8, 24), nn.Dense(8, 8), nn.LayerNorm((8,))

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        b, t, c = x.shape
        q, k, v = (y.reshape(b, t, 2, 4).transpose(0, 2, 1, 3) for y in ops.split(self.q(x), 8, axis=-1))
        y = ops.softmax(q @ k.transpose(0, 1, 3, 2) / 2.0, -1) @ v
        return self.norm(x + self.o(y.transpose(0, 2, 1, 3).reshape(b, t, c))).square().mean()


class Recurrent(nn.Cell):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layer = kind(8, 6, batch_first=True)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.layer(x)[0][:, -1].square().mean()


class Images(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.pool = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2, 2)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.pool(ops.relu(self.norm(self.conv(x)))).square().mean()


PAIRS = ((9, 11, 8), (10, 13, 8), (11, 14, 8), (13, 9, 8), (10, 15, 8), (9, 13, 8), (11, 15, 8))
NETWORKS: dict[str, tuple[Callable[[], Any], Any]] = {
    "dense": (lambda: nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 3)), [(n, 8) for n in range(9, 16)]),
    "attention": (Attention, PAIRS),
    "gru": (lambda: Recurrent(nn.GRU), PAIRS),
    "lstm": (lambda: Recurrent(nn.LSTM), PAIRS),
    "images": (Images, [(n, 1, 6, 6) for n in (4, 5, 6, 7, 9, 11, 13)]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_many_sizes(name: str, found: list[bool], refused: list[Any]) -> None:
    ms.set_seed(1)
    make, sizes = NETWORKS[name]
    net = make()
    compare(lambda x: net(x).square().mean(), net.trainable_params(), sizes)
    assert not refused
    assert sum(found) >= 3, "templates give the later sizes"


STEPS: dict[str, Loss] = {
    "sum": lambda x: x * x.sum(0), "mean": lambda x: x - x.mean(1, keep_dims=True), "turn": lambda x: x.T,
    "gram": lambda x: x @ (x.T @ x) / 9, "concat": lambda x: ops.concat([x, x * 2], 0), "cut": lambda x: x[1:, :-1],
    "reshape": lambda x: x.reshape(x.shape[1], -1), "softmax": lambda x: ops.softmax(x, 0), "last": lambda x: x + x[-1],
    "sort": lambda x: ops.sort(x, 0)[0], "cumsum": lambda x: ops.cumsum(x, 0), "flip": lambda x: ops.flip(x, (0,)),
    "argmax": lambda x: x + ops.argmax(x, 1).astype(ms.float32).reshape(-1, 1), "stride": lambda x: x[::2],
    "take": lambda x: x[ops.argsort(x[:, 0])], "var": lambda x: x / (x.var(0) + 1),
    "wide": lambda x: x.astype(ms.float64).sum(1, True).astype(ms.float32) * x,
    "pairs": lambda x: (ops.expand_dims(x, 1) + ops.expand_dims(x, 0)).mean(0), "scale": lambda x: x * (x.shape[0] / 7),
    "arange": lambda x: x + ops.arange(x.shape[0]).astype(ms.float32).reshape(-1, 1) * 0.1,
    "pad": lambda x: ops.pad(x, (0, 1, 1, 0)), "tril": lambda x: ops.tril(x), "prod": lambda x: x + (x * 0.1).prod(0),
    "ones": lambda x: x + ops.ones((x.shape[0], 1)), "range": lambda x: (x - x.min()) / (x.max() - x.min() + 1),
    "stack": lambda x: ops.stack([x, x * 2], 1).sum(1),
}  # fmt: skip
SIZES = ((5, 6), (6, 7), (7, 9), (11, 13), (4, 6), (12, 5), (9, 9), (33, 40), (34, 50), (2, 3), (60, 37), (3, 2))


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_of_two_sizes(seed: int, refused: list[Any]) -> None:
    """Primes, powers of two, equal ones, sizes that give an axis of one; what no size allows fails in both modes."""
    picked = random.Random(seed).choices(sorted(STEPS), k=3)
    print(f"seed {seed}: {picked}")

    def chain(x: ms.Tensor, steps: Any = tuple(STEPS[name] for name in picked)) -> ms.Tensor:
        for step in steps:
            x = step(x)
        return x.square().mean()

    compare(chain, None, SIZES)
    assert not refused


# ---- images ---------------------------------------------------------------------------------------------------------

TEXTS = {
    "chain": "graph f(x: f32[77,9]) -> (f32[77,9])\n %1 = exp(x) : f32[77,9]\n %2 = add(%1, x) : f32[77,9]\n return %2",
    "rows": "graph f(x: f32[77,12]) -> (f32[77])\n %1 = sum(x, axis=(1,), keepdims=False) : f32[77]\n return %1",
    "product": "graph f(x: f32[77,32], y: f32[32,48]) -> (f32[77,48])\n %1 = matmul(x, y) : f32[77,48]\n return %1",
    "sort": "graph f(x: f32[77,64]) -> (f32[77,64])\n %1 = cumsum(x, axis=1) : f32[77,64]\n return %1",
}


def symbolic(text: str) -> tuple[Graph, str]:
    """The graph of a text, its size 77 a symbol."""
    graph, n = parse(text), symbol()
    for value in (*graph.params, *(v for node in graph.nodes for v in node.outputs)):
        t: Any = value.type
        value.type = tensor_type(tuple(n if d == 77 else d for d in t.shape), t.dtype, t.weak)
    return graph, n.symbol


@pytest.mark.parametrize("name", TEXTS)
def test_the_image_of_a_size_is_the_one_that_is_built_for_it(name: str) -> None:
    graph, n = symbolic(TEXTS[name])
    template = ImageTemplate(graph, {n: 77}, lambda g: fuse(g, True))
    assert template.exact
    for size in (77, 78, 96, 101, 511, 700):
        image = template.bound({n: size})
        built = ProgramBuild(fuse(bind_sizes(graph, {n: size}), True)).image
        assert image is not None and _alike(image, built), size


def test_sizes_that_make_another_program_are_refused() -> None:
    graph, n = symbolic(TEXTS["product"])
    template = ImageTemplate(graph, {n: 77}, fuse)
    assert template.bound({n: 76}) is not None
    assert template.bound({n: 0}) is None  # nothing to multiply


def test_what_lies_in_the_caller_is_not_kept() -> None:
    """The types of a trace go with it."""
    graph, n = symbolic(TEXTS["chain"])
    traces: list[Any] = []

    def passes(g: Graph) -> Graph:
        traces.append(weakref.ref(g.params[0].type.shape[0].trace))  # type: ignore[union-attr]
        return fuse(g, True)

    template = ImageTemplate(graph, {n: 77}, passes)
    gc.collect()
    assert template.bound({n: 80}) is not None
    assert traces[0]() is None


# ---- what a user meets ----------------------------------------------------------------------------------------------


def test_a_template_serves_sizes_up_to_four_times_its_own(found: list[bool]) -> None:
    f = ms.jit(lambda x: ops.tanh(x) @ x.T)
    for n in (50, 41, 48, 60, 63, 65, 80, 9):
        x = rows(n, 300)
        np.testing.assert_allclose(f(x).asnumpy(), np.tanh(x.asnumpy()) @ x.asnumpy().T, rtol=1e-4, atol=1e-4)
    assert found[-4:] == [True, True, True, False], "made at 60"


def test_errors_are_those_of_the_size(found: list[bool]) -> None:
    f = ms.jit(lambda x: ops.topk(x, 5, 0)[0].sum() + x.sum())
    for n in (9, 10, 11, 12, 13):
        assert np.isfinite(float(f(rows(n, 3))))
    assert found[-1]
    with pytest.raises(ValueError, match="topk"):
        f(rows(4, 3))
    x = rows(14, 3)
    np.testing.assert_allclose(float(f(x)), float(ops.topk(x, 5, 0)[0].sum() + x.sum()), rtol=1e-4)


def test_an_error_that_no_result_needs_is_raised_too(found: list[bool]) -> None:
    def unused(x: ms.Tensor) -> ms.Tensor:
        ops.topk(x, 5, 0)
        return x * 2 + x.sum(0)

    f = ms.jit(unused)
    for n in (9, 10, 11, 12, 13):
        f(rows(n, 3))
    assert found[-1]
    with pytest.raises(ValueError, match="topk"):
        f(rows(4, 3))


def test_what_is_shown_is_of_the_size(found: list[bool]) -> None:
    f = ms.jit(lambda x: (x * 2 + x).sum(0))
    for n in (8, 9, 10, 11, 12):
        f(rows(n, 8))
    assert found[-1]
    version = f.versions[0]
    assert version.captured.noted.params[0].type.shape == (12, 8)
    assert version.compiled.graph.nodes and version.compiled.stages and version.compiled.timings
    assert "12" in str(version.compiled.graph.params[0].type)


def test_steps_in_python_raise_with_their_values(found: list[bool]) -> None:
    """A lookup that a kernel declines is run again by the reference body, which says what was wrong."""
    table = rows(6, 3)
    f = ms.jit(lambda i: (ops.gather(table, i, 0) * 2).sum())
    for n in (20, 21, 22, 23, 24):
        index = ms.Tensor(np.arange(n, dtype=np.int32) % 6)
        np.testing.assert_allclose(float(f(index)), float((table.asnumpy()[index.asnumpy()] * 2).sum()), rtol=1e-4)
    assert found[-1]
    with pytest.raises(IndexError):
        f(ms.Tensor(np.full(25, 17, np.int32))).asnumpy()
