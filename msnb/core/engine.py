"""The one slot through which every operation passes.

    x + y  ->  slot.engine.apply(ADD, (x, y), {})  ->  eager: run it      recorder: run it and note it
                                                       capture: add a Node     a transform: add a Node

Who sits in the slot decides what a program means at this moment; nobody above asks "which mode am I in". The slot is
per thread. ``Engine`` lists all that an engine can be asked.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from msnb.base import events
from msnb.core.shard_annotation import IGNORED, ShardRequest

Fn = TypeVar("Fn", bound=Callable[..., Any])


class Engine(Protocol):
    """Runs or records operations."""

    def apply(self, op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Result Tensor (or tuple of Tensors) of ``op`` on Tensors and Python scalars; ``attrs`` are normalised."""
        ...

    def pair(self, op: Any, a: Any, b: Any) -> Any:
        """``apply(op, (a, b), {})`` for two Tensors: what most operators are."""
        ...

    def assign(self, target: Any, value: Any) -> None:
        """Give the Tensor object ``target`` the value of the Tensor ``value`` (index assignment, state writes)."""
        ...

    def convert(self, fn: Any) -> Any:
        """``fn`` as this engine wants to run it: eager gives it back, capture gives its converted twin."""
        ...

    def read(self, owner: Any, name: str) -> Any:
        """``getattr(owner, name)`` by framework code on behalf of a program: capture makes it a guard."""
        ...

    def number_kind(self, value: Any) -> type | None:
        """bool, int or float of a tensor that stands for a Python number; None of all others."""
        ...

    def number(self, value: Any) -> Any:
        """An operand; a Python number as one that what is kept of a call (``cached``) does not depend on."""
        ...

    def given(self, value: Any) -> Any:
        """A tree that framework code is about to look into on behalf of a program: capture reads and guards it."""
        ...

    def scoped(self, name: str) -> AbstractContextManager[Any]:
        """Operations in this block belong to the scope ``name`` (one step of a path of Cells)."""
        ...

    def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)``, a pure framework function of several ops that may run as one program."""
        ...

    def cached(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)``, a pure framework function whose Python depends on types and settings alone."""
        ...

    def sharded(self, asked: ShardRequest, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)``, its tensors split over devices as somebody asked for."""
        ...


class PlainReads:
    """The answers of engines that run Python as it is."""

    apply: Callable[..., Any]

    def __init_subclass__(cls) -> None:
        if "apply" in cls.__dict__ and "cached" not in cls.__dict__:
            cls.cached, cls.number = PlainReads.cached, PlainReads.number  # type: ignore[method-assign]

    def pair(self, op: Any, a: Any, b: Any) -> Any:
        """``apply`` of two tensors and no attributes: the way of ``x + y``, which an engine may shorten."""
        return self.apply(op, (a, b), {})

    def convert(self, fn: Any) -> Any:
        """The function itself."""
        return fn

    def read(self, owner: Any, name: str) -> Any:
        """The attribute itself."""
        return getattr(owner, name)

    def number_kind(self, value: Any) -> type | None:
        """Numbers are Python's own."""
        return None

    def number(self, value: Any) -> Any:
        """The operand itself."""
        return value

    def given(self, value: Any) -> Any:
        """The tree itself."""
        return value

    def scoped(self, name: str) -> AbstractContextManager[Any]:
        """Nothing to do."""
        return nullcontext()

    def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Op by op."""
        return fn(*args, **kwargs)

    def cached(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Op by op."""
        return fn(*args, **kwargs)

    def sharded(self, asked: ShardRequest, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """On one device."""
        events.notice(IGNORED, key="shard")
        return fn(*args, **kwargs)


class _Slot(threading.local):
    engine: Engine


slot: _Slot = _Slot()


def install_default(engine: Engine) -> None:
    """The engine of every thread that has not chosen another (eager installs itself on import)."""
    _Slot.engine = engine


def guarded(owner: Any, name: str) -> Any:
    """``getattr(owner, name)`` by the engine in the slot: for framework code that may run converted."""
    return slot.engine.read(owner, name)


def whole(fn: Fn) -> Fn:
    """Mark a pure framework function of tensors and settings: eager mode may run it as one program."""
    WHOLE.add(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return slot.engine.whole(fn, args, kwargs)

    return call  # type: ignore[return-value]


def cached(fn: Fn) -> Fn:
    """Mark a pure framework function of tensors and settings: eager mode remembers the operations of its calls."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return slot.engine.cached(fn, args, kwargs)

    return call  # type: ignore[return-value]


def keep_calls(module: dict[str, Any], names: str, mark: Callable[[Any], Any] = cached) -> None:
    """``cached``, or another mark, for functions of a module, by their names."""
    module.update({name: mark(module[name]) for name in names.split()})


def named(fn: Fn) -> Fn:
    """Mark a pure framework function that keeps its name in a program that is written for others, and runs op by op
    everywhere else."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        engine = slot.engine
        return (engine.whole if getattr(engine, "keeps_names", False) else engine.cached)(fn, args, kwargs)

    return call  # type: ignore[return-value]


WHOLE: set[Any] = set()
"""Functions that are marked by ``whole``."""
LOOPS: set[Any] = set()
"""Those that are one program in eager mode whatever their size, at every ``jit_level``: ``whole_loop``."""


def whole_loop(fn: Fn) -> Fn:
    """``whole`` for a function with a loop in it: op by op its cost, and the tape, would grow with the turns."""
    LOOPS.add(fn)
    return whole(fn)


class EngineRestore:
    """``with EngineRestore(), using(engine):`` puts the engine back once more. An interrupt may come where the inner
    block is about to do that, before the first step of its ``__exit__``; it comes once."""

    def __enter__(self) -> None:
        self.before: Engine = slot.engine

    def __exit__(self, *error: Any) -> None:
        slot.engine = self.before


class EngineScope(EngineRestore):
    """A block in which operations of this thread go to an engine: what ``using`` gives."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> None:
        super().__enter__()
        slot.engine = self.engine


def using(engine: Engine) -> EngineScope:
    """Within this block, operations of this thread go to ``engine``. See ``EngineRestore``."""
    return EngineScope(engine)
