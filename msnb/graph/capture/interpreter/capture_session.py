"""One capture: what was read from outside, what is assumed of it, what was written.

``track`` decides what an outside value is to the program:

    int, float, complex        a LazyScalar: stays a number of the host, an input where it meets a tensor
    bool, str, None, enum ...  its value, guarded
    Tensor                     a symbolic tensor, an input, guarded by shape and dtype
    Parameter                  itself; its value is a state input and, if assigned, a state output
    NumPy array                an input, guarded by shape and dtype
    list, dict, tuple ...      itself; what is read from it is guarded, step by step along its path
    function, class, module    itself, guarded by identity
    any other object           itself, guarded by type; its attributes are guarded as they are read
"""

from __future__ import annotations

import enum
import fractions
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import CaptureError, MsnbError
from msnb.base.source_location import here
from msnb.core import DType, TensorType
from msnb.core.tensor import AbstractTensor, Tensor
from msnb.graph.capture.guards.buffer_content import contents, same_contents
from msnb.graph.capture.guards.exact_check import Guard
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.lazy_values import NUMBERS, LazyScalar, TrackedArray, is_lazy, tracked_array
from msnb.graph.capture.values.mutation_journal import Journal, Level, Mutation, TensorPlace, root_of
from msnb.graph.capture.values.object_aliases import Aliases
from msnb.graph.capture.values.object_table import ObjectTable, is_heap, is_programs, space_of
from msnb.graph.capture.values.program_inputs import ProgramInputs
from msnb.graph.capture.values.python_numbers import PythonNumbers
from msnb.graph.capture.values.size_symbols import SizeSymbols
from msnb.graph.capture.values.sources import PathKey, Source
from msnb.ir.builder import ClosedFunction, GraphBuilder, SymbolicTensor
from msnb.ir.graph import Value
from msnb.ops.definition.record import Op

CONTAINERS = (list, dict, tuple, set, frozenset, deque)
_BY_VALUE = (str, bytes, range, slice, np.dtype, np.generic)
_PLAIN_NUMBER: dict[type, Any] = {int: int.__int__, float: float.__float__, complex: complex.__pos__}
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
BY_IDENTITY = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType,
    np.ufunc, types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType, enum.Enum, DType, Op,
)  # fmt: skip


class State:
    """A Tensor object of the user whose value passes through the program.

    Attributes:
        current: the symbolic tensor of its present value; assignments move it.
        first: the value it entered with.
    """

    def __init__(self, owner: Tensor, source: Source, current: SymbolicTensor) -> None:
        self.owner: Tensor = owner
        self.source: Source = source
        self.current: SymbolicTensor = current
        self.first: Value = current._value
        self.builder: GraphBuilder = current._builder

    @property
    def assigned(self) -> bool:
        """Does the program give it another value?"""
        return self.current._value is not self.first


class _OpenBlocks(threading.local):
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.carried: dict[str, Any] = {}


stack: _OpenBlocks = _OpenBlocks()


@dataclass(frozen=True)
class Interpreter:
    """What the lower modules of capture ask of the upper ones; ``interpreter.INTERPRETER`` is the one there is.

    Attributes:
        call: ``call(fn, *args, **kwargs)``: Python code that the program comes to is captured too.
        iterate: ``iterate(engine, value)``: what iteration over an object of the user gives, or NotImplemented.
        notice_once: ``notice_once(engine, what)``: something happened at capture and will not happen again.
        text_of: ``text_of(fn, *args)``: the text that a pure function gives, deferred where only the run knows all.
        trace: ``trace(engine, fn, inputs, types, lane)``: a function as a closed graph of its own.
        selected: ``selected(functions, index)``: the function that a tensor names.
        need: ``need(engine, holds, error)``: the program ends in the error where a tensor is false.
        check_ran: ``check_ran(engine, late)``: the branch or loop that sets what is read must have run.
        intrinsics: the names that converted code calls.
    """

    call: Callable[..., Any]
    iterate: Callable[[Any, Any], Any]
    notice_once: Callable[[Any, str], None]
    text_of: Callable[..., Any]
    trace: Callable[..., ClosedFunction]
    selected: Callable[..., Any]
    need: Callable[..., None]
    check_ran: Callable[..., None]
    intrinsics: Any


class CallStack:
    """The calls of converted functions that run.

    Attributes:
        depth: how many; ``limit``: Python's own limit of frames before the capture.
        running: them, by their code.
        recursions: functions that are captured as graphs that call themselves.
        ends: the errors that branches end in.
    """

    def __init__(self) -> None:
        self.depth: int = 0
        self.limit: int = sys.getrecursionlimit()
        self.running: dict[Any, list[Any]] = {}
        self.recursions: dict[Any, Any] = {}
        self.ends: list[Exception] = []


class GuardList:
    """What is assumed of the outside, each thing once.

    Attributes:
        items: the guards; notes: what was used at capture and will not be looked at again, with its place.
    """

    def __init__(self) -> None:
        self.items: list[Guard] = []
        self.notes: dict[str, str] = {}
        self._known: set[tuple[Any, ...]] = set()

    def add(self, guard: Guard) -> bool:
        """True for one that is new."""
        new = guard.ident not in self._known
        if new:
            self._known.add(guard.ident)
            self.items.append(guard)
        return new


class StateTable:
    """The Tensor objects whose values pass through the program.

    Attributes:
        outside: those of the user; own: those that the program made itself.
    """

    def __init__(self) -> None:
        self.outside: dict[int, State] = {}
        self.own: dict[int, State] = {}

    def of(self, owner: Any) -> State | None:
        """The state that an object is, if it is one already."""
        return self.outside.get(id(owner)) or self.own.get(id(owner))


class StatementStack:
    """The statements of the program that capture is in.

    Attributes:
        blocks: branches and loops; attempts: ``try`` statements.
        raised: the error that the program raises already; stated: what its raise statements raised.
        filters: those of warnings when the capture began.
    """

    def __init__(self) -> None:
        self.blocks: list[Any] = []
        self.attempts: list[Any] = []
        self.raised: Exception | None = None
        self.stated: list[Exception] = []
        self.filters: Any = warnings.filters

    @property
    def undecided(self) -> bool:
        """Are we in a branch or loop that a tensor decides?"""
        return any(block.decides and block.body is not None for block in self.blocks)


class Session:
    """The state of one capture, shared by the builders of all its nested graphs."""

    def __init__(self, interpreter: Interpreter, symbols: SizeSymbols | None, keeps_blocks: bool) -> None:
        self.interpreter: Interpreter = interpreter
        self.keeps_blocks: bool = keeps_blocks
        self.symbols: SizeSymbols = symbols or SizeSymbols()
        self.guards: GuardList = GuardList()
        self.objects: ObjectTable = ObjectTable()
        self.inputs: ProgramInputs = ProgramInputs()
        self.states: StateTable = StateTable()
        self.journal: Journal = Journal()
        self.aliases: Aliases = Aliases()
        self.journal.before_write = self.aliases.check_write
        self.pythonic: PythonNumbers = PythonNumbers()
        self.statements: StatementStack = StatementStack()
        self.calls: CallStack = CallStack()
        self.autocast: Any = None
        self.stands_for: dict[Value, Value] = {}  # params of functions that were traced: the values that they are given

    # ---- guards ----

    def guard(self, kind: str, sources: tuple[Source, ...], consts: tuple[Any, ...]) -> None:
        """Assume something of the outside; what the program wrote on a class is not."""
        if self.journal.names_on_classes and any(map(self._is_written_on_class, sources)):
            return
        made = Guard(kind, sources, consts, None)
        if self.guards.add(made):
            made.where = here(2, 1).where

    def _is_written_on_class(self, source: Source) -> bool:
        kind = source.bases[0].consts[0] if source.bases and source.bases[0].pattern == "{c0}" else None
        names = self.journal.names_on_classes.intersection(c for c in source.consts if type(c) is str)
        return isinstance(kind, type) and any(self.journal.written_on_class(kind, name) for name in names)

    # ---- outside values ----

    def known_objects(self) -> dict[PathKey, Any]:
        """Every outside object by the ident of its path."""
        outside = self.objects.outside()
        self.symbols.paths = [source for _, source in outside]
        return {source.ident: obj for obj, source in outside}

    def remember(self, obj: Any, source: Source) -> None:
        """``obj`` is outside and lies there. The first path stays; a second one must lead to the same object."""
        found = self.objects.source_of(obj)
        if found is None:
            self.objects.hold(obj, source)
        elif found.ident != source.ident:
            self.guard("same", (source, found), ())

    def fresh(self, obj: Any) -> Any:
        """The program made ``obj``: nobody outside knows it."""
        self.objects.make(obj)
        return self.born(obj)

    def born(self, obj: Any) -> Any:
        """``obj`` was made in the block that is being captured."""
        self.journal.levels[-1].born[id(obj)] = obj
        return obj

    def shared_space(self, owner: Any) -> Any:
        """The ``__dict__`` of an object that the program gave it, or None."""
        space, given = space_of(owner), self.journal.written(("attr", id(owner), "__dict__"))
        return space if given or self.objects.is_fresh(owner) and self.objects.source_of(space) is not None else None

    def made(self, value: Any) -> Any:
        """What unconverted code gave: an array of new memory was made in the block that is being captured."""
        if type(value) is np.ndarray:
            root = root_of(value)
            if not (id(root) in self.objects.arrays or any(id(root) in level.born for level in self.journal.levels)):
                self.born(root)
        return value

    def is_written(self, array: TrackedArray) -> bool:
        """Has the program changed this outside array?"""
        return self.journal.written(("array", id(root_of(array))))

    def track(self, value: Any, source: Source) -> Any:
        """What an outside value is to the program, with the guards that go with it."""
        kind = type(value)
        if kind in NUMBERS:
            self.guard("type", (source,), (kind,))
            return LazyScalar(value, source, self)
        if kind is LazyScalar or kind is SymbolicTensor:
            return value
        if isinstance(value, Tensor):
            return self._tensor(value, source)
        if kind is np.ndarray or kind is np.memmap:
            self.guard("array", (source,), (kind, value.shape, value.dtype))
            self.remember(value, source)
            self.objects.arrays.setdefault(id(root_of(value)), value)
            return tracked_array(value, source, self)
        return self._object(value, source)

    def _object(self, value: Any, source: Source) -> Any:
        if isinstance(value, CONTAINERS):
            self._container(value, source)
        elif isinstance(value, types.MethodType):
            self._method(value, source)
        elif is_programs(value):
            self._function(value, source)
        elif isinstance(value, _BOUND) and not isinstance(value.__self__, (types.ModuleType, type)):
            return self._bound(value, source)
        elif isinstance(value, _BY_VALUE):  # before identity: equal text may be two objects
            self._by_value(value, source)
        elif (held := contents(value)) is not None:
            self.guard("type", (source,), (type(value),))
            self.guard("content", (source,), (held, same_contents))
            self.remember(value, source)
        elif value is None or type(value) is bool or isinstance(value, BY_IDENTITY) or self._is_opaque(value):
            self.guard("is", (source,), (value,))
            if value is not None and type(value) is not bool:
                self.anchor(value)
        else:
            self._instance(value, source)
        return value

    def _by_value(self, value: Any, source: Source) -> None:
        if not isinstance(value, str) or not is_heap(type(value)):
            self.guard("eq", (source,), (value,))
            return
        self.guard("type", (source,), (type(value),))  # of a program's class: it has attributes
        self.guard("eq", (paths.called(str.__str__, (source,)),), (str.__str__(value),))
        self.remember(value, source)

    def _container(self, value: Any, source: Source) -> None:
        self.guard("type", (source,), (type(value),))
        if type(value) not in (tuple, frozenset) or value:
            self.remember(value, source)
        else:  # there is but one empty tuple
            self.guard("eq", (source,), (value,))

    def _instance(self, value: Any, source: Source) -> None:
        self.guard("type", (source,), (type(value),))
        number = next((kind for kind in (int, float, complex) if isinstance(value, kind)), None)
        if number is not None:  # of a class derived from Python's
            plain = _PLAIN_NUMBER[number]  # whatever its ``__int__`` gives
            self.guard("num", (paths.called(plain, (source,)),), (plain(value),))
        self.remember(value, source)

    def _function(self, value: types.FunctionType, source: Source) -> None:
        """A function is its code and its surroundings: one made anew for each call is the same function."""
        self.guard("type", (source,), (types.FunctionType,))
        self.guard("code", (source,), (value.__code__,))
        self.guard("is", (paths.attr(source, "__globals__"),), (value.__globals__,))
        self.remember(value, source)
        for i, box in enumerate(value.__closure__ or ()):
            if self.objects.source_of(box) is None:
                self.remember(box, paths.item(paths.attr(source, "__closure__"), i, source.label))

    def _method(self, value: types.MethodType, source: Source) -> None:
        self.guard("is", (paths.function(source),), (value.__func__,))
        owner = value.__self__
        if self.objects.source_of(owner) is None and not self.objects.is_fresh(owner):
            self.track(owner, paths.attr(source, "__self__"))

    def _bound(self, value: Any, source: Source) -> Any:
        """A method of C code (``rows.append``): the object that it belongs to is read where the method lies."""
        self.guard("type", (source,), (type(value),))
        self.guard("eq", (paths.attr(source, "__name__"),), (value.__name__,))
        owner = value.__self__
        held = self.track(owner, paths.attr(source, "__self__"))
        return value if held is owner else getattr(held, value.__name__)

    def _is_opaque(self, value: Any) -> bool:
        """Objects of C code have no attributes that a program could depend on unseen."""
        kind = type(value)
        builtin = kind.__module__ == "builtins" and not kind.__flags__ & (1 << 9)  # not made by a class statement
        bare = not hasattr(value, "__dict__") and not hasattr(kind, "__slots__")
        return builtin or bare or kind is fractions.Fraction

    def anchor(self, obj: Any) -> Source:
        """The path of an object that came in unseen or is known by identity: the program holds on to it."""
        source = self.objects.source_of(obj)
        if source is None:
            source = paths.ref(obj)
            self.objects.hold(obj, source)
        return source

    # ---- tensors ----

    def _tensor(self, value: Tensor, source: Source) -> Any:
        type_ = self.symbols.type_of(value, source) if type(value) is Tensor else value._type
        self.guard("tensor", (source,), (type(value), type_))
        if type(value) is not Tensor:
            self.remember(value, source)
            return value
        stand = self.inputs.stand_in(value)
        if stand is None:
            stand = self.inputs.read(value, source, type_)
            self.objects.hold(value, source)
        elif (first := self.inputs.owner_of(stand)) is not None and first[1].ident != source.ident:
            self.guard("same", (source, first[1]), ())
        return stand

    def state(self, owner: Tensor) -> State:
        """The state that a Parameter (or an outside Tensor reached unseen) is."""
        found = self.states.of(owner)
        if found is None and self.objects.is_fresh(owner):
            return self.own_state(owner, self.inputs.root.wrap(self.inputs.root.constant(owner.asnumpy(), owner._type)))
        if found is None:
            source = self.objects.source_of(owner)
            if source is None:
                source = self.anchor(owner)
                self.guard("tensor", (source,), (type(owner), owner._type))
            first = self.inputs.add(source, "{0}._data", _type_of_values(owner), getattr(owner, "name", source.label))
            found = self.states.outside[id(owner)] = State(owner, source, first.__copy__())  # type: ignore[arg-type]
        return found

    def own_state(self, owner: Tensor, first: SymbolicTensor) -> State:
        """The state of a Tensor object that the program made itself: it begins with this value at every call."""
        made = self.states.own[id(owner)] = State(owner, paths.ref(owner), first.__copy__())  # type: ignore[arg-type]
        return made

    # ---- writes ----

    def assign(self, target: SymbolicTensor, value: SymbolicTensor, label: str) -> None:
        """A Tensor object takes another value."""
        self.journal.write(TensorPlace(target, label), value)

    def log(self, owner: Any, how: str, name: Any, *args: Any) -> None:
        """Remember a write to an outside object; inside a block the block's merge will come here."""
        if isinstance(owner, type):
            self.anchor(owner)
        if not self.journal.in_block and (how in ("global", "cell") or self.objects.source_of(owner) is not None):
            self.journal.log.append(Mutation(owner, how, name, args))

    def forget_writes(self) -> None:
        """The program ends in an error: like a failed step it changes nothing."""
        self.journal.unwind(0)
        self.journal.levels.append(Level())
        self.journal.log.clear()

    def refuses(self, error: Any) -> bool:
        """Is it what only a capture raises? No handler of the program may see it: in PyNative mode there is none.

        What msnb finds wrong with sizes that are symbols may be right with others: the sizes become numbers then."""
        kind = MsnbError if self.symbols.axes else CaptureError
        refusal = isinstance(error, kind) or getattr(error, "breaks", False)
        return refusal and not any(error is own for own in self.statements.stated)

    # ---- nesting ----

    def level(self) -> tuple[int, int, int]:
        """How deep we are in blocks, journal levels and ``try`` statements."""
        return len(self.statements.blocks), len(self.journal.levels), len(self.statements.attempts)


def is_tensor(x: Any) -> bool:
    """A tensor of the program: symbolic, or one of the user's."""
    return not is_lazy(x) and isinstance(x, Tensor)


def _type_of_values(x: Tensor) -> TensorType:
    """The type of a tensor; one that has no values, only a type, says so here."""
    if isinstance(x, AbstractTensor):
        x._host()
    return x._type
