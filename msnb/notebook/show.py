"""``ms.show``: what the magics show, as plain functions that need no notebook.

    ms.show.ir(fn, *args)        the program that graph mode would compile for these arguments
    ms.show.grad(fn, *args)      the program of its gradient
"""

from __future__ import annotations

from typing import Any

from msnb.graph.compile import Log, optimise
from msnb.ir.graph import Graph
from msnb.notebook.programs import captured, captured_gradient, name_of
from msnb.notebook.views import GraphView

__all__ = ["GraphView", "grad", "graph", "ir"]


def graph(value: Graph, title: str = "", optimised: bool = False, max_boxes: int = 40) -> GraphView:
    """A view of a graph.

    Args:
        value: the graph.
        title: a line above it (its name by default).
        optimised: show it as it is after the passes.
        max_boxes: how many boxes the picture may show.

    Returns:
        A view: the last line of a cell shows it; ``.text``, ``.svg``, ``.save(path)``.
    """
    shown = optimise(value, Log())[0] if optimised else value
    return GraphView(shown, title, max_boxes=max_boxes)


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
    return graph(captured(fn, args, kwargs), name_of(fn), optimised, max_boxes)


def grad(fn: Any, *args: Any, optimised: bool = True, max_boxes: int = 40, **kwargs: Any) -> GraphView:
    """The IR of the gradient of a function with respect to its first argument (of a Cell: to its parameters).

    Args:
        fn: a function with a scalar result, or a Cell.
        *args, **kwargs: its arguments.
        optimised: show it as it is after the passes.
        max_boxes: how many boxes the picture may show.

    Returns:
        A view of the gradient's graph.
    """
    return graph(captured_gradient(fn, args, kwargs), f"gradient of {name_of(fn)}", optimised, max_boxes)
