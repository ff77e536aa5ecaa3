"""Types for editors and type checkers where Python itself cannot tell them: the stubs of msnb, made from what runs.

    python tools/stubs.py            compares the stubs with the package; exit status 1 where they differ
    python tools/stubs.py --write    writes them

    msnb/ops/__init__.pyi          a ``def`` for every operator that is a record; the functions, imported
    msnb/core/tensor_methods.pyi   the methods that msnb.ops binds to Tensor
    msnb/*/lazy_names.pyi          what a package imports when it is asked for
    msnb/base/context_keys.pyi     the keys of set_context

Stubs are read by tools alone: nothing imports them when a program runs.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import functools
import inspect
import keyword
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msnb as ms  # noqa: E402
from msnb.base import settings  # noqa: E402
from msnb.base.name_tables import MOVED  # noqa: E402
from msnb.core.tensor import Tensor  # noqa: E402
from msnb.ops.definition.record import Op  # noqa: E402

HEAD = '"""{}\n\nMade by tools/stubs.py from what msnb.ops is; do not edit."""\n\n'
BUILTINS = {"bool", "int", "float", "abs", "all", "any", "max", "min", "pow", "round", "sum", "type"}
KNOWN = {"Any", "Tensor", "Self"}
LINE = 120


def annotation(value: Any, empty: str = "Any") -> str:
    """An annotation as a stub has it, as it stands in the source."""
    if value is inspect.Parameter.empty:
        return empty
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def parameters(signature: inspect.Signature, self_first: bool) -> list[str]:
    """The parameters as a stub writes them: defaults are ``...``."""
    found: list[str] = []
    positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    starred = False
    for place, p in enumerate(signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not starred:
            found.append("*")
            starred = True
        starred = starred or p.kind is p.VAR_POSITIONAL
        if self_first and place == 0:
            found.append("self")
        else:
            mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            default = "" if p.default is p.empty else " = ..."
            found.append(f"{mark}{p.name}: {annotation(p.annotation)}{default}")
        if positional and p is positional[-1]:
            found.append("/")
    return found


def alias_home(name: str, value: Any) -> str:
    """The module of msnb that assigns a type alias."""
    for module in sorted(key for key in sys.modules if key.startswith("msnb")):
        source = getattr(sys.modules[module], "__file__", None)
        if vars(sys.modules[module]).get(name) == value and source:
            if re.search(rf"^{name} = ", Path(source).read_text(encoding="utf-8"), re.MULTILINE):
                return module
    raise LookupError(f"no module of msnb assigns {name}.")


def imports_for(fn: Any) -> set[str]:
    """The imports that the annotations of a function need in a stub."""
    signature = inspect.signature(fn)
    texts = [annotation(p.annotation) for p in signature.parameters.values()]
    names = set(re.findall(r"[A-Za-z_]\w*", " ".join([*texts, annotation(signature.return_annotation)])))
    inner = inspect.unwrap(fn)
    found = set()
    for name in names - KNOWN - set(dir(builtins)):
        value = getattr(inner, "__globals__", {}).get(name)
        home = str(getattr(value, "__module__", ""))
        if vars(sys.modules[home]).get(name) is not value if home in sys.modules else True:
            home = alias_home(name, value)
        found.add(f"from {home} import {name}")
    return found


def first_sentence(doc: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((inspect.cleandoc(doc or "").split("\n\n")[0]).split()).replace("\\", "\\\\").replace('"', "'")


def filled(opening: str, items: list[str], closing: str) -> str:
    """A bracket with all that stands in it, in as few lines as may be; an item is in one line."""
    rows = textwrap.wrap(", ".join(item.replace(" ", "\xa0") for item in items) + ",", LINE - 4)
    return "\n".join([opening, *(f"    {row}".replace("\xa0", " ") for row in rows), f"{closing}  # fmt: skip"])


def definition(name: str, params: list[str], result: str, doc: str | None, indent: str = "") -> str:
    """A ``def`` with its first sentence."""
    text = first_sentence(doc)
    head = f"{indent}def {name}({', '.join(params)}) -> {result}:"
    if len(head) > LINE:
        head = "\n".join([f"{indent}def {name}(", *(f"{indent}    {p}," for p in params), f"{indent}) -> {result}:"])
    if not text:
        return f"{head} ..."
    room = textwrap.wrap(f'"""{text}"""', LINE - 4 - len(indent), break_on_hyphens=False)
    return "\n".join([head, *(f"{indent}    {line}" for line in room)])


def listed(names: list[str]) -> list[str]:
    """``__all__``."""
    return ["", filled("__all__ = [", [f'"{name}"' for name in names], "]")]


# ---- msnb.ops -------------------------------------------------------------------------------------------------------


def operators() -> Iterator[tuple[str, Any]]:
    """The public names of msnb.ops that a program finds at once, modules apart."""
    for name, value in sorted(vars(ms.ops).items()):
        public = name[:1] != "_" and not isinstance(value, types.ModuleType) and name != "TYPE_CHECKING"
        if public and not keyword.iskeyword(name) and not (isinstance(value, type) and name[0].isupper()):
            yield name, value


def home_of(name: str, value: Any) -> tuple[str, str] | None:
    """Where a function stands under a name of its own."""
    fn = inspect.unwrap(value) if isinstance(value, types.FunctionType) else value
    module = sys.modules.get(getattr(fn, "__module__", ""))
    for spelled in (name, getattr(value, "__name__", name)):
        if module is not None and vars(module).get(spelled) is value:
            return module.__name__, spelled
    for other in sorted(sys.modules):
        if other.startswith("msnb.ops.") and vars(sys.modules[other]).get(name) is value:
            return other, name
    return None


@functools.cache
def defined(module: str) -> set[str]:
    """The names that a module defines at its top level by ``def``, ``class`` or as another name of such a one."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    found = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Name(other)) if other in found:
                found.add(name)
    return found


def starred(imports: list[str]) -> list[str]:
    """The imports, with a star for each module of which they name all that it shows."""
    named: dict[str, set[str]] = {}
    for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", "\n".join(imports), re.MULTILINE):
        named.setdefault(module, set()).add(name)
    whole = [module for module, names in named.items() if names == set(getattr(sys.modules[module], "__all__", ()))]
    kept = [line for line in imports if not line.startswith(tuple(f"from {module} import " for module in whole))]
    return [*kept, *(f"from {module} import *" for module in whole)]


def ops_stub() -> str:
    """``msnb/ops/__init__.pyi``."""
    imports, bodies, aliases = [], [], {}
    for name, value in operators():
        own = getattr(value, "name" if isinstance(value, Op) else "__name__", name)
        home = home_of(name, value)
        if home is not None and home[1] in defined(home[0]):
            if home[1] == name:
                imports.append(f"from {home[0]} import {name} as {name}")
            else:
                aliases[name] = home[1]  # ``as`` another name would not show it
                imports += [f"from {home[0]} import {home[1]}"] * (home[1] not in vars(ms.ops))
        elif own != name and vars(ms.ops).get(own) is value:
            aliases[name] = own
        elif isinstance(value, Op):
            bodies.append(definition(name, parameters(inspect.signature(value), False), "Tensor", value.__doc__))
        elif isinstance(value, types.FunctionType):  # made by a function: a type checker sees Any where it stands
            signature = inspect.signature(value)
            result = annotation(signature.return_annotation)
            imports += imports_for(value)
            bodies.append(definition(name, parameters(signature, False), result, value.__doc__))
    shown = [
        f"from msnb.ops import {name} as {name}"
        for name, value in sorted(vars(ms.ops).items())
        if isinstance(value, types.ModuleType) and value.__name__ == f"msnb.ops.{name}"
    ]
    head = ["from typing import Any", "", "from msnb.core.tensor import Tensor"]
    classes = sorted(
        f"from {value.__module__} import {name} as {name}"
        for name, value in vars(ms.ops).items()
        if isinstance(value, type) and name[:1] != "_"
    )
    lines = [*head, *sorted({*imports, *shown, *classes})]
    bodies += [f"{name} = {own}" for name, own in aliases.items()]
    return HEAD.format("The operators, typed.") + "\n".join(starred(lines)) + "\n\n" + "\n".join(bodies)


# ---- Tensor ---------------------------------------------------------------------------------------------------------


def method(name: str, value: Any) -> str:
    """The stub of one method or property."""
    if isinstance(value, property):
        return "    @property\n" + definition(name, ["self"], "Tensor", value.__doc__, "    ")
    signature = inspect.signature(value)
    params = parameters(signature, True)
    default = "Self" if name.endswith("_") else "Tensor"
    result = annotation(signature.return_annotation, default)
    return definition(name, params, "Self" if name.endswith("_") else result, value.__doc__, "    ")


def bound() -> Iterator[tuple[str, Any]]:
    """What msnb.ops adds to Tensor, without Python's own protocol (typed where Tensor stands)."""
    own = set(_written(Tensor))
    for name in sorted(vars(Tensor)):
        if name[:1] != "_" and name not in own:
            yield name, vars(Tensor)[name]


def _written(kind: type) -> Iterator[str]:
    """The names that the source of a class defines."""
    tree = ast.parse(inspect.getsource(kind))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


_BECOMING = '''    def _become(self, *args: Any, **options: Any) -> Self:
        """Become what the method without the underscore gives."""'''


def methods() -> Iterator[str]:
    """The stubs of the methods; one that is an earlier one by another name refers to it."""
    earlier: dict[object, tuple[str, str]] = {}  # what stands behind a method -> its name and stub
    yield _BECOMING
    for name, value in bound():
        if value.__doc__ == f"Become ``{name[:-1]}(...)``.":
            yield f"    {name} = _become"
            continue
        text = method(name, value)
        first, known = earlier.setdefault(getattr(ms.ops, name, value), (name, text))
        same = first != name and text.replace(f"def {name}(", f"def {first}(") == known
        yield f"    {name} = {first}" if same else text


def tensor_stub() -> str:
    """``msnb/core/tensor_methods.pyi``."""
    text = "\n".join(methods())
    plain = text
    for builtin in sorted(BUILTINS):  # inside the class these names are methods
        text = _spelled_out(text, builtin)
    renamed = [
        f"from builtins import {name} as _{name}" for name in sorted(BUILTINS) if _spelled_out(plain, name) != plain
    ]
    needed = {line for _, value in bound() if not isinstance(value, property) for line in imports_for(value)}
    head = [*renamed, "from typing import Any", "", "from typing_extensions import Self", ""]
    head += ["from msnb.core.tensor import Tensor", *sorted(needed)]
    return (
        HEAD.format("The methods that msnb.ops gives to Tensor, typed.")
        + "\n".join(head)
        + '\n\nclass TensorMethods:\n    """What Tensor can do beside what its class says."""\n\n'
        + text
    )


def _spelled_out(text: str, builtin: str) -> str:
    return re.sub(rf"(: |-> |\| |\[)({builtin})(?=[\],) |=:\n]|$)", r"\1_\2", text)


# ---- names that are imported when they are asked for ----------------------------------------------------------------


def lazy_stub(package: str) -> Callable[[], str]:
    """The stub of the names that a package imports late (``MOVED``)."""

    def make() -> str:
        names = sorted(MOVED[package])
        lines = []
        for name in names:
            place, _, what = MOVED[package][name].partition(":")
            above, _, last = place.rpartition(".")
            lines.append(f"from {place} import {what} as {name}" if what else f"from {above} import {last} as {name}")
        return HEAD.format(f"What {package} imports when it is asked for.") + "\n".join([*lines, *listed(names), ""])

    return make


def context_stub() -> str:
    """``msnb/base/context_keys.pyi``: the keyword arguments of ``set_context``."""
    kinds = {"mode": "int | str", "save_graphs": "bool | int"}
    rows = [f"    {n}: {kinds.get(n, type(knob.default).__name__)}" for n, knob in settings.KNOBS.items()]
    rows += [f"    {name}: Any" for name in settings.TUNING]
    head = ["from typing import Any", "", "from typing_extensions import TypedDict", "", ""]
    body = ["class ContextKeys(TypedDict, total=False):", '    """The keys of ``set_context``."""', "", *rows]
    return HEAD.format("The settings of a session, typed.") + "\n".join([*head, *body]) + "\n"


STUBS = {
    "msnb/ops/__init__.pyi": ops_stub,
    "msnb/core/tensor_methods.pyi": tensor_stub,
    "msnb/base/context_keys.pyi": context_stub,
    "msnb/lazy_names.pyi": lazy_stub("msnb"),
    "msnb/parallel/lazy_names.pyi": lazy_stub("msnb.parallel"),
    "msnb/nn/lazy_names.pyi": lazy_stub("msnb.nn"),
    "msnb/train/lazy_names.pyi": lazy_stub("msnb.train"),
}


def formatted(text: str) -> str:
    """As ruff formats it, with one import for all names of a module: they are many, and each stands there twice (``as``
    shows a name)."""
    ruff = [sys.executable, "-m", "ruff"]
    grouped = ["--isolated", "--line-length", str(LINE), "--config", "lint.isort.combine-as-imports=true"]
    sorted_ = subprocess.run(
        [*ruff, "check", "--select", "I", *grouped, "--fix", "-q", "--stdin-filename", "stub.pyi", "-"],
        input=text, capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    done = subprocess.run(
        [*ruff, "format", "-q", "--stdin-filename", "stub.pyi", "-"],
        input=sorted_.stdout or text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    text, count = re.subn(r"(?ms)^(from \S+ import \()\n(.*?),\n\)$", _filled_import, done.stdout)
    reasons = {"I001 - filled lines": count, "F403 - a star means what a module lists": "import *" in text}
    noqa = "".join(f"# ruff: noqa: {reason}\n" for reason, holds in reasons.items() if holds)
    return text.replace('edit."""\n', f'edit."""\n\n{noqa}', 1) if noqa else text


def _filled_import(found: re.Match[str]) -> str:
    return filled(found[1], re.split(r",\s+", found[2].strip()), ")")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare or write the stubs of msnb.")
    parser.add_argument("--write", action="store_true", help="write them")
    options = parser.parse_args(argv)
    stale = []
    for place, make in STUBS.items():
        path, text = ROOT / place, formatted(make())
        if options.write:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(place)
    if stale:
        print(f"stubs are older than the package: {', '.join(stale)}. Run python tools/stubs.py --write.")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
