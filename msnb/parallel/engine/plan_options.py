"""The keywords of ``ms.parallel.plan``, with their legal values and the modes in which they say something.

A keyword that the mode has no use for is refused: it would change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import AttributeValueError, Setting, is_int, is_number
from msnb.parallel.context import (
    AUTO_PARALLEL,
    DATA_PARALLEL,
    HYBRID_PARALLEL,
    MODES,
    SEMI_AUTO_PARALLEL,
    STAND_ALONE,
    get_auto_parallel_context,
)
from msnb.parallel.sharding.device_mesh import Cluster
from msnb.parallel.sharding.pipeline_schedule import SCHEDULERS

_ANYWHERE = ("device_num", "cluster", "optimizer_states")
_UNCHECKED = ("parallel_mode", "cost_model", "pipeline")  # fields of a request that are no keyword with a legal value


KEYWORDS: dict[str, Setting] = {
    "device_num": Setting(None, "an int from 1 to 4096", is_int(1)),
    "cluster": Setting(None, "a Cluster, such as ms.parallel.Cluster('ascend910', servers=2)",
                       lambda v: isinstance(v, Cluster)),
    "strategies": Setting(None, "a dict: operator, or kind of operator -> split counts per input",
                          lambda v: isinstance(v, Mapping)),
    "memory_limit": Setting(None, "a number of bytes above 0", lambda v: is_number(v) and v > 0),
    "optimizer_states": Setting(None, "an int of at least 0", is_int(0)),
    "max_split": Setting(None, "an int of at least 1", is_int(1)),
    "overlap": Setting(0.0, "a number from 0 to 1", lambda v: is_number(v) and 0 <= v <= 1),
    "pipeline_stages": Setting(None, "an int of at least 1", is_int(1)),
    "pipeline_scheduler": Setting(None, ", ".join(map(repr, SCHEDULERS)), lambda v: v in SCHEDULERS),
}  # fmt: skip
_CONFLICTS = (  # keyword, the modes that have no use for it, why, the way out
    ("strategies", (STAND_ALONE, DATA_PARALLEL), "has its own", f"use {SEMI_AUTO_PARALLEL} or {AUTO_PARALLEL}."),
    ("search_mode", (DATA_PARALLEL, SEMI_AUTO_PARALLEL), "searches nothing", f"use {AUTO_PARALLEL}."),
)


def check_keywords(mode: str, options: Mapping[str, Any]) -> None:
    """The mode, and keywords with what they were given.

    Args:
        mode: the parallel mode; options: keyword -> value, None where none was given.

    Raises:
        ValueError: a mode or a value that is not legal, or a keyword that the mode has no use for.
    """
    if mode not in MODES:
        raise AttributeValueError(f"parallel_mode={mode!r} is not legal; legal: {', '.join(map(repr, MODES))}.")
    _check_values(options)
    given = {name for name, value in options.items() if value and name not in _ANYWHERE}
    if mode == HYBRID_PARALLEL and given:
        raise AttributeValueError(f"hybrid_parallel programs place their own collectives: {min(given)}= says nothing.",
                                  hint="use semi_auto_parallel or auto_parallel.")  # fmt: skip
    if options.get("training") is False and (options.get("pipeline_stages") or 1) > 1:
        raise AttributeValueError("training=False conflicts with pipeline_stages=: pipelines are of training steps.")
    for name, modes, reason, hint in _CONFLICTS:
        if name in given and mode in modes:
            raise AttributeValueError(f"{name}= conflicts with parallel_mode={mode!r}, which {reason}.", hint=hint)


def _check_values(options: Mapping[str, Any]) -> None:
    for name, keyword in KEYWORDS.items():
        value = options.get(name)
        if value is not None and not keyword.check(value):
            raise AttributeValueError(f"{name}={value!r} is not legal; legal: {keyword.legal}.")


@dataclass(frozen=True)
class PipelineRequest:
    """The keywords of ``plan`` about pipelines; None: as the context's ``pipeline_config`` says.

    Attributes:
        stages: how many; scheduler: the order of micro-batches; devices: of every stage, or "auto".
    """

    stages: int | None = None
    scheduler: str | None = None
    devices: Sequence[int] | str | None = None


@dataclass(frozen=True)
class PlanRequest:
    """The keywords of ``plan``, as it explains them; None: as the context says."""

    device_num: int | None = None
    cluster: Cluster | None = None
    parallel_mode: str = AUTO_PARALLEL
    search_mode: str | None = None
    strategies: Mapping[str, Any] | None = None
    training: bool | None = None
    cost_model: str = "time"
    memory_limit: float | None = None
    optimizer_states: int | None = None
    max_split: int | None = None
    overlap: float = 0.0
    optimizer_level: int | None = None
    recompute: Any = None
    pipeline: PipelineRequest = PipelineRequest()

    @property
    def devices(self) -> int:
        """How many devices there are."""
        if self.parallel_mode == STAND_ALONE:
            return 1
        return int(get_auto_parallel_context("device_num")) if self.device_num is None else self.device_num

    def check(self) -> None:
        """Raise ValueError for a value that is not legal, or that the mode has no use for."""
        pipeline = self.pipeline
        options = {name: value for name, value in vars(self).items() if name not in _UNCHECKED}
        check_keywords(self.parallel_mode, {**options, "pipeline_stages": pipeline.stages,
                       "pipeline_scheduler": pipeline.scheduler, "stage_devices": pipeline.devices})  # fmt: skip
