"""Kernels one after another on buffers, written out as one function: what is left of operations with known types.

places     operands, then constants, then results in the order in which they are made
step       (kernel, places of its operands, number of its results)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from msnb.base import device_registry
from msnb.devices.result_memory import careful
from msnb.ir.graph import Graph
from msnb.ops.elementwise.constant import constant

KernelStep = tuple[Callable[..., Any], tuple[int, ...], int]


@lru_cache(2048)
def _code(text: str) -> CodeType:
    return compile(text, "<kernels>", "exec")  # one for all sizes


def kernel_program(
    count: int, constants: Sequence[Any], steps: Sequence[KernelStep], wanted: Sequence[int],
    start: Sequence[str] = (), end: Sequence[str] = (), names: Any = (), body: Sequence[str] = (),
) -> Callable[..., Any]:  # fmt: skip
    """A straight program as a function of its operands. What is made on the way dies after its last use.

    Args:
        count, constants, steps: so many operands, then see above.
        wanted: the places whose buffers it gives, as a list.
        end: what it does instead, lines of Python that read the places (``v7``), its operands (``t0``; Tensors then),
            ``tape`` and ``names``; start: what it does before; body: what it does in place of the steps.
    """
    first, scope = count + len(constants), {"__name__": __name__, **dict(names)}
    scope.update((f"v{i}", c) for i, c in enumerate(constants, count))
    last, kept = {place: i for i, (_, refs, _) in enumerate(steps) for place in refs}, {*range(first), *wanted}
    lines = ["def run(given, tape=None):", f"[{listed(range(count), 't' if end else 'v')}] = given"]
    lines += [*start, *(f"v{i} = t{i}._data" for i in range(count if end else 0))]
    lines += body
    for i, (kernel, refs, made) in enumerate(() if body else steps):
        scope[f"k{i}"], results = kernel, range(first, first + made)
        first += made
        lines.append(f"{f'v{results[0]}' if made == 1 else f'[{listed(results)}]'} = k{i}({listed(refs)})")
        over = [p for p in {*refs, *results} - kept if last.get(p, i) == i]
        if over:
            lines.append(f"del {listed(over)}")
    exec(_code("\n ".join([*lines, *(end or [f"return [{listed(wanted)}]"])])), scope)
    return scope["run"]  # type: ignore[no-any-return]


def listed(places: Iterable[int], letter: str = "v") -> str:
    """The names of places, each with a comma behind it."""
    return "".join([f"{letter}{place}, " for place in places])


def kernels_of(graph: Graph) -> Callable[..., Any]:
    """A graph without control flow as kernels of the current device: buffers in, those of its outputs out."""
    device = device_registry.current()
    consts = [n for n in graph.nodes if n.op is constant]
    nodes = [n for n in graph.nodes if n.op is not constant]
    values = [*graph.params, *(n.out for n in consts), *(v for n in nodes for v in n.outputs)]
    place = {v: i for i, v in enumerate(values)}
    held = [n.attrs["value"] for n in consts]
    constants = [c.data if c.type.weak else device.from_host(np.asarray(c.data)) for c in held]
    steps = []
    for node in nodes:
        types = tuple(v.type for v in node.inputs)
        kernel = careful(device, node.op, types, node.attrs, [v.type for v in node.outputs])
        steps.append((kernel, tuple([place[v] for v in node.inputs]), len(node.outputs)))
    return kernel_program(len(graph.params), constants, steps, [place[v] for v in graph.outputs])
