"""The page of one function, class, operator or property."""

from __future__ import annotations

import html
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msnb.ops.definition.record import REGISTRY, Op
from tools.docs_site import docstrings, gradients, name_tables, record_facts
from tools.docs_site.catalogue import TENSOR, Entry, family_title, public_bases, public_methods
from tools.docs_site.example_calls import found_call
from tools.docs_site.page_links import linked_names, relative

LINE = 88
_WEIGHTS = {"nn": 2, "ms": 2, "ops": 1.5, "train": 1.5, "dataset": 1.5, "show": 1.5}
_TENSOR_LIST = "../Tensor/index.md"
# gradients of what is called like an operator: the sections whose names are functions of tensors, or layers
DRAWN = ("ops", "nn", "mint", "mint.nn", "mint.nn.functional", "mint.linalg", "mint.special")


@dataclass
class Page:
    """Markdown, and the pictures that it shows: path from the top of the site -> SVG or PNG."""

    path: str
    text: str
    pictures: dict[str, str | bytes] = field(default_factory=dict)


def page_of(entry: Entry, names: Mapping[str, Entry]) -> Page:
    """The whole page."""
    page = Page(f"{entry.path}.md", "")
    value, record = entry.value, record_of(entry)
    skipped = ("Raises", "Returns") if isinstance(value, Op) else ()
    docs = docstrings.markdown(inspect.getdoc(value) or "", value, skip=skipped)
    parts = [
        _front_matter(entry),
        f"# {docstrings.escaped(entry.title)}",
        _path_line(entry),
        _call(entry),
        _also(entry, names),
        docs,
        *_sections(entry, record, page),
        _methods(entry, names) if inspect.isclass(value) else "",
    ]
    page.text = linked_names("\n\n".join(part for part in parts if part) + "\n", page.path, names)
    return page


def record_of(entry: Entry) -> Op | None:
    """The record behind an operator: itself, or that of the function of the same name."""
    if isinstance(entry.value, Op):
        return entry.value
    return REGISTRY.get(entry.name) if entry.section.name == "ops" else None


def _sections(entry: Entry, record: Op | None, page: Page) -> list[str]:
    found = []
    if record is not None:
        found.append(("Types and shapes", record_facts.types_and_shapes(record)))
    found.append(("Gradient", _gradient(entry, record, page)))
    if record is not None:
        found.append(("Mistakes", record_facts.mistakes(record)))
    found.append(("In other frameworks", name_tables.in_other_frameworks(entry, page.path)))
    return [f"## {head}\n\n{body}" for head, body in found if body]


def _front_matter(entry: Entry) -> str:
    """The title, the first sentence and the rank in a search: ``Conv2d`` is meant more often than ``Conv2dBnAct``,
    which begins in the same way, and a layer more often than the function behind it."""
    about = docstrings.summary(inspect.getdoc(entry.value)).replace("`", "").replace('"', "'").replace("\\", "")
    boost = round(_WEIGHTS.get(entry.section.name, 1) * 20 / max(len(entry.name), 4), 2)
    return f'---\ntitle: "{entry.title}"\ndescription: "{about}"\nsearch:\n  boost: {boost}\n---'


def _path_line(entry: Entry) -> str:
    path = f"[API](../index.md) / [{entry.section.name}](index.md) / {family_title(entry.family)}"
    return f"{path}\n{{ .path-line data-search-exclude }}"


def _also(entry: Entry, names: Mapping[str, Entry]) -> str:
    """The other names; of a method of Tensor, the operator of its name."""
    others = [f"`{name}`" for name in entry.names[1:]]
    twin = names.get(f"ops.{entry.name}") if entry.section.name == TENSOR else None
    if twin is not None:
        others.append(f"the operator [`{twin.title}`]({relative(f'{entry.path}.md', f'{twin.path}.md')})")
    return f"Also: {', '.join(others)}\n{{ .also-line }}" if others else ""


# ---- the call --------------------------------------------------------------------------------------------------------


def _call(entry: Entry) -> str:
    if isinstance(entry.value, property):
        return docstrings.fenced(f"x.{entry.name}", "python")
    place = "x" if entry.section.name == TENSOR else _dotted(entry)
    return docstrings.fenced(
        signature_text(f"{place}.{entry.name}", entry.value, entry.section.name == TENSOR), "python"
    )


def _dotted(entry: Entry) -> str:
    return "msnb" if entry.section.name == "ms" else f"msnb.{entry.section.name}"


def signature_text(name: str, value: Any, method: bool = False) -> str:
    """A call with its parameters, types and defaults, on several lines where it is long."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(...)"
    given = list(signature.parameters.values())
    shown = _parameters(given[1:] if method else given)
    result = signature.return_annotation
    told = (
        "" if result is inspect.Signature.empty or result in (None, "None") else f" -> {docstrings.annotation(result)}"
    )
    line = f"{name}({', '.join(shown)}){told}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in shown), f"){told}"])


def _parameters(given: list[inspect.Parameter]) -> list[str]:
    out: list[str] = []
    starred = False
    for place, p in enumerate(given):
        if p.kind is p.KEYWORD_ONLY and not starred:
            out.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        out.append(_parameter(p))
        last = place + 1 == len(given) or given[place + 1].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            out.append("/")
    return out


def _parameter(p: inspect.Parameter) -> str:
    mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    kind = "" if p.annotation is p.empty else f": {docstrings.annotation(p.annotation)}"
    equals = " = " if kind else "="
    return f"{mark}{p.name}{kind}" + ("" if p.default is p.empty else f"{equals}{docstrings.default(p.default)}")


def _methods(entry: Entry, names: Mapping[str, Entry]) -> str:
    """What the class adds to its bases; where the methods of those are told."""
    if entry.title == "ms.Tensor":
        return f"## Methods and properties\n\nThey have [a list of their own]({_TENSOR_LIST})."
    out, bases = [], public_bases(entry.value, names)
    if bases:
        links = [f"[`{b.title}`]({relative(f'{entry.path}.md', f'{b.path}.md')})" for b in bases]
        out.append(f"It has also the methods of {', '.join(links)}.")
    for name, method in public_methods(entry.value, bases):
        function = getattr(method, "__func__", method)
        call = name if isinstance(method, property) else signature_text(
            name, function, not isinstance(method, staticmethod))  # fmt: skip
        docs = docstrings.markdown(
            inspect.getdoc(function) or "", None if isinstance(method, property) else function, 4
        )
        out.append(f"### {docstrings.escaped(name)}\n\n{docstrings.fenced(call, 'python')}\n\n{docs}")
    return "## Methods and properties\n\n" + "\n\n".join(out) if out else ""


# ---- the gradient ----------------------------------------------------------------------------------------------------


def _gradient(entry: Entry, record: Op | None, page: Page) -> str:
    if record is not None and record.grad is None:
        return f"None: {docstrings.escaped(record.no_grad)}."
    found = _found_gradient(entry, record)
    if found is None:
        return ""
    by = ", ".join(f"`{name}`" for name in found.by)
    lead = f"With `dout`, the gradient of the result, msnb makes of an example the gradient by {by}:"
    if found.svg:
        picture = f"pictures/{entry.path.removeprefix('api/').replace('/', '.')}.svg"
        page.pictures[picture] = found.svg
        words = ", ".join(found.operators)
        shown = f"![Gradient of {html.escape(entry.title)}: {words}]({relative(page.path, picture)}){{ .picture }}"
        return f"{lead}\n\n{shown}\n\n{_folded('The same as text', docstrings.fenced(found.text))}"
    return f"{lead}\n\n{docstrings.fenced(found.text)}"


def _found_gradient(entry: Entry, record: Op | None) -> gradients.Gradient | None:
    if entry.section.name not in DRAWN or isinstance(entry.value, property):
        return None
    if isinstance(entry.value, Op):
        return gradients.of_record(entry.value)
    call = found_call(inspect.getdoc(entry.value) or "", entry.name, inspect.isclass(entry.value))
    found = None if call is None else gradients.of_call(entry.title, call)
    return gradients.of_record(record) if found is None and record is not None else found


def _folded(summary: str, body: str) -> str:
    return f'<details markdown="1" data-search-exclude><summary>{summary}</summary>\n\n{body}\n\n</details>'
