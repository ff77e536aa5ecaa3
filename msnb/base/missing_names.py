"""Names that are asked for and are not here: what other frameworks, and older MindSpore, call the same thing.

    ms.LossMonitor             MOVED     lives in msnb.train; imported when it is first asked for
    from msnb.common import ..  MODULES   MindSpore's module paths, each a view of the room that has these names
    ms.boost                   SAID      not part of msnb: one sentence, with what there is instead
    ops.sofmax                 a guess   the nearest names, and the other rooms that have this very name
    ops.softmax(x, axes=1)     a keyword Python's own words, then how the function is called and the nearest keyword

The tables are words: nothing is imported until somebody asks. The text of an error is made when it is read, so that
``hasattr`` costs nothing.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from types import FrameType, FunctionType, ModuleType
from typing import Any

from msnb.base.name_tables import MODULES as MODULES, MOVED as MOVED, SAID, SAID_MODULES

_FOR_ITSELF = {"Any", "TYPE_CHECKING", "annotations"}
_FRONT_DOORS = ("msnb", "msnb.ops", "msnb.nn", "msnb.train", "msnb.dataset")


class MissingName(AttributeError):
    """An AttributeError that explains itself when it is read.

    Args:
        owner: "msnb", "msnb.ops", "Tensor", "Dense" ...; alone the whole sentence: programs write ``type(e)(text)``.
        name: the name that is missing.
        table: the rows of ``SAID`` to look in.
        known: gives the names that there are.
        listed: names to list when there is nothing better to say.
    """

    def __init__(
        self, owner: str, name: str = "", table: str = "", known: Callable[[], Iterable[str]] = tuple,
        listed: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(owner, name)
        self.missing: str = name
        self._owner = owner
        self._table = table
        self._known = known
        self._listed = listed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)

    def __str__(self) -> str:
        if not self.missing:
            return self._owner
        said = SAID.get(self._table, {}).get(self.missing)
        if said is not None:
            return said if said.startswith("PyTorch") else f"{_spelled(self._owner)}.{self.missing} {said}"
        return f"{_titled(self._owner)} has no attribute {self.missing!r}{self._guess()}"

    def _guess(self) -> str:
        places = [_spelled(door) for door in _FRONT_DOORS if door != self._owner and _has(door, self.missing)]
        if places:
            return f"; there is {' and '.join(f'{place}.{self.missing}' for place in places)}."
        known = [n for n in self._known() if n[:1] != "_"]
        near = nearest(self.missing, known, 3, 0.75)
        if not near and not self._listed:
            near = nearest(self.missing, known, 1, 0.65)
        if near:
            return f"; did you mean {' or '.join(near)}?"
        return f"; it has {', '.join(self._listed)}." if self._listed else "."


def nearest(wrong: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """The names that look most like a wrong one."""
    import difflib  # for people only: it is not worth its time at import

    return difflib.get_close_matches(wrong, [*known], most, cutoff)


def _has(door: str, name: str) -> bool:
    module = sys.modules.get(door)
    return module is not None and not name.startswith("_") and (name in vars(module) or name in MOVED.get(door, {}))


def _spelled(owner: str) -> str:
    return {"msnb": "ms", "a Tensor": "Tensor"}.get(owner, owner.removeprefix("msnb."))


def _titled(owner: str) -> str:
    if owner == "msnb.notebook.show.program_views":
        return "ms.show"
    return f"module {owner!r}" if owner.startswith("msnb") else owner


def attribute(module: str, name: str) -> Any:
    """For a module's ``__getattr__``: the object that goes by this name in another room.

    Raises:
        AttributeError: there is none; the text says what there is instead.
    """
    home = MOVED.get(module, {}).get(name)
    if home is None and f"{module}.{name}" in MODULES:
        home = f"{module}.{name}"
    if home is None:
        raise MissingName(module, name, module, lambda: dir(sys.modules[module]))
    place, _, what = home.partition(":")
    found = importlib.import_module(place)
    value = getattr(found, what) if what else found
    setattr(sys.modules[module], name, value)  # the next look finds it without this function
    return value


def public_names(module: str) -> list[str]:
    """For a module's ``__dir__``: what its users may call, without the modules and names that it imports for itself."""
    found = vars(sys.modules[module])
    listed = found.get("__all__")
    dunders = {n for n in found if n[:2] == "__"}
    return sorted({*(_own_names(found) if listed is None else listed), *MOVED.get(module, {}), *dunders})


def _own_names(found: dict[str, Any]) -> list[str]:
    return [n for n, x in found.items() if n[:1] != "_" and not isinstance(x, ModuleType) and n not in _FOR_ITSELF]


def show_imports(module: str, *modules: str) -> None:
    """Give a package its ``__all__``: the names that it has imported so far, and these modules of it.

    A type checker does not see it, and goes by ``from .. import *`` and ``import name as name``.
    """
    found = vars(sys.modules[module])
    found["__all__"] = sorted({*_own_names(found), *modules})


def answer_for(module: str) -> None:
    """Give a package its ``__getattr__`` (see `attribute`) and ``__dir__`` (see `public_names`).

    A type checker does not see them, and goes on to report names that do not exist.
    """
    found = vars(sys.modules[module])
    found.update(__getattr__=partial(attribute, module), __dir__=partial(public_names, module))


# ---- keywords ----

_BAD_CALL = re.compile(r"([\w.]+)\(\) (?:got an unexpected keyword argument '(\w+)'|missing|takes|got multiple)")


def called_as(name: str, signature: Any) -> str:
    """How something is called: ``Dense(in_channels, out_channels, has_bias=True)``."""
    listed = list(signature.parameters.values())
    named = [p for p in listed if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    marks = {id(p): "*" for p in named if p.kind is p.VAR_POSITIONAL}
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in named]
    return f"{name}({', '.join(marks.get(id(p), '') + text for p, text in zip(named, shown))})"


def nearest_keyword(wrong: str, signature: Any, taken: Iterable[str] = ()) -> str:
    """A sentence with the parameter that is nearest to a wrong keyword; empty where none is near."""
    near = nearest(wrong, [p for p in signature.parameters if p not in set(taken) | {"self"}], 1, 0.4)
    return f"did you mean {near[0]}?" if wrong and near else ""


def call_hint(error: BaseException, frame: FrameType) -> str:
    """How a function of msnb is called, where Python refused a call of it in the user's own frame; else nothing.

    Functions are plain functions, so that a right call costs nothing: the words are found when a wrong one is shown.
    """
    found = _BAD_CALL.match(str(error)) if type(error) is TypeError else None
    fn = _function_named(found[1], frame) if found is not None else None
    if found is None or fn is None:
        return ""
    signature = inspect.signature(fn)
    near = nearest_keyword(found[2] or "", signature)
    return f"it is called as {called_as(found[1], signature)}{f'; {near}' if near else ''}"


def _function_named(name: str, frame: FrameType) -> Any:
    """The function of msnb that a frame reaches by this name: alone, as a member of a module, as a method."""
    owner, _, last = name.rpartition(".")
    modules = [m for key, m in tuple(sys.modules.items()) if key in _FRONT_DOORS]
    modules += [m for m in frame.f_globals.values() if isinstance(m, ModuleType) and m.__name__.startswith("msnb.")]
    for names in (frame.f_locals, frame.f_globals, *map(vars, modules)):
        found = names.get(owner or last)
        found = vars(found).get(last) if owner and isinstance(found, type) else found
        if isinstance(found, FunctionType) and found.__module__.startswith("msnb."):
            return found
    return None


# ---- MindSpore's module paths ----


class _View(ModuleType):
    """A module path whose names are those of another module."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        if path in MODULES:
            return importlib.import_module(path)
        value = getattr(importlib.import_module(MODULES[self.__name__]), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        below = {path.rpartition(".")[2] for path in MODULES if path.rpartition(".")[0] == self.__name__}
        whose = MODULES[self.__name__]
        importlib.import_module(whose)
        return sorted({*public_names(whose), *below})


class _Views(MetaPathFinder, Loader):
    """Finds the paths of ``MODULES``; asked last, so that a real module always wins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("msnb."):
            return None
        if fullname in MODULES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        said = SAID_MODULES.get(fullname)
        if said is not None:
            raise ModuleNotFoundError(f"{fullname} {said}")  # without a name: `from msnb import x` must not hide it
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _View(spec.name, f"MindSpore's name for {MODULES[spec.name]}.")

    def exec_module(self, module: ModuleType) -> None:
        target = importlib.import_module(MODULES[module.__name__])
        names = getattr(target, "__all__", None) or [n for n in vars(target) if not n.startswith("_")]
        module.__dict__.update({n: getattr(target, n) for n in names if n in vars(target)})
        module.__dict__["__all__"] = [n for n in names if n in vars(target)]


def install() -> None:
    """Make the paths importable (once)."""
    if not any(isinstance(finder, _Views) for finder in sys.meta_path):
        sys.meta_path.append(_Views())
