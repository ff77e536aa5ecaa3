"""Calls of generated kernels on dense operands, written out for the commonest ones: a call costs what Python costs.

    ask how operands lie (two attributes each) --> an array (``result_cache``) --> launch on the current stream

CuPy passes an array to a kernel as its address, and memory of the pool belongs to the stream it is asked on: so both
happen on CuPy's current stream of this thread, in whatever thread or capture that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import TensorType, bool_, int64
from msnb.devices.gpu.eager.result_cache import ResultCache
from msnb.devices.gpu.eager.single_kernels import SingleKernels
from msnb.ir.graph import Node

Kernel = Callable[..., Any]
Take = Callable[[], Any]
ALIGN = 16
_HELD = 1 << 63


def dense_call(device: Any, node: Node, made: SingleKernels, odd: Kernel, body: Kernel | None = None) -> Kernel:
    """A function of buffers that launches kernels.

    Args:
        device: the GPU.
        node: the operation.
        made: its kernels.
        odd: called with operands that are not dense, or not aligned.
        body: called with Python integers that 64 bits do not hold.
    """
    types = [v.type for v in node.inputs if isinstance(v.type, TensorType)]
    floats = any(t.dtype.is_float for t in types)
    body = None if body is None else _of_large_integers(body, floats)
    outs = [
        device.results_of(v.type.ints(), v.type.dtype.numpy) for v in node.outputs if isinstance(v.type, TensorType)
    ]
    simple = len(made.launches) == 1 and not made.workspaces and len(outs) == 1
    if simple and made.launches[0].operands == tuple(range(len(types) + 1)):
        short = _short(outs[0].take, types, made, odd, body)
        if short is not None:
            return short
    return _Any(device, types, outs, made, odd, body)


def _short(take: Take, types: list[TensorType], made: SingleKernels, odd: Kernel, body: Kernel | None) -> Kernel | None:
    """The commonest calls, written out."""
    numbers = [i for i, t in enumerate(types) if t.weak]
    if len(types) == 1 and not numbers:
        return _one(take, made, odd)
    if len(types) == 2 and not numbers:
        return _two(take, made, odd)
    if len(types) != 2 or numbers != [1]:
        return None
    if types[1].dtype.is_float:
        return _with_number(take, made, odd)
    return _with_integer(take, made, odd, body) if types[1].dtype is int64 and body is not None else None


def _of_large_integers(body: Kernel, floats: bool) -> Kernel:
    """The body for Python integers that 64 bits do not hold: floats among floats, else nobody's."""

    def run(*buffers: Any) -> Any:
        if not floats:
            raise OverflowError("Python int too large to convert to C long")
        return body(*[float(b) if isinstance(b, int) else b for b in buffers])

    return run


def _one(take: Take, made: SingleKernels, odd: Kernel) -> Kernel:
    (launch,) = made.launches
    function, grid, block, tail = launch.function, launch.grid, launch.block, launch.numbers

    def one(a: Any) -> Any:
        if not a._c_contiguous or a.data.ptr & 15:
            return odd(a)
        result = take()
        function(grid, block, (a, result, *tail))
        return result

    return one


def _two(take: Take, made: SingleKernels, odd: Kernel) -> Kernel:
    (launch,) = made.launches
    function, grid, block, tail = launch.function, launch.grid, launch.block, launch.numbers

    def two(a: Any, b: Any) -> Any:
        if not a._c_contiguous or not b._c_contiguous or (a.data.ptr | b.data.ptr) & 15:
            return odd(a, b)
        result = take()
        function(grid, block, (a, b, result, *tail))
        return result

    return two


def _with_number(take: Take, made: SingleKernels, odd: Kernel) -> Kernel:
    (launch,) = made.launches
    function, grid, block, tail = launch.function, launch.grid, launch.block, launch.numbers

    def with_number(a: Any, number: float) -> Any:
        if not a._c_contiguous or a.data.ptr & 15:
            return odd(a, number)
        result = take()
        function(grid, block, (a, number, result, *tail))
        return result

    return with_number


def _with_integer(take: Take, made: SingleKernels, odd: Kernel, body: Kernel) -> Kernel:
    (launch,) = made.launches
    function, grid, block, tail = launch.function, launch.grid, launch.block, launch.numbers

    def with_integer(a: Any, number: int) -> Any:
        if not a._c_contiguous or a.data.ptr & 15:
            return odd(a, number)
        if not -_HELD <= number < _HELD:
            return body(a, number)
        result = take()
        function(grid, block, (a, number, result, *tail))
        return result

    return with_integer


class _Any:
    """Any number of operands, numbers, results, launches and workspaces."""

    def __init__(
        self, device: Any, types: list[TensorType], outs: list[ResultCache], made: SingleKernels, odd: Kernel,
        body: Kernel | None,
    ) -> None:  # fmt: skip
        self._takes, self._made, self._odd, self._body = [cache.take for cache in outs], made, odd, body
        self._workspaces = [device.results_of((size,), np.uint8).take for size in made.workspaces]
        self._arrays = [i for i, t in enumerate(types) if not t.weak]
        self._whole = [(i, t.dtype is bool_) for i, t in enumerate(types) if t.weak and not t.dtype.is_float]

    def __call__(self, *buffers: Any) -> Any:
        """Run."""
        for i in self._arrays:
            a = buffers[i]
            if not a._c_contiguous or a.data.ptr & 15:
                return self._odd(*buffers)
        places = list(buffers)
        for i, _ in self._whole:
            if not -_HELD <= buffers[i] < _HELD:
                return self._body(*buffers) if self._body is not None else self._odd(*buffers)
            places[i] = int(buffers[i])
        results = [take() for take in self._takes]
        places += results
        places += [take() for take in self._workspaces]
        for launch in self._made.launches:
            args = (*[places[i] for i in launch.operands], *launch.numbers)
            launch.function(launch.grid, launch.block, args, launch.shared_bytes)
        return results[0] if len(results) == 1 else tuple(results)
