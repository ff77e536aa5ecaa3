"""What a profile records and when: the words of ``mindspore.profiler``.

Source: `mindspore.profiler`
"""

from __future__ import annotations

import enum
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, events

__all__ = [
    "AicoreMetrics", "ExperimentalConfig", "ExportType", "ProfilerAction", "ProfilerActivity", "ProfilerLevel",
    "schedule",
]  # fmt: skip


class ProfilerLevel(enum.Enum):
    """How much of an Ascend chip is recorded; a CPU has the one level."""

    LevelNone, Level0, Level1, Level2 = "LevelNone", "Level0", "Level1", "Level2"


class ProfilerActivity(enum.Enum):
    """Whose work is recorded."""

    NPU, GPU, CPU = "NPU", "GPU", "CPU"


class AicoreMetrics(enum.Enum):
    """Counters of an Ascend chip."""

    PipeUtilization, ArithmeticUtilization = "PipeUtilization", "ArithmeticUtilization"
    Memory, MemoryL0, MemoryUB = "Memory", "MemoryL0", "MemoryUB"
    ResourceConflictRatio, L2Cache, MemoryAccess = "ResourceConflictRatio", "L2Cache", "MemoryAccess"
    AiCoreNone = "None"


class ExportType(enum.Enum):
    """Files that a profile becomes: texts (JSON and CSV), or a data base."""

    Db, Text = "db", "text"


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE, WARM_UP, RECORD, RECORD_AND_SAVE = 0, 1, 2, 3


class schedule:
    """Which steps are recorded: after ``skip_first`` steps, cycles of ``wait``, ``warmup`` and ``active`` steps.

    Args:
        wait: steps of a cycle in which nothing is done.
        active: steps that are recorded, one at least; the last one of a cycle is written.
        warmup: steps before them.
        repeat: cycles; 0: to the end.
        skip_first: steps before the first cycle.

    Raises:
        ValueError: a number below its least. TypeError: not an int.

    Examples:
        >>> from msnb.train.profiler import schedule
        >>> [schedule(wait=1, active=1)(step).name for step in range(4)]
        ['NONE', 'RECORD_AND_SAVE', 'NONE', 'RECORD_AND_SAVE']
    """

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> None:
        given = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
        for name, number in given.items():
            if type(number) is not int:
                raise ArgumentError(f"schedule: {name} is an int, not {type(number).__name__}.")
            if number < (name == "active"):
                raise AttributeValueError(f"schedule: {name} is at least {int(name == 'active')}, not {number}.")
        self.wait: int = wait
        self.active: int = active
        self.warmup: int = warmup
        self.repeat: int = repeat
        self.skip_first: int = skip_first

    def __call__(self, step: int) -> ProfilerAction:
        """What is done in a step, counted from 0."""
        if type(step) is not int or step < 0:
            raise AttributeValueError(f"schedule: a step is a number from 0 on, not {step!r}.")
        cycle, at = divmod(step - self.skip_first, self.wait + self.warmup + self.active)
        if step < self.skip_first or (self.repeat and cycle >= self.repeat) or at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        last = at == self.wait + self.warmup + self.active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD


def need_choices(name: str, kind: type[enum.Enum], found: Any) -> list[Any]:
    """A list of members of ``kind``.

    Raises:
        TypeError: something else.
    """
    chosen = list(found) if isinstance(found, (list, tuple, set)) else [found]
    for one in chosen:
        if not isinstance(one, kind):
            raise ArgumentError(f"{name} takes members of {kind.__name__}, not {one!r}.")
    return chosen



class ExperimentalConfig:
    """The finer settings of ``profile``.

    Args:
        profiler_level, aic_metrics, l2_cache, sys_io, sys_interconnection, host_sys: of Ascend chips; a CPU has none of
            these counters, which is said where one is asked for.
        mstx: marks of ``mstx`` are recorded in any case.
        data_simplification: nothing but results is written in any case.
        export_type: texts; a data base is refused.
        mstx_domain_include, mstx_domain_exclude: domains of marks that are kept, or left out.

    Raises:
        TypeError: no member of the class. ValueError: ``ExportType.Db``, or both lists of domains.
    """

    def __init__(
        self, profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone, l2_cache: bool = False, mstx: bool = False,
        data_simplification: bool = True, export_type: list[ExportType] | None = None,
        mstx_domain_include: list[str] | None = None, mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False, sys_interconnection: bool = False, host_sys: list[Any] | None = None,
    ) -> None:  # fmt: skip
        need_choices("profiler_level", ProfilerLevel, profiler_level)
        need_choices("aic_metrics", AicoreMetrics, aic_metrics)
        if ExportType.Db in need_choices("export_type", ExportType, export_type or []):
            raise AttributeValueError("export_type: a profile becomes texts (ExportType.Text), not a data base.")
        if mstx_domain_include and mstx_domain_exclude:
            raise AttributeValueError("mstx_domain_include and mstx_domain_exclude: give one of them.")
        self.include: list[str] = mstx_domain_include or []
        self.exclude: list[str] = mstx_domain_exclude or []
        asked = {"l2_cache": l2_cache, "sys_io": sys_io, "sys_interconnection": sys_interconnection,
                 "host_sys": host_sys, "aic_metrics": aic_metrics is not AicoreMetrics.AiCoreNone}  # fmt: skip
        tell_of_ascend(asked)

    def keeps(self, domain: str) -> bool:
        """Whether marks of this domain are recorded."""
        return domain not in self.exclude and (not self.include or domain in self.include)


def tell_of_ascend(asked: dict[str, Any]) -> None:
    """Say which counters of a chip were asked for: this device has none of them."""
    for name, value in asked.items():
        if value:
            events.ignored(f"profile({name}=)", "it reads counters of an Ascend chip or a GPU, and a CPU has none")
