"""Results and writes as a recipe: how to build Python values again at every call.

    return {"loss": loss, "n": k + 1, "net": net}
        out 0            -> a Tensor around the program's first output
        held 0           -> k + 1, computed by the host
        held 1           -> the user's own object
        const "loss" ... -> a dict of these

A recipe is a list of steps, each using the results of earlier ones, so a value that occurs twice is one object again.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, MappingView
from copy import _reconstruct  # type: ignore[attr-defined]
from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from msnb.core import Dim, Parameter, Tensor
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.interpreter.reads import plain_key
from msnb.graph.capture.interpreter.side_effects import Text, open_values, refill
from msnb.graph.capture.values.branch_merge import UndefinedVariable, is_tensor
from msnb.graph.capture.values.function_choice import FunctionChoice
from msnb.graph.capture.values.lazy_values import TrackedArray, is_lazy
from msnb.graph.capture.values.object_table import raw_items, remade
from msnb.graph.capture.values.sources import Source

_REMADE = (slice, Iterator, MappingView)
Step = Callable[[list[Any], list[Any], list[Any]], Any]


class Reconstruction:
    """Steps that rebuild values.

    Args:
        session: the capture.
        outputs: gets the tensors that the graph must give out.
        held: gets the paths of objects and numbers that the guard function must hand over.
    """

    def __init__(self, session: Session, outputs: list[Any], held: list[Source]) -> None:
        self.session: Session = session
        self.outputs: list[Any] = outputs
        self.held: list[Source] = held
        self.steps: list[Step] = []
        self._slots: dict[int, tuple[Any, int]] = {}

    def add(self, value: Any) -> int:
        """The number of the step that gives ``value``."""
        found = self._slots.get(id(value))
        if found is None:
            step = self._step(value)
            self.steps.append(step)
            found = self._slots[id(value)] = (value, len(self.steps) - 1)
        return found[1]

    def close(self) -> None:
        """No step comes after this: let go of the capture, and with it of the objects it met (a program may outlive the
        network it was captured from)."""
        del self.session, self.outputs, self._slots

    def run(self, outs: list[Any], held: list[Any]) -> list[Any]:
        """All values."""
        done: list[Any] = []
        for step in self.steps:
            done.append(step(outs, held, done))
        return done

    def hold(self, source: Source) -> int:
        """The place of a path's value among those handed over."""
        for i, known in enumerate(self.held):
            if known.ident == source.ident:
                return i
        self.held.append(source)
        return len(self.held) - 1

    def out(self, tensor: Any) -> int:
        """The place of a tensor among the graph's outputs."""
        self.outputs.append(tensor)
        return len(self.outputs) - 1

    def _held_step(self, source: Source) -> Step:
        at = self.hold(source)
        return lambda outs, held, done: held[at]

    def _step(self, value: Any) -> Step:
        if is_lazy(value):
            return self._held_step(value._source)
        if is_tensor(value):
            return self._tensor(value)
        if isinstance(value, Text):
            return self._text(value)
        if isinstance(value, FunctionChoice):
            options, index = [self.add(option) for option in value.options], self.out(value.index)
            return lambda outs, held, done: done[options[int(outs[index])]]
        if isinstance(value, UndefinedVariable):
            raise value.error()
        if isinstance(value, Dim):
            int(value)  # refuses: only the data tell it
        source = self.session.objects.source_of(value)
        return self._held_step(source) if source is not None else self._container(value)

    def _tensor(self, value: Any) -> Step:
        owner = self.session.inputs.owner_of(value)
        if owner is not None:
            return self._held_step(owner[1])
        if isinstance(value, TrackedArray):
            if value._source is not None:
                return self._held_step(value._source)
            return lambda outs, held, done: value
        if id(value) in self.session.states.own and isinstance(value, Parameter):
            at, fields = self.out(value), dict(vars(value))
            return lambda outs, held, done: _own(outs[at], fields)
        source = None if not isinstance(value, Tensor) else self.session.objects.source_of(value)
        if source is not None:
            return self._held_step(source)
        at = self.out(value)
        if self.session.pythonic.has(value):  # Python would have a number here
            return lambda outs, held, done: _number(outs[at])
        return lambda outs, held, done: outs[at]

    def _text(self, value: Text) -> Step:
        parts = [(key, self.add(v)) for key, v in open_values(value, {}).items()]
        return lambda outs, held, done: refill(value, {key: done[at] for key, at in parts})

    def _container(self, value: Any) -> Step:
        if type(value) is np.ndarray:
            kept = value.copy()
            return lambda outs, held, done: kept.copy()
        made = self.session.objects.is_fresh(value) or isinstance(value, _REMADE) or dataclasses.is_dataclass(value)
        if isinstance(value, (list, tuple, dict, set, deque)) or type(value) is frozenset:
            return self._items(value)
        return self._instance(value) if made and not isinstance(value, type) else lambda outs, held, done: value

    def _items(self, value: Any) -> Step:
        is_map = isinstance(value, dict)
        keys = [plain_key(None, key) for key in dict.keys(value)] if is_map else []
        parts = [self.add(v) for v in (dict.values(value) if is_map else raw_items(value))]
        space, more = self._attributes(value), [value.maxlen] if isinstance(value, deque) else []
        model = remade(value, (), *more)  # of the class alone: the program does not keep what it was captured with
        getattr(model, "__dict__", {}).clear()

        def make(outs: list[Any], held: list[Any], done: list[Any]) -> Any:
            found = [done[i] for i in parts]
            made = remade(model, dict(zip(keys, found)) if is_map else found, *more)
            return _with_attributes(made, {name: done[i] for name, i in space})

        return make

    def _attributes(self, value: Any) -> list[tuple[str, int]]:
        slots = {n: getattr(value, n) for n in _slotnames(type(value)) if hasattr(value, n)}
        return [(name, self.add(part)) for name, part in (slots | getattr(value, "__dict__", {})).items()]

    def _instance(self, value: Any) -> Step:
        kind = type(value)
        try:
            object.__new__(kind)
        except TypeError:  # of a class that C code wrote, str or slice
            return self._reduced(value)
        pairs = self._attributes(value)
        return lambda outs, held, done: _with_attributes(object.__new__(kind), {name: done[i] for name, i in pairs})

    def _reduced(self, value: Any) -> Step:
        """As ``copy.copy`` makes another one; what it cannot make, a generator, is given back as it is."""
        try:
            make, *given = value.__reduce_ex__(4)
        except TypeError:
            if not hasattr(value, "mapping"):
                return lambda outs, held, done: value
            at, name = self.add(dict(value.mapping)), type(value).__name__.rpartition("_")[2]
            return lambda outs, held, done: getattr(done[at], name)()  # the items of a dict, say
        parts = [self.add(part if i < 2 or part is None else [*part]) for i, part in enumerate(given)]
        return lambda outs, held, done: _reconstruct(value, None, make, *(done[i] for i in parts))


def _own(value: Tensor, fields: dict[str, Any]) -> Parameter:
    """A Parameter that the program made."""
    made = Parameter(value)
    made.__dict__.update(fields)
    return made


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _with_attributes(value: Any, space: dict[str, Any]) -> Any:
    for name, part in space.items():
        object.__setattr__(value, name, part)
    return value
