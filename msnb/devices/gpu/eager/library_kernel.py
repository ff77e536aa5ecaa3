"""One operation that a library of NVIDIA's runs: matrix products, convolutions.

Operands are read where they lie, also transposed ones; the plan is made once for each layout of the operands. What a
library does not take is copied into the order of its type, and what it does not know is CuPy's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core.types import TensorType
from msnb.devices.gpu.codegen.kernel_generator import generate
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.devices.gpu.program.node_lowering import library_call
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import dense_strides, strided, whole

Kernel = Callable[..., Any]
Strides = tuple[int, ...]
_ALIGN, _KEPT_LAYOUTS = 16, 64


class LibraryKernel:
    """A signature with a library's call for each layout of its operands.

    Args:
        device: the GPU.
        node: the operation.
        body: runs where the library has no code.

    Attributes:
        usable: whether the library has code for dense operands.
    """

    device: Any
    node: Node

    def __init__(self, device: Any, node: Node, body: Kernel) -> None:
        self.device, self.node, self._body = device, node, body
        self._lock = threading.RLock()
        self._layouts: dict[tuple[Strides, ...], _Call | None] = {}
        self._dense = tuple(_dense(v) for v in node.inputs)
        weak = any(isinstance(v.type, TensorType) and v.type.weak for v in node.inputs)
        self.usable: bool = not weak and self._layout(self._dense) is not None

    def __call__(self, *arrays: Any) -> Any:
        """Run."""
        key = tuple([a.strides for a in arrays])
        ready = self._layouts[key] if key in self._layouts else self._layout(key)
        if ready is None:
            arrays, ready = tuple([a.copy("C") for a in arrays]), self._layouts[self._dense]
            return self._body(*arrays) if ready is None else ready(arrays)
        for a in arrays:
            if a.data.ptr % _ALIGN:
                return self(*[a.copy("C") if a.data.ptr % _ALIGN else a for a in arrays])
        return ready(arrays)

    def _layout(self, key: tuple[Strides, ...]) -> _Call | None:
        with self._lock:
            if key not in self._layouts:
                if len(self._layouts) >= _KEPT_LAYOUTS:
                    self._layouts = {self._dense: self._layouts[self._dense]}
                self._layouts[key] = self._prepared(key)
            return self._layouts[key]

    def _prepared(self, key: tuple[Strides, ...]) -> _Call | None:
        views = {v: strided(v, strides) for v, strides in zip(self.node.inputs, key)}
        if None in views.values() or (self.node.op.name != "matmul" and key != self._dense):
            return None
        call = library_call(self.node, lambda v: views[v] or whole(v))
        return None if call is None else _Call(self.device, self.node, call)


def _dense(value: Value) -> Strides:
    assert isinstance(value.type, TensorType)
    return tuple(s * value.type.dtype.numpy.itemsize for s in dense_strides(value.type.ints()))


class _Call:
    """A library's call with the kernels around it."""

    def __init__(self, device: Any, node: Node, call: LibraryCall) -> None:
        self._device, self._array, self._call = device, device.xp.ndarray, call
        self._order = [node.inputs.index(v) for v in call.reads]
        self._offsets = list(call.offsets)
        assert isinstance(node.out.type, TensorType)
        self._shape, self._dtype = node.out.type.ints(), node.out.type.dtype.numpy
        self._before = {k: (self._copier(kernel), kernel.writes[0]) for k, kernel in call.before.items()}
        self._after = None if call.after is None else self._copier(call.after)
        self._simple = self._order == list(range(len(self._order))) and not (
            any(self._offsets) or self._before or self._after
        )

    def _copier(self, kernel: Any) -> Kernel:
        ((made, _, _),) = generate(kernel, self._device.target)
        self._device.cache.load([made])
        (launch,) = made.launches
        function = self._device.cache.function(launch.function)
        return lambda source, target: function(launch.grid, launch.block, (source, target))

    def __call__(self, arrays: Any) -> Any:
        """Run on the current stream."""
        array, call = self._array, self._call
        stream = self._device.current_stream()
        out = array(self._shape, self._dtype)
        workspace = array((call.workspace,), np.uint8) if call.workspace else None
        at = workspace.data.ptr if workspace is not None else 0
        if self._simple:
            call.launch([a.data.ptr for a in arrays], [out.data.ptr], at, stream)
            return out
        ins = [arrays[i] for i in self._order]
        for k, (copy, buffer) in self._before.items():
            laid = array((buffer.size,), buffer.dtype.numpy)
            copy(ins[k], laid)
            ins[k] = laid
        target = out if self._after is None else array(self._shape, self._dtype)
        call.launch([a.data.ptr + o for a, o in zip(ins, self._offsets)], [target.data.ptr], at, stream)
        if self._after is not None:
            self._after(target, out)
        return out
