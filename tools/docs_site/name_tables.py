"""MindSpore's and PyTorch's names of things, and the two tables of them.

They stand in the project already: docstrings name MindSpore's page, the operator classes have their table, ``mint`` has
PyTorch's names, the converter of PyTorch's programs has a table of modules and one of operators, and what msnb says of a
name that it does not have (``SAID``) is the way from there to here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

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
_WORDS = re.compile(r"mindspore\.cn[^\n]*?``([\w.]+)``")
_ATEN = re.compile(r"^(?:ms\.)?((?:ops|nn|mint)(?:\.\w+)*)\(")
_PART = "is not part of msnb yet"
_ROOMS = {"msnb": "torch", "msnb.nn": "torch.nn", "msnb.ops": "torch", "Tensor": "torch.Tensor",
          "Cell": "torch.nn.Module", "msnb.dataset": "torch.utils.data", "msnb.optim": "torch.optim"}  # fmt: skip


def mindspore_name(entry: Entry) -> str:
    """MindSpore's name where the docstring names its page, else nothing."""
    found = _ADDRESS.search(inspect.getdoc(entry.value) or "") or _WORDS.search(inspect.getdoc(entry.value) or "")
    return f"mindspore.{found[1]}" if found else ""


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
    rows = [(name, e) for e in found if (name := mindspore_name(e))]
    names = {name: e for e in found for name in e.names}
    return "\n".join([
        "# MindSpore's names\n",
        "Programs written for MindSpore run as they are: `python -m msnb.as_mindspore program.py`. msnb has MindSpore's "
        "packages and names, so `mindspore.X` is `msnb.X` unless a line below says otherwise.\n",
        "## Other answers to the same call\n",
        "| name | MindSpore | msnb | under the alias | why |\n|---|---|---|---|---|",
        *(f"| {_entry_link(d.name, names)} | {_cell(d.mindspore)} | {_cell(d.msnb)} | {d.holds} | {_cell(d.why)} |"
          for d in DIFFERENCES),
        "\n## Functions and classes\n",
        "Those whose documentation names MindSpore's page.\n",
        "| MindSpore | msnb |\n|---|---|",
        *(f"| `{name}` | {_link(entry)} |" for name, entry in sorted(rows, key=lambda row: row[0])),
        "\n## Operator classes\n",
        "`mindspore.ops.X(attributes)(tensors)` is `ms.ops.X` here too; the function beside it does the same work.\n",
        "| class | function |\n|---|---|",
        *(f"| `mindspore.ops.{c}` | {_entry_link(f'ops.{f}', names) if f else ''} |" for c, f in operator_classes().items()),
        "\n## Not part of msnb\n",
        "| name | what there is instead |\n|---|---|",
        *(f"| {places} | {_cell(said)} |" for places, said in _said(torch=False)),
    ]) + "\n"  # fmt: skip


def pytorch_table(found: list[Entry]) -> str:
    """The page of PyTorch's names."""
    names = {name: e for e in found for name in e.names}
    mint = [(f"torch{name.removeprefix('mint')}", name, names[name]) for name in sorted(names) if name.startswith("mint.")]
    return "\n".join([
        "# PyTorch's names\n",
        "A short course is [From PyTorch in ten minutes](../guides/from_pytorch.md); whole models come over with "
        "[`ms.from_torch`](../guides/pytorch.md).\n",
        "## Words that differ\n",
        "| PyTorch | here |\n|---|---|",
        *(f"| {places} | {_cell(said)} |" for places, said in _said(torch=True)),
        "\n## Modules\n",
        "What the converter makes of a module of `torch.nn`.\n",
        "| PyTorch | msnb |\n|---|---|",
        *(f"| `torch.nn.{name}` | {_of_template(rule.constructor, names)} |" for name, rule in sorted(LAYERS.items())),
        "\n## The same name, the same arguments\n",
        "`ms.mint` has PyTorch's names with PyTorch's arguments and defaults.\n",
        "| PyTorch | msnb | page |\n|---|---|---|",
        *(f"| `{torch}` | `ms.{name}` | {_link(entry)} |" for torch, name, entry in mint),
        "\n## Operators of ATen\n",
        "What `torch.export` writes, and the call that the converter makes of it.\n",
        "| ATen | msnb |\n|---|---|",
        *(f"| `aten.{name}` | {_of_template(text, names)} |" for name, text in sorted(OPERATORS.items())
          if isinstance(text, str) and _ATEN.match(text)),
    ]) + "\n"  # fmt: skip


def _of_template(text: str, names: Mapping[str, Entry]) -> str:
    found = _ATEN.match(text)
    return _entry_link(found[1], names) if found else f"`{text}`"


def _cell(text: str) -> str:
    return escaped(text)


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
            yield ", ".join(f"`{place}`" for place in places), said.removeprefix(_PART).lstrip("; .")


def _place(owner: str, name: str, said: str, torch: bool) -> str:
    """How the other framework spells it; nothing where the sentence is about something else."""
    if torch:
        return f"{_ROOMS[owner]}.{name}" if said.startswith("PyTorch") and owner in _ROOMS else ""
    return f"{owner.replace('msnb', 'mindspore', 1)}.{name}" if said.startswith(_PART) and owner[:4] == "msnb" else ""
