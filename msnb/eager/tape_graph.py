"""The graph of a tape, which ``backward_program`` differentiates, and what of the tape its gradient reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.eager.tape import OpLine, Tape
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import HostFn, replay
from msnb.ir.graph import Graph, Value
from msnb.ops.shape.views import TRANSPOSE

Place = tuple[int, int]


class TapeGraph:
    """The graph of a tape, and where the tape keeps each of its values.

    Attributes:
        graph: params are the watched values, then one per untracked operand.
        hosts: (line, HostFn) for lines whose callable changes from run to run.
    """

    def __init__(self, watched: Sequence[TensorType], lines: Sequence[OpLine], outputs: Sequence[int]) -> None:
        self.graph: Graph = Graph("tape")
        self.hosts: list[tuple[int, HostFn]] = []
        self._values: dict[int, Value] = {}
        self._places: dict[Value, Place] = {}
        for number, t in enumerate(watched):
            self._values[number] = self.graph.add_param(t, f"x{number}")
        for i, line in enumerate(lines):
            self._add(i, line)
        self.graph.outputs = [self._values[number] for number in outputs]

    def _add(self, i: int, line: OpLine) -> None:
        entry, numbers, first = line
        inputs = [self._operand(n, t) for n, t in zip(numbers, entry.operand_types)]
        node = self.graph.add(entry.op, inputs, self._attrs(i, entry), entry.types)
        assert entry.keep is not None
        kept, keep_outs = entry.keep
        for at, k in enumerate(kept):
            self._places.setdefault(inputs[k], (i, at))
        for k, value in enumerate(node.outputs):
            self._values[first + k] = value
            if keep_outs:
                self._places.setdefault(value, (i, len(kept) + k))

    def _operand(self, number: int, t: Any) -> Value:
        return self._values[number] if number >= 0 else self.graph.add_param(t, f"c{len(self.graph.params)}")

    def _attrs(self, i: int, entry: Any) -> dict[str, Any]:
        if "host" not in entry.op.traits:
            found: dict[str, Any] = entry.attrs
            return found
        fn = HostFn(lambda *args: (), f"host{i}")
        self.hosts.append((i, fn))
        return {**entry.attrs, "fn": fn}

    def place(self, value: Value) -> Place:
        """Where the tape saved ``value``: (line, item)."""
        return self._places[value]


def residuals(recorder: Tape, places: Sequence[Place], begin: Sequence[Place]) -> list[Any]:
    """What a tape saved of the values that backward reads.

    Args:
        places: of these values; begin: where the items of each line are.
    """
    found = ((begin[line], item) for line, item in places)
    return [recorder.saved[line][first + item] for (line, first), item in found]


def dense_order(buffer: Any) -> tuple[int, ...] | None:
    """The order of axes in which a transposed array lies densely; None for others, dense ones among them."""
    flags = getattr(buffer, "flags", None)
    if flags is None or flags.c_contiguous:
        return None
    order = tuple(sorted(range(buffer.ndim), key=lambda axis: -buffer.strides[axis]))
    return order if buffer.transpose(order).flags.c_contiguous else None


def turned(graph: Graph, turns: dict[int, tuple[int, ...]]) -> Graph:
    """The graph with these params in another order of axes; it brings them back by a transpose, which costs nothing."""
    if not turns:
        return graph
    with GraphBuilder(graph.name, graph.module) as b:
        args: list[Tensor] = []
        for i, p in enumerate(graph.params):
            order, t = turns.get(i), p.type
            if order is None or not isinstance(t, TensorType):
                args.append(b.param(t, p.name))
            else:
                x = b.param(t.with_shape(tuple(t.shape[axis] for axis in order)), p.name)
                args.append(TRANSPOSE(x, perm=tuple(order.index(axis) for axis in range(len(order)))))
        b.output(*replay(graph, args))
    return b.graph
