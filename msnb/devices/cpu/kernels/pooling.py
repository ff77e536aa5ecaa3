"""Recipes of the poolings: which kernel, with which extents. Images are plain or channels-last, float32 or float64.

Images in 16 bits are copied to float32 by the library, and the result back: no CPU adds them in any other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msnb.base.threads import fork_locks
from msnb.core import TensorType, bfloat16, clamped, float16, float32, float64
from msnb.devices.cpu.kernels.pooling_kernel import CHUNK, Pool, render
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes, host
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn.c_api import api
from msnb.devices.cpu.onednn.primitive_chain import converted
from msnb.devices.llvm.loop_builder import module
from msnb.ir.graph import Node

_ELEMENTS = {float32: "float", float64: "double", float16: "float", bfloat16: "float"}
_HALVES = frozenset((float16, bfloat16))
_KINDS = {"max_pool2d": "max", "max_pool2d_grad": "max_grad", "avg_pool2d": "avg", "avg_pool2d_grad": "avg_grad"}
_MOST_PLACES = 64
_SHARED_WORK = 100_000  # elements read: a thread for each so many
_lock = fork_locks.lock()
_made: dict[Pool, Symbol] = {}


def functions(pools: Sequence[Pool]) -> list[Symbol]:
    """The kernels; those that are missing are compiled, in one module."""
    with _lock:
        missing = [p for p in dict.fromkeys(pools) if p not in _made]
        if missing:
            texts, builders = zip(*(render(pool, attributes(), host().target.lanes) for pool in missing))
            library = Library(module(builders, *texts))
            _made.update({p: Symbol(library, p.symbol) for p in missing})
        return [_made[p] for p in pools]


class PoolRecipe(NativeKernel):
    """A pooling as one call of a kernel."""

    def __init__(self, pool: Pool, extents: tuple[int, ...], units: int, limit: int) -> None:
        self.pool: Pool = pool
        self.extents: tuple[int, ...] = extents
        self.units: int = units
        self.limit: int = limit

    @classmethod
    def prepare(cls, recipes: Sequence[PoolRecipe]) -> None:
        """Compile every kernel once."""
        functions([r.pool for r in recipes])

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        return [KernelCall(functions([self.pool])[0], (self.units, self.limit, *self.extents, *ins, *outs))]


class HalfRecipe(NativeKernel):
    """A pooling of 16-bit images: copies in float32 around the kernel."""

    pool: PoolRecipe

    def __init__(self, pool: PoolRecipe, node: Node) -> None:
        self.pool, self._count = pool, len(node.inputs)
        self._types = [v.type for v in (*node.inputs, *node.outputs) if isinstance(v.type, TensorType)]
        self.temps = tuple(4 * t.size for t in self._types)

    @classmethod
    def prepare(cls, recipes: Sequence[HalfRecipe]) -> None:
        """Compile every kernel once."""
        PoolRecipe.prepare([r.pool for r in recipes])

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """Copies in, the kernel, the copy out."""
        copies = [*zip(self._types, ins, temps, (True,) * self._count)]
        copies += [*zip(self._types[self._count :], outs, temps[self._count :], (False,) * len(outs))]
        calls = [converted(*each) for each in copies]
        inner = self.pool.calls(temps[: self._count], temps[self._count :], ())
        return [*calls[: self._count], *inner, *calls[self._count :]]


class _Sizes(NamedTuple):
    n: int
    c: int
    h: int
    w: int
    oh: int
    ow: int


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a pooling runs; None for other nodes, and for dtypes and windows there is no kernel for."""
    kind = _KINDS.get(node.op.name)
    if kind is None or not all(_known(v.type) for v in (*node.inputs, *node.outputs)):
        return None
    element = _ELEMENTS.get(node.outputs[0].type.dtype)  # type: ignore[union-attr]
    kernel = node.attrs["kernel"]
    if element is None or kernel[0] * kernel[1] > _MOST_PLACES:
        return None
    made = _made_for(node, kind, element)
    if node.outputs[0].type.dtype not in _HALVES:  # type: ignore[union-attr]
        return made
    return HalfRecipe(made, node) if api() is not None else None


def _known(t: Any) -> bool:
    return isinstance(t, TensorType) and t.is_static and 0 not in t.ints() and t.dtype in _ELEMENTS


def _made_for(node: Node, kind: str, element: str) -> PoolRecipe:
    a, sizes, last = node.attrs, _sizes(node, kind), node.attrs["data_format"] == "NHWC"
    top, bottom, left, right = a["pads"]
    spans = [((o - 1) * s + k) for o, s, k in zip(sizes[4:], a["stride"], a["kernel"])]
    inside = not any(a["pads"]) and spans[0] <= sizes.h and spans[1] <= sizes.w
    tiled = inside and a["stride"] == a["kernel"] and (spans[0], spans[1]) == (sizes.h, sizes.w)
    pool = Pool(kind, last, element, a["kernel"], a["stride"], inside, tiled, a.get("count_include_pad", True))
    chunks = -(-sizes.c // CHUNK) if last else 1
    units = sizes.n * (chunks if last else sizes.c)
    work = sizes.n * sizes.c * sizes.oh * sizes.ow * a["kernel"][0] * a["kernel"][1]
    limit = clamped(work // _SHARED_WORK, 1, units)
    return PoolRecipe(pool, (*sizes, top, left, bottom, right, chunks), units, limit)


def _sizes(node: Node, kind: str) -> _Sizes:
    x, y = {
        "max": (node.inputs[0], node.outputs[0]),
        "avg": (node.inputs[0], node.outputs[0]),
        "max_grad": (node.inputs[0], node.inputs[-1]),
        "avg_grad": (node.outputs[0], node.inputs[0]),
    }[kind]
    assert isinstance(x.type, TensorType) and isinstance(y.type, TensorType)
    order = (0, 3, 1, 2) if node.attrs["data_format"] == "NHWC" else (0, 1, 2, 3)
    big, small = ([t.ints()[i] for i in order] for t in (x.type, y.type))
    return _Sizes(big[0], big[1], big[2], big[3], small[2], small[3])
