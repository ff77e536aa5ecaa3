"""From a tape to a backward program, once per structure that returns.

    tape lines  --graph_of-->  Graph  --autodiff.vjp-->  backward Graph  --compile-->  program
       |                                      |
       +--- key (interned entries) ---> cache +--- residuals: which saved items feed it

The key is the tape itself: entries are interned per signature, so equal lines mean equal ops, types, attributes and
aliasing. The first uses of a structure, and rare ones, are swept line by line (``backward_pass``); one that keeps
coming is optimised and compiled through ``graph.compile``. What cannot be swept runs its backward graph as it is at
first, but for a graph of LONG nodes: as it is it would take longer than the passes that make loops of it
(``graph.compile.passes.rolling``). The cache is bounded.

Callables that a program met (hooks, a Cell's ``bprop``) are not part of its structure: they lie among the saved items
and are put into the program's HostFn for the time of a run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

from msnb.autodiff import vjp
from msnb.base import device_registry, fork_locks
from msnb.base.settings import get_context
from msnb.core.engine import slot
from msnb.core.tensor import Tensor, made, make, type_of_buffer
from msnb.core.types import TensorType
from msnb.eager.backward_pass import backward_pass, has_backward_pass
from msnb.eager.dispatch import EagerEngine
from msnb.eager.tape import OpLine, Tape
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import HostFn, replay
from msnb.ir.graph import Graph, Value
from msnb.ops.shape.views import TRANSPOSE

CACHE_SIZE = 256
LONG = 1000
NEAR, STREAK, OFTEN = 3, 2, 32
"""A structure gets a program where the same came among the last few so many times in a row, or came often."""
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


class BackwardProgram:
    """Gradients of one tape structure."""

    def __init__(
        self, recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], again: bool = False,
    ):  # fmt: skip
        lines, _ = recorder.expanded()
        tape = TapeGraph(recorder.watched, lines, outputs)
        found = vjp(tape.graph, list(wanted))
        self.hosts: list[tuple[int, HostFn]] = tape.hosts
        self.graph: Graph = found.backward
        self.places: list[Place] = [tape.place(v) for v in found.residual_values]
        self._uses = int(again)
        self._run: Any = None
        self._turns: dict[int, tuple[int, ...]] = {}
        self._lock = fork_locks.lock()

    def residuals(self, recorder: Tape, begin: Sequence[Place]) -> list[Any]:
        """What this run saved of the values that backward reads; ``begin``: where the items of each line are."""
        found = ((begin[line], item) for line, item in self.places)
        return [recorder.saved[line][first + item] for (line, first), item in found]

    def __call__(self, recorder: Tape, douts: list[Tensor], begin: Sequence[Place]) -> list[Tensor]:
        """The gradients of the wanted values, given those of the outputs."""
        saved = self.residuals(recorder, begin)
        with self._lock:
            for line, host in self.hosts:
                host.fn = recorder.saved[begin[line][0]][-1]
            if recorder.depth > 0 or not isinstance(slot.engine, EagerEngine):  # somebody notes what is done here
                found: list[Tensor] = replay(self.graph, [*map(_operand, saved, self.graph.params), *douts])
                return found
            run = self._program(saved)
            for i, order in self._turns.items():
                saved[i] = saved[i].transpose(order)
            results = run([*saved, *(d._data for d in douts)])
        return [make(r, type_of_buffer(r)) for r in results]

    def _program(self, saved: list[Any]) -> Any:
        self._uses += 1
        once = len(self.graph.nodes) >= LONG and get_context("jit_level") != "O0"
        if self._uses == 1 and not once:
            self._run = device_registry.current().compile(self.graph)
        elif self._run is None or (self._uses == 2 and not once):
            from msnb.graph.compile import compile_graph

            self._turns = {i: order for i, order in enumerate(map(dense_order, saved)) if order}
            self._run = compile_graph(turned(self.graph, self._turns), name="backward", copies=True).build()
        return self._run


def _operand(saved: Any, param: Value) -> Any:
    """What a tape saved as an operand: inner tapes save tensors, the outermost one buffers."""
    t: Any = param.type  # a loop keeps stacks too, which Tensors hold like buffers
    return saved if isinstance(saved, Tensor) or (isinstance(t, TensorType) and t.weak) else made(saved, t)


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


class TapeHistory:
    """How often tapes of one structure came."""

    def __init__(self) -> None:
        self.uses: int = 0
        self._last = self._streak = 0

    def returns(self) -> bool:
        """Whether its program will be worth making: note one more use, and see how far the last one is back."""
        self.uses += 1
        now = next(_clock)
        self._streak = self._streak + 1 if self._last and now - self._last <= NEAR else 0
        self._last = now
        return self._streak >= STREAK or self.uses >= OFTEN


_clock = count(1)
_histories: OrderedDict[int, TapeHistory] = OrderedDict()
"""By the hash of a tape: structures that never come again leave no lines behind."""
_programs: OrderedDict[Any, tuple[BackwardProgram, list[Place]]] = OrderedDict()
"""By the tape as it is and by its single lines: a call that is kept and one that is not are one structure."""


def backward(recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], douts: list[Tensor]) -> list[Tensor]:
    """Gradients of ``sum(dout * output)`` with respect to watched values.

    Args:
        recorder: a finished tape.
        outputs: numbers of the outputs.
        wanted: numbers of the watched values asked for.
        douts: one tensor per output, of its type.
    """
    device = device_registry.current().name
    key = (tuple(recorder.watched), tuple(recorder.lines), tuple(outputs), tuple(wanted), device)
    if key not in _programs:
        history = _kept(_histories, hash(key), TapeHistory)
        if not history.returns() and has_backward_pass(recorder):
            return backward_pass(recorder, outputs, wanted, douts)
        lines, begin = recorder.expanded()
        plain = [(i, 0) for i in range(len(lines))]
        make_it = partial(BackwardProgram, recorder, outputs, wanted, history.uses > 1)
        single, _ = _kept(_programs, (key[0], tuple(lines), *key[2:]), lambda: (make_it(), plain))
        _programs[key] = single, begin
    program, begin = _programs[key]
    _programs.move_to_end(key)
    return program(recorder, douts, begin)


def _kept(table: OrderedDict[Any, Any], key: Any, new: Any) -> Any:
    """What is kept under a key, or a new one; the oldest unused leave."""
    if key not in table:
        table[key] = new()
    table.move_to_end(key)
    while len(table) > 2 * CACHE_SIZE:
        table.popitem(last=False)
    return table[key]
