"""The gradient of an operator as a graph: msnb differentiates it, optimises what comes out and draws it.

A gradient needs an operand and a way to say what comes from above, so the function that is differentiated is
``(op(x, y) * dout).sum()`` for the operands of an example: in the optimised graph that leaves ``dout``, the gradient of
the result, as an input, and one result per operand.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import msnb as ms
from msnb.graph.capture import register_source
from msnb.notebook.programs.capture_target import captured, named
from msnb.notebook.show.program_views import graph
from msnb.ops.definition.record import Example, Op
from tools.docs_site.example_calls import ExampleCall

MOST_NODES = 28  # a larger graph is told as text
MOST_WEIGHTS = 4
MOST_TEXT = 80  # lines
MOST_ELEMENTS = 100_000
FLOATS = (ms.float32, ms.float16, ms.bfloat16)
_SERIAL = iter(range(1, 1_000_000))


@dataclass(frozen=True)
class Gradient:
    """A gradient as it is shown: its graph as text, drawn where it is small enough, and the operators in it."""

    text: str
    svg: str
    operators: tuple[str, ...]
    by: tuple[str, ...]


def of_record(op: Op) -> Gradient | None:
    """From the record's examples: the first that can be differentiated."""
    if op.grad is None:
        return None
    for example in op.examples:
        call = _call_of(op, example)
        found = None if call is None else of_call(op.name, call)
        if found is not None:
            return found
    return None


def _call_of(op: Op, example: Example) -> ExampleCall | None:
    names = [name.lstrip("*") for name in op.inputs]
    names += [f"{names[-1]}{k}" for k in range(2, 2 + len(example.inputs) - len(names))]
    tensors: dict[str, Any] = {}
    parts = []
    for name, value in zip(names, example.inputs):
        if value is None or isinstance(value, (bool, int, float, complex)):
            parts.append(repr(value))
        else:
            tensors[name] = ms.Tensor(value)
            parts.append(name)
    attrs = {f"attr_{name}": value for name, value in example.attrs.items()}
    parts += [f"{name}=attr_{name}" for name in example.attrs]
    return ExampleCall(f"fn({', '.join(parts)})", tensors, {"fn": op, **attrs})


def of_call(name: str, call: ExampleCall) -> Gradient | None:
    """The gradient of a call by all its tensors of floats; None where there is none, or msnb cannot capture it."""
    if any(t.size > MOST_ELEMENTS for t in call.tensors.values()):
        return None
    tensors = {n: t.astype(ms.float32) if t.dtype is ms.float64 else t for n, t in call.tensors.items()}
    for floats in _choices(tensors):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _drawn(name, call, floats, [n for n, t in floats.items() if t.dtype in FLOATS])
        except Exception:  # whatever stands in the way, the page is still right without a picture
            continue
    return None


def _choices(tensors: dict[str, Any]) -> list[dict[str, Any]]:
    """The operands as they are; whole numbers, which are shorter in an example, as floats: all, or only the first."""
    if any(t.dtype in FLOATS for t in tensors.values()):
        return [tensors]
    if not tensors or not all(t.dtype.is_int for t in tensors.values()):
        return []
    first = next(iter(tensors))
    return [
        {n: t.astype(ms.float32) for n, t in tensors.items()},
        {n: t.astype(ms.float32) if n == first else t for n, t in tensors.items()},
    ]


def _weights(call: ExampleCall) -> list[Any] | None:
    """The Parameters of a layer, where they are few enough to be followed in a picture."""
    layer = call.names.get("fn")
    found = list(layer.trainable_params()) if isinstance(layer, ms.nn.Cell) else []
    return found if 0 < len(found) <= MOST_WEIGHTS else None


def _drawn(name: str, call: ExampleCall, tensors: dict[str, Any], by: list[str]) -> Gradient | None:
    place, label = f"<gradient {next(_SERIAL)}>", name.rpartition(".")[2]
    names = {**call.names, "ms": ms}
    result = eval(compile(call.source, place, "eval"), {**names, **tensors})
    source = call.source
    if isinstance(result, tuple) and result:
        source, result = f"{source}[0]", result[0]
    if not isinstance(result, ms.Tensor) or result.dtype not in FLOATS:
        return None
    program = f"def {label}({', '.join(tensors)}, dout):\n    return ({source} * dout).sum()\n"
    register_source(place, program)
    exec(compile(program, place, "exec"), names)
    positions = tuple(list(tensors).index(n) for n in by)
    weights = _weights(call)
    gradient = ms.grad(names[label], positions if len(positions) > 1 else positions[0], weights=weights)
    shown = named(captured(gradient, [*tensors.values(), ms.ops.ones_like(result)], {}), names[label])
    view = graph(shown, title=f"gradient of {name}", optimised=True)
    lines = [line.partition("#")[0].rstrip() for line in view.text.splitlines()]
    kept = [n for n in view.graph.nodes if n.op.name != "constant"]
    svg = view.svg if 0 < len(kept) <= MOST_NODES else ""
    if len(lines) > MOST_TEXT:
        lines = [*lines[:MOST_TEXT], f"  ... and {len(lines) - MOST_TEXT} lines more"]
    return Gradient(
        "\n".join(lines), svg, tuple(dict.fromkeys(n.op.name for n in kept)), (*by, *(w.name for w in weights or ()))
    )
