"""From a tape to a backward program, once per structure that returns.

    tape lines  --graph_of-->  Graph  --autodiff.vjp-->  backward Graph  --compile-->  program
       |                                      |
       +--- key (interned entries) ---> cache +--- residuals: which saved items feed it

The key is the tape itself: entries are interned per signature, so equal lines mean equal ops, types, attributes and
aliasing. The first uses of a structure, and rare ones, are swept line by line (``backward_pass``); one that keeps
coming is optimised and compiled through ``graph.compile``. What cannot be swept runs its backward graph as it is at
first, but for a graph of LONG nodes: as it is it would take longer than the passes that make loops of it
(``graph.compile.passes.rolling``). The cache is bounded.

Structures that are one but for their sizes get programs from one with symbolic sizes (``backward_templates``).

Callables that a program met (hooks, a Cell's ``bprop``) are not part of its structure: they lie among the saved items
and are put into the program's HostFn for the time of a run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from msnb.autodiff import vjp
from msnb.base import device_registry, events, get_context, reraise_interrupt
from msnb.base.threads import fork_locks
from msnb.core import Tensor, TensorType, slot
from msnb.core.tensor import made, make, type_of_buffer
from msnb.eager.backward_pass import backward_pass, has_backward_pass, is_unwatched
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recorded_calls import Sized
from msnb.eager.tape import Tape
from msnb.eager.tape_graph import Place, TapeGraph, comparable, dense_order, form_of, integers_of, residuals, turned
from msnb.ir import BoundGraph, Graph, HostFn, Value, replay

if TYPE_CHECKING:
    from msnb.eager.backward_templates import BackwardTemplate
    from msnb.graph.compile import CompiledProgram

CACHE_SIZE = 256
LONG = 1000
NEAR, STREAK, OFTEN = 3, 2, 32
"""A structure gets a program where the same came among the last few so many times in a row, or came often."""
SIZES, USES = 4, 16
"""A template is made where tapes of one form came so often, and with so many different integers."""
MOST = 3
"""Templates of one form: for sizes that changed later, or were taken for equal and are not."""


class BackwardProgram:
    """Gradients of one tape structure.

    Args:
        graph: residuals, then the gradients of outputs -> those of wanted values; places: where tapes keep residuals.
        hosts: see ``TapeGraph``; again: it is compiled at its first use.
    """

    def __init__(
        self, graph: Sized, places: list[Place], hosts: Sequence[tuple[int, HostFn]] = (), again: bool = False
    ) -> None:
        self.places: list[Place] = places
        self.hosts: Sequence[tuple[int, HostFn]] = hosts
        self._given = graph
        self._uses = int(again)
        self._run: Any = None
        self._turns: dict[int, tuple[int, ...]] = {}
        self._lock = fork_locks.lock()

    @classmethod
    def of(cls, recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], again: bool) -> BackwardProgram:
        """The program of a tape."""
        tape = TapeGraph(recorder.watched, recorder.expanded()[0], outputs)
        found = vjp(tape.graph, list(wanted))
        return cls(found.backward, [tape.place(v) for v in found.residual_values], tape.hosts, again)

    @classmethod
    def bound(cls, template: BackwardTemplate, sizes: Mapping[str, int], run: CompiledProgram) -> BackwardProgram:
        """The program with symbols, for some sizes; ``run``: what was compiled of it."""
        found = cls(BoundGraph(template.graph, sizes), template.places)
        found._uses, found._turns, found._run = 2, template.turns, run
        return found

    @property
    def graph(self) -> Graph:
        """The backward graph."""
        return self._given if isinstance(self._given, Graph) else self._given.graph

    def __call__(self, recorder: Tape, douts: list[Tensor], begin: Sequence[Place]) -> list[Tensor]:
        """The gradients of the wanted values, given those of the outputs."""
        saved = residuals(recorder, self.places, begin)
        with self._lock:
            for line, host in self.hosts:
                host.fn = recorder.saved[begin[line][0]][-1]
            if recorder.depth > 0 or not isinstance(slot.engine, EagerEngine):  # somebody notes what is done here
                return replay(self.graph, [*map(_operand, saved, self.graph.params), *douts])
            run = self._program(saved)
            for i, order in self._turns.items():
                saved[i] = saved[i].transpose(order)
            results = run([*saved, *(d._data for d in douts)])
        return [make(r, type_of_buffer(r)) for r in results]

    def _program(self, saved: list[Any]) -> Any:
        self._uses += 1
        if self._run is not None and self._uses > 2:
            return self._run
        once = len(self.graph.nodes) >= LONG and get_context("jit_level") != "O0"
        if self._uses == 1 and not once:
            self._run = device_registry.current().compile(self.graph)
        elif self._run is None or not once:
            self._turns = {i: order for i, order in enumerate(map(dense_order, saved)) if order}
            self._run = _compiler()[1](turned(self.graph, self._turns))
        return self._run


def _operand(saved: Any, param: Value) -> Any:
    """What a tape saved as an operand: inner tapes save tensors, the outermost one buffers."""
    t: Any = param.type  # a loop keeps stacks too, which Tensors hold like buffers
    return saved if isinstance(saved, Tensor) or (isinstance(t, TensorType) and t.weak) else made(saved, t)


def _compiler() -> tuple[type[BackwardTemplate], Callable[[Graph], CompiledProgram]]:
    """What needs passes: whoever only imports msnb does not wait for them."""
    from msnb.eager.backward_templates import BackwardTemplate, compiled

    return BackwardTemplate, compiled


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


class FormHistory:
    """How often tapes of one form came, and the templates made of them."""

    def __init__(self) -> None:
        self._templates: list[BackwardTemplate] = []
        self._uses, self._left = 0, MOST
        self._before: tuple[int, ...] = ()
        self._met: set[int] = set()

    def program(self, form: Any, recorder: Tape) -> BackwardProgram | None:
        """The program for a tape from one with symbols; None for a tape that is treated by itself."""
        self._uses += 1
        if self._uses == 1 or not (self._left or self._templates):  # forms that never come again leave nothing behind
            return None
        integers = integers_of(recorder)
        found = self._fitting(form, integers)
        if not found and self._left and self._tells_more(integers):
            before, self._before = self._before, integers
            self._left -= 1
            self._met.clear()
            try:
                self._templates.append(_compiler()[0](form, recorder, before))
            except Exception as error:  # a number is needed where a symbol stands, or the two tapes tell too little
                reraise_interrupt(error)
                return None
            found = self._fitting(form, integers)
        run = found and found[0].bound(found[1])
        return BackwardProgram.bound(*found, run) if found and run else None

    def _fitting(self, form: Any, integers: tuple[int, ...]) -> tuple[BackwardTemplate, dict[str, int]] | None:
        known = ((each, each.sizes(integers)) for each in self._templates if each.form == form)
        return next(((each, sizes) for each, sizes in known if sizes), None)

    def _tells_more(self, integers: tuple[int, ...]) -> bool:
        """Whether this tape and the one before are worth a template."""
        if not comparable(self._before, integers):
            self._before = integers
            return False
        self._met.add(hash(integers))
        return self._uses >= USES and len(self._met) >= SIZES


_clock = count(1)
_histories: OrderedDict[int, TapeHistory] = OrderedDict()
"""By the hash of a tape: structures that never come again leave no lines behind."""
_forms: OrderedDict[int, FormHistory] = OrderedDict()
"""The same for tapes without their integers."""
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
        bound = _from_template(recorder, outputs, wanted, device)
        if bound is not None:
            return _kept(_programs, key, lambda: bound)[0](recorder, douts, bound[1])  # type: ignore[no-any-return]
        history = _kept(_histories, hash(key), TapeHistory)
        if not history.returns() and has_backward_pass(recorder):
            return backward_pass(recorder, outputs, wanted, douts)
        lines, begin = recorder.expanded()
        plain = [(i, 0) for i in range(len(lines))]
        make_it = partial(BackwardProgram.of, recorder, outputs, wanted, history.uses > 1)
        single, _ = _kept(_programs, (key[0], tuple(lines), *key[2:]), lambda: (make_it(), plain))
        _programs[key] = single, begin
    program, begin = _programs[key]
    _programs.move_to_end(key)
    return program(recorder, douts, begin)


def _from_template(
    recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], device: str
) -> tuple[BackwardProgram, list[Place]] | None:
    """The program of a tape from one with symbols, and where the items of each line are; None where there is none."""
    unlike = get_context("jit_level") == "O0" or not is_unwatched(recorder)
    form = None if unlike else form_of(recorder, outputs, wanted, device)
    found = form and _kept(_forms, hash(form), FormHistory).program(form, recorder)
    return (found, recorder.expanded()[1]) if found else None


events.subscribe("context", lambda changes: _forms.clear())  # programs depend on settings


def _kept(table: OrderedDict[Any, Any], key: Any, new: Any) -> Any:
    """What is kept under a key, or a new one; the oldest unused leave."""
    if key not in table:
        table[key] = new()
    table.move_to_end(key)
    while len(table) > 2 * CACHE_SIZE:
        table.popitem(last=False)
    return table[key]
