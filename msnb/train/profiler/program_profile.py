"""``profile`` and ``Profiler``: what a program spends its time on, recorded while it runs.

Source: `mindspore.profiler.profile`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError, ConditionError
from msnb.train.profiler.profile_options import (
    AicoreMetrics,
    ExperimentalConfig,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    need_choices,
    tell_of_ascend,
)
from msnb.train.profiler.trace_files import OpStatistics, op_statistics, write_profile
from msnb.train.profiler.trace_recorder import TraceRecorder, TraceSpan

__all__ = ["Profiler", "profile", "tensorboard_trace_handler"]
_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
_SHOWN = 20


class profile:
    """Records what runs between ``start`` and ``stop``, or inside ``with``: every op of eager mode, every call of a
    compiled program, every compilation, every step, and the user's own ranges (``mstx``).

    Layers that run as one program in eager mode run op by op while they are profiled, so that each op has its row. The
    ops inside a compiled program are one native call; ``ms.show.profile(fn, x, times=True)`` measures them.

    Args:
        activities: whose work; ``ProfilerActivity.CPU`` is recorded in any case, the others have none here.
        with_stack: keep the line of the program that each op comes from.
        profile_memory, hbm_ddr, pcie: counters of chips, which a CPU has not; asking for one says so.
        data_process: ``ms.show.data(dataset)`` measures a pipeline; asking for it here says so.
        parallel_strategy: ``ms.show.plan`` shows it; asking for it here says so.
        start_profile: begin now.
        sync_enable: ops of a CPU end before the next one begins in any case.
        record_shapes: keep the types of each op's inputs.
        schedule: says for each step (``step()`` ends one) whether it is recorded; by default all are.
        on_trace_ready: called with this object when there is something to write, e.g. ``tensorboard_trace_handler()``.
        experimental_config: an ``ExperimentalConfig``.

    Attributes:
        spans: what was recorded, with times in microseconds.

    Raises:
        TypeError: an argument of another kind.

    Examples:
        >>> import msnb as ms
        >>> from msnb.train import profiler
        >>> x = ms.ops.ones((2, 3))
        >>> with profiler.profile(record_shapes=True) as prof:
        ...     y = ms.ops.exp(x)
        >>> [row.name for row in prof.statistics() if row.category == "op"]
        ['exp']
    """

    def __init__(
        self, activities: Iterable[ProfilerActivity] | None = None, with_stack: bool = False,
        profile_memory: bool = False, data_process: bool = False, parallel_strategy: bool = False,
        start_profile: bool = True, hbm_ddr: bool = False, pcie: bool = False, sync_enable: bool = True,
        record_shapes: bool = False, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None, experimental_config: ExperimentalConfig | None = None,
    ) -> None:  # fmt: skip
        if activities is not None:
            need_choices("activities", ProfilerActivity, list(activities))
        for name, found in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if found is not None and not callable(found):
                raise ArgumentError(f"profile: {name} is called, and {found!r} cannot be.")
        if experimental_config is not None and not isinstance(experimental_config, ExperimentalConfig):
            raise ArgumentError(f"profile: experimental_config is an _ExperimentalConfig, not {experimental_config!r}.")
        tell_of_ascend({"profile_memory": profile_memory, "hbm_ddr": hbm_ddr, "pcie": pcie})
        if data_process:
            events.ignored("profile(data_process=True)", "ms.show.data(dataset) measures a pipeline")
        if parallel_strategy:
            events.ignored("profile(parallel_strategy=True)", "ms.show.plan(plan) shows it")
        self._schedule, self._ready = schedule, on_trace_ready
        keeps = None if experimental_config is None else experimental_config.keeps
        self._recorder = TraceRecorder(record_shapes, with_stack, keeps)
        self._running, self._handed, self._step = False, False, 0
        self.metadata: dict[str, Any] = {}
        if start_profile:
            self.start()

    @property
    def spans(self) -> list[TraceSpan]:
        """What was recorded."""
        return self._recorder.spans

    def start(self) -> None:
        """Begin; a second call changes nothing."""
        if not self._running:
            self._running = True
            self._follow(self._action())

    def stop(self) -> None:
        """End, and hand what was recorded to ``on_trace_ready``."""
        if self._running:
            self._running = False
            self._recorder.stop()
            self._hand_on()

    def step(self) -> None:
        """A step of the training ends.

        Raises:
            RuntimeError: the profile has not been started.
        """
        if not self._running:
            raise ConditionError("profile.step(): start the profile first (start(), or with profile(...) as prof).")
        before = self._action()
        self._step += 1
        self._recorder.mark_step(self._step)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._recorder.stop(within=False)
            self._hand_on()
        self._follow(self._action())

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(self._step)

    def _follow(self, action: ProfilerAction) -> None:
        if action not in _RECORDS:
            self._recorder.stop(within=False)
            return
        if self._handed:
            self._recorder.spans, self._handed = [], False
        self._recorder.start()

    def _hand_on(self) -> None:
        """What was recorded goes to ``on_trace_ready``, once; a later cycle begins with nothing."""
        if self._ready is not None and self.spans and not self._handed:
            self._handed = True
            self._ready(self)

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text with the profile."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentError("add_metadata: key and value are texts.")
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep JSON with the profile.

        Raises:
            ValueError: the text is no JSON.
        """
        self.add_metadata(key, value)
        self.metadata[key] = json.loads(value)

    def statistics(self) -> list[OpStatistics]:
        """How often each op, program and compilation ran and how long, the longest first."""
        return op_statistics(self.spans)

    def save(self, folder: str | Path = "./data", worker: str | None = None) -> Path:
        """Write a timeline (``trace_view.json``, for Perfetto) and tables.

        Returns:
            Their folder.
        """
        return write_profile(folder, worker, self.spans, self.metadata)

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        rows = self.statistics()
        lines = [f"{'':<32} {'kind':<8} {'count':>7} {'total ms':>10} {'mean us':>10} {'share':>6}"]
        for r in rows[:_SHOWN]:
            lines.append(
                f"{r.name:<32} {r.category:<8} {r.calls:>7} {r.total / 1e3:>10.3f} {r.mean:>10.1f} {r.share:>6.0%}"
            )
        rest = len(rows) - _SHOWN
        return "\n".join([*lines, f"and {rest} more"] if rest > 0 else lines)


class tensorboard_trace_handler:
    """Writes a profile into a folder: ``profile(on_trace_ready=tensorboard_trace_handler("./data"))``.

    Args:
        dir_name: the folder; by default "./data".
        worker_name: who ran; by default the machine's name and the number of the process.
        analyse_flag: write the tables too; they are always written.
        async_mode: the files are complete when the call returns, in any case.
    """

    def __init__(
        self, dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True,
        async_mode: bool = False,
    ) -> None:  # fmt: skip
        for name, text in (("dir_name", dir_name), ("worker_name", worker_name)):
            if text is not None and not isinstance(text, str):
                raise ArgumentError(f"tensorboard_trace_handler: {name} is a text, not {text!r}.")
        if not analyse_flag:
            events.ignored("tensorboard_trace_handler(analyse_flag=False)", "timeline and tables are written at once")
        if async_mode:
            events.ignored("tensorboard_trace_handler(async_mode=True)", "the files are complete when the call returns")
        self.folder: str = dir_name or "./data"
        self.worker: str | None = worker_name

    def __call__(self, prof: profile) -> Path:
        """Write what ``prof`` recorded."""
        return prof.save(self.folder, self.worker)


class Profiler(profile):
    """MindSpore's older form of ``profile``: it begins when it is made, ``analyse()`` ends it and writes its files.

    Args:
        output_path: the folder.
        profiler_level, aic_metrics, l2_cache, mstx, data_simplification: as in ``ExperimentalConfig``.
        others: as in ``profile``.

    Raises:
        TypeError: an unknown keyword, an argument of another kind.

    Examples:
        >>> import tempfile
        >>> import msnb as ms
        >>> profiler = ms.Profiler(output_path=tempfile.mkdtemp())
        >>> y = ms.ops.exp(ms.ops.ones((2, 3)))
        >>> folder = profiler.analyse()
        >>> sorted(path.name for path in folder.iterdir())[-1]
        'trace_view.json'
    """

    def __init__(
        self, start_profile: bool = True, output_path: str = "./data",
        profiler_level: ProfilerLevel = ProfilerLevel.Level0, aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone,
        l2_cache: bool = False, mstx: bool = False, data_simplification: bool = True, **others: Any,
    ) -> None:  # fmt: skip
        if not isinstance(output_path, str):
            raise ArgumentError(f"Profiler: output_path is a text, not {output_path!r}.")
        config = ExperimentalConfig(profiler_level, aic_metrics, l2_cache, mstx, data_simplification)
        self.output_path: str = output_path
        others.setdefault("experimental_config", config)
        super().__init__(start_profile=start_profile, **others)

    def analyse(
        self, offline_path: str | None = None, pretty: bool = False, step_list: list[int] | None = None,
        mode: str = "sync",
    ) -> Path:  # fmt: skip
        """Stop, and write the files.

        Args:
            offline_path: raw data of an Ascend chip; refused.
            pretty: the JSON is as it is.
            step_list: the numbers of the steps that are kept; by default all.
            mode: "sync" or "async"; the files are complete when the call returns.

        Returns:
            Their folder.

        Raises:
            ValueError: another mode, ``offline_path``, a step that was not recorded.
        """
        if offline_path is not None:
            raise AttributeValueError("analyse(offline_path=): it reads raw data of an Ascend chip.")
        if mode not in ("sync", "async"):
            raise AttributeValueError(f'analyse: mode is "sync" or "async", not {mode!r}.')
        if pretty:
            events.ignored("analyse(pretty=True)", "the timeline is for a viewer")
        self.stop()
        if step_list is not None:
            absent = sorted(set(step_list) - {s.step for s in self.spans})
            if absent:
                raise AttributeValueError(f"analyse: step {absent[0]} was not recorded.")
            self._recorder.spans = [s for s in self.spans if s.step in step_list]
        return self.save(self.output_path)

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str:
        """What ops took, as JSON.

        Args:
            op_name: one name, or several.
            device_id: a CPU has one device.

        Returns:
            name -> count, and total and mean in microseconds.
        """
        if device_id not in (None, 0):
            raise AttributeValueError(f"op_analyse: a CPU has the device 0 only, not {device_id!r}.")
        names = [op_name] if isinstance(op_name, str) else list(op_name)
        rows = {r.name: {"count": r.calls, "total": r.total, "mean": r.mean} for r in self.statistics()}
        for name in names:
            if name not in rows:
                raise AttributeValueError(f"op_analyse: {name!r} was not recorded, only {', '.join(sorted(rows))}.")
        return json.dumps({name: rows[name] for name in names})
