"""Running a program to look at it: node by node on buffers, with the user's state untouched.

    Program      a graph and one buffer (or Python number) per param, gathered as a call would gather them
    nodes_of     an iterator of (node, inputs, outputs) in program order: the reference way, on the current device
    quiet        what a program prints is not printed again by those who only look

Nothing here writes results back, so a training step can be looked at as often as one likes.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import ArgumentError, device_registry
from msnb.core import TensorType, make, plain_numbers
from msnb.devices.reference_executor import ReferenceProgram, alone
from msnb.graph.capture import trace
from msnb.graph.compile import Log, optimise
from msnb.ir.analysis.nested_nodes import host_calls
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.printer import Names
from msnb.notebook.drawing.node_groups import is_drawn
from msnb.notebook.programs.capture_target import gradient_of, name_of, named, plain
from msnb.ops.elementwise.constant import constant

Array = NDArray[Any]


@dataclass
class InstrumentedProgram:
    """A graph with the buffers that its params have in one call."""

    name: str
    graph: Graph
    inputs: list[Any]

    def optimised(self) -> InstrumentedProgram:
        """The same call after the passes."""
        return InstrumentedProgram(self.name, optimise(self.graph, Log())[0], self.inputs)


def program_of(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], gradient: bool = False) -> InstrumentedProgram:
    """Capture a function for a call, and gather what the call would hand to the graph.

    Args:
        fn: a function, a jitted function or a Cell.
        args, kwargs: of the call.
        gradient: the program of its gradient instead.

    Raises:
        CaptureError: graph mode refuses the program; other errors are the program's own.
    """
    if not callable(fn):
        raise ArgumentError(f"a view needs a function or a Cell to run, not {type(fn).__name__}.")
    target = gradient_of(fn) if gradient else plain(fn)
    captured = trace(target, tuple(args), dict(kwargs), name_of(fn))
    found = captured.check(tuple(args), dict(kwargs))
    assert isinstance(found, tuple), "the program's own guard does not hold right after capture."
    graph = named(captured.graph, fn) if gradient or hasattr(fn, "construct") else captured.graph
    return InstrumentedProgram(name_of(fn), graph, list(found[0]))


Seen = tuple[Node, list[Any], list[Any]]


def nodes_of(graph: Graph, inputs: Sequence[Any]) -> Iterator[Seen]:
    """Run a graph and stop at every node: the node, the buffers it read, the buffers it made."""
    env: dict[Value, Any] = dict(zip(graph.params, inputs))
    for node, run in steps_of(graph):
        read = [env[v] for v in node.inputs]
        made = run(read)
        env.update(zip(node.outputs, made))
        yield node, read, made


def outputs_of(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The results of a graph on buffers."""
    return ReferenceProgram(device_registry.current(), graph)(inputs)


def steps_of(graph: Graph) -> list[tuple[Node, Callable[[list[Any]], list[Any]]]]:
    """Every node with what runs it: buffers in, buffers out."""
    return [(node, _runner(node, graph)) for node in graph.nodes]


def _runner(node: Node, graph: Graph) -> Callable[[list[Any]], list[Any]]:
    device = device_registry.current()
    if node.op is constant:
        const = node.attrs["value"]
        value = const.data if const.type.weak else device.from_host(np.asarray(const.data))
        return lambda read: [value]
    if "control" in node.op.traits:
        program = ReferenceProgram(device, alone(node, graph.name, graph.module))
        return lambda read: program(read)
    kernel = device.kernel(node.op, tuple(v.type for v in node.inputs), node.attrs)
    if len(node.outputs) == 1:
        return lambda read: [kernel(*read)]
    return lambda read: list(kernel(*read) or ())


def has_host_calls(graph: Graph) -> bool:
    """True where a program calls back into Python: running it twice would do twice what that code does."""
    return host_calls().graph(graph)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the program prints is swallowed."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def as_array(value: Any, type_: Any) -> Array | None:
    """A buffer as a NumPy array; None for what is no tensor (stacks, tokens)."""
    if not isinstance(type_, TensorType):
        return None
    if isinstance(value, (bool, int, float, complex)):
        return np.asarray(value)
    return np.asarray(make(value, type_)._host())


def max_difference(a: Array | None, b: Array | None) -> float:
    """The largest absolute difference; equal NaNs and infinities differ by 0, unequal ones by infinity."""
    if a is None or b is None or a.size == 0:
        return 0.0
    if a.shape != b.shape:
        return float("inf")
    wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
    x, y = plain_numbers(a).astype(wide), plain_numbers(b).astype(wide)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        gap = np.where(same, 0.0, np.abs(x - y))
    return float(np.where(np.isnan(gap), np.inf, gap).max())


def names_of(graph: Graph) -> dict[Node, str]:
    """What the IR's text calls each node: ``%3`` (its first result; nodes without results have none)."""
    names = Names(graph)
    return {node: (names.add(node.outputs) or [""])[0] for node in graph.nodes if is_drawn(node)}


def place_of(node: Node) -> str:
    """``cell [3] line 4``, or nothing."""
    place = node.where.where if node.where is not None else None
    return "" if place is None else str(place)
