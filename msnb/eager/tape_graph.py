"""The graph of a tape, which ``backward_program`` differentiates, what of the tape its gradient reads, and its form.

    x[20,64] @ w[64,128], tanh    ->    form  (matmul f32 2 2, tanh f32 2), numbers    integers  20 64 64 128 20 128 ...

Tapes of one step whose sizes change have one *form*; a list of integers tells them apart. Forms are compared at every
gradient that has no program yet: every entry keeps its own part, an object per kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msnb.core import Dim, EngineRestore, Tensor, TensorType
from msnb.eager.dispatch import DispatchEntry
from msnb.eager.tape import CallLines, OpLine, Tape
from msnb.ir import Graph, GraphBuilder, HostFn, Value, replay
from msnb.ops.shape.views import TRANSPOSE

Place = tuple[int, int]
LEAST = 2
"""Sizes below mean something of their own: they broadcast, they have no maximum."""
LONGEST = 256
"""Lines; longer tapes are episodes, and no two are alike."""
FORMS = 8192


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
    with EngineRestore(), GraphBuilder(graph.name, graph.module) as b:
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


class LineForm(NamedTuple):
    """A line, or the lines of a call: ``kind``, one object for all that are alike but for integers, and these."""

    kind: object | None
    integers: tuple[int, ...]


_forms: dict[Any, object] = {}
_UNLIKE = frozenset({"host", "custom", "control", "effect", "stack", "collective"})


def form_of_line(entry: DispatchEntry | CallLines) -> LineForm:
    """The form of a line, which its entry keeps. It is of no kind where its gradient may depend on more."""
    if isinstance(entry, CallLines):
        inner = [(each.form or form_of_line(each), numbers, first) for each, numbers, first in entry.lines]
        key: Any = tuple([(line.kind, numbers, first) for line, numbers, first in inner])
        integers = [n for line, _, _ in inner for n in line.integers]
        alike = all(line.kind is not None for line, _, _ in inner)
    else:
        signature, integers = parted(entry)
        key = entry.op, signature
        alike = not _is_alone(entry) and not any(n.__class__ is Dim for n in integers)
    if len(_forms) >= FORMS:
        _forms.clear()
    entry.form = found = LineForm(_forms.setdefault(key, object()) if alike else None, tuple(integers))
    return found


def _is_alone(entry: DispatchEntry | CallLines) -> bool:
    return not isinstance(entry, CallLines) and not entry.op.traits.isdisjoint(_UNLIKE)


def parted(entry: DispatchEntry) -> tuple[Any, list[Any]]:
    """The signature of an entry without integers and Dims, and these."""
    integers: list[Any] = []
    signature = entry.operand_types, tuple(entry.attrs.values()), entry.types
    return _without_integers(signature, integers), integers


def _without_integers(value: Any, integers: list[Any]) -> Any:
    """A value of which integers and Dims are left out; they are appended."""
    kind = value.__class__
    if kind is int or kind is Dim:
        integers.append(value)
        return int
    if kind is tuple:
        return tuple([_without_integers(v, integers) for v in value])
    if kind is TensorType:
        integers += value.shape
        return value.dtype, len(value.shape), value.weak
    return kind, value


def form_of(recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], device: str) -> tuple[Any, ...] | None:
    """A tape without integers; None for one that is to have no template."""
    if len(recorder.lines) > LONGEST or any(_is_alone(entry) for entry, _, _ in recorder.lines):
        return None
    lines = [((entry.form or form_of_line(entry)).kind, numbers, first) for entry, numbers, first in recorder.lines]
    if any(kind is None for kind, _, _ in lines):
        return None
    return tuple(lines), _without_integers(tuple(recorder.watched), []), tuple(outputs), tuple(wanted), device


def integers_of(recorder: Tape) -> tuple[int, ...]:
    """The integers of a tape in order: of the watched types, and of each line."""
    found: list[Any] = [n for t in recorder.watched for n in t.shape]
    for entry, _, _ in recorder.lines:
        found += (entry.form or form_of_line(entry)).integers
    return tuple(found)


def comparable(before: tuple[int, ...], now: tuple[int, ...]) -> bool:
    """Whether no size changed that means something of its own."""
    return len(before) == len(now) and all(a == b or not 0 <= min(a, b) < LEAST for a, b in zip(before, now))
