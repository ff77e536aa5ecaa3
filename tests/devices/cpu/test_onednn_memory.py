"""A primitive of oneDNN writes where it may: every argument and its scratch memory lie between guards.

The library's gradient of 1x1 weights once gathered pixels of few channels into whole vectors, 50 kB past the end of its
scratch memory: other values of the program were overwritten, and threads waited for a barrier that was gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

pytest.importorskip("llvmlite")
from msnb.devices.cpu.onednn import c_api as c, primitives
from msnb.devices.cpu.onednn.c_api import api
from msnb.devices.cpu.onednn.convolution_layout import channels_last
from msnb.devices.cpu.onednn.primitives import KernelWindow, Layout, Primitive
from msnb.devices.cpu.onednn.trampoline import _EXECUTE, _Argument
from msnb.ir.kernel.strided_views import dense_strides

if api() is None:
    pytest.skip("oneDNN is not installed", allow_module_level=True)

GUARD, MARK, RUNS = 1 << 18, 0x5A, 120


def overruns(primitive: Primitive, arguments: tuple[int, ...]) -> dict[int, int]:
    """Argument -> how many bytes around it were written; the operands are zeros."""
    lib, rooms, memories = primitive.api, {}, []
    for number in (*arguments, c.SCRATCHPAD):
        size = primitive.size(number)
        room = np.full(size + 2 * GUARD + 64, MARK, np.uint8)
        begin = -room.ctypes.data % 64 + GUARD
        if number != c.SCRATCHPAD:
            room[begin : begin + size] = 0
        rooms[number] = room, begin, size
        memories.append(lib.create("memory_create", primitive.desc(number), lib.engine, room.ctypes.data + begin))
    given = (_Argument * len(rooms))(*map(_Argument, rooms, memories))
    lib.set_threads(primitive.threads)
    status = _EXECUTE(lib.addresses[0])(primitive.address, lib.stream, len(rooms), ctypes.addressof(given))
    for memory in memories:
        lib.call("memory_destroy", memory)
    assert status == 0
    found = {n: int((r[:b] != MARK).sum() + (r[b + s :] != MARK).sum()) for n, (r, b, s) in rooms.items()}
    return {number: count for number, count in found.items() if count}


def drawn(rng: np.random.Generator, *choices: int) -> int:
    return int(rng.choice(choices))


def convolution(
    rng: np.random.Generator, make: Callable[..., Primitive | None], result: int
) -> tuple[Any, Primitive | None]:
    """A primitive of random sizes in a random layout, and what was drawn; ``result``: which argument comes out."""
    kernel, stride, groups = drawn(rng, 1, 1, 1, 2, 3, 5), drawn(rng, 1, 2, 2, 3), drawn(rng, 1, 1, 1, 2, 8)
    ins, outs = (drawn(rng, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33) for _ in range(2))
    n, pad = drawn(rng, 1, 2, 3), drawn(rng, 0, kernel // 2)
    h, w = (max(kernel, drawn(rng, 1, 2, 3, 5, 7, 8, 14, 15, 28, 30, 56)) for _ in range(2))
    how = ("last", "plain", "free")[drawn(rng, 0, 0, 1, 2)]
    strides = {"last": channels_last, "plain": dense_strides, "free": lambda dims: None}[how]
    images, window = (n, ins * groups, h, w), KernelWindow((stride,) * 2, (1, 1), (pad,) * 2, (pad,) * 2)
    made = (n, outs * groups, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1)
    weight = (outs, ins, kernel, kernel) if groups == 1 else (groups, outs, ins, kernel, kernel)
    layouts = [Layout(d, strides(d), c.F32) for d in (images, made)]
    return (images, weight, window, how), make(layouts[0], Layout(weight, None, c.F32), layouts[1], window)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (primitives.convolution, (c.SRC, c.WEIGHTS, c.DST)),
        (primitives.convolution_input_grad, (c.DIFF_SRC, c.WEIGHTS, c.DIFF_DST)),
        (primitives.convolution_weight_grad, (c.SRC, c.DIFF_WEIGHTS, c.DIFF_DST)),
    ],
)
def test_convolutions(
    make: Callable[..., Any], arguments: tuple[int, ...], threads: int, rng: np.random.Generator
) -> None:
    with ms.set_context(runtime_num_threads=threads):
        for _ in range(RUNS):
            case, primitive = convolution(rng, make, arguments[-1])
            if primitive is not None:
                assert overruns(primitive, arguments) == {}, (case, primitive.name)


@pytest.mark.parametrize("threads", [1, 2])
def test_products(threads: int, rng: np.random.Generator) -> None:
    with ms.set_context(runtime_num_threads=threads):
        for _ in range(RUNS):
            b, m, k, n = (
                drawn(rng, 1, 2, 3),
                *(drawn(rng, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65) for _ in range(3)),
            )
            layouts = []
            for rows, columns in ((m, k), (k, n), (m, n)):
                turned = drawn(rng, 0, 1) and (rows, columns) != (m, n)
                inner = (1, rows) if turned else (columns, 1)
                layouts.append(Layout((b, rows, columns), (rows * columns, *inner), c.F32))
            primitive = primitives.matmul(*layouts)
            if primitive is not None:
                assert overruns(primitive, (c.SRC, c.WEIGHTS, c.DST)) == {}, (layouts, primitive.name)


def test_copies(rng: np.random.Generator) -> None:
    for _ in range(RUNS):
        dims = tuple(drawn(rng, 1, 2, 3, 5, 8, 9, 16, 17) for _ in range(4))
        strides = [channels_last(dims), dense_strides(dims)]  # type: ignore[arg-type]
        a, b = (Layout(dims, s, c.F32) for s in (strides if drawn(rng, 0, 1) else strides[::-1]))
        primitive = primitives.reorder(a, b)
        if primitive is not None:
            assert overruns(primitive, (c.SRC, c.DST)) == {}, (dims, primitive.name)


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 7, 8, 15, 16])
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_of_1x1_kernels_with_a_step_on_few_channels(
    channels: int, threads: int, rng: np.random.Generator
) -> None:
    x, dy = rng.standard_normal((2, channels, 56, 56)), rng.standard_normal((2, 64, 28, 28))
    want = np.einsum("ndij,ncij->dc", dy, x[:, :, ::2, ::2], optimize=True)
    images, weight, slope = (ms.Tensor(a.astype(np.float32)) for a in (x, np.zeros((64, channels, 1, 1)), dy))

    def loss(weight: ms.Tensor) -> ms.Tensor:
        return (ops.conv2d(images, weight, None, 2) * slope).sum()

    with ms.set_context(jit_level="O1", runtime_num_threads=threads):
        found = [ms.jit(ms.grad(loss))(weight).asnumpy()[:, :, 0, 0] for _ in range(3)]
    for one in found:
        np.testing.assert_allclose(one, want, atol=1e-5 * np.abs(want).max())
