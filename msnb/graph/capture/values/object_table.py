"""The objects that a captured program meets: those of the outside by their paths, and those that it makes itself."""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from msnb.base.source_location import PACKAGE_DIR, is_own
from msnb.graph.capture.values.sources import Source

_CONVERTED_FILES = ("as_mindspore/functional_names.py", "onnx/tensor_branch.py")
_CONVERTED_ROOMS = tuple(PACKAGE_DIR + room for room in ("nn", "optim", "train", "numpy/scipy", *_CONVERTED_FILES))
# what these do is the framework's business; it asks the engine for what a program may depend on
OPAQUE_FILES = tuple(
    PACKAGE_DIR + "nn/" + file
    for file in (
        *(f"cells/{name}.py" for name in ("cell", "cell_tree", "cell_state", "hooks", "mixed_precision")),
        "initializer.py",
    )
)
_OPAQUE = ("numpy", "ml_dtypes", "scipy", "pandas", "matplotlib", "IPython", "torch", "sklearn", "pytest", "_pytest")
_DERIVED_FROM = ("UserList.", "UserDict.", "UserString.", "ChainMap.")
# functions of Python that call what a program gave them
_CALLING = {"contextlib": ("ExitStack.", "_BaseExitStack."), "functools": ("_lt_", "_le_", "_gt_", "_ge_")}
opaque_modules: set[str] = set(_OPAQUE)
ABSENT: Any = object()
_LAYOUTS = (list, tuple, dict, OrderedDict, defaultdict, set, frozenset, deque)
_WITH_PARTS = ("__main__", "builtins", "types", "collections")
_ASKED = (
    "__iter__", "__getitem__", "__len__", "__contains__", "__eq__", "__hash__", "__lt__", "__gt__", "__index__",
    "__float__", "__int__", "__bool__", "__array__", "__str__", "__repr__", "__format__", "__next__", "__reversed__",
)  # fmt: skip


def is_heap(kind: type) -> bool:
    """Was the class made by a class statement (or by C code at run time)?"""
    return bool(kind.__flags__ & (1 << 9))


def has_parts(kind: type) -> bool:
    """A class that a program made, or one of Python's whose objects have attributes of their own."""
    module = kind.__module__.split(".")[0]
    own = module != "msnb" and (module not in sys.stdlib_module_names or module in _WITH_PARTS)
    return own and (is_heap(kind) or kind is types.SimpleNamespace)


def is_programs(fn: Any) -> bool:
    """A Python function that is neither msnb's nor Python's machinery?"""
    return isinstance(fn, types.FunctionType) and not is_own(fn.__code__.co_filename)


def is_asked(kind: type) -> bool:
    """Does C ask its objects about their attributes: by special methods in Python, or as it compares namespaces?"""
    return issubclass(kind, types.SimpleNamespace) or any(is_programs(getattr(kind, name, None)) for name in _ASKED)


def is_framework(module: Any) -> bool:
    """Modules whose own names nobody edits: msnb, NumPy, the standard library."""
    name = getattr(module, "__name__", "").split(".")[0]
    if name == "msnb":
        return is_own(getattr(module, "__file__", None) or "")
    return name in ("numpy", "ml_dtypes") or name in sys.stdlib_module_names and name != "__main__"


def is_opaque(fn: types.FunctionType, kind: type = object) -> bool:
    """Functions that run as they are; ``kind`` is the class of the object whose method it is."""
    file = fn.__code__.co_filename
    module = (getattr(fn, "__module__", None) or "").split(".")[0]
    if fn.__module__ == "collections.abc" or module == "collections" and fn.__qualname__.startswith(_DERIVED_FROM):
        return not has_parts(kind)  # what classes of a program inherit looks into their objects
    if fn.__qualname__.startswith(_CALLING.get(module, "-")):
        return False
    if is_own(file):
        return not file.startswith(_CONVERTED_ROOMS) or file in OPAQUE_FILES
    if module in opaque_modules:
        return True
    return module in sys.stdlib_module_names and module != "__main__"


def on_class(kind: type, name: str) -> Any:
    """What lies under a name in a class or in one that it is derived from, as it lies there, or ABSENT."""
    return next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), ABSENT)


def raw_base(owner: Any) -> Any:
    """The class of C code that an object is laid out as: what a program's own ``__iter__`` or ``__len__`` hides."""
    return next(kind for kind in type(owner).__mro__ if kind in _LAYOUTS or not is_heap(kind))


def raw_items(owner: Any) -> list[Any]:
    """The items of a container, or the keys of a dict, as C finds them."""
    return list(raw_base(owner).__iter__(owner)) if is_heap(type(owner)) else list(owner)


def remade(model: Any, parts: Any, *more: Any) -> Any:
    """A container of the model's class with other items or entries, its attributes too; methods that the class has
    written itself are not called. ``more``: further arguments of the class in C, the length of a deque."""
    base = raw_base(model)
    if not is_heap(type(model)):
        return base(parts, *more) if base is not defaultdict else base(model.default_factory, parts)
    new = base.__new__(type(model), *([parts] if issubclass(base, (tuple, frozenset)) else ()))
    if isinstance(model, defaultdict):
        base.__init__(new, model.default_factory, parts)
    elif isinstance(model, dict):
        base.__init__(new, parts)
    elif not issubclass(base, (tuple, frozenset)):
        base.__init__(new, parts, *more)
    for name, value in getattr(model, "__dict__", {}).items():
        object.__setattr__(new, name, value)
    return new


def lies_in(owner: Any, name: str) -> bool:
    """Has an object itself, or a class with those that it is derived from, an attribute of that name?"""
    return on_class(owner, name) is not ABSENT if isinstance(owner, type) else lies_in_itself(owner, name)


def lies_in_itself(owner: Any, name: str) -> bool:
    """Has it an attribute of that name apart from all classes, or other classes?"""
    try:
        get = type.__getattribute__ if isinstance(owner, type) else object.__getattribute__
        return name in get(owner, "__dict__")
    except AttributeError:
        return False


def space_of(owner: Any) -> Any:
    """The dict in which the attributes of an object lie, or None."""
    try:
        found = None if isinstance(owner, type) else object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


class ObjectTable:
    """Objects by identity; all of them live as long as the table does.

    Attributes:
        arrays: outside arrays by the ``id`` of the array whose memory they have.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}
        self._outside: dict[int, tuple[Any, Source]] = {}
        self._fresh: dict[int, Any] = {}

    def source_of(self, obj: Any) -> Source | None:
        """The path of an outside object, None for what the program made itself."""
        return self._outside.get(id(obj), (None, None))[1]

    def read_path(self, obj: Any) -> Source | None:
        """The path by which attributes are read: none for a class that the program makes anew at each call."""
        return None if isinstance(obj, type) and id(obj) in self._fresh else self.source_of(obj)

    def hold(self, obj: Any, source: Source) -> None:
        """``obj`` is outside and lies there."""
        self._outside[id(obj)] = (obj, source)

    def outside(self) -> list[tuple[Any, Source]]:
        """Every outside object with its path."""
        return list(self._outside.values())

    def make(self, obj: Any) -> None:
        """The program made ``obj``: nobody outside knows it."""
        self._fresh[id(obj)] = obj

    def is_fresh(self, obj: Any) -> bool:
        """Did the program make it?"""
        return id(obj) in self._fresh
