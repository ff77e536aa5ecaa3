"""Saving during a training: ModelCheckpoint and its configuration.

lenet-1_45.ckpt, lenet-2_45.ckpt ...      prefix-epoch_step: the step counts within its epoch
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.train.callbacks.callback import Callback, RunContext, RunParams
from msnb.train.callbacks.logging_callbacks import need_count
from msnb.train.files.checkpoint import save_checkpoint

__all__ = ["CheckpointConfig", "ModelCheckpoint"]

_INFO = {"epoch_num": "cur_epoch_num", "step_num": "cur_step_num"}


class CheckpointConfig:
    """When to save and what to keep.

    Args:
        save_checkpoint_steps: save every so many steps; 0 or None: not by steps.
        save_checkpoint_seconds: save when so many seconds have passed; 0: not by time. Steps go first.
        keep_checkpoint_max: keep the newest so many of this run; 0 keeps all.
        saved_network: what to save instead of the train network (which holds the optimizer's state too).
        append_info: "epoch_num", "step_num" and dicts of numbers and strings to store as well.
        exception_save: also save when the training ends by an error.
        crc_check: the checksum is always written.
        keep_checkpoint_per_n_minutes: with ``keep_checkpoint_max=0``: the newest is kept, and of every so many minutes
            the first; 0 keeps all.
        enc_key, enc_mode: refused: files are not encrypted.
        remove_redundancy: True has no effect, which is said once: one device saves every parameter.
        format: "ckpt" or "safetensors": the ending of the files.

    Source: `mindspore.train.CheckpointConfig`
    """

    crc_check: bool

    def __init__(
        self, save_checkpoint_steps: int | None = 1, save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5, integrated_save: bool = True, async_save: bool = False,
        saved_network: Any = None, append_info: Any = None, exception_save: bool = False, crc_check: bool = False, *,
        keep_checkpoint_per_n_minutes: int | None = 0, enc_key: bytes | None = None, enc_mode: str = "AES-GCM",
        remove_redundancy: bool = False, format: str = "ckpt",
    ) -> None:  # fmt: skip
        self.save_checkpoint_steps: int = need_count("save_checkpoint_steps", save_checkpoint_steps or 0, 0)
        self.save_checkpoint_seconds: int = need_count("save_checkpoint_seconds", save_checkpoint_seconds or 0, 0)
        self.keep_checkpoint_max: int = need_count("keep_checkpoint_max", keep_checkpoint_max or 0, 0)
        if not (self.save_checkpoint_steps or self.save_checkpoint_seconds):
            raise AttributeValueError("CheckpointConfig: save_checkpoint_steps or save_checkpoint_seconds is above 0.")
        self.integrated_save: bool = integrated_save
        self.async_save: bool = async_save
        self.saved_network: Any = saved_network
        self.exception_save: bool = exception_save
        self.append_info: list[Any] = _checked_info(append_info)
        minutes = keep_checkpoint_per_n_minutes or 0
        self.keep_checkpoint_per_n_minutes: int = need_count("keep_checkpoint_per_n_minutes", minutes, 0)
        if format not in ("ckpt", "safetensors"):
            raise ArgumentError(f"CheckpointConfig: format is 'ckpt' or 'safetensors', not {format!r}.")
        if enc_key is not None:
            raise ArgumentError(f"CheckpointConfig(enc_key=, {enc_mode}): msnb writes no encrypted files.")
        self.format, self.crc_check = format, crc_check
        if remove_redundancy:
            events.ignored("CheckpointConfig(remove_redundancy=True)", "one device saves every parameter")

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When to save, what, and how many files to keep; None for what another word goes before."""
        return {
            "save_checkpoint_steps": self.save_checkpoint_steps, "keep_checkpoint_max": self.keep_checkpoint_max,
            "save_checkpoint_seconds": None if self.save_checkpoint_steps else self.save_checkpoint_seconds,
            "keep_checkpoint_per_n_minutes": None if self.keep_checkpoint_max else self.keep_checkpoint_per_n_minutes,
            "saved_network": self.saved_network,
        }  # fmt: skip


def _checked_info(info: Any) -> list[Any]:
    items = [] if info is None else list(info) if isinstance(info, (tuple, list)) else [info]
    for item in items:
        if not (isinstance(item, Mapping) or item in _INFO):
            raise ArgumentError(f"append_info holds {', '.join(map(repr, _INFO))} and dicts, not {item!r}.")
    return items


_Named = Callable[[RunParams], str]


def _told(directory: str | _Named, params: RunParams) -> str:
    return os.fspath(directory(params)) if callable(directory) else directory


class ModelCheckpoint(Callback):
    """Saves the network while it trains, and once more at the end.

    Args:
        prefix: beginning of the file names, or a function of the RunParams that gives a name without its ending. If
            the folder has such files from an earlier run, ``_1`` (``_2`` ...) is appended to a beginning, so that no
            old file is overwritten.
        directory: where, or a function of the RunParams that gives it; the current folder by default.
        config: a CheckpointConfig.

    Raises:
        ValueError: ``prefix`` is neither a word nor a function. TypeError: the others are of another kind.

    Source: `mindspore.train.ModelCheckpoint`
    """

    def __init__(
        self, prefix: str | _Named = "CKP", directory: str | _Named | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:  # fmt: skip
        if not callable(prefix) and (not isinstance(prefix, str) or not prefix or os.sep in prefix):
            raise AttributeValueError(f"prefix must be a string without {os.sep!r}, or a function, got {prefix!r}.")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise ArgumentError(f"config must be a CheckpointConfig, not {type(config).__name__}.")
        self._wanted, self._prefix = prefix, prefix
        self._directory = directory if callable(directory) else os.fspath(directory or ".")
        self._config = CheckpointConfig() if config is None else config
        self._files: list[str] = []
        self._kept: set[str] = set()
        self._last_step, self._last_time, self._kept_time = 0, 0.0, 0.0
        self._context: RunContext | None = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the newest file of this run, '' before the first."""
        return self._files[-1] if self._files else ""

    @property
    def saved_files(self) -> list[str]:
        """The files of this run that are kept, oldest first."""
        return list(self._files)

    def begin(self, run_context: RunContext) -> None:
        """A new run."""
        self._prefix, self._files, params = self._wanted, [], run_context.original_args()
        if isinstance(self._wanted, str):
            self._prefix = _free_prefix(_told(self._directory, params), self._wanted)
        self._last_step, self._last_time = params.get("cur_step_num", 0), time.monotonic()
        self._context, self._kept_time = run_context, self._last_time

    def step_end(self, run_context: RunContext) -> None:
        """Save, if it is time."""
        params = run_context.original_args()
        if params.mode == "train" and self._due(params.cur_step_num):
            self._save(params)

    def end(self, run_context: RunContext) -> None:
        """Save what came after the last file."""
        params = run_context.original_args()
        if params.mode == "train" and params.cur_step_num > self._last_step:
            self._save(params)

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        if kind is None or not self._config.exception_save or self._context is None:
            return
        params = self._context.original_args()
        if params.mode == "train" and params.cur_step_num > 0:
            self._save(params, "_breakpoint")

    def _due(self, step: int) -> bool:
        if self._config.save_checkpoint_steps:
            return step - self._last_step >= self._config.save_checkpoint_steps
        return time.monotonic() - self._last_time >= self._config.save_checkpoint_seconds

    def _save(self, params: RunParams, ending: str = "") -> None:
        prefix = self._prefix
        name = f"{prefix}-{params.cur_epoch_num}_{params.step_in_epoch}" if isinstance(prefix, str) else prefix(params)
        path = os.path.join(_told(self._directory, params), f"{name}{ending}.{self._config.format}")
        network = self._config.saved_network if self._config.saved_network is not None else params.train_network
        save_checkpoint(network, path, append_dict=self._info(params))
        self._last_step, self._last_time = params.cur_step_num, time.monotonic()
        self._files = [f for f in self._files if f != path] + [path]
        self._drop_old()

    def _info(self, params: RunParams) -> dict[str, Any]:
        info: dict[str, Any] = {}
        for item in self._config.append_info:
            info.update(item if isinstance(item, Mapping) else {item: params[_INFO[item]]})
        return info

    def _drop_old(self) -> None:
        """The new file is complete: only now may an old one go."""
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes
        if minutes and not most:
            self._drop_between(minutes * 60.0)
        while most and len(self._files) > most:
            old = self._files.pop(0)
            if os.path.exists(old):
                os.remove(old)

    def _drop_between(self, seconds: float) -> None:
        """The file before the newest goes, unless it was the first of its time."""
        before = self._files[-2:-1]
        if before and before[0] not in self._kept:
            self._files.remove(before[0])
            if os.path.exists(before[0]):
                os.remove(before[0])
        if time.monotonic() - self._kept_time >= seconds:
            self._kept_time = time.monotonic()
            self._kept.add(self._files[-1])


def _free_prefix(directory: str, prefix: str) -> str:
    names = os.listdir(directory) if os.path.isdir(directory) else []
    free, n = prefix, 0
    while any(name.startswith(free + "-") and name.endswith((".ckpt", ".safetensors")) for name in names):
        n += 1
        free = f"{prefix}_{n}"
    return free
