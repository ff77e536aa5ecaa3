"""Places of code that is pickled by value: the file name and the text that capture and error messages look for.

cloudpickle writes ``<dynamic-code>`` for the file name of every code object, from 3.1.3 on. What must compile where it
arrives therefore travels with its places, and gets them back:

    here      places_of(function)      (function, file name, text) of it and of all it reaches by value
    there     put_back(places)         the file name into its code; the text too, unless that file is there
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from msnb.base.source_text import keep
from msnb.graph.capture.frontend.function_source import register_source, text_of

ERASED = "<dynamic-code>"
Place = tuple[FunctionType, str, str]


def places_of(value: Any) -> list[Place]:
    """The functions that travel by value with this function or Cell, each with its file name and text."""
    seen: dict[int, Any] = {}
    found: list[Place] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, FunctionType) and not is_importable(value):
            found.append((value, value.__code__.co_filename, text_of(value.__code__)))
        waiting += _reached(value)
    return found


def put_back(places: list[Place]) -> None:
    """Give functions that arrived their file names and texts."""
    for function, filename, text in places:
        if function.__code__.co_filename == ERASED:
            function.__code__ = _placed(function.__code__, filename)
        if text:
            _know(filename, text)


def _know(filename: str, text: str) -> None:
    """Several texts may have one name like ``<string>``: which of them holds a function its code tells."""
    if linecache.getlines(filename):
        keep(text, filename)
    else:
        register_source(filename, text)


def _placed(code: CodeType, filename: str) -> CodeType:
    constants = tuple(_placed(c, filename) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=filename, co_consts=constants)


def _reached(value: Any) -> Iterator[Any]:
    """What travels by value with a value: what a function refers to, the functions of a class, the Cells of a Cell."""
    if isinstance(value, (list, tuple)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, FunctionType):
        if not is_importable(value):
            yield from _referred(value)
    elif isinstance(value, type):
        if not is_importable(value):
            yield from vars(value).values()
            yield from value.__bases__
    else:
        yield from _of_object(value)


def _referred(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # still empty
            continue
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield function.__globals__[name]
    yield from (function.__defaults__ or (), function.__kwdefaults__ or {})


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _of_object(value: Any) -> Iterator[Any]:
    attributes = getattr(value, "__dict__", {})
    yield attributes.get("__msnb_fn__")  # of a function compiled with jit
    if not is_importable(type(value)):
        yield type(value)
        yield from attributes.values()
    elif hasattr(type(value), "cells_and_names"):
        yield from (cell for _, cell in value.cells_and_names() if cell is not value)


def is_importable(value: Any) -> bool:
    """Does an import find this function or class? Then its name travels, and nothing of it."""
    found: Any = sys.modules.get(value.__module__) if value.__module__ != "__main__" else None
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value
