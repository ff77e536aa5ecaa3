"""One operation on the GPU, as dispatch calls it: one allocation, one launch.

    x, y dense            the kernel of the signature                  (``dense_calls``)
    odd operands          a kernel that reads them transposed, or copies of them: never read as what they are not
    x.T * 2               every operand lies in the same order: the dense kernel, whose result lies so too
    products, images      the libraries, with operands where they lie
    everything else       the operator's body over CuPy, views among it: they launch nothing

Sums have their kernel at once, so that equal calls have equal results to the last bit; so has attention, whose body
would keep all scores. What only moves elements, or meets operands of several shapes, is made for its sizes when they
come again: sizes that come once are CuPy's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from msnb.core.types import TensorType, Type
from msnb.devices.codegen.copy_kernels import moves
from msnb.devices.gpu.eager.dense_calls import ALIGN, dense_call
from msnb.devices.gpu.eager.library_kernel import LibraryKernel
from msnb.devices.gpu.eager.single_kernels import Order, is_counted, single_kernels
from msnb.devices.gpu.program.device_program import DeviceProgram
from msnb.devices.gpu.program.node_lowering import is_plain, provided
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel.iteration_space import kind_of
from msnb.ir.kernel.strided_views import whole
from msnb.ops.definition.record import Op

Kernel = Callable[..., Any]
_KEPT_LAYOUTS, _MOST_PARTS = 64, 4


def eager_kernel(device: Any, op: Op, types: tuple[Type, ...], attrs: dict[str, Any], body: Kernel) -> Kernel:
    """A function of buffers that runs an operation.

    Args:
        device: the GPU: ``xp``, ``cache``, ``is_real``.
        op, types, attrs: the signature.
        body: runs where there is no code for it.
    """
    is_view = op.view and len(types) == 1  # indices that are tensors may be wrong: CuPy would take them modulo the size
    if not all(is_plain(t) for t in types) or is_view or "control" in op.traits:
        return body
    results = op.result_types(types, attrs)
    if not results or not all(is_plain(t) for t in results):
        return body
    graph = Graph(op.name)
    node = graph.add(op, [graph.add_param(t, f"x{i}") for i, t in enumerate(types)], attrs, results)
    if device.is_real:
        found = LibraryKernel(device, node, body)
        if found.usable:
            return found
    return _generated(device, graph, node, body)


def _generated(device: Any, graph: Graph, node: Node, body: Kernel) -> Kernel:
    """Generated kernels where there are some, at once or when the signature comes again."""
    kind = kind_of(node)
    if (kind == "elementwise" and not is_counted(node)) or (not kind and moves(node, whole) is not None):
        few = len(node.inputs) + len(node.outputs) <= _MOST_PARTS + 1
        return Recurring(body, lambda: _made(device, node, body)) if few else body
    made = _made(device, node, body)
    if made is not None:
        return made
    return _program(device, graph, node) if not kind and provided(node, device.target) else body


def _program(device: Any, graph: Graph, node: Node) -> Kernel:
    """A program of one operation: CuPy leaves open which of several writes to one place counts."""
    graph.outputs = list(node.outputs)
    program = DeviceProgram(device, graph)

    def run(*buffers: Any) -> Any:
        found = program(list(buffers))
        return found[0] if len(found) == 1 else tuple(found)

    return run


def _made(device: Any, node: Node, body: Kernel) -> Kernel | None:
    made = EagerKernel(device, node, body)
    return made.call


class Recurring:
    """The body at first; the kernel when the signature comes again."""

    __slots__ = ("_body", "_make", "run")

    def __init__(self, body: Kernel, make: Callable[[], Kernel | None]) -> None:
        self._body, self._make = body, make
        self.run: Kernel = self._first

    def __call__(self, *buffers: Any) -> Any:
        """Run."""
        return self.run(*buffers)

    def _first(self, *buffers: Any) -> Any:
        self.run = self._second
        return self._body(*buffers)

    def _second(self, *buffers: Any) -> Any:
        self.run = self._make() or self._body
        return self.run(*buffers)


class EagerKernel:
    """A signature that generated kernels serve.

    Attributes:
        call: runs it; None where there is no code.
    """

    device: Any
    node: Node

    def __init__(self, device: Any, node: Node, body: Kernel) -> None:
        self.device, self.node, self._body = device, node, body
        self._types = [v.type for v in node.inputs if isinstance(v.type, TensorType)]
        self._lock = threading.RLock()
        self._layouts: dict[tuple[Order, ...], Kernel | None] = {}
        self._same = kind_of(node) == "elementwise" and is_counted(node)
        plain: list[Order] = [None] * len(node.inputs)
        found = single_kernels(node, plain, device)
        self._dense: Kernel | None = None if found is None else dense_call(device, node, found, self._refused)
        self.call: Kernel | None = None if found is None else dense_call(device, node, found, self.odd, body)

    def _refused(self, *buffers: Any) -> Any:
        raise AssertionError("dense operands that are not dense")

    def odd(self, *buffers: Any) -> Any:
        """Operands of which one lies in another order, with gaps, or begins in the middle of a word."""
        orders: list[Order] = []
        operands = list(buffers)
        for i, (a, t) in enumerate(zip(buffers, self._types)):
            if t.weak:
                orders.append(None)
                continue
            order = lying_order(a)
            if order is None or a.data.ptr % ALIGN:
                operands[i], order = a.copy("C"), None
            elif order == tuple(range(a.ndim)):
                order = None
            orders.append(order)
        if not any(orders):
            assert self._dense is not None
            return self._dense(*operands)
        return self._transposed(operands, orders)

    def _transposed(self, operands: list[Any], orders: list[Order]) -> Any:
        many = [i for i, t in enumerate(self._types) if t.size > 1]
        order = orders[many[0]]
        assert self._dense is not None
        if self._same and order is not None and all(orders[i] == order for i in many):
            turned = [a.transpose(order) if i in many else a for i, a in enumerate(operands)]
            found = self._dense(*turned).reshape(turned[many[0]].shape)  # the kernel only counts points
            return found.transpose([order.index(k) for k in range(len(order))])
        kernel = self._layout(tuple(orders))
        if kernel is None:
            return self._dense(*[a if o is None else a.copy("C") for a, o in zip(operands, orders)])
        return kernel(*[a if o is None else a.transpose(o) for a, o in zip(operands, orders)])

    def _layout(self, orders: tuple[Order, ...]) -> Kernel | None:
        """The kernel that reads operands lying like this."""
        with self._lock:
            if orders not in self._layouts:
                if len(self._layouts) >= _KEPT_LAYOUTS:
                    self._layouts.clear()
                found = single_kernels(self.node, orders, self.device)
                made = None if found is None else dense_call(self.device, self.node, found, self._refused)
                self._layouts[orders] = made
            return self._layouts[orders]


def lying_order(a: Any) -> tuple[int, ...] | None:
    """The order of axes, outermost first, in which an array is dense; None where it has gaps or repeats elements."""
    order = tuple(sorted(range(a.ndim), key=lambda axis: -a.strides[axis]))
    return order if a.transpose(order).flags.c_contiguous else None
