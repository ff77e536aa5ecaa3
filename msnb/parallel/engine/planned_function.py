"""A compiled function that runs as its plan: buffers in, buffers out, like what a device makes of a graph.

    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8)
    step = ms.jit(step);  step(x, y)      captured once -> planned once -> every call on eight ranks in this process
    step.plan                             the plan: strategies, collectives, simulated step time, memory
    ms.parallel.use("mpi")                from then on every rank is a process

The program that is planned is the one that was captured, with its gradient and its optimizer in it; its results are
those of the single device up to the order of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, device_registry, events
from msnb.core.storage.aligned_memory import owns_memory
from msnb.parallel.context import get_auto_parallel_context, set_value
from msnb.parallel.engine.client.engine_client import BACKENDS, Engine
from msnb.parallel.engine.executable_plan import RunnablePlan
from msnb.parallel.engine.pipeline_plan import PipelinePlan
from msnb.parallel.engine.planning_api import plan_captured

_MEAN = (
    "mirror_mean=False: nn.DistributedGradReducer (a TrainOneStepCell has one) makes device_num times the gradient of "
    "the whole batch, MindSpore's sum over ranks; gradients that a program takes itself are those of the whole batch."
)
_using: list[Any] = ["inproc"]


def use(engine: Any = "inproc") -> None:
    """Choose what compiled programs run on when the parallel context asks for several devices.

    Args:
        engine: "inproc", all ranks in this process; "mpi" or "ipp", processes of their own (keep a
            ``ms.parallel.Engine`` running, else one begins and ends with every call); or such an Engine.

    Raises:
        ValueError: no such engine.

    Examples:
        >>> use("inproc")
    """
    if engine != "inproc" and engine not in BACKENDS and not isinstance(engine, Engine):
        legal = ", ".join(map(repr, ("inproc", *BACKENDS)))
        raise AttributeValueError(f"no engine is called {engine!r}; legal: {legal}, or an Engine.")
    _using[0] = engine


def _placed(engine: Any) -> str:
    return "ranks in this process" if engine == "inproc" else f"processes ({getattr(engine, 'backend', engine)})"


class PlannedFunction:
    """A captured program under the parallel context.

    Args:
        captured: the program; args, kwargs: what it was captured with; name: what people call it.

    Attributes:
        plan: the plan that it runs as.

    Raises:
        ValueError: a strategy that does not fit, or no plan that fits into memory.
    """

    def __init__(self, captured: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
        self.plan: RunnablePlan | PipelinePlan = plan_captured(captured, args, kwargs)
        events.notice(
            f"{name} runs as a plan over {self.plan.program.size} devices ({self.plan.mode}), on {_placed(_using[0])}; "
            "its .plan says how. One device again: ms.reset_auto_parallel_context().",
            key=f"plan of {name}",
        )
        if get_auto_parallel_context("parallel_mode") == "data_parallel" and set_value("mirror_mean") is False:
            events.notice(_MEAN, key="mirror_mean=False")
        events.emit("planned", name=name, plan=self.plan)

    def __call__(self, buffers: Sequence[Any]) -> list[Any]:
        """Run on buffers of the current device (Python numbers for weak params)."""
        device = device_registry.current()
        args = [device.to_host(b) if device.owns(b) else b for b in buffers]
        given = {id(a) for a in args}
        return [self._entered(device, v, given) for v in self.plan.values(args, _using[0], often=True)]

    def _entered(self, device: Any, value: Any, given: set[int]) -> Any:
        """A result as a buffer of its own: parts and parameters stay who they are."""
        if not isinstance(value, np.ndarray):
            return device.from_host(np.asarray(value)) if isinstance(value, np.generic) else value
        shared = not owns_memory(value) or id(value) in given
        return device.from_host(np.array(value) if shared else value)
