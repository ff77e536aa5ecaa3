"""``DynamicProfilerMonitor``: a training that is profiled when a file says so.

Source: `mindspore.profiler.DynamicProfilerMonitor`
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.train.callbacks.callback import Callback, RunContext
from msnb.train.profiler.program_profile import profile

__all__ = ["DynamicProfilerMonitor"]
FILE = "profiler_config.json"


class DynamicProfilerMonitor(Callback):
    """Profiles the steps ``start_step`` to ``stop_step`` that ``<cfg_path>/profiler_config.json`` names; it is read
    before every step, so another part of a running training is profiled by writing the file anew.

    Args:
        cfg_path: the folder of the file; a file with -1 for both is made if there is none.
        output_path: where profiles go.
        poll_interval: for MindSpore's signature (seconds); the file is read before every step.

    Raises:
        TypeError: no text. ValueError: ``start_step`` above ``stop_step``, no JSON.
    """

    def __init__(
        self, cfg_path: str | None = None, output_path: str = "./dyn_profile_data", poll_interval: int = 2
    ) -> None:
        if not isinstance(cfg_path, str):
            raise ArgumentError(f"DynamicProfilerMonitor: cfg_path is a folder, not {cfg_path!r}.")
        if poll_interval != 2:
            events.ignored("DynamicProfilerMonitor(poll_interval=)", "the file is read before every step")
        self.file: Path = Path(cfg_path) / FILE
        self.output_path: str = output_path
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps({"start_step": -1, "stop_step": -1}))
        self._prof: profile | None = None
        self._stop, self._step = -1, 0

    def _asked(self) -> tuple[int, int]:
        try:
            found: Any = json.loads(self.file.read_text())
            start, stop = int(found["start_step"]), int(found["stop_step"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AttributeValueError(f"{self.file}: {error}; it has the numbers start_step and stop_step.") from None
        if start > stop:
            raise AttributeValueError(f"{self.file}: start_step {start} is above stop_step {stop}.")
        return start, stop

    def step_begin(self, run_context: RunContext) -> None:
        """Begin where the file says so."""
        self._begin(run_context.original_args().cur_step_num)

    def step_end(self, run_context: RunContext) -> None:
        """End and write."""
        self._end(run_context.original_args().cur_step_num)

    def step(self) -> None:
        """A step begins, in a loop that the program writes itself; the one before it is over."""
        self._end(self._step)
        self._step += 1
        self._begin(self._step)

    def _begin(self, step: int) -> None:
        start, stop = self._asked()
        if self._prof is None and start == step > 0:
            self._prof, self._stop = profile(), stop

    def _end(self, step: int) -> None:
        if self._prof is not None and step >= self._stop:
            self._close()

    def end(self, run_context: RunContext) -> None:
        """A training that ends before ``stop_step`` is written as far as it came."""
        self._close()

    def _close(self) -> None:
        if self._prof is not None:
            self._prof.stop()
            self._prof.save(self.output_path)
            self._prof = None
