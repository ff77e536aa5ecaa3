"""Inline caches (Deutsch and Schiffman, 1984): which operations a public function makes of a call, found once.

    softmax(x, -1)      its Python checks the axis, asks for types, and applies max, subtract, exp, sum, divide
    key                 softmax, float32[4, 8], int, -1          types of tensors, settings with their Python types
    what is kept        max(0) -> 1,  subtract(0, 1) -> 2, ...   dispatch entries and the places of their operands

A second call with the key runs these kernels, and notes the same lines on a tape. That is right where Python depends
on the key alone, which is shown when a call is kept: it is traced with tensors that have no values, so reading one
refuses, as does an operation that draws, writes or calls back. What refuses, or fails, runs as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from marshal import dumps
from typing import Any, NamedTuple

from msnb.base import device_registry, events, op_listeners, reraise_interrupt
from msnb.core import DType, EngineRestore, Parameter, PlainReads, Tensor, TensorType, make, using
from msnb.core.engine import LOOPS
from msnb.core.temporary_writes import mark, mark_through, part_of
from msnb.eager.dispatch import DispatchEntry, composites, look_up
from msnb.eager.kernel_list import KernelList
from msnb.eager.tape import CallLines, OpLine
from msnb.ops.definition import Op, ValuesAndIndices
from msnb.parallel.context import wanted

MOST = 2048
"""Calls that are kept; then the older half goes."""
Line = tuple[tuple[int, ...], int, DispatchEntry, "tuple[int, ...] | None"]
"""Places of the operands, number of results, entry, and the places of what its gradient rule reads."""
_UNTRACKED = -1
_LONG = 64  # longer lists are data
_LARGE = 1 << 20  # bytes: what is made on the way dies at the end of a kept call only
_ATOMS = frozenset({int, bool, str, type(None), type(Ellipsis)})
_INTS = frozenset({int})
_calls: dict[Any, Any] = {}
_new = object.__new__


def forget(changes: Any = None) -> None:
    """Keep nothing: kernels and Python depend on settings."""
    _calls.clear()


events.subscribe("context", forget)


def signature(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Tensor]] | None:
    """The key of a call and its tensors in order; None for arguments that are no key."""
    key: list[Any] = [fn]
    tensors: list[Tensor] = []
    for v in args:
        kind = v.__class__
        if kind is Tensor:
            key.append(v._type)
            tensors.append(v)
        elif kind is Parameter:
            key += (kind, v._type)
            tensors.append(v)
        elif kind in _ATOMS or kind is tuple and _INTS.issuperset(map(type, v)) and len(v) <= _LONG:
            key += (kind, v)
        elif not _enter(v, kind, key, tensors):
            return None
    for name, v in kwargs.items():
        key.append(name)
        if not _enter(v, v.__class__, key, tensors):
            return None
    return tuple(key), tensors


def _enter(v: Any, kind: type, key: list[Any], tensors: list[Tensor]) -> bool:
    """Append an argument; False for one that is no part of a key."""
    if kind is Tensor or kind is Parameter:
        key += (kind, v._type)
        tensors.append(v)
    elif kind in _ATOMS or kind is DType:
        key += (kind, v)
    elif kind is float or kind is complex:  # -0.0 is not 0.0, and a NaN is itself
        key += (kind, dumps(v, 2))
    elif kind is tuple or kind is list:
        key += (kind, len(v))
        return len(v) <= _LONG and all(_enter(e, e.__class__, key, tensors) for e in v)
    elif kind is slice:
        key.append(kind)
        return all(_enter(e, e.__class__, key, tensors) for e in (v.start, v.stop, v.step))
    else:
        return False
    return True


def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], whole: Any, tape: Any = None) -> Any:
    """``fn(*args, **kwargs)`` by what is kept of such a call.

    Args:
        whole: runs the function as one program, where that is worth it; None for a function that never does.
        tape: where the operations are noted, if anywhere.
    """
    found = None if op_listeners or wanted.key is not None else signature(fn, args, kwargs)
    if found is None:
        return fn(*args, **kwargs) if whole is None else whole(fn, args, kwargs)
    key, tensors = found
    known = _calls.get(key)
    if known is None:
        known = _remember(key, _learned(fn, args, kwargs, tensors, whole))
    if known.__class__ is not CachedCall:
        return known(fn, args, kwargs)
    try:
        return known.run(tensors) if tape is None else known.record(tensors, tape)
    except Exception as error:
        reraise_interrupt(error)
        return fn(*args, **kwargs)


def _remember(key: Any, known: Any) -> Any:
    if len(_calls) >= MOST:
        for old in [*_calls][: MOST // 2]:
            _calls.pop(old, None)
    _calls[key] = known
    return known


def _plainly(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _learned(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor], whole: Any) -> Any:
    """What to do with such calls: run what was traced, one program, or the function as it is."""
    if whole is not None and (fn in LOOPS or _work(tensors) >= device_registry.current().features.worth_fusing):
        return whole
    try:
        return CallTracer().traced(fn, args, kwargs, tensors)
    except (TraceError, Exception) as error:
        reraise_interrupt(error)
        return _plainly


def _work(tensors: list[Tensor]) -> int:
    return max([t.size for t in tensors], default=0)


class TraceError(BaseException):
    """What a call did depends on more than its key. No ``except Exception`` of a function may catch it."""


class _NoValue:
    """In the place of a traced tensor's value."""

    def read(self, tensor: Tensor) -> Any:
        raise TraceError("a value was read")


_NO_VALUE = _NoValue()


class CallTracer(PlainReads):
    """An engine that finds the entry of every operation and runs none."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._alive: list[Tensor] = []
        self._count = self._bytes = 0
        self._steps: list[tuple[DispatchEntry, list[int], list[int]]] = []
        self._constants: dict[int, Any] = {}

    def traced(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]) -> CachedCall:
        """The operations of a call. Raises TraceError."""
        stand_ins = [_abstract(t._type, t) for t in tensors]  # one for each place, also where one tensor stands twice
        for t in stand_ins:
            self._place(t)
        left = iter(stand_ins)
        given, named = tuple([_replaced(v, left) for v in args]), {k: _replaced(v, left) for k, v in kwargs.items()}
        with EngineRestore(), using(self):
            out = fn(*given, **named)
        single = isinstance(out, Tensor)
        kind, outs = (Tensor, (out,)) if single else (out.__class__, out)
        if not single and kind not in _PACKS:
            raise TraceError(f"a result is a {kind.__name__}")
        program = TracedCall(self._steps, self._constants, self._places).folded(outs)
        return CachedCall(program, outs, kind, len(tensors))

    def _place(self, t: Tensor) -> int:
        self._alive.append(t)
        self._places.setdefault(id(t), self._count)
        self._count += 1
        return self._count - 1

    def _operand(self, x: Any) -> int:
        if isinstance(x, Tensor):
            found = self._places.get(id(x))
            if found is not None:
                return found
            if x._rec is not None:
                raise TraceError("a tensor from outside is tracked")
        place = self._place(x)
        self._constants[place] = x._data if isinstance(x, Tensor) else x
        return place

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Note ``op``; its results have types and no values."""
        if "pure" not in op.traits or not op.traits.isdisjoint(_REFUSED) or op.family == "random":
            raise TraceError(f"{op.name} is more than its operands")
        entry, operands = look_up(op, inputs, attrs)
        types = [t for t in entry.types if isinstance(t, TensorType) and t.is_static]
        if len(types) < len(entry.types):
            raise TraceError(f"sizes of {op.name} depend on data")
        if self._bytes > _LARGE:
            raise TraceError("it makes large values on the way")
        self._bytes += sum([t.nbytes for t in types])
        refs = [self._operand(x) for x in operands]
        outs = tuple([_abstract(t) for t in types])
        self._steps.append((entry, refs, [self._place(o) for o in outs]))
        return outs[0] if len(outs) == 1 else outs

    def assign(self, target: Tensor, value: Tensor) -> None:
        """Refused."""
        raise TraceError("it writes")

    def sharded(self, asked: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Refused."""
        raise TraceError("it is split over devices")


_PACKS: dict[type, Any] = {tuple: tuple, list: list, ValuesAndIndices: ValuesAndIndices._make}
_REFUSED = frozenset({"effect", "host", "control", "collective", "stack", "custom", "random", "dynamic"})


def _abstract(t: TensorType, like: Tensor | None = None) -> Tensor:
    """A tensor with a type and no value; a Parameter where ``like`` is one."""
    out: Tensor = _new(Parameter if like.__class__ is Parameter else Tensor)
    if like.__class__ is Parameter:
        out.__dict__.update(like.__dict__)
    out._kept, out._type, out._rec = _NO_VALUE, t, None
    return out


def _replaced(tree: Any, by: Iterator[Tensor]) -> Any:
    """The argument with tensors in the places of its own, in the order of the key."""
    kind = tree.__class__
    if isinstance(tree, Tensor):
        return next(by)
    if kind is slice:
        return slice(*[_replaced(v, by) for v in (tree.start, tree.stop, tree.step)])
    return kind([_replaced(v, by) for v in tree]) if kind is tuple or kind is list else tree


class TracedCall(NamedTuple):
    """What a call did: (entry, places of the operands, of the results) per operation; constants by place; the places of
    tensors by their ids."""

    steps: list[tuple[DispatchEntry, list[int], list[int]]]
    constants: dict[int, Any]
    places: dict[int, int]

    def folded(self, outs: Sequence[Tensor]) -> TracedCall:
        """Results of settings alone (arange) as constants, where they are no results of the call."""
        given = {self.places[id(o)] for o in outs}
        for entry, _, made in [s for s in self.steps if not s[1] and given.isdisjoint(s[2])]:
            found = entry.kernel()
            self.constants.update(zip(made, found if len(made) > 1 else (found,)))
        return self._replace(steps=[s for s in self.steps if self.constants.keys().isdisjoint(s[2])])


class CachedCall:
    """The operations of one call. Places: its tensors, then constants, then results."""

    __slots__ = ("_first", "_kernels", "_kind", "_lines", "_noted", "_outs", "_single")

    def __init__(self, program: TracedCall, outs: Any, kind: type, count: int) -> None:
        steps, constants = program.steps, program.constants
        order = [*range(count), *constants, *(p for _, _, made in steps for p in made)]
        at = {place: i for i, place in enumerate(order)}
        self._lines: list[Line] = [
            (tuple([at[r] for r in refs]), len(made), entry, _kept_places(entry, refs, made, at))
            for entry, refs, made in steps
        ]
        kernels: list[Any] = [(entry.kernel, refs, made) for refs, made, entry, _ in self._lines]
        self._kernels: KernelList = KernelList(list(constants.values()), kernels)
        self._outs: list[tuple[int, Any, Any]] = [
            (at[program.places[id(o)]], o._type, _way_in(o, program.places, count)) for o in outs
        ]
        self._kind, self._first = kind, count
        self._noted: dict[tuple[bool, ...], tuple[CallLines | None, list[int], dict[int, int]]] = {}
        self._single: Any = None
        if len(steps) == 1 and kind is Tensor and kernels[0][1:] == ((0,), 1) and self._outs[0][0] == 1:
            self._single = kernels[0][0], *self._outs[0][1:], *self._lines[0][2:]

    def run(self, tensors: list[Tensor]) -> Any:
        """The results of a call."""
        if self._single is None:
            return self._wrapped(tensors, self._kernels([t._data for t in tensors]), None, ())
        out = _new(Tensor)  # one operation on one tensor: the same, written out
        kernel, out._type, way, _, _ = self._single
        out._data, out._rec, out._kept = kernel(tensors[0]._data), None, None
        if way is not None:
            mark(out, tensors[0], way[1][0])
        return out

    def record(self, tensors: list[Tensor], tape: Any) -> Any:
        """The results of a call, its operations noted where they depend on what is watched."""
        if self._single is not None:
            return self._record_single(tensors, tape)
        numbers = [_UNTRACKED if t._rec is None else tape.number_of(t) for t in tensors]
        tracked = tuple([n >= 0 for n in numbers])
        if True not in tracked:
            return self.run(tensors)
        noted = self._noted.get(tracked)
        if noted is None:
            noted = self._noted[tracked] = self._lines_noted(tracked)
        call, kept, at = noted
        env = self._kernels([t._data for t in tensors])
        if call is None:
            return self._wrapped(tensors, env, None, ())
        first = tape.count
        tape.count = first + len(call.types)
        tape.lines.append((call, tuple(numbers), first))
        tape.saved.append(tuple([env[i] for i in kept]))
        return self._wrapped(tensors, env, tape, {place: first + k for place, k in at.items()})

    def _lines_noted(self, tracked: tuple[bool, ...]) -> tuple[CallLines | None, list[int], dict[int, int]]:
        """Where these tensors are tracked: the lines, the places of what their rules read, results by place."""
        numbers: dict[int, int] = {i: i for i, t in enumerate(tracked) if t}
        lines: list[OpLine] = []
        saved: list[int] = []
        made, count = len(self._kernels.constants) + self._first, self._first
        for refs, results, entry, kept in self._lines:
            own = tuple([numbers.get(i, _UNTRACKED) for i in refs])
            if kept is not None and max(own, default=_UNTRACKED) >= 0:
                lines.append((entry, own, count))
                saved += kept
                numbers.update(zip(range(made, made + results), range(count, count + results)))
                count += results
            made += results
        given = {at: numbers[at] - self._first for at, *_ in self._outs if at >= self._first and at in numbers}
        call = CallLines(lines, self._first, list(dict.fromkeys(given.values()))) if given else None
        return call, saved, given

    def _record_single(self, tensors: list[Tensor], tape: Any) -> Tensor:
        track = tensors[0]._rec
        number = _UNTRACKED if track is None else track[1] if track[0] is tape else tape.number_of(tensors[0])
        out: Tensor = self.run(tensors)
        entry, kept = self._single[3:]
        if number >= 0 and kept is not None:
            first = tape.count
            tape.count = first + 1
            tape.lines.append((entry, (number,), first))
            tape.saved.append(tuple([out._data if i else tensors[0]._data for i in kept]) if kept else kept)
            out._rec = (tape, first, None)
        return out

    def _wrapped(self, tensors: list[Tensor], env: list[Any], tape: Any, numbers: Any) -> Any:
        made = []
        for at, t, way in self._outs:
            if at < self._first:
                made.append(tensors[at])
                continue
            rec = (tape, numbers[at], None) if at in numbers else None
            made.append(make(env[at], t, rec))
            if way is not None:
                mark_through(made[-1], tensors[way[0]], way[1])
        return made[0] if self._kind is Tensor else _PACKS[self._kind](made)


def _way_in(out: Tensor, places: dict[int, int], count: int) -> tuple[int, list[Any]] | None:
    """Of which tensor of the call a result is a view, and by which places from it on; None: of none."""
    part, way = part_of(out), []
    while part is not None:
        source = places.get(id(part[0]()), count)
        way.append(part[1])
        if source < count:
            return source, way[::-1]
        part = part[2]
    return None


def _kept_places(entry: DispatchEntry, refs: list[int], made: list[int], at: dict[int, int]) -> tuple[int, ...] | None:
    """Where what the gradient rule reads stands; None without a gradient."""
    if entry.keep is None:
        return None
    operands, results = entry.keep
    return tuple([at[p] for p in (*(refs[k] for k in operands), *(made if results else ()))])


composites.call = call
