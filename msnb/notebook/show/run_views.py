"""The views of ``msnb.show`` about running: on this machine, eagerly, and what went wrong."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from msnb.base import ArgumentError, MsnbError
from msnb.devices.inspection import DeviceMachine
from msnb.graph.compile import CompiledProgram, compile_graph
from msnb.ir.graph import Graph
from msnb.notebook.errors.error_pages import LESSONS, lesson_of
from msnb.notebook.errors.error_view import ErrorPageView, ErrorView
from msnb.notebook.programs.capture_target import captured, captured_gradient, name_of
from msnb.notebook.programs.eager_trace import record
from msnb.notebook.programs.instrumented_run import program_of
from msnb.notebook.programs.machine_peak import Machine, model_machine
from msnb.notebook.views.environment import InfoView
from msnb.notebook.views.kernels_view import KernelsView, kernels_of_graph
from msnb.notebook.views.launch_timeline import TimelineView
from msnb.notebook.views.roofline_view import RooflineView
from msnb.notebook.views.tensor_view import TensorView
from msnb.notebook.views.view import GraphView

__all__ = ["eager", "error", "info", "kernels", "roofline", "tensor", "timeline"]


def roofline(
    fn: Any, *args: Any, times: bool = False, repeats: int = 7, machine: Machine | None = None, gradient: bool = False,
    optimised: bool = True, **kwargs: Any,
) -> RooflineView:  # fmt: skip
    """Each op against memory bandwidth and peak arithmetic.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments.
        times: also measure: the ops of this call (median of ``repeats`` runs, one by one) and this machine (a copy and
            a matrix product in NumPy); else predictions for a fixed model machine only, the same on every run.
        repeats: how many runs.
        machine: the machine of the predictions; by default the chip of the device, where its data sheet is known, else
            the model machine.
        gradient: of its gradient instead.
        optimised: after the passes.

    Returns:
        A view: ``.points``, ``.machine``. Predicted and measured are kept apart.

    Raises:
        ArgumentError: fewer than one repeat.

    Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.roofline(lambda x: x @ x + x, ms.ops.ones((64, 64)))
        >>> [row[4] for row in view.rows]
        ['arithmetic', 'memory']
    """
    found = program_of(fn, args, kwargs, gradient)
    return RooflineView(found.optimised() if optimised else found, times, repeats, machine or model_machine())


def kernels(fn: Any, *args: Any, gradient: bool = False, **kwargs: Any) -> KernelsView:
    """What runs in the end: how each node runs, and the generated code: loops, LLVM IR, assembly.

    Args:
        fn: a function, a jitted function, a Cell, a graph or a compiled program.
        *args, **kwargs: its arguments.
        gradient: of its gradient instead.

    Returns:
        A view: ``.listings`` (``.kernel``, ``.code``, ``.assembly``), ``.ways``. Code is generated with
        ``set_context(jit_level="O1")``; at "O0" there is none, and the view says so.

    Examples:
        >>> import msnb as ms
        >>> with ms.set_context(jit_level="O0"):
        ...     print(ms.show.kernels(lambda x: x * 2, ms.Tensor([1.0])).listings)
        []
    """
    if isinstance(fn, CompiledProgram):
        return KernelsView(fn)
    if isinstance(fn, (Graph, GraphView)):
        found = fn if isinstance(fn, Graph) else fn.graph
        return kernels_of_graph(found, found.name)
    graph = captured_gradient(fn, args, kwargs) if gradient else captured(fn, args, kwargs)
    return kernels_of_graph(graph, name_of(fn))


def timeline(
    fn: Any, *args: Any, gradient: bool = False, times: bool = False, repeats: int = 5,
    chip: DeviceMachine | None = None, **kwargs: Any,
) -> TimelineView:  # fmt: skip
    """What a GPU runs for a call, in order: launches, bytes, arithmetic, and how long each step takes.

    Args:
        fn: a function, a jitted function, a Cell, a graph or a compiled program.
        *args, **kwargs: its arguments.
        gradient: of its gradient instead.
        times: also measure each step, between CUDA events (on a real GPU; the least of ``repeats`` runs).
        repeats: how many runs.
        chip: whose data sheet predicts (of ``msnb.devices.gpu.chips``); that of the device by default.

    Returns:
        A view: ``.steps``, ``.launches``, ``.moved``, ``.predicted``, ``.measured``.

    Raises:
        ArgumentError: fewer than one repeat.

    Examples:
        >>> import msnb as ms
        >>> with ms.set_context(device_target="SimulatedGPU", jit_level="O1"):
        ...     view = ms.show.timeline(lambda x: ms.ops.tanh(x * 2 + 1), ms.ops.ones((1 << 20,)))
        >>> view.launches, view.moved
        (1, 8388608)
    """
    if isinstance(fn, CompiledProgram):
        return TimelineView(fn, fn.name, chip, times, repeats)
    if isinstance(fn, (Graph, GraphView)):
        graph = fn if isinstance(fn, Graph) else fn.graph
        name = graph.name
    else:
        graph, name = captured_gradient(fn, args, kwargs) if gradient else captured(fn, args, kwargs), name_of(fn)
    return TimelineView(compile_graph(graph, name=name), name, chip, times, repeats)


def eager(fn: Any, *args: Any, max_boxes: int = 40, **kwargs: Any) -> RunView:
    """What eager mode really runs for a call: every op in order, loops unrolled, branches decided.

    Args:
        fn: a function or a Cell. It runs once, with all its effects.
        *args, **kwargs: its arguments.
        max_boxes: how many boxes the picture may show.

    Returns:
        A view of the graph of the ops that ran; ``.result`` is what the call returned.

    Examples:
        >>> import msnb as ms
        >>> def twice(x):
        ...     for _ in range(2):
        ...         x = x * 2
        ...     return x
        >>> [node.op.name for node in ms.show.eager(twice, ms.Tensor([1.0])).graph.nodes if node.inputs]
        ['multiply', 'multiply']
    """
    if not callable(fn):
        raise ArgumentError(f"eager runs a function or a Cell, not a {type(fn).__name__}.")
    graph, result = record(name_of(fn), lambda: fn(*args, **kwargs), _named(fn, args, kwargs))
    return RunView(graph, result, max_boxes)


class RunView(GraphView):
    """A program that ran, and what it returned."""

    def __init__(self, graph: Graph, result: Any, max_boxes: int = 40) -> None:
        super().__init__(graph, f"eager run of {graph.name}", max_boxes=max_boxes)
        self.result = result


def _named(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = inspect.signature(getattr(fn, "construct", fn)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return dict(kwargs)
    return dict(found.arguments)


def tensor(value: Any, title: str = "") -> TensorView:
    """A tensor as a picture: type and device, range, histogram, and images where it looks like some.

    Args:
        value: a Tensor, a Parameter or a NumPy array; [h, w], [c, h, w] and [n, c, h, w] are drawn as images.
        title: above the picture.

    Raises:
        ArgumentError: something else.

    Examples:
        >>> import msnb as ms
        >>> print(ms.show.tensor(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])).text.splitlines()[0])
        tensor: f32[2,2] on CPU, 16 B
    """
    return TensorView(value, title)


def error(what: Any = None) -> ErrorView | ErrorPageView:
    """The report of an error, or the page on a kind of error.

    Args:
        what: an exception, a class of errors or its name; the last error of the session by default.

    Returns:
        A view: ``.text`` is the short report.

    Raises:
        ArgumentError: there is no such error, or no page on it.

    Examples:
        >>> import msnb as ms
        >>> print(ms.show.error("ShapeError").text.splitlines()[0])
        # ShapeError
    """
    what = getattr(sys, "last_value", None) if what is None else what
    if isinstance(what, MsnbError):
        return ErrorView(what)
    lesson = LESSONS.get(what) if isinstance(what, str) else lesson_of(what) if isinstance(what, type) else None
    if lesson is None:
        told = "there was no error of msnb yet" if what is None else f"there is no page on {what!r}"
        raise ArgumentError(f"{told}.", hint=f"pages: {', '.join(LESSONS)}.")
    return ErrorPageView(lesson)


def info() -> InfoView:
    """Versions, machine, settings, caches: what a report of a problem must say.

    Examples:
        >>> import msnb as ms
        >>> ms.show.info().data["software"]["msnb"] == ms.__version__
        True
    """
    return InfoView()
