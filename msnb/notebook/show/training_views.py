"""The views of ``msnb.show`` over a training. Loaded, with ``msnb.train``, when one is asked for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from msnb.notebook.training.curves import CurvesView
from msnb.notebook.training.curves import watching as watch
from msnb.notebook.training.gradient_flow import FlowView

__all__ = ["curves", "flow", "watching"]


def flow(net: Any, every: int = 10) -> FlowView:
    """Follow the size of every layer's gradient over a training.

    Args:
        net: the network whose parameters are followed.
        every: as a callback of ``Model``, look every so many steps.

    Returns:
        A callback that is also a view; ``.record(gradients)`` serves loops of one's own.

    Raises:
        ArgumentError: ``net`` is no Cell.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> follow = ms.show.flow(net)
        >>> follow.record([ms.ops.ones((1, 2)), ms.ops.ones((1,))])
        >>> follow.rows[0][1]
        '1.0e+00'
    """
    return FlowView(net, every)


def curves(title: str = "", live: bool = True, times: bool = False, log: bool = False) -> CurvesView:
    """Watch a training: growing curves while it runs, one picture that stays.

    Args:
        title: above the picture.
        live: redraw while it runs, where a notebook shows it.
        times: keep the throughput in what stays (it differs from run to run).
        log: a logarithmic axis for the loss.

    Returns:
        A callback of ``Model`` that is also a view; ``.record(loss=...)`` and ``.done()`` serve loops of one's own.

    Examples:
        >>> import msnb as ms
        >>> seen = ms.show.curves("descent")
        >>> for k in range(3):
        ...     seen.record(loss=1 / (k + 1))
        >>> seen.done().series["loss"][0]
        [1, 2, 3]
    """
    return CurvesView(title, live, times, log)


def watching(view: CurvesView) -> AbstractContextManager[CurvesView]:
    """Within this block, every step of any ``Model`` is noted in the view.

    Args:
        view: of ``ms.show.curves()``.

    Returns:
        A context manager that gives the view, and draws it when the block is left.
    """
    return watch(view)
