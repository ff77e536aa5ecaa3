"""What every plan tells of a step, whoever made it: the planner, the planner stage by stage, or the program itself.

A program that places its own collectives leaves nothing to decide, and a pipeline decides stage by stage: what such a
plan cannot tell is an attribute that says why, and where to look instead (``NotDecided``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from msnb.base import MsnbError
from msnb.parallel.context import get_auto_parallel_context
from msnb.parallel.plans.strategy_files import write_strategies
from msnb.parallel.program.spmd_program import Collective

# what users are shown of a plan (``dir``, completion); the rest is for those who make plans
_INTERFACE = frozenset({
    "activations", "choices", "chosen", "collectives", "devices", "document", "explain", "layers", "layouts",
    "load", "memory", "mesh", "micro", "mode", "objective", "plans", "problem", "program", "rank", "run",
    "save", "scheduler", "segments", "sent", "size", "step_time", "strategies", "timeline", "to_dict", "values",
    "with_choices",
})  # fmt: skip


class NotDecided(MsnbError, AttributeError, ValueError):
    """Something that is not decided for this kind of plan, and the way to what there is."""


class PlanBase(ABC):
    """A step of a program on many devices, before it is run.

    ``Plan``, ``PipelinePlan`` and ``HandPlan`` are such; all numbers are simulated.
    """

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name in _INTERFACE or name.startswith("_")]

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of ranks."""

    @property
    @abstractmethod
    def strategies(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Operator -> split counts per input."""

    @property
    @abstractmethod
    def layouts(self) -> dict[str, dict[str, Any]]:
        """Weight or operator -> device matrix and tensor map of the weight, or of the operator's first result."""

    @property
    @abstractmethod
    def front(self) -> Any:
        """Plans of the same program of which none is better in seconds and in bytes."""

    @abstractmethod
    def segments(self, algorithm: str = "optimal", cost: str = "time", **settings: Any) -> Any:
        """Which gradients are reduced together, and the tail that this leaves."""

    @property
    def rank(self) -> int:
        """The rank whose groups and events are shown: the context's ``global_rank``, 0 where there is no such rank."""
        rank = int(get_auto_parallel_context("global_rank"))
        return rank if rank < self.size else 0

    @property
    @abstractmethod
    def timeline(self) -> Any:
        """When a device computes and when it talks; of a pipeline: who works on which micro-batch."""

    @property
    def step_time(self) -> float:
        """Seconds of a step, simulated."""
        return float(self.timeline.seconds)

    @property
    @abstractmethod
    def collectives(self) -> list[Collective]:
        """Every collective of a step, in order."""

    @property
    @abstractmethod
    def memory(self) -> Any:
        """Bytes per device by what they are for, and their total; of a pipeline a row per stage."""

    @abstractmethod
    def explain(self, op: str) -> str:
        """What an operator costs, and why it is laid out as it is."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was decided, as a strategy file says it."""

    def save(self, path: str | Path) -> None:
        """Write the strategies as JSON in MindSpore's schema."""
        write_strategies(path, self.to_dict())

    @abstractmethod
    def load(self, path: str | Path, every: bool = True) -> Any:
        """The same program with what a file says was decided."""
