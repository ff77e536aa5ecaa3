"""Inline caches (Deutsch and Schiffman, 1984): which operations a public function makes of a call, found once.

    softmax(x, -1)      its Python checks the axis, asks for types, and applies max, subtract, exp, sum, divide
    key                 softmax, float32[4, 8], -1               types of tensors, settings with their Python types
    what is kept        max(0) -> 1,  subtract(0, 1) -> 2, ...   dispatch entries and the places of their operands

A second call with the key runs these kernels, and notes the same lines on a tape. That is right where Python depends
on the key alone, which is shown when a call is kept: it is traced with tensors that have no values, so reading one
refuses, as does an operation that draws, writes or calls back. What refuses, or fails, runs as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from marshal import dumps
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from msnb.base import device_registry, events, op_listeners, reraise_interrupt
from msnb.core import WEAK, DType, EngineRestore, Parameter, PlainReads, Tensor, TensorType, make, using
from msnb.core.engine import LOOPS, WHOLE
from msnb.core.temporary_writes import mark, mark_through, part_of
from msnb.devices.device import HOT, WARM
from msnb.eager.composite_programs import run_whole
from msnb.eager.dispatch import DispatchEntry, EagerEngine, eager, look_up
from msnb.eager.kernel_list import kernel_program, listed
from msnb.eager.tape import CallLines, OpLine, RecordingEngine
from msnb.ops.definition import Op, ValuesAndIndices
from msnb.parallel.context import wanted

MOST = 2048
"""Calls that are kept; then the older half goes."""
Line = tuple[tuple[int, ...], int, DispatchEntry, "tuple[int, ...] | None"]
"""Places of the operands, number of results, entry, and the places of what its gradient rule reads."""
_UNTRACKED = _DONE = -1
_LONG = 64  # longer lists are data
_LARGE = 1 << 20  # bytes: what is made on the way dies at the end of a kept call only
_ATOMS = frozenset({bool, str, type(None), type(Ellipsis), DType})
_FLOATS, _LISTS, _ENDS = frozenset({float, complex}), frozenset({tuple, list}), frozenset({int, type(None)})
_calls: dict[Any, Any] = {}
_new = object.__new__


def forget(changes: Any = None) -> None:
    """Keep nothing: kernels and Python depend on settings."""
    _calls.clear()


events.subscribe("context", forget)


def _enter(given: Iterable[Any], key: list[Any], tensors: list[Tensor]) -> bool:
    """Append arguments; False where one is no part of a key. Settings have their types in front, but ints."""
    for v in given:
        kind = type(v)
        if kind is int:
            key.append(v)
        elif kind is Tensor:
            key.append(v._type)
            tensors.append(v)
        elif kind in _LISTS:
            key += (kind, len(v))
            if len(v) > _LONG or not _enter(v, key, tensors):
                return False
        elif kind is slice:
            start, stop, step = v.start, v.stop, v.step
            if type(start) not in _ENDS or type(stop) not in _ENDS or type(step) not in _ENDS:
                return False  # a tensor, whose value will be read
            key += (kind, start, stop, step)
        elif kind in _ATOMS:
            key += (kind, v)
        elif kind in _FLOATS:  # -0.0 is not 0.0, and a NaN is itself
            key += (kind, dumps(v, 2))
        elif kind is Parameter:
            key += (kind, v._type)
            tensors.append(v)
        else:
            return False
    return True


def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], tape: Any = None) -> Any:
    """``fn(*args, **kwargs)`` by what is kept of such a call.

    Args:
        tape: where the operations are noted, if anywhere.
    """
    key: list[Any] = [fn]
    tensors: list[Tensor] = []
    if kwargs:
        key += kwargs
    for v in (*args, *kwargs.values()) if kwargs else args:
        kind = type(v)
        if kind is Tensor:
            key.append(v._type)
            tensors.append(v)
        elif kind is int:
            key.append(v)
        elif not _enter((v,), key, tensors):
            return _uncached(fn, args, kwargs)
    if op_listeners or wanted.key is not None:
        return _uncached(fn, args, kwargs)
    found = _calls.get(tuple(key)) or _learned(tuple(key), fn, args, kwargs, tensors)
    if found.__class__ is not CachedCall:
        return found(fn, args, kwargs)
    try:
        return found.run(tensors) if tape is None else found.record(tensors, tape)
    except Exception as error:
        reraise_interrupt(error)
        return fn(*args, **kwargs)


def _uncached(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return run_whole(fn, args, kwargs) if fn in WHOLE else fn(*args, **kwargs)


def _learned(key: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]) -> Any:
    """What to do with such calls: run what was traced, one program, or the function as it is."""
    worth, tracer = device_registry.current().features.worth_fusing, CallTracer()
    found: Any = run_whole
    if fn not in WHOLE or (fn not in LOOPS and all(t.size < worth for t in tensors)):
        try:
            found = tracer.traced(fn, args, kwargs, tensors)
        except (TraceError, Exception) as error:
            reraise_interrupt(error)
            found = _uncached
        if fn in WHOLE and tracer.work >= worth:
            found = partial(run_whole, worth=0)
    for old in [*_calls][: MOST // 2] if len(_calls) >= MOST else ():
        _calls.pop(old, None)
    _calls[key] = found
    return found


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
        self.work: int = 0
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
        return CachedCall(program, outs, kind, [t._type for t in tensors])

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
        self.work += sum([t.size for t in types])
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

    __slots__ = (
        "_calls", "_first", "_given", "_fuses", "_kind", "_lines", "_made", "_noted", "_outs", "_plain", "_program",
        "_values", "record", "run",
    )  # fmt: skip

    def __init__(self, program: TracedCall, outs: Any, kind: type, types: list[Any]) -> None:
        steps, constants, count = program.steps, program.constants, len(types)
        order = [*range(count), *constants, *(p for _, _, made in steps for p in made)]
        at = {place: i for i, place in enumerate(order)}
        self._lines: list[Line] = [
            (tuple([at[r] for r in refs]), len(made), entry, _kept_places(entry, refs, made, at))
            for entry, refs, made in steps
        ]
        kernels: list[Any] = [(entry.kernel, refs, made) for refs, made, entry, _ in self._lines]
        self._program: Any = partial(kernel_program, count, [*constants.values()], kernels)
        self._outs: list[tuple[int, Any, Any]] = [
            (at[program.places[id(o)]], o._type, _way_in(o, program.places, count)) for o in outs
        ]
        self._kind, self._first, self._made = kind, count, count + len(constants)
        self._noted: dict[tuple[bool, ...], Any] = {}
        self._given, self._values, self._fuses = types, [*constants.values()], False
        self._calls = 0 if len(self._lines) > 1 else _DONE
        self._plain: Any = self._written([], [], {}, [], {})
        self.run: Any = self._cold if not self._calls else self._plain
        self.record: Any = self._cold if not self._calls else self._record

    def _cold(self, tensors: list[Tensor], tape: Any = None) -> Any:
        """One of the first calls. After some of them the operations are fused if the compiler is there, and later even
        if it must be loaded for that."""
        self._calls += 1
        hot = self._calls == HOT
        if hot or self._calls == WARM:
            self._fuse(tensors, hot)
        return self._plain(tensors) if tape is None else self._record(tensors, tape)

    def _fuse(self, tensors: list[Tensor], hot: bool) -> None:
        """From here on one function, if the device has one that gives the same bits."""
        fused = self._written([], [], {"plain": self._plain}, [], {}, True, hot)
        if fused is not None and _same_bits(fused(tensors), self._plain(tensors)):
            self._fuses, self._noted = True, {}
        if hot or self._fuses:
            self._calls, self.run, self.record = _DONE, fused if self._fuses else self._plain, self._record

    def _fused(self, wanted: list[int], scope: dict[str, Any], hot: bool) -> list[str]:
        """The lines that run all operations as one; none where the device has no way."""
        made, steps, source = self._made, [], {}
        for refs, results, entry, _ in self._lines:
            steps.append((entry.op, entry.operand_types, entry.attrs, entry.types, refs, range(made, made + results)))
            source[made], made = (entry, refs), made + results
        program = self._given, self._values, steps, [at for at in wanted if at >= self._made]
        found = device_registry.current().fused(program, hot)
        if found is None:
            return []
        lines = [f"v{at} = empty(*like{at})" for at, _ in found.outs]
        scope.update({f"like{at}": like for at, like in found.outs}, fused=found.run, empty=np.empty)
        operands = listed([*range(self._first), *(at for at, _ in found.outs)])
        lines.append(f"if fused({operands}) is None: return plain(given, tape)")
        for at in found.views:
            scope[f"view{at}"] = source[at][0].kernel
            lines.append(f"v{at} = view{at}({listed(source[at][1])})")
        return lines

    def _written(
        self, start: list[str], end: list[str], names: dict[str, Any], saved: list[int], numbers: dict[int, int],
        fuses: bool = False, hot: bool = False,
    ) -> Any:  # fmt: skip
        """The function that runs the operations, fused or one by one, and makes the results; ``numbers`` of those that
        are tracked, from that of the first on. None where they cannot be fused."""
        scope = {"new": _new, "Tensor": Tensor, "ref": ref, "mark": mark, "mark_through": mark_through, **names}
        scope["pack"], end = _PACKS.get(self._kind), [*end]
        for i, (at, scope[f"type{i}"], way) in enumerate(self._outs):
            if at < self._first:
                end.append(f"o{i} = t{at}")
                continue
            rec = f"tape, first + {numbers[at]}, None" if at in numbers else None
            end += [f"o{i} = new(Tensor)", f"o{i}._data = v{at}", f"o{i}._type = type{i}", f"o{i}._kept = None"]
            end.append(f"o{i}._rec = {rec}")
            if way is not None:
                scope[f"way{i}"] = way[1] if len(way[1]) > 1 else way[1][0]
                if len(way[1]) == 1:  # ``mark``, written out
                    end.append(f"if t{way[0]}._kept is None: o{i}._kept = [ref(t{way[0]}), way{i}, None, 0]")
                end.append(f"{'else: mark' if len(way[1]) == 1 else 'mark_through'}(o{i}, t{way[0]}, way{i})")
        end.append("return o0" if self._kind is Tensor else f"return pack(({listed(range(len(self._outs)), 'o')}))")
        wanted = [*saved, *(at for at, *_ in self._outs)]
        body = self._fused(wanted, scope, hot) if fuses else []
        return self._program(wanted, start, end, scope, body) if body or not fuses else None

    def _record(self, tensors: list[Tensor], tape: Any) -> Any:
        """The results of a call, its operations noted where they depend on what is watched."""
        tracked = tuple([tape.number_of(t) >= 0 for t in tensors])
        if tracked not in self._noted:
            self._noted[tracked] = self._recorded(tracked) or (self.run if self._calls == _DONE else self._plain)
        if self._noted[tracked] is not self.run and self._calls == _DONE:
            self.record = self._noted[tracked]  # asks itself whether it is for such a call
        return self._noted[tracked](tensors, tape)

    def _recorded(self, tracked: tuple[bool, ...]) -> Any:
        """The function that also notes the lines, where these tensors are tracked; None where there are none."""
        numbers: dict[int, int] = {i: i for i, t in enumerate(tracked) if t}
        lines: list[OpLine] = []
        saved: list[int] = []
        made, count = self._made, self._first
        for refs, results, entry, kept in self._lines:
            own = tuple([numbers.get(i, _UNTRACKED) for i in refs])
            if kept is not None and max(own, default=_UNTRACKED) >= 0:
                lines.append((entry, own, count))
                saved += kept
                numbers.update(zip(range(made, made + results), range(count, count + results)))
                count += results
            made += results
        given = {at: numbers[at] - self._first for at, *_ in self._outs if at >= self._first and at in numbers}
        if not given:
            return None
        alone = len(self._lines) == 1 and self._lines[0][0] == (*range(self._first),)
        call = lines[0][0] if alone else CallLines(lines, self._first, list(dict.fromkeys(given.values())))
        end = [f"tape.lines.append((call, ({listed(range(self._first), 'n')}), tape.count))", "first = tape.count"]
        end += [f"tape.count = first + {len(call.types)}", f"tape.saved.append(({listed(saved)}))"]
        names = {"call": call, "otherwise": self._record}
        plain = self._written(_numbering(tracked), end, names, saved, given)
        names["plain"] = plain
        return self._fuses and self._written(_numbering(tracked), end, names, saved, given, True) or plain


def _same_bits(one: Any, other: Any) -> bool:
    """Whether two results of a call are equal in every bit."""
    pairs = [(one, other)] if isinstance(one, Tensor) else zip(one, other)
    return all(np.asarray(a._data).tobytes() == np.asarray(b._data).tobytes() for a, b in pairs)


def _numbering(tracked: tuple[bool, ...]) -> list[str]:
    """Lines that find the numbers of a call's tensors on the tape; where others are tracked, another function runs."""
    found = "n{0} = -1 if t{0}._rec is None else t{0}._rec[1] if t{0}._rec[0] is tape else tape.number_of(t{0})"
    other = " or ".join([f"n{i} {'<' if t else '>='} 0" for i, t in enumerate(tracked)])
    return [*map(found.format, range(len(tracked))), f"if {other}: return otherwise(given, tape)"]


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


EagerEngine.number = RecordingEngine.number = lambda self, v: make(v, WEAK[type(v)]) if type(v) in WEAK else v  # type: ignore[method-assign, assignment]
RecordingEngine.whole = RecordingEngine.cached = lambda self, fn, args, kwargs: call(fn, args, kwargs, self.recorder)  # type: ignore[method-assign, attr-defined]
EagerEngine.whole = staticmethod(call)  # type: ignore[method-assign, assignment]
eager.whole = eager.cached = call  # type: ignore[method-assign]
