"""A docstring as Markdown.

Docstrings of msnb are plain text with sections (``Args:``, ``Returns:``, ``Raises:``, ``Examples:`` ...), code in one
or two backquotes and indented programs. Their stars, underscores and brackets mean themselves, so text is escaped;
programs and examples become fenced blocks, items (``name: meaning``) a list.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

HEADS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Inputs", "Outputs", "Note", "Notes", "Example",
         "Examples", "Source", "Sources")  # fmt: skip
_HEAD = re.compile(rf"^({'|'.join(HEADS)}):(?:\s+(.*))?$")
_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
_SPECIAL = re.compile(r"[\\*_\[\]<>|#{}~^]")
_ITEM = re.compile(r"^((?:[\w*.\"' ]|, |, \.\.\.|\([\w, .*=]*\)|\[[\w, ]*\])+?): (.+)$", re.DOTALL)
_SOURCE = re.compile(r"`mindspore\.(?:(\w+(?:\.\w+)*)\.)?(\w+)`")
_MODULES = ("audio", "boost", "dataset", "optim", "profiler", "text", "transforms", "vision")
MINDSPORE = "https://www.mindspore.cn/docs/en/master/api_python"
_URL = re.compile(r"(https?://[^\s)`]+[^\s)`.,;])")


def escaped(text: str) -> str:
    """Plain text with its code spans, such that Markdown changes nothing else of it."""
    parts = _CODE.split(text)
    return "".join(_span(part) if place % 2 else _plain(part) for place, part in enumerate(parts))


def _span(part: str) -> str:
    return f"`{part.strip('`')}`"


def _plain(text: str) -> str:
    parts = _URL.split(text)
    return "".join(f"<{part}>" if place % 2 else _SPECIAL.sub(_entity, part) for place, part in enumerate(parts))


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def fenced(code: str, language: str = "text") -> str:
    """A block of code; three backquotes inside make the fence longer."""
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{ticks}{language}\n{code.rstrip()}\n{ticks}"


def sections_of(text: str) -> list[tuple[str, str]]:
    """(head, body) of each section; the text before the first has the head ""."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(text).splitlines():
        head = _HEAD.match(line)
        if head:
            found.append((head[1], [head[2] or ""]))
        elif line and not line.startswith(" ") and found[-1][0]:
            found.append(("", [line]))  # text again after a section
        else:
            found[-1][1].append(line)
    return [(head, _body(lines)) for head, lines in found if "".join(lines).strip()]


def _body(lines: list[str]) -> str:
    first, *rest = lines
    return f"{first}\n{textwrap.dedent(chr(10).join(rest))}".strip("\n") if rest else first


def prose(text: str) -> str:
    """Paragraphs; what is indented among them is code."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            out.append(fenced(textwrap.dedent(block)))
        elif any(line.lstrip().startswith(">>> ") for line in lines):
            out.append(fenced(textwrap.dedent(block), "pycon"))
        else:
            out.extend(_mixed(lines))
    return "\n\n".join(out)


def _mixed(lines: list[str]) -> list[str]:
    """A paragraph that code may follow without an empty line."""
    head = list(lines)
    tail: list[str] = []
    while len(head) > 1 and head[-1].startswith("    "):
        tail.insert(0, head.pop())
    text = escaped("\n".join(line.strip() for line in head))
    return [text, fenced(textwrap.dedent("\n".join(tail)))] if tail else [text]


def items(text: str, told: Mapping[str, str]) -> str:
    """``name: meaning`` lines as a list; ``told`` is what the signature says of a name."""
    out: list[str] = []
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            out.append(line)
        elif out:
            out[-1] += f"\n{line.strip()}"
        elif line.strip():
            out.append(line.strip())
    names = "|".join([r"\w+Error", *map(re.escape, told)])
    again = re.compile(rf"(?<=[.;])\s+(?=(?:{names}): )")  # "FileNotFoundError: no file. ValueError: ..." on one line
    return "\n".join(_item(part.strip(), told) for item in out for part in again.split(item))


def _item(text: str, told: Mapping[str, str]) -> str:
    found = _ITEM.match(text)
    if found is None:
        return "- " + escaped(text).replace("\n", " ")
    names = [name.strip() for name in found[1].split(",")]
    shown = ", ".join(f"`{name}`" for name in names)
    facts = dict.fromkeys(told[n.lstrip("*")] for n in names if n.lstrip("*") in told)
    about = f" ({'; '.join(facts)})" if facts else ""
    meaning = escaped(found[2]).replace("\n", " ")
    return f"- **{shown}**{about}: {meaning}"


def told_by_signature(value: Any) -> dict[str, str]:
    """Parameter -> its type and default, as Markdown."""
    found = {}
    for p in parameters(value):
        facts = [f"`{annotation(p.annotation)}`"] if p.annotation is not p.empty else []
        if p.default is not p.empty and p.default is not None:
            facts.append(f"default `{default(p.default)}`")
        if facts:
            found[p.name] = ", ".join(facts)
    return found


def parameters(value: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return []


def annotation(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def default(value: Any) -> str:
    """A default as it would be typed; what has no such form is three dots."""
    text = value.__name__ if inspect.isclass(value) or inspect.isfunction(value) else repr(value)
    return "..." if " at 0x" in text or len(text) > 60 or "`" in text else text


def markdown(text: str, value: Any = None, level: int = 2, skip: tuple[str, ...] = ()) -> str:
    """A whole docstring. Its sections are no headings for the table of contents, as each would be a page of its own to
    the search: "Conv2d padding" asks for the page that has the one word in its title, the other in its arguments.
    """
    told = told_by_signature(value) if value is not None else {}
    titles = {"Args": "Arguments", "Example": "Examples"}
    out = []
    for head, body in sections_of(text):
        if head in skip:
            continue
        if head in ("Source", "Sources"):
            out.append(f"Source: {_SOURCE.sub(_source, prose(body))}\n{{ .also-line }}")
            continue
        if head:
            out.append(f'{titles.get(head, head)}\n{{ .part role="heading" aria-level="{level}" }}')
        out.append(items(body, told) if head in ("Args", "Attributes", "Raises", "Inputs") else prose(body))
    return "\n\n".join(out)


def _source(found: re.Match[str]) -> str:
    """A name of MindSpore's with a link to its page there; modules have pages of other names."""
    room, name = found[1] or "", found[2]
    if name in _MODULES:
        return found[0]
    top = room.partition(".")[0]
    flat = {"": "mindspore", "Tensor": "mindspore/Tensor", "nn": room.replace(".", "_"), "scipy": "scipy"}
    folder = flat.get(top, room.replace(".", "_" if top == "dataset" else "/"))
    return f"[{found[0]}]({MINDSPORE}/{folder}/{found[0].strip('`')}.html)"


def summary(text: str | None) -> str:
    """The first sentence, or the first line where that is shorter."""
    first = inspect.cleandoc(text or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.!?])\s(?=[A-Z`])", first)[0]
