"""What is public, in sections, and under which names each thing goes.

A module says what it shows (``__all__``, or ``__dir__`` of the packages); whatever of it is a function or class of msnb
is an entry. One thing often has several names (``ops.abs``, ``ms.abs``, ``mint.abs``, ``Tensor.abs``): it has one page,
under the first of them in the order of the sections, and all its names lead there.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msnb as ms
from msnb.ops.definition.record import Op

TENSOR = "Tensor"


@dataclass(frozen=True)
class Section:
    """A group of names.

    Attributes:
        name: as a program writes it after ``ms.``; ``ms`` for the package itself. Also its folder in the site.
        module: what has the names; ``Tensor`` for the methods of Tensor.
        group: the chapter of the site.
        about: one sentence.
    """

    name: str
    module: str
    group: str
    about: str

    @property
    def folder(self) -> str:
        return f"api/{self.name}"

    def spelled(self, name: str) -> str:
        """A name of the section as people say it: ``nn.Conv2d``, ``ms.grad``."""
        return f"{self.name}.{name}"


@dataclass
class Entry:
    """A thing with a page.

    Attributes:
        section, name: where the page is.
        value: the function, class, record or property.
        path: the page, from the top of the site, without ending.
        names: all names that lead here, the page's own first.
        family: the module that it is written in, for grouping.
    """

    section: Section
    name: str
    value: Any
    path: str
    names: list[str] = field(default_factory=list)
    family: str = ""

    @property
    def title(self) -> str:
        return self.section.spelled(self.name)


SECTIONS = (
    Section("ops", "msnb.ops", "Tensors and operators", "Operators, for both modes."),
    Section("nn", "msnb.nn", "Networks", "Cells, layers, losses and optimizers."),
    Section("nn.initializer", "msnb.nn.initializer", "Networks", "How Parameters begin."),
    Section("nn.probability.distribution", "msnb.nn.probability.distribution", "Networks", "Distributions as Cells."),
    Section("nn.probability.bijector", "msnb.nn.probability.bijector", "Networks", "Invertible maps between them."),
    Section("optim", "msnb.optim", "Networks", "The optimizers and learning rates, also found in `nn`."),
    Section("ms", "msnb", "Tensors and operators", "Tensors, modes, gradients and other transforms of functions."),
    Section(TENSOR, TENSOR, "Tensors and operators", "Methods and properties of `ms.Tensor`."),
    Section("train", "msnb.train", "Training and data", "`Model`, callbacks, metrics and checkpoints."),
    Section("amp", "msnb.train.amp", "Training and data", "Mixed precision."),
    Section("dataset", "msnb.dataset", "Training and data", "Sources of data and the pipeline over them."),
    Section("dataset.transforms", "msnb.dataset.transforms", "Training and data", "Transforms of any data."),
    Section("dataset.vision", "msnb.dataset.vision", "Training and data", "Transforms of images."),
    Section("dataset.audio", "msnb.dataset.audio", "Training and data", "Transforms of sound."),
    Section("dataset.text", "msnb.dataset.text", "Training and data", "Transforms of text."),
    Section("mint", "msnb.mint", "PyTorch's and NumPy's words", "Operators with PyTorch's names and arguments."),
    Section("mint.nn", "msnb.mint.nn", "PyTorch's and NumPy's words", "Layers with PyTorch's names and arguments."),
    Section("mint.nn.functional", "msnb.mint.nn.functional", "PyTorch's and NumPy's words", "Layers as functions."),
    Section("mint.linalg", "msnb.mint.linalg", "PyTorch's and NumPy's words", "Linear algebra."),
    Section("mint.special", "msnb.mint.special", "PyTorch's and NumPy's words", "Special functions."),
    Section("numpy", "msnb.numpy", "PyTorch's and NumPy's words", "NumPy's functions over tensors."),
    Section("numpy.fft", "msnb.numpy.fft", "PyTorch's and NumPy's words", "Fourier transforms."),
    Section("scipy.linalg", "msnb.scipy.linalg", "PyTorch's and NumPy's words", "SciPy's linear algebra."),
    Section("scipy.fft", "msnb.scipy.fft", "PyTorch's and NumPy's words", "SciPy's Fourier transforms."),
    Section("scipy.optimize", "msnb.scipy.optimize", "PyTorch's and NumPy's words", "Minima of functions."),
    Section("show", "msnb.notebook.show.program_views", "Tools", "Views of programs, for notebooks and terminals."),
    Section("runtime", "msnb.runtime", "Tools", "The device while it works."),
    Section("parallel", "msnb.parallel", "Tools", "Plans over several devices."),
    Section("communication", "msnb.communication", "Tools", "Ranks and groups of them."),
    Section("onnx", "msnb.onnx", "Tools", "Models of ONNX."),
)


def listed(section: Section) -> list[str]:
    """The names that a section shows, without private ones."""
    if section.module == TENSOR:
        return [name for name in dir(ms.Tensor) if not name.startswith("_")]
    module = importlib.import_module(section.module)
    names = getattr(module, "__all__", None) or (dir(module) if hasattr(module, "__dir__") else vars(module))
    if section.module == "msnb":
        names = dir(module)  # more than ``__all__``: MindSpore 2.5 has many operators at top level too
    return sorted(name for name in names if not name.startswith("_"))


def value_of(section: Section, name: str) -> Any:
    if section.module == TENSOR:
        return getattr(ms.Tensor, name)
    return getattr(importlib.import_module(section.module), name)


def is_ours(section: Section, value: Any) -> bool:
    """Whether it is a function, class, record or property of msnb (typing's and NumPy's are in modules too)."""
    if isinstance(value, (Op, property)):
        return True
    if not callable(value) or isinstance(value, types.ModuleType):
        return False
    home = str(getattr(value, "__module__", "") or "")
    if isinstance(value, type) and home == "msnb.ops":
        return False  # an operator's class, made when it was first asked for: the operator has the page
    own = section.module != "msnb.nn.initializer" or home == section.module  # it has neither __all__ nor __dir__
    return own and (home == "msnb" or home.startswith("msnb."))


FAMILIES = {  # the packages of msnb.ops, in words
    "elementwise": "Element by element", "indexing": "Indexing, gather and scatter", "linalg": "Linear algebra",
    "math": "Numbers, order and statistics", "nn": "Activations, losses and norms", "random": "Random numbers",
    "reduction": "Reductions", "shape": "Shapes and new tensors", "sparse": "Sparse tensors",
    "spatial": "Images and volumes", "special": "Special functions", "mindspore": "MindSpore's operators",
    "collective": "Between ranks", "tensor": "Tensors", "api": "Transforms of functions",
}  # fmt: skip


def family_title(family: str) -> str:
    return FAMILIES.get(family) or family.replace("_", " ").capitalize()


def _family(value: Any) -> str:
    """Of an operator its package, of anything else its module."""
    home = value.body.__module__ if isinstance(value, Op) else str(getattr(value, "__module__", "") or "")
    parts = home.split(".")
    if parts[1:2] == ["ops"]:
        return "elementwise" if parts[2] == "definition" else parts[2]
    return "api" if parts[1:2] == ["api"] else parts[-1]


def _free_path(section: Section, name: str, taken: set[str]) -> str:
    """A path that no other page has, also where the file system does not tell ``T`` from ``t``."""
    path = f"{section.folder}/{name}"
    while path.lower() in taken:
        path += "_"
    taken.add(path.lower())
    return path


# where a thing that has several names is looked for first, by the package that it is written in
_HOMES = {"msnb.ops": "ops", "msnb.train": "train", "msnb.nn": "nn", "msnb.optim": "nn", "msnb.parallel": "parallel",
          "msnb.dataset": "dataset", "msnb.notebook": "show"}  # fmt: skip


def _preferred(value: Any, names: list[tuple[Section, str]]) -> tuple[Section, str]:
    """The name under which a thing has its page."""
    home = "msnb.ops" if isinstance(value, Op) else ".".join(str(getattr(value, "__module__", "")).split(".")[:2])
    room = _HOMES.get(home, "ms")
    own = getattr(value, "name", "") if isinstance(value, Op) else getattr(value, "__name__", "")
    return min(names, key=lambda n: (n[0].name != room, SECTIONS.index(n[0]), n[1] != own))


def entries() -> list[Entry]:
    """All things with a page, in the order of the sections."""
    names: dict[int, list[tuple[Section, str]]] = {}
    values: dict[int, Any] = {}
    for section in SECTIONS:
        for name in listed(section):
            value = value_of(section, name)
            if is_ours(section, value):
                names.setdefault(id(value), []).append((section, name))
                values[id(value)] = value
    taken: set[str] = set()
    found = []
    for key, value in values.items():
        section, name = _preferred(value, names[key])
        spelled = [s.spelled(n) for s, n in names[key] if (s, n) != (section, name)]
        path = _free_path(section, name, taken)
        found.append(Entry(section, name, value, path, [section.spelled(name), *spelled], _family(value)))
    return sorted(found, key=lambda e: (SECTIONS.index(e.section), e.name.lower(), e.name))


def names_of(found: list[Entry]) -> dict[str, Entry]:
    """Every name -> its entry: ``"mint.abs"``, ``"Tensor.reshape"``."""
    return {name: entry for entry in found for name in entry.names}


def constants(section: Section) -> Iterator[tuple[str, str]]:
    """Names that are no functions: dtypes, modes and the like, with their values."""
    if section.module == TENSOR:
        return
    for name in listed(section):
        value = value_of(section, name)
        if not callable(value) and not isinstance(value, (types.ModuleType, Op)):
            text = repr(value)
            yield name, text if len(text) < 80 and "0x" not in text else type(value).__name__


def public_bases(value: type, found: Mapping[str, Entry]) -> list[Entry]:
    """The nearest bases that have a page of their own."""
    pages = {id(e.value): e for e in found.values()}
    out: list[Entry] = []
    for base in value.__mro__[1:]:
        if id(base) in pages and not any(issubclass(e.value, base) for e in out):
            out.append(pages[id(base)])
    return out


def public_methods(value: type, bases: list[Entry]) -> list[tuple[str, Any]]:
    """Methods that a class, or a base without a page, defines; those of the others are told on their pages."""
    told = {part for entry in bases for part in entry.value.__mro__}
    found: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        if str(base.__module__).startswith("msnb") and base not in told:
            found |= {n: v for n, v in vars(base).items() if not n.startswith("_")}
    again = {n for part in told for n in vars(part)} - {"construct"}  # done otherwise here, but said there
    plain = (types.FunctionType, staticmethod, classmethod, property)
    return sorted((n, v) for n, v in found.items() if isinstance(v, plain) and n not in again and _told(v))


def _told(value: Any) -> bool:
    return bool(inspect.getdoc(getattr(value, "__func__", value)))
