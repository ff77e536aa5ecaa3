"""Reductions over axes in the middle: threads share out the places of the result, and each has its sums alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.devices.cpu import thread_pool
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.control_flow import FUSED
from tests.devices.cpu.codegen_programs import both, buffers, close, native, traced

pytest.importorskip("llvmlite")
from msnb.devices.cpu.codegen.kernel_library import lowered
from msnb.devices.cpu.codegen.kernel_schedule import KernelSchedule
from msnb.devices.cpu.llvm.jit import host

Rng = np.random.Generator
Fn = Callable[..., Any]


@pytest.fixture(params=[1, 3])
def several_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "of_a_program", lambda: request.param)
    monkeypatch.setattr(thread_pool, "cores", lambda: request.param)
    monkeypatch.setattr("msnb.devices.cpu.codegen.kernel_schedule.SHARED_WORK", 1)


def plans(fn: Fn, *args: ms.Tensor) -> list[KernelSchedule]:
    """Of the groups of a program."""
    groups = [n for n in fuse(traced(fn, *args), True).nodes if n.op is FUSED]
    found = [lowered(n.graphs[0]) for n in groups]
    return [KernelSchedule(k, host().target) for k in found if k is not None]


def check(fn: Fn, wanted: Fn, *arrays: Any, shared: bool = True) -> None:
    """The program's values beside those of NumPy on float64; ``shared``: whether places are shared out."""
    tensors = [ms.Tensor(a) for a in arrays]
    assert any(p.shared for p in plans(fn, *tensors)) == shared
    found = native(traced(fn, *tensors))(buffers(tensors))
    want = wanted(*[a.astype(np.float64) for a in arrays])
    for got, true in zip(found, want if isinstance(want, tuple) else (want,), strict=True):
        size = np.abs(np.where(np.isfinite(true), true, 0)).max() + 1
        np.testing.assert_allclose(got, true, rtol=0, atol=1e-5 * size)


def normal(rng: Rng, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


SHAPES = {
    (1024, 5, 100): (1,), (40, 300, 33): (1,), (16, 1000, 7): (1,), (500, 2, 64): (1,), (17, 3, 5, 19): (1, 2),
    (6, 20, 4, 50): (0, 2), (4, 30, 9, 5, 18): (2,), (70, 20, 3, 1): (1,),
}  # fmt: skip


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_axes_in_the_middle(shape: Any, rng: Rng) -> None:
    axes = SHAPES[shape]
    x, y = normal(rng, *shape), normal(rng, *shape)
    check(lambda x, y: (x * y).sum(axes), lambda x, y: (x * y).sum(axes), x, y)


@pytest.mark.usefixtures("several_threads")
def test_several_sums_and_what_is_made_of_them(rng: Rng) -> None:
    def moments(x: Any, y: Any) -> Any:
        z = x * y
        return z.sum(1) * 2 + z.max(axis=1), (z * z).mean(1) - z.mean(1) ** 2

    x, y = normal(rng, 90, 7, 50), normal(rng, 90, 7, 50)
    check(moments, moments, x, y)


@pytest.mark.usefixtures("several_threads")
def test_what_runs_over_the_rows_besides(rng: Rng) -> None:
    """A result of every element, and a reduction along each row, from the same loops."""
    x = normal(rng, 90, 7, 50)
    check(lambda x: ((x * 2).sum(1), ops.exp(x * 2)), lambda x: ((x * 2).sum(1), np.exp(x * 2)), x)


@pytest.mark.parametrize("name", ["max", "min"])
def test_nothing_is_lost_on_the_way(name: str, rng: Rng) -> None:
    x = normal(rng, 60, 9, 40)
    x[3, rng.integers(9), 5], x[4, rng.integers(9), 6], x[5, :, 7] = np.nan, np.inf, -np.inf
    check(lambda x: getattr(x + 1, name)(axis=1), lambda x: getattr(x + 1, name)(axis=1), x)


def test_long_sums_keep_their_digits() -> None:
    x = np.full((16, 40_000, 3), 0.1, np.float32)
    found = native(traced(lambda x: (x + 0).sum(1), ms.Tensor(x)))(buffers([ms.Tensor(x)]))
    np.testing.assert_allclose(found[0], x.astype(np.float64).sum(1), rtol=1e-5)


def test_when_rows_are_shared_out_instead(rng: Rng) -> None:
    few, first = normal(rng, 3, 70, 90), normal(rng, 9, 33, 130)
    check(lambda x: (x * x).sum(1), lambda x: (x * x).sum(1), few, shared=False)
    check(lambda x: (x * x).sum(0), lambda x: (x * x).sum(0), first, shared=False)

    def different_places(x: Any) -> Any:
        z = x * 2
        return z.sum(0), z.sum(1)

    check(different_places, different_places, normal(rng, 40, 30, 50), shared=False)


def test_an_operand_that_knows_nothing_of_some_places(rng: Rng) -> None:
    def lacking(x: Any, y: Any) -> Any:
        return (x * y).sum(1), (y * y).sum(0)

    check(lacking, lacking, normal(rng, 40, 30, 50), normal(rng, 30, 50))


def test_an_accumulator_is_as_long_as_a_row(rng: Rng) -> None:
    (plan,) = plans(lambda x: (x * x).sum(1), ms.Tensor(normal(rng, 2000, 5, 100)))
    assert plan.scratch.bytes <= 4 * 128 and not plan.gathers
    assert plan.total == 2000


@pytest.mark.parametrize("shape", [(3,), (64,), (5, 7), (300, 40)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "any", "all", "var", "count_nonzero"])
def test_reductions_of_what_is_the_same_everywhere(shape: tuple[int, ...], name: str) -> None:
    """Integers are finite, so nothing is read: the value changes along no loop, and counts as often as there are
    elements (the sum was 1)."""
    t = ms.Tensor(np.arange(np.prod(shape), dtype=np.int32).reshape(shape))
    reduce = getattr(ops, name)
    for axis in (None, 0, -1):
        graph = traced(lambda x, a=axis: (reduce(ops.isfinite(x).astype(ms.float32) * 2.5, axis=a), x + 1), t)
        for got, want in both(graph, buffers((t,))):
            close(got, want, 8)
