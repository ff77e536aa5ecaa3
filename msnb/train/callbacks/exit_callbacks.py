"""Callbacks for trainings that end early: a backup that the next start goes on from, and an end on request.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.train.html (callbacks)
"""

from __future__ import annotations

import json
import os
import signal
from types import FrameType, TracebackType
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.train.callbacks.callback import Callback, RunContext
from msnb.train.files.checkpoint import load_checkpoint, save_checkpoint
from msnb.train.files.model_files import export

__all__ = ["BackupAndRestore", "OnRequestExit"]


class BackupAndRestore(Callback):
    """Saves weights and state of the optimizer as "backup.ckpt"; a training that finds one begins with them.

    Args:
        backup_dir: the folder; it is made.
        save_freq: "epoch", or every so many epochs.
        delete_checkpoint: remove the backup when a training came to its end.

    Raises:
        ValueError: ``save_freq`` is neither "epoch" nor an int above 0.

    Examples:
        >>> import msnb as ms
        >>> callback = ms.train.BackupAndRestore("backup")
        >>> # model.train(10, data, callbacks=[callback])
    """

    def __init__(self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True) -> None:
        whole = isinstance(save_freq, int) and not isinstance(save_freq, bool)
        if save_freq != "epoch" and not (whole and int(save_freq) > 0):
            raise AttributeValueError(f"BackupAndRestore: save_freq is 'epoch' or an int above 0, got {save_freq!r}.")
        if not isinstance(delete_checkpoint, bool):
            raise ArgumentError(f"BackupAndRestore: delete_checkpoint must be a bool, got {delete_checkpoint!r}.")
        self.save_freq: int = 1 if save_freq == "epoch" else int(save_freq)
        self.delete_checkpoint: bool = delete_checkpoint
        self.backup_file: str = os.path.join(backup_dir, "backup.ckpt")

    def on_train_begin(self, run_context: RunContext) -> None:
        """Load a backup, if there is one."""
        if os.path.exists(self.backup_file):
            load_checkpoint(self.backup_file, run_context.original_args().train_network)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save one."""
        params = run_context.original_args()
        if int(params.cur_epoch_num) % self.save_freq == 0:
            os.makedirs(os.path.dirname(self.backup_file) or ".", exist_ok=True)
            save_checkpoint(params.train_network, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove it."""
        if self.delete_checkpoint and os.path.exists(self.backup_file):
            os.remove(self.backup_file)


class OnRequestExit(Callback):
    """Ends a run behind the present step when a signal asks for it, or a file; what was learnt is saved.

    A training saves ``directory/rank_0/<file_name>_train``, an evaluation ``..._eval``, as checkpoint and as MindIR;
    the next one that finds its checkpoint begins with it.

    Args:
        save_ckpt: save a checkpoint.
        save_mindir: save the network as MindIR, for the inputs of the last row.
        file_name: of the files.
        directory: their folder; it is made.
        config_file: a JSON file; {"GracefulExit": 1} in it asks, too.
        sig: the signal.

    Raises:
        ValueError: a signal that cannot be caught. TypeError: another type.
    """

    def __init__(
        self, save_ckpt: bool = True, save_mindir: bool = True, file_name: str = "Net", directory: str = "./",
        config_file: str | None = None, sig: int = signal.SIGTERM,
    ) -> None:  # fmt: skip
        if not isinstance(save_ckpt, bool) or not isinstance(save_mindir, bool) or not isinstance(sig, int):
            raise ArgumentError("OnRequestExit: save_ckpt and save_mindir are bools, sig is a signal.")
        if sig == getattr(signal, "SIGKILL", None):
            raise AttributeValueError("OnRequestExit: no program can answer SIGKILL; SIGTERM asks it to end.")
        self.save_ckpt: bool = save_ckpt
        self.save_mindir: bool = save_mindir
        self.sig: int = sig
        self.config_file: str | None = config_file
        self.exit: bool = False
        folder = os.path.join(directory or ".", "rank_0")
        self.train_name: str = os.path.join(folder, f"{file_name}_train")
        self.eval_name: str = os.path.join(folder, f"{file_name}_eval")
        self._before: Any = None

    def __enter__(self) -> OnRequestExit:
        self.exit = False
        self._before = signal.signal(self.sig, self._asked)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        signal.signal(self.sig, self._before)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        self.exit = True

    def _in_file(self) -> bool:
        if self.config_file is None or not os.path.exists(self.config_file):
            return False
        with open(self.config_file, encoding="utf-8") as file:
            try:
                return bool(json.load(file).get("GracefulExit") == 1)
            except (ValueError, AttributeError):  # being written, or no such file
                return False

    def begin(self, run_context: RunContext) -> None:
        """Load what an earlier run saved."""
        params = run_context.original_args()
        names = [self.train_name] if params.mode == "train" else [self.eval_name, self.train_name]
        found = next((f"{name}.ckpt" for name in names if os.path.isfile(f"{name}.ckpt")), None)
        if self.save_ckpt and found:
            load_checkpoint(found, params.train_network if params.mode == "train" else params.network)

    def step_end(self, run_context: RunContext) -> None:
        """Stop, if that was asked for."""
        self.exit = self.exit or self._in_file()
        if self.exit:
            run_context.request_stop()

    def end(self, run_context: RunContext) -> None:
        """Save."""
        if not self.exit:
            return
        params = run_context.original_args()
        training = params.mode == "train"
        name = self.train_name if training else self.eval_name
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if self.save_ckpt:
            save_checkpoint(params.train_network if training else params.network, f"{name}.ckpt")
        row = params.get("train_dataset_element" if training else "eval_dataset_element")
        if self.save_mindir and row:
            inputs = row[:-1] if isinstance(row, (tuple, list)) and len(row) > 1 else row
            export(params.network, *inputs, file_name=name, file_format="MINDIR")
