"""What the record of an operator says: types in and types out, axes, gradient or why there is none, mistakes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import msnb as ms
from msnb.core.types import TensorType
from msnb.ops.definition.docstring import _shapes, _types
from msnb.ops.definition.record import Example, InvalidExample, Op
from tools.docs_site.docstrings import default, escaped, fenced

MOST_EXAMPLES = 5
_TRAITS = {
    "elementwise": "It works element by element.",
    "commutative": "The order of its operands does not matter.",
    "floating": "Integers and bools are computed as float32.",
    "random": "It draws random numbers.",
    "effect": "It has an effect, so it is never left out or moved.",
    "view": "It copies nothing.",
    "dynamic": "Sizes of the result depend on the data.",
    "contraction": "It is work for a matrix unit, where a device has one.",
    "modular": "Integers may wrap around before it: the result is the same.",
}
_KINDS = {"^": "the largest is taken over it", "!": "whole, it cannot be split", "@": "indexed by another operand",
          "~": "seen by windows"}  # fmt: skip


def types_and_shapes(op: Op) -> str:
    """The rules as sentences and the record's examples as a table of types."""
    out = []
    axes = op.axes if isinstance(op.axes, str) else _first_axes(op)
    if axes:
        out.append(f"Shapes: {escaped(_shapes(axes))}{_marks(axes)}")
    if op.promotes and len(op.inputs) > 1:
        out.append("Operands of different dtypes are converted to the dtype that holds both.")
    facts = [f"It reduces its operand ({op.reduction})."] if op.reduction else []
    facts += [text for trait, text in _TRAITS.items() if trait in op.traits]
    if facts:
        out.append(" ".join(facts))
    rows = list(dict.fromkeys(_rows(op)))
    if any(attrs for _, attrs, _ in rows):
        out.append("\n".join(["| operands | attributes | result |", "|---|---|---|", *map(_row, rows)]))
    elif rows:
        out.append("\n".join(["| operands | result |", "|---|---|", *(_row((a, b)) for a, _, b in rows)]))
    return "\n\n".join(out)


def _first_axes(op: Op) -> str:
    """The axes of the first example, where they depend on types and attributes."""
    for example in op.examples:
        types = None if any(x is None for x in example.inputs) else _types(list(example.inputs))
        if types is not None and op.axes is not None:
            try:
                return str(op.axes(types, op.bind_attrs(example.attrs)))  # type: ignore[operator]
            except Exception:  # a call that no axes describe
                return ""
    return ""


def _marks(axes: str) -> str:
    """What the marks on axes mean, of those that occur."""
    told = [f"{label}: {_KINDS[mark]}" for label, mark in dict.fromkeys(re.findall(r"(\w+)([\^!@~])", axes))]
    return f" ({'; '.join(told)})" if told else ""


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(op: Op) -> Iterator[tuple[str, str, str]]:
    for example in op.examples[:MOST_EXAMPLES]:
        types = None if any(x is None for x in example.inputs) else _types(list(example.inputs))
        if types is None:
            continue
        try:
            results = op.result_types(types, op.bind_attrs(example.attrs))
        except Exception:  # an example that infer refuses without its values: the other rows remain
            continue
        yield _codes(types), _attrs(example), _codes(results)


def _codes(types: Any) -> str:
    return ", ".join(f"`{t!r}`" for t in types if isinstance(t, TensorType)) or "none"


def _attrs(example: Example | InvalidExample) -> str:
    return ", ".join(f"`{name}={default(value)}`".replace("|", "\\|") for name, value in example.attrs.items())


def mistakes(op: Op) -> str:
    """The record's wrong calls, made: the call and what msnb says of it."""
    found = {}
    for wrong in op.wrong:
        sentence = _provoked(op, wrong)
        if sentence:
            found[sentence] = _call(op, wrong)
    parts = [f"{fenced(call, 'python')}\n\n{fenced(said)}" for said, call in found.items()]
    return '<div class="mistakes" markdown="1">\n\n' + "\n\n".join(parts) + "\n\n</div>" if parts else ""


def _provoked(op: Op, wrong: InvalidExample) -> str:
    inputs = [ms.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in wrong.inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            op(*inputs, **wrong.attrs)
    except Exception as error:  # the error is what the page is about
        return f"{type(error).__name__}: {_without_place(str(error))}"
    return ""


def _without_place(text: str) -> str:
    """The error without its last lines: they name the line of this program, not the reader's."""
    return re.split(r"\nat [^\n]+ line \d+", text)[0].rstrip()


def _call(op: Op, wrong: InvalidExample) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, np.ndarray):
            kind = value.dtype.name
            return f"<{kind}[{','.join(map(str, value.shape))}]>"
        return repr(value)

    parts = [shown(x) for x in wrong.inputs] + [f"{n}={default(v)}" for n, v in wrong.attrs.items()]
    return f"ms.ops.{op.name}({', '.join(parts)})"
