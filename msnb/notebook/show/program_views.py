"""``ms.show``: what the magics show, as plain functions that need no notebook.

    ms.show.ir(fn, *args)        the program that graph mode would compile for these arguments
    ms.show.grad(fn, *args)      the program of its gradient
    ms.show.passes(fn, *args)    the compilation stage by stage, checked in numbers
    ms.show.diff(fn, *args)      eager and graph in lockstep: the first op that differs
    ms.show.mem(fn, *args)       which buffers live when, the peak and who holds it
    ms.show.profile(fn, *args)   cost per op and per line, predicted or measured
    ms.show.step(fn, *args)      node by node with values, breakpoints, NaN watch
    ms.show.explain(fn)          what a jitted function has compiled and why
    ms.show.compare(f, g, *args) two programs: what changed
    ms.show.roofline(fn, *args)  each op against bandwidth and peak, predicted or measured
    ms.show.plan(fn, *args)      a parallel plan: mesh, layouts, collectives, simulated timeline
    ms.show.aicore(m, k, n)      a matrix product on one core of the simulated Ascend, queue by queue
    ms.show.kernels(fn, *args)   how each node runs, and the code generated for it, down to assembly
    ms.show.timeline(fn, *args)  what a GPU runs, step by step: launches, bytes, predicted or measured times
    ms.show.eager(fn, *args)     what eager mode really ran
    ms.show.curves()             a training while it runs, and the picture that stays
    ms.show.flow(net)            the gradient of every layer over a training
    ms.show.images(x, y, p)      a batch of pictures with labels, wrong predictions marked
    ms.show.features(net, x)     what a layer makes of a picture, channel by channel
    ms.show.confusion(y, p)      which classes are taken for which
    ms.show.lr_find(model, data) the loss over a growing learning rate, and a suggestion
    ms.show.tensor(x)            values as a histogram, as images
    ms.show.error()              the report of the last error; of a kind of error, its page
    ms.show.info()               versions, machine, settings

All give views: the last line of a cell shows one; ``.text``, ``.svg``, ``.save(path)``. None changes any state (but
``eager``, which runs the program).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msnb.base import ArgumentError, missing_names
from msnb.graph.compile import CompiledProgram, Log, compile_graph, optimise
from msnb.ir.graph import Graph
from msnb.notebook.programs.capture_target import captured, captured_gradient, name_of
from msnb.notebook.programs.instrumented_run import InstrumentedProgram, program_of
from msnb.notebook.show.run_views import eager, error, info, kernels, roofline, tensor, timeline
from msnb.notebook.show.view_listing import ListingView
from msnb.notebook.training.gradient_norms import HeatView
from msnb.notebook.views.arena_view import ArenaView
from msnb.notebook.views.compare_view import CompareView
from msnb.notebook.views.diff_view import DiffView
from msnb.notebook.views.memory_view import MemoryView
from msnb.notebook.views.passes_view import PassesView
from msnb.notebook.views.profile_view import ProfileView
from msnb.notebook.views.recompile_view import ExplainView
from msnb.notebook.views.stepper import StepView, Stop
from msnb.notebook.views.view import GraphView, View

if TYPE_CHECKING:
    from msnb.notebook.show.plan_views import aicore, plan
    from msnb.notebook.show.training_views import confusion, curves, data, features, flow, images, lr_find, watching

__all__ = [
    "CompareView", "DiffView", "ExplainView", "GraphView", "HeatView", "MemoryView", "PassesView",
    "ProfileView", "StepView", "View", "aicore", "as_graph", "compare", "confusion", "curves", "data", "diff",
    "eager", "error", "explain", "features", "flow", "grad", "graph", "images", "info", "ir", "kernels", "lr_find",
    "mem", "passes", "plan", "profile", "roofline", "step", "tensor", "timeline", "watching",
]  # fmt: skip

missing_names.answer_for(__name__)


def _repr_mimebundle_(include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """``ms.show`` as the last line of a cell: the table of all views."""
    return ListingView()._repr_mimebundle_()


def graph(
    value: Any, *args: Any, title: str = "", optimised: bool = False, max_boxes: int = 40, **kwargs: Any
) -> GraphView:
    """A view of a graph.

    Args:
        value: the graph; or a function or Cell, whose graph for the arguments that follow is shown, as ``ir`` does.
        *args, **kwargs: the arguments of a function.
        title: a line above it (its name by default).
        optimised: show it as it is after the passes.
        max_boxes: how many boxes the picture may show.

    Returns:
        A view: the last line of a cell shows it; ``.text``, ``.svg``, ``.save(path)``.
    """
    shown = as_graph(value, args, kwargs)
    title = title or (shown.name if shown is value else name_of(value))
    return GraphView(optimise(shown, Log())[0] if optimised else shown, title, max_boxes=max_boxes)


def ir(fn: Any, *args: Any, optimised: bool = False, max_boxes: int = 40, **kwargs: Any) -> GraphView:
    """The IR of a function for some arguments. The function is captured, not run; no state changes.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments.
        optimised: show it as it is after the passes.
        max_boxes: how many boxes the picture may show.

    Returns:
        A view of the graph.

    Examples:
        >>> import msnb as ms
        >>> def double(x):
        ...     return x + x
        >>> print(ms.show.ir(double, ms.Tensor([1.0, 2.0])).text.splitlines()[0])
        graph double(x: f32[2]) -> (f32[2])
    """
    return graph(fn, *args, optimised=optimised, max_boxes=max_boxes, **kwargs)


def grad(
    fn: Any, *args: Any, optimised: bool = True, max_boxes: int = 40, norms: bool = False, **kwargs: Any
) -> GraphView:
    """The IR of the gradient of a function with respect to its first argument (of a Cell: to its parameters).

    Args:
        fn: a function with a scalar result, or a Cell.
        *args, **kwargs: its arguments.
        optimised: show it as it is after the passes.
        max_boxes: how many boxes the picture may show.
        norms: run it, and show the root mean square of every gradient.

    Returns:
        A view of the gradient's graph; with ``norms``, how large the gradient is at every node, vanishing and
        exploding ones marked, and a table by layer.
    """
    if norms:
        found = program_of(fn, args, kwargs, gradient=True)
        return HeatView(found.optimised() if optimised else found, f"gradient of {name_of(fn)}", max_boxes)
    shown = captured_gradient(fn, args, kwargs)
    return graph(shown, title=f"gradient of {name_of(fn)}", optimised=optimised, max_boxes=max_boxes)


def passes(fn: Any, *args: Any, gradient: bool = False, only_changed: bool = False, **kwargs: Any) -> PassesView:
    """The stages of a compilation: each rewrite's law and reason, and the largest difference of the results.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments; the numeric check runs on them.
        gradient: compile its gradient instead.
        only_changed: leave out stages that changed nothing.

    Returns:
        A view of the stages.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.passes(lambda x: x * 1.0 + x, ms.Tensor([1.0, 2.0]))
        >>> [r.law for r in view.compiled.history]
        ['times one']
    """
    return PassesView(program_of(fn, args, kwargs, gradient), only_changed)


def diff(fn: Any, *args: Any, tol: float = 1e-5, gradient: bool = False, **kwargs: Any) -> DiffView:
    """Run a program through both engines on the same inputs, and compare op by op.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments.
        tol: largest difference that counts as agreement (relative where values exceed 1).
        gradient: compare its gradient instead.

    Returns:
        A view: ``.equal``, ``.first`` (the first op that differs), a row per op.

    Examples:
        >>> import msnb as ms
        >>> ms.show.diff(lambda x: (x * 2).sum(), ms.Tensor([1.0, 2.0])).equal
        True
    """
    return DiffView(program_of(fn, args, kwargs, gradient), tol)


def mem(
    fn: Any, *args: Any, gradient: bool = False, optimised: bool = True, arena: bool = False, **kwargs: Any
) -> MemoryView | ArenaView:
    """Which buffers live when, the peak, and who holds it. Nothing is run.

    Args:
        fn: a function, a jitted function, a Cell or a graph.
        *args, **kwargs: its arguments.
        gradient: of its gradient instead.
        optimised: after the passes.
        arena: the memory plan of the compiled program instead: what lies where, after fusion and reuse.

    Returns:
        A view: ``.found.peak_bytes``, ``.holders``; with ``arena`` ``.size``, ``.values``, ``.holders``.

    Examples:
        >>> import msnb as ms
        >>> ms.show.mem(lambda x: ms.ops.exp(x).sum(), ms.Tensor([1.0, 2.0])).found.peak_bytes
        12
    """
    if arena:
        return _arena_of(fn, args, kwargs, gradient)
    if isinstance(fn, (Graph, CompiledProgram, GraphView)):
        return MemoryView(as_graph(fn), name_of(fn) if not isinstance(fn, Graph) else fn.name)
    found = captured_gradient(fn, args, kwargs) if gradient else captured(fn, args, kwargs)
    return MemoryView(optimise(found, Log())[0] if optimised else found, name_of(fn))


def _arena_of(fn: Any, args: Any, kwargs: Any, gradient: bool) -> ArenaView:
    if isinstance(fn, CompiledProgram):
        return ArenaView(fn, fn.name)
    if isinstance(fn, (Graph, GraphView)):
        found = as_graph(fn)
    else:
        found = captured_gradient(fn, args, kwargs) if gradient else captured(fn, args, kwargs)
    name = found.name if isinstance(fn, Graph) else name_of(fn)
    return ArenaView(compile_graph(found, name=name), name)


def profile(
    fn: Any, *args: Any, times: bool = False, repeats: int = 7, gradient: bool = False, optimised: bool = True,
    **kwargs: Any,
) -> ProfileView:  # fmt: skip
    """What each op and each line costs.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments.
        times: measure (median of ``repeats`` runs, node by node, the device waited for); else predicted costs only,
            which are the same on every run.
        repeats: how many runs.
        gradient: of its gradient instead.
        optimised: after the passes.

    Returns:
        A view: ``.ops``, ``.lines``.

    Raises:
        ArgumentError: fewer than one repeat.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.profile(lambda x: x @ x, ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> view.ops[0].flops
        16.0
    """
    found = program_of(fn, args, kwargs, gradient)
    return ProfileView(found.optimised() if optimised else found, times, repeats)


def step(
    fn: Any, *args: Any, stop: Stop | Sequence[Stop] = (), nan: bool = True, gradient: bool = False,
    optimised: bool = False, **kwargs: Any,
) -> StepView:  # fmt: skip
    """Go through a program node by node.

    Args:
        fn: a function, a jitted function or a Cell.
        *args, **kwargs: its arguments.
        stop: breakpoints: an op's name, ``"line 4"`` or ``"cell [3] line 4"``, a number in the IR.
        nan: ``run()`` also stops where a NaN first appears.
        gradient: of its gradient instead.
        optimised: after the passes.

    Returns:
        An object to iterate over (``for event in ...``), with ``next()``, ``run()``, ``reset()``; shown, it is a table.

    Raises:
        ArgumentError: a breakpoint that no node can hit.

    Examples:
        >>> import msnb as ms
        >>> steps = ms.show.step(lambda x: ms.ops.log(x) * 2, ms.Tensor([1.0, -1.0]))
        >>> steps.run().op
        'log'
    """
    found = program_of(fn, args, kwargs, gradient)
    return StepView(found.optimised() if optimised else found, stop, nan)


def explain(fn: Any, times: bool = False, kernels: bool = False) -> ExplainView:
    """What a jitted function (or a Cell in graph mode) has compiled, why each version was made, what it relies on.

    Args:
        fn: the compiled function or Cell.
        times: also the milliseconds of capture and compilation (they differ from run to run).
        kernels: also the code generated for the version made last (it differs from processor to processor).

    Raises:
        ArgumentError: it is not compiled.

    Examples:
        >>> import msnb as ms
        >>> f = ms.jit(lambda x: x * 2)
        >>> _ = f(ms.Tensor([1.0]))
        >>> ms.show.explain(f).rows[0][-1]
        'first call'
    """
    return ExplainView(fn, times, kernels)


def compare(first: Any, second: Any, *args: Any, **kwargs: Any) -> CompareView:
    """Two programs, and what changed from the first to the second.

    Args:
        first, second: graphs, views of graphs or compiled programs; or functions and Cells, captured for the same
            arguments.
        *args, **kwargs: the arguments of functions.

    Returns:
        A view: ``.same``, ``.changes``.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.compare(lambda x: x + 1, lambda x: x * 1, ms.Tensor([1.0]))
        >>> [(sign, node.op.name) for sign, node in view.changes]
        [('-', 'add'), ('+', 'multiply')]
    """
    return CompareView(as_graph(first, args, kwargs), as_graph(second, args, kwargs))


def as_graph(value: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Graph:
    """The graph behind a graph, a view or a compiled program; or of a function, captured for these arguments."""
    if isinstance(value, (Graph, CompiledProgram, GraphView, InstrumentedProgram)):
        if args or kwargs:
            raise ArgumentError("a graph is shown as it is: arguments go with a function or a Cell.")
        return value if isinstance(value, Graph) else value.graph
    if not callable(value):
        raise ArgumentError(f"a view needs a function, a Cell or a graph, not {type(value).__name__}.")
    return captured(value, args, kwargs or {})
