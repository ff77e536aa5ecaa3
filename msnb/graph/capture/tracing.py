"""trace: a Python function and its arguments in, a Captured program out.

    graph      params: what the guards' function gathers (tensors, weak numbers, state); outputs: new state, results
    check      guards + gathering, one generated function: number of the failed guard, or (inputs, held objects)
    finish     after the run: state is written, the journal's outside writes are done again, the result is built

While it runs the user's objects are really changed (so that the program reads what it wrote) and put back at the end.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any

from msnb.autodiff.deferred_gradient import written_out
from msnb.base.errors import UnsupportedSyntaxError
from msnb.base.threads.fork_locks import in_child, settled
from msnb.core import pytree, slot
from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.storage.packed_storage import give
from msnb.core.tensor import Tensor, made
from msnb.graph.capture.frontend import conversion_cache
from msnb.graph.capture.guards.exact_check import Guard, compile_guards
from msnb.graph.capture.interpreter import program_errors
from msnb.graph.capture.interpreter.capture_engine import Capture, run_root
from msnb.graph.capture.interpreter.capture_session import Session, stack
from msnb.graph.capture.interpreter.interpreter import INTERPRETER
from msnb.graph.capture.interpreter.reconstruction import Reconstruction
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.mutation_journal import MISSING, Mutation, ObjectAttrPlace, behind, builtin_method
from msnb.graph.capture.values.size_symbols import SizeSymbols
from msnb.ir.graph import Graph
from msnb.ir.size_binding import BoundGraph

CAPTURING = settled(threading.RLock(), rank=0)
"""Held during a capture: it really changes the user's objects and puts them back at its end."""
captures: list[str] = []
"""The captures that run now; empty most of the time, which is cheaper to ask than a lock."""
in_child(lambda: None if CAPTURING._is_owned() else captures.clear())
_ONCE = (map, zip, enumerate, filter, GeneratorType, range, *map(type, ({}.keys(), {}.values(), {}.items())))
_gives_containers = [False]


def give_containers(on: bool) -> None:
    """Whether a program that returns ``map(...)``, a range or a generator gives all of it, as MindSpore's programs do.
    msnb gives what Python gives."""
    _gives_containers[0] = on


def _whole(result: Any) -> Any:
    """What is gone through once as a container: a list where it was made of one, or chooses."""
    if not (_gives_containers[0] and isinstance(result, _ONCE)):
        return result
    if isinstance(result, GeneratorType) and result.__name__ != "<genexpr>":
        return result  # a function with ``yield`` may never end
    source = result.__reduce__()[1][-1] if isinstance(result, map) else None
    as_list = isinstance(result, (filter, GeneratorType, _ONCE[-1])) or isinstance(source, type(iter([])))
    make: Any = list if as_list else tuple
    return make(result)


Gathering = Callable[[Sequence[tuple[paths.Source, str]]], Callable[..., Any]]


@dataclass
class CapturedProgram:
    """A captured program.

    Attributes:
        given: the program as captured, or for which sizes one with symbols stands.
        graph: the program; ``graph.state`` maps state params to outputs.
        guards: what it assumes.
        inputs: path and pattern per param.
        held: paths of objects it writes to or gives back.
        written: per state output: which held object gets it.
        notes: what ran at capture only.
        gathering: makes the check for inputs as they are gathered; None once these are settled.
    """

    given: Graph | BoundGraph
    guards: list[Guard]
    inputs: list[tuple[paths.Source, str]]
    held: list[paths.Source]
    written: list[tuple[int, int]]
    recipe: Reconstruction
    result: int
    writes: list[tuple[Mutation, int, tuple[int, ...]]]
    notes: dict[str, str] = field(default_factory=dict)
    gathering: Gathering | None = None
    check: Callable[..., Any] = field(init=False)
    _owners: Any = field(init=False, default=None)
    _results: list[tuple[int, Any]] = field(init=False)
    _states: list[Any] = field(init=False)
    _store: Callable[[list[Any], list[Any]], None] = field(init=False)

    def __post_init__(self) -> None:
        assert self.gathering is not None
        self.check = self.gathering(self.inputs)
        state = {at for at, _ in self.written}
        given = self.given
        bound = [v.type if isinstance(given, Graph) else given.type_of(v) for v in self.outline.outputs]
        self._results = [(at, t) for at, t in enumerate(bound) if at not in state]
        self._states = [bound[at] for at, _ in self.written]
        self._store = self._stores({})

    def _stores(self, forms: dict[int, BlockedFormat]) -> Callable[[list[Any], list[Any]], None]:
        return _storing(tuple((at, owner, t, forms.get(at)) for (at, owner), t in zip(self.written, self._states)))

    def settle(self, forms: dict[int, BlockedFormat]) -> None:
        """The program keeps these params in blocks: their Tensors are gathered, and get their new values in blocks."""
        if forms:
            assert self.gathering is not None
            inputs = [(source, "{0}" if i in forms else how) for i, (source, how) in enumerate(self.inputs)]
            self.check = self.gathering(inputs)
            self._store = self._stores({self.outline.state[i]: blocks for i, blocks in forms.items()})
        self.gathering = None  # it holds the user's objects

    @property
    def outline(self) -> Graph:
        """The program as captured, its sizes perhaps as symbols: for who asks for its nodes and not for its types."""
        return self.given if isinstance(self.given, Graph) else self.given.like

    @property
    def noted(self) -> Graph:
        """The program as captured: gradients may stand as nodes (``autodiff.deferred_gradient``)."""
        return self.given if isinstance(self.given, Graph) else self.given.graph

    @cached_property
    def graph(self) -> Graph:
        """The program with its gradients written out."""
        return written_out(self.noted)

    def owners(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The objects behind the inputs (a Tensor, an array, a number)."""
        if self._owners is None:
            self._owners = compile_guards((), [(s, "{0}") for s, _ in self.inputs], self.held)
        found: list[Any] = self._owners(args, kwargs)[0]
        return found

    def told(self, outs: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a run somewhere else, as the program builds it, with arrays instead of Tensors; nothing of this
        process is written.

        Args:
            outs: an array per output of the graph; args, kwargs: what was run.
        """
        self.owners(args, kwargs)
        held = list(self._owners(args, kwargs)[1])
        for at, owner in self.written:
            held[owner] = outs[at]
        leaves, shape = pytree.flatten(self.recipe.run(list(outs), held)[self.result])
        return pytree.unflatten(shape, [leaf._host() if isinstance(leaf, Tensor) else leaf for leaf in leaves])

    def of_call(self) -> list[bool]:
        """Per input whether it is an argument of the call (or a part of one): data, and nothing that stays."""
        return [paths.of_call(source) for source, _ in self.inputs]

    def finish(self, buffers: list[Any], held: list[Any]) -> Any:
        """Write state, do outside writes again, and build the result."""
        self._store(buffers, held)
        outs: list[Any] = [None] * len(buffers)
        for at, type_ in self._results:
            outs[at] = _wrapped(buffers[at], type_)
        return self._concluded(outs, held)

    def finish_tensors(self, outs: list[Any], held: list[Any]) -> Any:
        """``finish`` on Tensors."""
        for at, owner in self.written:
            slot.engine.assign(held[owner], outs[at])
        return self._concluded(outs, held)

    def _concluded(self, outs: list[Any], held: list[Any]) -> Any:
        done = self.recipe.run(outs, held)
        for entry, owner, args in self.writes:
            _replay(entry, held[owner], [done[i] for i in args])
        return done[self.result]


@lru_cache(maxsize=64)
def _storing(written: tuple[tuple[int, int, Any, BlockedFormat | None], ...]) -> Callable[[list[Any], list[Any]], None]:
    """``store(buffers, held)`` as one function.

    Args:
        written: (output, held object, type, blocks or None) per state that gets its new value.
    """
    lines = ["def store(b, h):", "    pass"]
    consts: dict[str, Any] = {"give": give}
    for at, owner, type_, blocks in written:
        consts[f"k{at}"], consts[f"f{at}"] = type_, blocks
        plain = f"t = h[{owner}]; t._data = b[{at}]; t._type = k{at}; t._kept = t._rec = None"
        lines.append(f"    {plain if blocks is None else f'give(h[{owner}], b[{at}], f{at}, k{at})'}")
    exec(conversion_cache.compiled("\n".join(lines), "<store>"), consts)
    store: Callable[[list[Any], list[Any]], None] = consts["store"]
    return store


def _wrapped(buffer: Any, type_: Any) -> Any:
    if type_.weak:
        return buffer.item() if hasattr(buffer, "item") else buffer
    return made(buffer, type_)


def _replay(entry: Mutation, owner: Any, args: list[Any]) -> None:
    if entry.how == "attr":
        setattr(owner, entry.name, args[0])
    elif entry.how == "delete":
        behind(owner, "__delattr__")(entry.name)
    elif entry.how == "behind":
        behind(owner, "__setattr__")(entry.name, args[0])
    elif entry.how == "raw":
        ObjectAttrPlace(owner, entry.name).set(args[0] if args else MISSING)
    elif entry.how in ("item", "global"):
        owner[entry.name] = args[0]
    elif entry.how == "cell":
        owner.cell_contents = args[0]
    elif entry.how == "content":
        builtin_method(owner, "clear")()
        builtin_method(owner, "extend" if hasattr(owner, "extend") else "update")(args[0])
    elif entry.how == "call":
        builtin_method(owner, entry.name)(*args[0], **args[1])
    else:
        getattr(owner, entry.name)(*args)


def trace(
    fn: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, name: str = "",
    symbols: SizeSymbols | None = None, keep_blocks: bool = False,
) -> CapturedProgram:  # fmt: skip
    """Capture ``fn`` as called with these arguments.

    Args:
        fn: a callable; args, kwargs: what it is called with; name: of the graph.
        keep_blocks: functions like softmax and layer_norm stay calls under their names.
        symbols: axes of Tensors whose sizes are symbols in the graph (``guards.size_template`` binds them).

    Raises:
        CaptureError: the program cannot be captured; any error that the program itself raises.

    Examples:
        >>> import msnb as ms
        >>> trace(lambda x: x * x, (ms.Tensor([1.0]),)).graph.nodes[0].op.name
        'multiply'
    """
    with CAPTURING:
        captures.append(name)
        try:
            name = name or getattr(fn, "__name__", type(fn).__name__)
            return _traced(fn, args, kwargs or {}, name, symbols, keep_blocks)
        finally:
            captures.pop()


def _traced(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, symbols: SizeSymbols | None, keep_blocks: bool
) -> CapturedProgram:
    session = Session(INTERPRETER, symbols, keep_blocks)
    root = Capture(name, session)
    before, depth = slot.engine, len(stack.items)
    slot.engine = root
    try:
        given = _arguments(session, fn, args, kwargs)
        try:
            result = _whole(run_root(session, fn, *given))
        except Exception as error:
            program_errors.end_with(root, error)
            result = None
        _need_result(root.graph.name, result)
        return _conclude(session, root, result)
    finally:
        slot.engine = before
        del stack.items[depth:]
        session.journal.unwind(0)
        sys.setrecursionlimit(session.calls.limit)


def _need_result(name: str, result: Any) -> None:
    """Generators and coroutines would run after the capture."""
    if isinstance(result, (GeneratorType, CoroutineType, AsyncGeneratorType)):
        kind = "an async function" if isinstance(result, CoroutineType) else "a generator"
        error = UnsupportedSyntaxError(
            f"{name} is {kind}: a compiled function gives its whole result when it returns.",
            hint="return a list, a tuple or a stacked tensor, and let an uncompiled function yield or await.",
        )
        error.breaks = True
        raise error


def _arguments(session: Session, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments as outside values."""
    names = _parameter_names(fn)
    box, named = paths.root("args"), paths.root("kwargs")
    session.guard("eq", (paths.length(box),), (len(args),))
    session.guard("eq", (paths.keys(named),), (tuple(kwargs),))
    values = tuple(session.track(a, paths.item(box, i, names[i] if i < len(names) else "")) for i, a in enumerate(args))
    return values, {k: session.track(v, paths.item(named, k, k)) for k, v in kwargs.items()}


def _parameter_names(fn: Any) -> list[str]:
    if isinstance(fn, (FunctionType, MethodType)):
        code = fn.__code__
        return list(code.co_varnames[isinstance(fn, MethodType) : code.co_argcount])
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []


def _conclude(session: Session, root: Capture, result: Any) -> CapturedProgram:
    """Outputs, writes and the result, while the program's objects are still as it left them."""
    outputs: list[Any] = []
    held: list[paths.Source] = []
    recipe = Reconstruction(session, outputs, held)
    at = recipe.add(result)
    writes = [_write(session, recipe, entry) for entry in session.journal.log]
    written = _states(session, recipe)
    root.graph.outputs = [root.lift(t) for t in outputs]
    _link_state(root.graph, written)
    inputs = _prune(session, root.graph)
    _guard_distinct(session, written)
    recipe.close()
    guards, known = session.guards.items, session.known_objects()
    return CapturedProgram(
        root.graph, guards, inputs, held, [(o, h) for o, h, _ in written], recipe, at, writes,
        dict(session.guards.notes), lambda inputs: compile_guards(guards, inputs, held, known),
    )  # fmt: skip


def _write(session: Session, recipe: Reconstruction, entry: Mutation) -> tuple[Mutation, int, tuple[int, ...]]:
    source = session.objects.source_of(entry.owner) or paths.ref(entry.owner)
    return entry, recipe.hold(source), tuple(recipe.add(a) for a in entry.args)


def _states(session: Session, recipe: Reconstruction) -> list[tuple[int, int, Any]]:
    """Per written Tensor object: its output, its place among the held objects, and its first value."""
    out = []
    for state in session.states.outside.values():
        if state.assigned:
            out.append((recipe.out(state.current), recipe.hold(state.source), state.first))
    for stand, _, source, first in session.inputs.stand_ins():
        if stand._value is not first:
            out.append((recipe.out(stand), recipe.hold(source), first))
    return out


def _link_state(graph: Graph, written: list[tuple[int, int, Any]]) -> None:
    for output, _, first in written:
        graph.state[graph.params.index(first)] = output


def _prune(session: Session, graph: Graph) -> list[tuple[paths.Source, str]]:
    """Drop inputs that nothing reads; the rest keep their order."""
    uses = graph.uses()
    keep = [i for i, p in enumerate(graph.params) if p in uses or i in graph.state]
    moved = {old: new for new, old in enumerate(keep)}
    table = {value: (source, pattern) for source, pattern, value in session.inputs.items}
    graph.params = [graph.params[i] for i in keep]
    graph.state = {moved[p]: o for p, o in graph.state.items()}
    for i, p in enumerate(graph.params):
        p.index = i
    return [table[p] for p in graph.params]


def _guard_distinct(session: Session, written: list[tuple[int, int, Any]]) -> None:
    """If the program writes to tensor objects or differentiates by them, all that it reads and writes must be different
    objects at every call, as they were now; so must containers and other objects of a class, if it writes to one."""
    if written or session.inputs.apart:
        found = [state.source for state in session.states.outside.values()]
        _guard_apart(session, [*found, *(source for _, _, source, _ in session.inputs.stand_ins())])
    written = [entry.owner for entry in session.journal.log]
    owners = {id(one): one for o in written for one in (o, session.journal.objects_of_spaces.get(id(o)))}
    if owners:
        _guard_owners(session, owners)


def _guard_owners(session: Session, owners: dict[int, Any]) -> None:
    """The objects that the program writes to are none of the others of their class that it reads."""
    read = {base.ident for guard in session.guards.items for source in guard.sources for base in source.bases}
    for kind in {type(owner) for owner in owners.values()}:
        same = [(o, source) for o, source in session.objects.outside() if type(o) is kind]
        ours = [source for o, source in same if id(o) in owners]
        more = [source for o, source in same if id(o) not in owners and source.ident in read]
        _guard_apart(session, [*ours, *more], len(ours))


def _guard_apart(session: Session, found: list[paths.Source], *written: int) -> None:
    """``written``: how many of them, the first, must be apart from all others; else each from each."""
    sources = list({source.ident: source for source in found}.values())  # a field of a merged object is met both ways
    if len(sources) > 1 and any(s.pattern != "{c0}" for s in sources):
        session.guard("distinct", tuple(sources), written)
