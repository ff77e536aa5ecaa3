"""The words in a box: the op, its small constants and attributes, its result types; nothing longer than a line."""

from __future__ import annotations

from msnb.core import TensorType
from msnb.ir import CALL, Node, Value
from msnb.ir.text.literals import LiteralTable, is_inline, write_attr, write_type
from msnb.ir.text.printer import differing_attrs
from msnb.ops.elementwise.constant import constant

LONG = 34
LONG_TITLE = 48


def title_of(node: Node) -> str:
    """The op; for a call, whom it calls."""
    name = f"call {node.attrs['callee']}" if node.op is CALL else node.op.name
    return shortened(name, LONG_TITLE)


def lines_of(node: Node) -> list[str]:
    """Constants and attributes that say something, then the result types."""
    attrs = [f"{_operand_name(node, i)}={constant_word(v)}" for i, v in enumerate(node.inputs) if _is_small(v)]
    shown = [(shortened(k), v) for k, v in differing_attrs(node) if _shown(node, k)]
    attrs += [f"{k}={shortened(write_attr(v, LiteralTable()))}" for k, v in shown]
    return [*_wrapped(attrs), *_wrapped([_type_word(v) for v in node.outputs])]


def _shown(node: Node, name: str) -> bool:
    if node.op is constant or name == "callee":
        return False
    return not ("control" in node.op.traits and name.startswith("n_"))


def _is_small(value: Value) -> bool:
    return value.node is not None and value.node.op is constant and is_inline(value.node.attrs["value"])


def _operand_name(node: Node, i: int) -> str:
    """What the op's record calls its operand ``i``."""
    names = node.op.inputs
    if "control" in node.op.traits or i >= len(names) or names[i].startswith("*"):
        return f"operand {i}"
    return names[i]


def constant_word(value: Value) -> str:
    """A small constant as text."""
    assert value.node is not None
    return shortened(LiteralTable().const(value.node.attrs["value"]))


def _type_word(value: Value) -> str:
    word = write_type(value.type)
    return f"{shortened(value.name)}: {word}" if value.name and isinstance(value.type, TensorType) else word


def shortened(text: str, most: int = LONG) -> str:
    """At most ``most`` characters on one line; what no font shows (controls, direction marks) is a space."""
    text = text[: 4 * most]
    if not text.isprintable():
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _wrapped(words: list[str]) -> list[str]:
    """Words joined by commas into lines of LONG characters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= LONG:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines
