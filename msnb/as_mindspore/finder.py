"""The finder that makes ``mindspore`` and its module paths views of msnb.

import mindspore.nn as nn     Finder.find_spec: a path of module_paths.PATHS, else one sentence
nn.Dropout                    ModuleView.__getattr__: an answer of MindSpore's own (differences), a path below this one,
                              the object of msnb's module, or what stands for a name that is not built
"""

from __future__ import annotations

import difflib
import importlib
import importlib.machinery
import importlib.metadata
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, wraps
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from urllib.parse import urlparse

from msnb.api.graph_breaks import break_at_branches
from msnb.as_mindspore.assignments import settle_layers, stored
from msnb.as_mindspore.differences import ANSWERS
from msnb.as_mindspore.module_paths import FURTHER, PATHS
from msnb.as_mindspore.placeholders import placeholder
from msnb.base import DatasetError, MsnbError
from msnb.base.events import tell_refusals
from msnb.eager.inline_cache import forget as forget_calls
from msnb.graph.capture.interpreter.reads import more_methods
from msnb.graph.capture.tracing import give_containers
from msnb.ir.custom_gradient import refuse_outside
from msnb.nn.cells.cell_tree import name_by_last_place
from msnb.nn.initializer import keep_dtypes
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.elementwise.identity_and_effects import install_rule
from msnb.ops.indexing.subscript import take_lists_as_tuples
from msnb.ops.mindspore.primitive_classes import operator_class
from msnb.ops.tensor.operators import tell_lists_from_tensors

VERSION = "2.10.0"
_FACTS = {"__version__": VERSION, "__file__": __file__}
_LOG = "msnb.as_mindspore.log_functions"
_MODULES = {"mindspore.log"}
"""Paths that are modules in MindSpore, though msnb has a function of that name."""
_OBJECTS = {"mindspore.ops.vm_impl_registry", "mindspore.train.data_sink", "mindspore.nn.optim.thor"}
"""Paths whose package has an object of that name, which its module does not hide."""


_SWITCHES = (settle_layers, name_by_last_place, break_at_branches, give_containers, tell_lists_from_tensors,
             take_lists_as_tuples, tell_refusals, keep_dtypes)  # fmt: skip
"""What MindSpore does in another way below its names, each a function of whether it does."""


class AliasError(MsnbError, ImportError):
    """``mindspore`` cannot become a view of msnb: the real package is imported already."""


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.7)
    return f"; did you mean {' or '.join(near)}?" if near else "."


class ModuleView(ModuleType):
    """A module path of MindSpore whose names are those of a module of msnb."""

    def __getattr__(self, name: str) -> Any:
        if name in _FACTS and self.__name__ in ("mindspore", "mindspore.version"):
            return _FACTS[name]
        if name.startswith("__"):
            raise AttributeError(name)
        answer = ANSWERS.get(PATHS[self.__name__], {}).get(name)
        value = _in_words(_answer(answer) if answer is not None else self._found(name))
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """A module below does not hide a function of its name: ``mindspore.common.mutable`` is a path and a call."""
        home = PATHS[self.__name__]
        if isinstance(value, ModuleView) and (
            value.__name__ in _OBJECTS or callable(getattr(importlib.import_module(home), name, None))
        ):
            return
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process imports it; that it finds `_imported` here makes the paths known there."""
        return _imported, (self.__name__,)

    def _found(self, name: str) -> Any:
        path, home = f"{self.__name__}.{name}", importlib.import_module(PATHS[self.__name__])
        a_module = path in _MODULES or not callable(getattr(home, name, None))
        if path in PATHS and path not in _OBJECTS and a_module:
            return importlib.import_module(path)
        try:
            return getattr(home, name)
        except AttributeError as error:
            for further in map(importlib.import_module, FURTHER.get(self.__name__, ())):
                if hasattr(further, name):
                    return getattr(further, name)
            like = _of_mint(name) if PATHS[self.__name__] == "msnb.ops" else None
            if like is not None:
                return like
            stands = placeholder(self.__name__, name, error)
            if stands is not None:
                return stands
            if type(error) is not AttributeError:
                raise  # msnb says what there is instead
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}{_near(name, dir(self))}"
            ) from None

    def __dir__(self) -> list[str]:
        below = [path.rpartition(".")[2] for path in PATHS if path.rpartition(".")[0] == self.__name__]
        return sorted({*vars(self), *_offered(importlib.import_module(PATHS[self.__name__])), *below})


_BY_OPERAND = (
    "AddScalar BitwiseAndScalar BitwiseAndTensor BitwiseOrScalar BitwiseOrTensor BitwiseXorScalar BitwiseXorTensor "
    "ClampScalar ClampTensor EqScalar FmodScalar FmodTensor GreaterEqualScalar LerpScalar LessScalar MaskedFillScalar "
    "RepeatInterleaveTensor SplitTensor SubScalar"
)
_SHORT = {"batchmatmul": "bmm", "matrixinverse": "inverse", "addbatchmatmul": "baddbmm", "t": "t"}


def _offered(home: ModuleType) -> Iterator[str]:
    """The names of a module of msnb without those that it imports for itself: programs look through ``dir``."""
    own, said = vars(home), getattr(home, "__all__", ())
    for name in dir(home):
        value = own.get(name)
        source = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
        if name in said or name not in own or source.startswith("msnb"):
            yield name


def _imported(path: str) -> ModuleType:
    return importlib.import_module(path)


def _of_mint(name: str) -> Any:
    """What MindSpore's files call mint's functions: ``add_ext`` is ``mint.add``, ``AddExt()`` the same as a class;
    ``FmodScalar()`` and ``FmodTensor()`` are ``mint.fmod``, by what the other operand is."""
    endings = ("Scalar", "Tensor") if name in _BY_OPERAND.split() else ("_ext", "Ext")
    ending = next((e for e in endings if name.endswith(e)), None)
    if ending is None:
        return None
    wanted = name[: -len(ending)].lower()
    wanted = _SHORT.get(wanted, wanted.replace("_", ""))
    for room in ("mindspore.mint", "mindspore.mint.nn.functional"):
        home = importlib.import_module(PATHS[room])
        for found in dir(home):
            if found.replace("_", "") == wanted and found.islower() and callable(getattr(home, found)):
                fn = _by_position(getattr(home, found))
                return fn if ending == "_ext" else operator_class(name, fn)
    return None


@cache
def _by_position(fn: Any) -> Any:
    """``add_ext(x, y, alpha)``: in those files arguments that mint takes by keyword alone have a place."""
    kinds = {p.name: p.kind for p in inspect.signature(fn).parameters.values()}
    if inspect.Parameter.KEYWORD_ONLY not in kinds.values() or inspect.Parameter.VAR_POSITIONAL in kinds.values():
        return fn
    names = [*kinds]
    first = sum(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds.values())

    @wraps(fn)
    def call(*args: Any, **named: Any) -> Any:
        if len(args) > len(names):
            return fn(*args, **named)  # which says what it takes
        return fn(*args[:first], **dict(zip(names[first:], args[first:])), **named)

    return call


def _in_words(value: Any) -> Any:
    """Functions of tensors take MindSpore's keywords: ``ops.softmax(input=x)``."""
    home = getattr(value, "__module__", None) or ""
    plain = isinstance(value, FunctionType) and "worded" not in value.__dict__ and home != _LOG
    return _worded(value) if plain and home.startswith(("msnb.ops.", "msnb.numpy.", "msnb.as_mindspore.")) else value


@cache
def _worded(fn: Any) -> Any:
    """One object for a function, under whatever paths it is found."""
    return worded(fn)


def _answer(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class DownloadError(DatasetError, FileNotFoundError):
    """A file that a notebook wants to fetch and that is not there."""


def download(url: str, path: str, kind: str = "file", replace: bool = False, **options: Any) -> str:
    """``download`` of MindSpore's notebooks: the path of a file, or of the folder of an archive, that is there already.

    Nothing is fetched.

    Args:
        url: where MindSpore's notebooks fetch it from.
        path: the file, or the folder into which an archive is unpacked.
        kind: "file", "zip", "tar", "tar.gz".
        replace: kept for the signature; a file that is there is the one that is taken.
        **options: ``progressbar``, ``timeout``, ``verbose``: change nothing.

    Raises:
        FileNotFoundError: it is not there; the text says which file is needed, and where.
    """
    place = Path(path)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return str(place)
    name = Path(urlparse(url).path).name or url
    what = f"unpack {name} into" if kind != "file" else f"put {name} to"
    raise DownloadError(
        f"the program needs {name} from {url}, and msnb fetches nothing.", hint=f"{what} {place.absolute()}."
    )


class _Metadata(importlib.metadata.Distribution):
    """What ``importlib.metadata.version("mindspore")`` reads: by it libraries ask whether MindSpore is there."""

    def read_text(self, filename: str) -> str | None:
        return f"Name: mindspore\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


class Finder(MetaPathFinder, Loader):
    """Finds MindSpore's paths, and ``download`` of its notebooks where no such package is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "download":
            real = importlib.machinery.PathFinder.find_spec(fullname, path)
            return real or importlib.machinery.ModuleSpec(fullname, self)
        if fullname.partition(".")[0] != "mindspore":
            return None
        if fullname in PATHS:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        # without a name: `from mindspore.ops import sofmax` hides an error that has one
        raise ModuleNotFoundError(_missing(fullname))

    def find_distributions(self, context: Any) -> Iterator[_Metadata]:
        """The package's metadata, where all are asked for or those of ``mindspore``."""
        if context.name in (None, "mindspore"):
            yield _Metadata()

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name == "download":
            return ModuleType(spec.name, download.__doc__)
        return ModuleView(spec.name, f"MindSpore's {spec.name}: a view of {PATHS[spec.name]}.")

    def exec_module(self, module: ModuleType) -> None:
        if not isinstance(module, ModuleView):
            module.__dict__["download"] = download
            return
        home = importlib.import_module(PATHS[module.__name__])
        if module.__name__ == "mindspore.dataset":
            with suppress(ImportError):
                importlib.import_module("PIL.Image")  # programs write ``import PIL`` and ``PIL.Image`` behind it
        offered = (name for name in _offered(home) if not name.startswith("_"))
        module.__dict__["__all__"] = [*(getattr(home, "__all__", None) or offered)]


def _missing(path: str) -> str:
    """What to say of a path, or of a name that was imported from one."""
    room, _, name = path.rpartition(".")
    siblings = [p.rpartition(".")[2] for p in PATHS if p.rpartition(".")[0] == room]
    near = difflib.get_close_matches(name, siblings, 1, 0.75)
    if near:
        return f"MindSpore's module {path!r} is not here; did you mean {room}.{near[0]}?"
    if room in PATHS:
        try:
            getattr(importlib.import_module(room), name)
        except AttributeError as error:
            text = str(error)
            return text if not text.endswith(f"{name!r}.") else f"{text[:-1]}{_near(path, [*PATHS])}"
    return f"MindSpore's module {path!r} is not here{_near(path, [*PATHS])}"


_finder = Finder()


def _hold_mindspores_way(on: bool) -> None:
    """What differs below the names: MindSpore's way, or msnb's again."""
    install_rule(stored if on else None)
    exchange = importlib.import_module("msnb.as_mindspore.array_answers").exchange
    for switch in (*_SWITCHES, exchange):
        switch(on)
    refuse_outside(not on)
    more_methods.clear()
    more_methods.update({(dict, "has_key"): "__contains__"} if on else {})
    forget_calls()


def install() -> None:
    """From now on ``mindspore`` is a view of msnb.

    Raises:
        AliasError: another ``mindspore`` is imported already. Nothing is changed.

    Examples:
        >>> from msnb.as_mindspore import install, uninstall
        >>> install()
        >>> from mindspore import ops
        >>> ops.relu is __import__("msnb").ops.relu
        True
        >>> uninstall()
    """
    real = sys.modules.get("mindspore")
    if real is not None and not isinstance(real, ModuleView):
        raise AliasError(
            f"mindspore {getattr(real, '__version__', '')} is imported in this process already.",
            hint="import msnb.as_mindspore first, in a fresh interpreter: two frameworks cannot share one name.",
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _hold_mindspores_way(True)


def uninstall() -> None:
    """``mindspore`` is again what is installed under this name. Objects that a program has stay what they are."""
    _hold_mindspores_way(False)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n, module in sys.modules.items() if getattr(module, "__loader__", None) is _finder]:
        del sys.modules[name]
