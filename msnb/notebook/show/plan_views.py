"""The views of ``msnb.show`` about devices: a parallel plan, a product on one core. Loaded when one is asked for."""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError
from msnb.devices.ascend.aicore import aicore as step
from msnb.notebook.parallel.aicore_view import AicoreView
from msnb.notebook.parallel.manual_plan_view import ManualPlanView
from msnb.notebook.parallel.pipeline_view import PipelineView
from msnb.notebook.parallel.plan_view import PlanView
from msnb.parallel.engine.manual_plan import ManualPlan
from msnb.parallel.engine.pipeline_plan import PipelinePlan
from msnb.parallel.engine.planning_api import plan as make_plan
from msnb.parallel.plans.plan_interface import PlanBase

__all__ = ["aicore", "plan"]


def plan(program: Any, *args: Any, max_boxes: int = 40, view: str = "all",
         **options: Any) -> PlanView | PipelineView | ManualPlanView:  # fmt: skip
    """A parallel plan: mesh, layouts, collectives with their bytes, simulated timeline.

    Args:
        program: a plan (of ``ms.parallel.plan``), or a Cell or function to plan for ``*args``.
        *args: what the program is called with.
        max_boxes: how many boxes the picture may show.
        view: "all", or one picture: "graph", "timeline", "memory", "mesh", "segments" (buckets of gradients), "front"
            (time against memory); of a pipeline "timeline", "memory", "mesh"; of a hybrid_parallel program "graph",
            "timeline", "memory".
        **options: of ``ms.parallel.plan``: ``device_num``, ``strategies``, ``search_mode`` and so on.

    Returns:
        A view: ``.plan``, ``.collectives``. Times are simulated, and labelled so.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.plan(ms.nn.Dense(64, 64), ms.ops.ones((512, 64)), device_num=4)
        >>> view.layouts["Dense/matmul"]
        '[ab, -]'
    """
    if not isinstance(program, PlanBase):
        if not callable(program):
            raise ArgumentError(f"plan shows a plan, or plans a Cell or a function, not a {type(program).__name__}.")
        program = make_plan(program, *args, **options)
    if isinstance(program, PipelinePlan):
        return PipelineView(program, view)
    if isinstance(program, ManualPlan):
        return ManualPlanView(program, max_boxes, view)
    return PlanView(program, max_boxes, view)


def aicore(m: int, k: int, n: int, tile: tuple[int, int, int] = (128, 128, 128),
           double_buffering: bool = True) -> AicoreView:  # fmt: skip
    """A product [m, k] x [k, n] of float16 on one core of the simulated Ascend: its queues and buffers over time.

    Args:
        m, k, n: sizes; tile: (tm, tk, tn); double_buffering: whether buffers are halved.

    Returns:
        A view: ``.run``. Cycles are simulated, and labelled so.

    Raises:
        ValueError: a size below 1, or a tile that does not fit into a buffer.

    Examples:
        >>> import msnb as ms
        >>> ms.show.aicore(128, 512, 128).run.busy("cube") > 0.4
        True
    """
    return AicoreView(step(m, k, n, tile, double_buffering))
