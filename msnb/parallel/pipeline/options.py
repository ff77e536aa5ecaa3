"""What is asked of a pipeline: how many stages, on which devices, in which schedule.

    pipeline_stages=4                          every stage has a fourth of the devices
    pipeline_stages=2, stage_devices=(2, 6)    as said
    pipeline_stages=2, stage_devices="auto"    the planner gives a stage as many as make the step short
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import AttributeValueError
from msnb.parallel.context import get_auto_parallel_context

AUTO = "auto"


@dataclass(frozen=True)
class PipelineOptions:
    """What is asked of a pipeline.

    Attributes:
        stages, scheduler: as asked for; per: pieces of the network per stage (1 unless interleaved).
        said: devices of every stage, "auto", or None: the same for all.
    """

    stages: int
    scheduler: str
    per: int
    said: Sequence[int] | str | None = None

    @property
    def pieces(self) -> int:
        """How many pieces the network is cut into; piece p is the work of stage p % stages."""
        return self.stages * self.per

    def sizes(self, devices: int) -> list[tuple[int, ...]]:
        """Per stage the numbers of devices that it may have.

        Raises:
            ValueError: stages that do not divide the devices, or numbers that are not as many as was said.
        """
        if self.said == AUTO:
            return [self._chosen_from(devices)] * self.stages
        return [(n,) for n in self._shares(devices)]

    def _shares(self, devices: int) -> tuple[int, ...]:
        pipes, said = self.stages, self.said
        if said is None:
            if devices % pipes:
                legal = ", ".join(str(n) for n in range(1, devices + 1) if devices % n == 0)
                raise AttributeValueError(f"pipeline_stages={pipes} does not divide {devices} devices; legal: {legal}, "
                                          "or stages of several sizes: stage_devices=(2, 4), or 'auto'.")  # fmt: skip
            return (devices // pipes,) * pipes
        fine = not isinstance(said, str) and all(_is_count(n) for n in said)
        if not fine or len(said) != pipes or sum(said) != devices:  # type: ignore[arg-type]
            shown = repr(said) if isinstance(said, str) else tuple(said)
            raise AttributeValueError(f"stage_devices={shown} is not legal: one number of devices per stage, {pipes} "
                                      f"of them, {devices} devices in all, or 'auto'.")  # fmt: skip
        return tuple(said)  # type: ignore[arg-type]

    def _chosen_from(self, devices: int) -> tuple[int, ...]:
        if self.per > 1:
            raise AttributeValueError("stage_devices='auto' is not planned together with an interleaved schedule, in "
                                      "which several pieces of the network share the devices of a stage.",
                                      hint="say the devices of every stage, or use '1f1b' or 'gpipe'.")  # fmt: skip
        if devices < self.stages:
            raise AttributeValueError(f"{devices} devices are too few for {self.stages} pipeline stages; legal: 1 to "
                                      f"{devices} stages.")  # fmt: skip
        return sizes_of(devices, self.stages)


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n > 0


def sizes_of(devices: int, stages: int) -> tuple[int, ...]:
    """The numbers of devices that a stage may get where the planner chooses: all of up to eight devices; of more,
    powers of two from a quarter of the average on, and the average.

    Examples:
        >>> sizes_of(6, 3), sizes_of(64, 4), sizes_of(48, 4)
        ((1, 2, 3, 4), (4, 8, 16, 32), (4, 8, 12, 16, 32))
    """
    most, average = devices - stages + 1, devices / stages
    powers = {1 << i for i in range(devices.bit_length())}
    wanted = set(range(1, 9)) if devices <= 8 else {n for n in powers if 4 * n >= average} | {int(average)}
    return tuple(sorted(n for n in wanted if n <= most))


def settings(stages: int | None = None, scheduler: str | None = None,
             devices: Sequence[int] | str | None = None) -> PipelineOptions:  # fmt: skip
    """What is asked for, by keywords or by the context's ``pipeline_stages`` and ``pipeline_config``.

    Raises:
        ValueError: keywords that say how a single stage is cut.
    """
    config = get_auto_parallel_context("pipeline_config") or {}
    interleaved = "interleaved" if config.get("pipeline_interleave") else "1f1b"
    name = scheduler or config.get("pipeline_scheduler") or interleaved
    per = int(config.get("pieces", 2)) if name == "interleaved" else 1
    said = config.get("stage_devices") if devices is None else devices
    count = stages or int(get_auto_parallel_context("pipeline_stages"))
    if count == 1 and (scheduler or devices is not None):
        raise AttributeValueError("a pipeline of one stage has no schedule and no other devices: pipeline_scheduler= "
                                  "and stage_devices= need pipeline_stages= of at least 2.")  # fmt: skip
    return PipelineOptions(count, name, per, said)
