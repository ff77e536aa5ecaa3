"""MindSpore's and PyTorch's names of things, and the two tables of them.

They stand in the project already: docstrings name MindSpore's page, the operator classes have their table, ``mint``
has PyTorch's names, the converter of PyTorch's programs has a table of modules and one of operators, and what msnb says
of a name that it does not have (``SAID``) is the way from there to here.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping

import msnb as ms
from msnb.as_mindspore.differences import DIFFERENCES
from msnb.base.name_tables import SAID
from msnb.ops.mindspore import primitive_classes
from msnb.train.pytorch.layer_rules import LAYERS
from msnb.train.pytorch.operators import OPERATORS
from tools.docs_site.catalogue import Entry
from tools.docs_site.docstrings import escaped
from tools.docs_site.page_links import relative

MINDSPORE_PAGE, PYTORCH_PAGE = "names/mindspore.md", "names/pytorch.md"
_ADDRESS = re.compile(r"mindspore\.((?:[a-zA-Z_]\w*\.)*[a-zA-Z_]\w*)\.html")
_WORDS = re.compile(r"mindspore\.cn[^\n]*?``([\w.]+)``|`mindspore\.([\w.]+)`")
_ATEN = re.compile(r"^(?:ms\.)?((?:ops|nn|mint)(?:\.\w+)*)\(")
_PART = "is not part of msnb yet"
_ROOMS = {"msnb": "torch", "msnb.nn": "torch.nn", "msnb.ops": "torch", "Tensor": "torch.Tensor",
          "Cell": "torch.nn.Module", "msnb.dataset": "torch.utils.data", "msnb.optim": "torch.optim"}  # fmt: skip


def mindspore_name(entry: Entry) -> str:
    """MindSpore's name where the docstring names its page, else nothing."""
    docs = inspect.getdoc(entry.value) or ""
    found = _ADDRESS.search(docs) or _WORDS.search(docs)
    return f"mindspore.{next(filter(None, found.groups()))}" if found else ""


def operator_classes() -> dict[str, str]:
    """MindSpore's operator classes -> the function with the same letters, where there is one: ``MatMul`` -> matmul."""
    listed = {*primitive_classes._TABLE, *primitive_classes._POSITIONAL}
    functions = {n.replace("_", ""): n for n in dir(ms.ops) if not n.startswith("_") and n.islower()}
    return {name: functions.get(name.lower(), "") for name in sorted(listed)}


def pytorch_names(entry: Entry) -> list[str]:
    """PyTorch's names with the same arguments: those of ``mint``."""
    return [f"torch{name.removeprefix('mint')}" for name in entry.names if name.startswith("mint.")]


def differences_of(entry: Entry) -> list[str]:
    """Where MindSpore answers otherwise, as sentences."""
    names = {name.removeprefix("ms.") for name in entry.names}
    return [
        f"MindSpore gives {escaped(d.mindspore)}, msnb {escaped(d.msnb)}; under the alias {d.holds}'s holds, as "
        f"{escaped(d.why)}."
        for d in DIFFERENCES
        if d.name in names
    ]


def in_other_frameworks(entry: Entry, page: str) -> str:
    """The section of an entry's page."""
    out = []
    name = mindspore_name(entry)
    classes = [c for c, f in operator_classes().items() if f and entry.title == f"ops.{f}"]
    if name or classes:
        shown = ", ".join(f"`{n}`" for n in [name] * bool(name) + [f"mindspore.ops.{c}" for c in classes])
        out.append(f"- MindSpore: {shown}")
    out += [f"- {sentence}" for sentence in differences_of(entry)]
    torch = pytorch_names(entry)
    if torch:
        mint = ", ".join(f"`{n}`" for n in entry.names if n.startswith("mint."))
        out.append(f"- PyTorch: {', '.join(f'`{n}`' for n in torch)} (with its arguments: {mint})")
    if not out:
        return ""
    tables = f"[MindSpore's names]({relative(page, MINDSPORE_PAGE)}), [PyTorch's names]({relative(page, PYTORCH_PAGE)})"
    return "\n".join([*out, f"- All: {tables}"])


# ---- the two tables --------------------------------------------------------------------------------------------------


def mindspore_table(found: list[Entry]) -> str:
    """The page of MindSpore's names."""
    names = {name: e for e in found for name in e.names}
    rows = sorted((mindspore_name(e), _link(e)) for e in found if mindspore_name(e))
    classes = operator_classes().items()
    parts = [
        "# MindSpore's names",
        "Programs written for MindSpore run as they are: `python -m msnb.as_mindspore program.py`. msnb has its "
        "packages and names, so `mindspore.X` is `msnb.X` unless a line below says otherwise.",
        "## Other answers to the same call",
        _table("name | MindSpore | msnb | under the alias | why", (
            (_entry_link(d.name, names), escaped(d.mindspore), escaped(d.msnb), d.holds, escaped(d.why))
            for d in DIFFERENCES
        )),
        "## Functions and classes",
        "Those whose documentation names MindSpore's page.",
        _table("MindSpore | msnb", ((f"`{name}`", link) for name, link in rows)),
        "## Operator classes",
        "`mindspore.ops.X(attributes)(tensors)` is `ms.ops.X` here too; the function beside it does the same work.",
        _table("class | function", (
            (f"`mindspore.ops.{name}`", _entry_link(f"ops.{function}", names) if function else "")
            for name, function in classes
        )),
        "## Not part of msnb",
        _table("name | what there is instead", (
            (places, escaped(said) or "nothing yet") for places, said in _said(torch=False)
        )),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def pytorch_table(found: list[Entry]) -> str:
    """The page of PyTorch's names."""
    names = {name: e for e in found for name in e.names}
    mint = [name for name in sorted(names) if name.startswith("mint.")]
    aten = [(name, text) for name, text in sorted(OPERATORS.items()) if isinstance(text, str) and _ATEN.match(text)]
    parts = [
        "# PyTorch's names",
        "A short course is [From PyTorch in ten minutes](../guides/from_pytorch.md); whole models come over with "
        "[`ms.from_torch`](../guides/pytorch.md).",
        "## Words that differ",
        _table("PyTorch | here", ((places, escaped(said)) for places, said in _said(torch=True))),
        "## Modules",
        "What the converter makes of a module of `torch.nn`.",
        _table("PyTorch | msnb", (
            (f"`torch.nn.{name}`", _of_template(rule.constructor, names)) for name, rule in sorted(LAYERS.items())
        )),
        "## The same name, the same arguments",
        "`ms.mint` has PyTorch's names with PyTorch's arguments and defaults.",
        _table("PyTorch | msnb | page", (
            (f"`torch{name.removeprefix('mint')}`", f"`ms.{name}`", _link(names[name])) for name in mint
        )),
        "## Operators of ATen",
        "What `torch.export` writes, and the call that the converter makes of it.",
        _table("ATen | msnb", ((f"`aten.{name}`", _of_template(text, names)) for name, text in aten)),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    columns = "|".join("---" for _ in head.split("|"))
    return "\n".join([f"| {head} |", f"|{columns}|", *(f"| {' | '.join(row)} |" for row in rows)])


def _of_template(text: str, names: Mapping[str, Entry]) -> str:
    found = _ATEN.match(text)
    return _entry_link(found[1], names) if found else f"`{text}`"


def _link(entry: Entry) -> str:
    return f"[`{entry.title}`](../{entry.path}.md)"


def _entry_link(name: str, names: Mapping[str, Entry]) -> str:
    entry = names.get(name) or names.get(f"ms.{name}")
    return f"`{name}`" if entry is None else f"[`{name}`](../{entry.path}.md)"


def _said(torch: bool) -> Iterator[tuple[str, str]]:
    """(names as code, sentence) of what msnb explains: PyTorch's names, or MindSpore's that are not here."""
    found: dict[str, list[str]] = {}
    for owner, rows in SAID.items():
        for name, said in rows.items():
            place = _place(owner, name, said, torch)
            if place and place not in found.setdefault(said, []):
                found[said].append(place)
    for said, places in found.items():
        if places:
            yield ", ".join(f"`{place}`" for place in places), said.removeprefix(_PART).lstrip(":;. ")


def _place(owner: str, name: str, said: str, torch: bool) -> str:
    """How the other framework spells it; nothing where the sentence is about something else."""
    if torch:
        return f"{_ROOMS[owner]}.{name}" if said.startswith("PyTorch") and owner in _ROOMS else ""
    absent = said.startswith(_PART) and owner.startswith("msnb") and name not in dir(importlib.import_module(owner))
    return f"{owner.replace('msnb', 'mindspore', 1)}.{name}" if absent else ""
