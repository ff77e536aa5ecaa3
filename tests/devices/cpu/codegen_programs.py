"""One graph, two programs: generated code and the reference bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

import msnb as ms
from msnb.base import device_registry
from msnb.core.types import WEAK
from msnb.devices.device import ArrayDevice
from msnb.graph.capture import trace
from msnb.graph.compile import optimise
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import FUSED
from msnb.ir.graph import Graph

REFERENCE = ArrayDevice("reference", np)


def buffers(args: Any) -> list[Any]:
    return [a._data if isinstance(a, ms.Tensor) else a for a in args]


def traced(fn: Any, *args: Any) -> Graph:
    return optimise(trace(fn, args, {}, "f").graph)[0]


def one_op(op: Any, inputs: Any, attrs: Any) -> Graph:
    with GraphBuilder("one") as b:
        params = [
            b.param(x._type if isinstance(x, ms.Tensor) else WEAK[type(x)], f"x{i}") for i, x in enumerate(inputs)
        ]
        made = b.apply(op, tuple(params), op.bind_attrs(attrs))
        b.output(*(made if isinstance(made, tuple) else (made,)))
    return b.graph


def native(graph: Graph, every: bool = True) -> Any:
    """The program with generated code; asserts that its groups became kernels."""
    fused = fuse(graph, every)
    program = device_registry.device("CPU").compile(fused)
    groups = [n for _, n in fused.walk() if n.op is FUSED]
    assert all(n in program.recipes for n in groups), "a group has no kernel"
    return program


def kernels(program: Any) -> int:
    return len(getattr(program, "kernels", []))


def both(graph: Graph, args: Any, every: bool = True, must: bool = True) -> list[tuple[Any, Any]]:
    program = native(graph, every)
    assert kernels(program) or not must, "nothing was fused"
    with np.errstate(all="ignore"):
        want = REFERENCE.compile(graph)(buffers(args))
        got = program(buffers(args))
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
    return list(zip(got, want))


def right_enough(fine: Any, want: Any, smooth: bool) -> bool:
    """Every element of a smooth program; half of them where steps (sign, less ...) turn last digits into whole numbers,
    and none where one such step decides all elements: the sign of the variance of equal numbers is anybody's."""
    return bool(fine.all() if smooth else fine.mean() >= 0.5 or len(np.unique(want)) == 1)


def close(got: Any, want: Any, ulps: float, floor: float = 0.0) -> None:
    """Within some units in the last place of the wanted value; NaN where NaN, infinities equal, ints equal."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    import ml_dtypes

    eps = {np.dtype(ml_dtypes.bfloat16): 2.0**-7}.get(got.dtype) or float(np.finfo(got.dtype).eps)
    a, b = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    inf = np.isinf(b)
    np.testing.assert_array_equal(a[inf], b[inf])
    fine = ~np.isnan(b) & ~inf
    bound = eps * ulps * (np.abs(b[fine]) + floor)
    off = np.abs(a[fine] - b[fine])
    bad = ~(off <= np.maximum(bound, 1e-44))
    worst = (off[bad] / np.maximum(bound[bad], 1e-300)).max(initial=0.0) * ulps
    some = a[fine][bad][:4], b[fine][bad][:4]
    assert not bad.any(), f"{bad.sum()} of {bad.size} off by up to {worst:.3g} ulp: {some}"
