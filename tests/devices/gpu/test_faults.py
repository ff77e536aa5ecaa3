"""Wrong indices in programs of the GPU: told when values come down, at the line of the operation, and only once."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import msnb as ms
from msnb import ops
from msnb.base.errors import IndexOutOfRange
from msnb.devices.gpu.device import GPU
from msnb.devices.gpu.program.device_program import DeviceProgram
from msnb.graph.compile.passes.fusion.grouping import fuse
from tests import fake_cupy as xp
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, traced

W, Y = np.arange(80, dtype=np.float32).reshape(10, 8), np.ones((4, 8), np.float32)


def step(w: Any, i: Any, y: Any) -> Any:
    rows = ops.gather(w, i, 0) + 1  # the line
    return rows, ms.grad(lambda w: (ops.gather(w, i, 0) * y).sum())(w) * 2


@pytest.fixture
def gpu() -> Any:
    xp.reset()
    yield GPU(xp)
    xp.reset()


def program(gpu: GPU) -> tuple[Any, list[Any]]:
    args = [ms.Tensor(W), ms.Tensor(np.array([1, 2, 1, -1])), ms.Tensor(Y)]
    graph = fuse(traced(step, *args), True)
    return gpu.compile(graph), [np.asarray(b) for b in buffers(args)]


def up(arrays: list[Any]) -> list[Any]:
    return [xp.asarray(a) for a in arrays]


def test_a_program_without_array_operations(gpu: GPU) -> None:
    made, args = program(gpu)
    assert made.host_steps == []
    graph = made.graph
    for _ in range(3):  # the third time as one CUDA graph
        for got, want in zip(made(up(args)), REFERENCE.compile(graph)(args)):
            np.testing.assert_array_equal(gpu.to_host(got), want)
    assert made.graphs.launches


def test_a_wrong_index_is_told_once(gpu: GPU) -> None:
    made, args = program(gpu)
    args[1] = np.array([0, 10, 1, 2])
    out = made(up(args))
    with pytest.raises(IndexOutOfRange, match="index 10 is outside axis 0 of size 10") as caught:
        gpu.to_host(out[0])
    assert "rows = ops.gather(w, i, 0) + 1" in str(caught.value)
    gpu.to_host(out[0])
    made(up(args))
    with pytest.raises(IndexOutOfRange, match="index 10"):
        gpu.synchronize()
    gpu.synchronize()


def test_a_program_that_is_gone(gpu: GPU) -> None:
    (made, args), (other, _) = program(gpu), program(gpu)
    args[1] = np.array([0, -11, 1, 2])
    out = made(up(args))
    del made
    gc.collect()
    with pytest.raises(IndexOutOfRange, match="index -11"):
        gpu.to_host(out[0])
    assert other.built is not None


def test_numbers_that_the_host_knows_are_written(gpu: GPU) -> None:
    def write(x: Any, i: Any, k: Any) -> Any:
        x[i] = k
        return x

    args = [ms.Tensor(W), ms.Tensor(np.array([1, 3])), 2.5]
    graph = traced(write, *args)
    made = DeviceProgram(gpu, graph)
    given = [xp.asarray(np.asarray(b)) if isinstance(a, ms.Tensor) else a for a, b in zip(args, buffers(args))]
    want = REFERENCE.compile(graph)(buffers(args))
    np.testing.assert_array_equal(gpu.to_host(made(given)[0]), want[0])
    assert made.host_steps == []
