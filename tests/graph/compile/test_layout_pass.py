"""Channels-last as a pass: random programs keep their values, networks keep two transposes, lone convolutions none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import device_registry
from msnb.core.types import tensor_type
from msnb.devices.device import ArrayDevice
from msnb.graph.compile import PASSES, Log, compile_graph, optimise
from msnb.graph.compile.passes.channels_last import value_choice
from msnb.graph.compile.passes.channels_last.axis_rules import four, is_free, small, turned
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph
from msnb.ops.definition.data_format import TO_FIRST, TO_LAST
from msnb.ops.shape.slice import SLICE, SLICE_UPDATE, UNSLICE
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD
from msnb.ops.spatial.pooling_records import AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D, MAX_POOL2D_GRAD, MAX_POOL2D_PICK

LAYOUT = PASSES["layout"]
F64 = ms.float64
SHAPE = (2, 4, 6, 5)
_SAME = {"pads": (1, 1, 1, 1)}
_POOL = {"kernel": (3, 3), "stride": (1, 1), "pads": (1, 1, 1, 1)}


def turn(graph: Graph) -> tuple[Graph, Log]:
    log = Log(keep=True)
    out = LAYOUT.run(graph, log)
    verify(out, "hardware_dependent")
    return out, log


def big_transposes(graph: Graph) -> int:
    """Transposes of images that move elements."""
    found = [n for _, n in graph.walk() if n.op.name == "transpose" and n.out.type.ndim == 4]
    return sum(tuple(n.attrs["perm"]) in (TO_FIRST, TO_LAST) for n in found)


# ---- random programs ---------------------------------------------------------------------------------------------


class Images:
    """Grows a program on images of one shape; every step keeps the shape."""

    def __init__(self, rng: np.random.Generator, params: list[Any]) -> None:
        self.rng = rng
        self.x, self.y, self.w, self.v, self.channel, self.plane, self.flat = params
        self.pool = [self.x, self.y]

    def one(self) -> Any:
        return self.pool[int(self.rng.integers(len(self.pool)))]

    def step(self) -> Any:
        makers = [getattr(self, name) for name in dir(self) if name.startswith("make_")]
        return makers[int(self.rng.integers(len(makers)))](self.one())

    def make_conv(self, t: Any) -> Any:
        return CONV2D(t, self.w, **_SAME)

    def make_depthwise(self, t: Any) -> Any:
        return CONV2D(t, self.v, groups=4, **_SAME)

    def make_input_grad(self, t: Any) -> Any:
        return CONV2D_INPUT_GRAD(t, self.w, size=SHAPE[2:], **_SAME)

    def make_weight_grad(self, t: Any) -> Any:
        return CONV2D(self.one(), CONV2D_WEIGHT_GRAD(t, self.one(), kernel=(3, 3), **_SAME) * 0.01, **_SAME)

    def make_max(self, t: Any) -> Any:
        y = MAX_POOL2D(t, **_POOL)
        return MAX_POOL2D_PICK(t, y, MAX_POOL2D_GRAD(t, y, self.one(), **_POOL), **_POOL)

    def make_avg(self, t: Any) -> Any:
        return AVG_POOL2D(AVG_POOL2D_GRAD(t, size=SHAPE[2:], **_POOL), **_POOL)

    def make_elementwise(self, t: Any) -> Any:
        return ops.where(t > 0.1, ops.tanh(t) + self.one(), ops.zeros_like(t) - t * 0.5)

    def make_low_operands(self, t: Any) -> Any:
        return t * ops.reshape(self.channel, (4, 1, 1)) + ops.mean(self.plane, 0) * self.plane

    def make_norm(self, t: Any) -> Any:
        mean = ops.mean(t, (0, 2, 3), True)
        return (t - mean) * ops.rsqrt(ops.mean(ops.square(t - mean), (0, 2, 3), keep_dims=True) + 0.1)

    def make_reductions(self, t: Any) -> Any:
        rows, whole = ops.sum(t, 3, keepdim=True), ops.max(t)
        return t + rows * 0.1 + whole + ops.reshape(ops.mean(t, (2, 3)), (2, 4, 1, 1)) + ops.prod(t, 1, True)

    def make_low_sums(self, t: Any) -> Any:
        planes = ops.sum(t, 0)
        return t + planes * 0.1 + ops.sum_to(t, (4, 1, 1)) + ops.sum_to(t, (6, 5)) + ops.sum_to(t, (4, 6, 1))

    def make_broadcast(self, t: Any) -> Any:
        grown = ops.broadcast_to(ops.reshape(self.channel, (4, 1, 1)), SHAPE)
        return t + grown + ops.broadcast_to(self.plane, SHAPE) + ops.full(SHAPE, 0.5, dtype=F64)

    def make_joined(self, t: Any) -> Any:
        a, b = ops.split(ops.concat((t, self.one()), 1), 4, 1)
        return a - ops.concat((b[:1], b[1:]), 0)

    def make_boxes(self, t: Any) -> Any:
        box = {"begin": (None, 1), "end": (None, 3), "step": (1, 1)}
        part = SLICE(t, **box)
        return SLICE_UPDATE(t, part * 2.0, **box) + UNSLICE(part, shape=SHAPE, **box)

    def make_padded(self, t: Any) -> Any:
        return ops.pad(t, (1, -1, 0, 0, 2, 0))[:, 2:]

    def make_flat(self, t: Any) -> Any:
        return ops.reshape(ops.matmul(ops.reshape(t, (2, -1)), self.flat), SHAPE)

    def make_transposed(self, t: Any) -> Any:
        return ops.transpose(ops.tanh(ops.transpose(t, TO_LAST)), TO_FIRST) + ops.cumsum(t, 2) * 0.1

    def make_constant(self, t: Any) -> Any:
        return t * np.arange(240.0).reshape(SHAPE) * 0.01


TYPES = [tensor_type(s, F64) for s in (SHAPE, SHAPE, (4, 4, 3, 3), (4, 1, 3, 3), (4,), (4, 6, 5), (120, 120))]


def test_random_programs_keep_their_values(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_choice, "WON", 8.0)  # turn as much as there is
    monkeypatch.setattr(value_choice, "FEW", 1)
    seed = int(rng.integers(2**31))
    reference, acted = ArrayDevice("reference", np), 0
    for k in range(60):
        draw = np.random.default_rng([seed, k])

        def program(*params: Any, draw: Any = draw) -> Any:
            images = Images(draw, list(params))
            for _ in range(int(draw.integers(2, 12))):
                images.pool.append(images.step())
            return images.pool[-1], images.one(), ops.sum(images.one())

        graph, _ = optimise(build("main", TYPES, program))
        text = print_graph(graph)
        out, log = turn(graph)
        acted += bool(log.history)
        assert print_graph(graph) == text, "a pass must not change its input"
        args = [draw.standard_normal(t.shape) * 0.3 for t in TYPES]
        with np.errstate(all="ignore"):
            for want, got in zip(reference.compile(graph)(args), reference.compile(out)(args), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9, err_msg=f"seed {[seed, k]}\n{text}\n{out}")
        assert all(str(note) for note in log.history)
    assert acted > 30


def test_low_operands_broadcast_as_before(rng: np.random.Generator) -> None:
    x = rng.standard_normal(SHAPE)
    for shape in ((), (1,), (5,), (6, 1), (4, 1, 1), (1, 6, 5), (1, 4, 1, 1), (2, 1, 6, 1)):
        b = rng.standard_normal(shape)
        whole = np.transpose(b.reshape(four(shape)), TO_LAST)
        assert whole.shape == turned(four(shape))
        if is_free(shape):
            assert (whole.reshape(small(shape)) + np.transpose(x, TO_LAST) == np.transpose(b + x, TO_LAST)).all()


# ---- networks ----------------------------------------------------------------------------------------------------


class Residual(nn.Cell):
    """Two convolutions with batch norm and a short cut; a pool, a depthwise convolution and a gate of one place."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 16, 3, pad_mode="pad", padding=1)
        self.n, self.m = nn.BatchNorm2d(16), nn.BatchNorm2d(16)
        self.b = nn.Conv2d(16, 16, 3, pad_mode="pad", padding=1, has_bias=True)
        self.d = nn.Conv2d(16, 16, 3, group=16)
        self.gate = nn.Conv2d(16, 16, 1)
        self.pool, self.head = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1), nn.Dense(16, 4)

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.n(self.a(x))))
        x = ops.relu(self.m(self.d(self.b(x))) + x)
        x = x * ops.sigmoid(self.gate(ops.mean(x, (2, 3), True)))
        return self.head(ops.mean(x, (2, 3)))


class Flat(nn.Cell):
    """LeNet's shape: one channel in, rows for a dense layer out."""

    def __init__(self, few: int = 32) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(1, few, 3, has_bias=True), nn.Conv2d(few, 6, 3, has_bias=True)
        self.pool, self.head = nn.MaxPool2d(2, 2), nn.Dense(54, 4)

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.b(self.pool(ops.relu(self.a(x))))))
        return self.head(ops.reshape(x, (x.shape[0], -1)))


def step_graph(net: nn.Cell, shape: Any, rng: np.random.Generator) -> tuple[Graph, list[Any]]:
    """The captured training step and the buffers it was called with."""
    params = net.set_train().trainable_params()

    @ms.jit
    def step(x: Any) -> Any:
        return ms.value_and_grad(lambda t: (net(t) ** 2.0).mean(), None, params)(x)

    seen: list[Any] = []
    kept = compile_graph.__globals__["CompiledProgram"].__call__

    def call(self: Any, args: Any) -> Any:
        seen.append((self.graph, list(args)))
        return kept(self, args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_graph.__globals__["CompiledProgram"], "__call__", call)
        step(ms.Tensor(rng.standard_normal(shape).astype(np.float32)))
    return max(seen, key=lambda pair: len(pair[0].nodes))


@pytest.mark.parametrize("make, shape, most", [(Residual, (4, 3, 12, 12), 1), (Flat, (4, 1, 12, 12), 2)])
def test_networks_keep_transposes_at_their_ends(make: Any, shape: Any, most: int, rng: np.random.Generator) -> None:
    ms.set_seed(3)
    graph, args = step_graph(make(), shape, rng)
    out, log = turn(graph)
    assert big_transposes(out) == most
    plain = [n for n in out.nodes if n.attrs.get("data_format") == "NCHW"]
    assert not plain, plain
    reference = ArrayDevice("reference", np)
    for want, got in zip(reference.compile(graph)(args), reference.compile(out)(args), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-5)
    again, log = turn(out)
    assert not log.history


def test_images_of_few_channels_stay(rng: np.random.Generator) -> None:
    ms.set_seed(3)
    graph, _ = step_graph(Flat(few=6), (4, 1, 12, 12), rng)
    assert not turn(graph)[1].history


_BODY = """\
graph f(c: bool[], x: f32[2,16,8,8], w: f32[16,16,3,3]) -> (f32[2,16,2,2])
  %1 = if(c, x, w) : f32[2,16,2,2]
    then (x: f32[2,16,8,8], w: f32[16,16,3,3]):
      %1 = conv2d(x, w) : f32[2,16,6,6]
      %2 = conv2d(%1, w) : f32[2,16,4,4]
      %3 = conv2d(%2, w) : f32[2,16,2,2]
      yield %3
    else (x: f32[2,16,8,8], w: f32[16,16,3,3]):
      %1 = zeros(shape=(2, 16, 2, 2)) : f32[2,16,2,2]
      yield %1
  return %1"""


def test_bodies_are_turned_within(rng: np.random.Generator) -> None:
    graph = parse(_BODY)
    out, log = turn(graph)
    assert [n.attrs["data_format"] for _, n in out.walk() if n.op.name == "conv2d"] == ["NHWC"] * 3
    assert big_transposes(out) == 2
    x, w = rng.standard_normal((2, 16, 8, 8)).astype("f"), rng.standard_normal((16, 16, 3, 3)).astype("f")
    reference = ArrayDevice("reference", np)
    for c in (True, False):
        args = [np.array(c), x, w]
        np.testing.assert_allclose(
            reference.compile(out)(args)[0], reference.compile(graph)(args)[0], rtol=1e-3, atol=1e-3
        )
    assert any("transpose stands where" in str(note) for note in log.history)


# ---- when it runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted, level, ran", [(True, "O1", True), (False, "O1", False), (True, "O0", False)])
def test_it_runs_where_the_device_asks_for_it(
    wanted: bool, level: str, ran: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(device_registry.current().features), "prefers_channels_last", wanted)
    graph = parse(LAYOUT.cases[0].before)
    with ms.set_context(jit_level=level):
        program = compile_graph(graph, keep_stages=True)
    stages = {s.name: s for s in program.stages}
    assert ("layout" in stages) == ran
    assert program.graph.nodes[0].attrs["data_format"] == "NCHW", "people are shown the program they wrote"
    if ran:
        assert stages["layout"].rewrites == 4 + 2
        assert "NHWC" in print_graph(stages["layout"].graph)
        assert any(note.pass_name == "layout" for note in program.history)
    args = [np.ones(p.type.shape, np.float32) for p in graph.params]
    np.testing.assert_allclose(program(args)[0], np.full((1, 8), 19 * 144.0), rtol=1e-6)


def test_images_of_unknown_size_stay() -> None:
    text = LAYOUT.cases[0].before.replace("x: f32[1,", "x: f32[N,").replace("f32[1,", "f32[N,")
    text = text.replace("shape=(1, 8)", "shape=(-1, 8)")
    out, log = turn(parse(text))
    assert not log.history
