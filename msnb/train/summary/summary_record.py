"""SummaryRecord: values of a training, by step, in an event file.

    with SummaryRecord("summary") as record:
        for step in range(1, 100):
            record.add_value("scalar", "loss", train_step())
            record.record(step)

MindInsight reads the files; TensorBoard shows their scalars and images if ``file_prefix="tfevents"`` names them so.
``ops.ScalarSummary()(name, x)`` and its kin inside a network add values by themselves, in both modes.
Source: `mindspore.train.SummaryRecord`
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any
from urllib.parse import quote

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.core import Tensor
from msnb.train.summary import event_file

__all__ = ["SummaryRecord"]
_ENCODERS = {
    "scalar": event_file.scalar, "image": event_file.image, "tensor": event_file.tensor,
    "histogram": event_file.histogram,
}  # fmt: skip
_NO_GRAPH = "SummaryRecord writes no graphs; ms.show.graph draws them."
_LINEAGES = ("train_lineage", "eval_lineage", "dataset_graph", "custom_lineage_data")


class SummaryRecord:
    """Writes event files; one at a time in a program. A context manager: leaving the block closes it.

    Args:
        log_dir: the folder; it is made.
        file_prefix, file_suffix: of the files' names.
        num_process: for MindSpore's signature: a record is written at once.
        network: its graph is not written; ``ms.show.graph`` draws it.
        max_file_size: bytes that a file may have; what comes behind them is left out.
        raise_exception: raise RuntimeWarning there.
        export_options: {"tensor_format": "npy"} writes every "tensor" as a file of NumPy, too.

    Raises:
        RuntimeError: another one is open. TypeError, ValueError: not these types or words.

    Examples:
        >>> import tempfile
        >>> import msnb as ms
        >>> with ms.train.SummaryRecord(tempfile.mkdtemp()) as record:
        ...     record.add_value("scalar", "loss", ms.Tensor(0.5))
        ...     record.record(1)
        True
    """

    _open: SummaryRecord | None = None

    def __init__(
        self, log_dir: str, file_prefix: str = "events", file_suffix: str = "_MS", num_process: int = 32,
        network: Any = None, max_file_size: int | None = None, raise_exception: bool = False,
        export_options: dict[str, str | None] | None = None,
    ) -> None:  # fmt: skip
        if SummaryRecord._open is not None:
            raise RuntimeError("a SummaryRecord is open: one at a time; close() it first.")
        _need_names(log_dir=log_dir, file_prefix=file_prefix, file_suffix=file_suffix)
        if not (max_file_size is None or (isinstance(max_file_size, int) and max_file_size > 0)):
            raise ArgumentError(f"SummaryRecord: max_file_size must be an int above 0 or None, got {max_file_size!r}.")
        if export_options not in (None, {}, {"tensor_format": "npy"}, {"tensor_format": None}):
            raise AttributeValueError(f"export_options={export_options!r}; legal: {{'tensor_format': 'npy'}}, None.")
        if network is not None:
            events.notice(_NO_GRAPH, "summary graph")
        if num_process != 32:
            events.ignored(f"SummaryRecord(num_process={num_process})", "a record is written at once")
        os.makedirs(log_dir, exist_ok=True)
        second = int(time.time())
        while any(os.path.exists(_stem(log_dir, file_prefix, second) + end) for end in (file_suffix, "_lineage")):
            second += 1
        stem = _stem(log_dir, file_prefix, second)
        self._values = event_file.EventFile(stem + file_suffix, max_file_size, raise_exception, "MindSpore.Event:1")
        self._facts = event_file.EventFile(stem + "_lineage", max_file_size, raise_exception)
        wants_arrays = bool(export_options and export_options.get("tensor_format"))
        self._export = os.path.join(log_dir, f"export_{second}", "tensor") if wants_arrays else None
        self._pool: dict[tuple[str, str], Any] = {}
        self._mode, self._closed = "train", False
        SummaryRecord._open = self
        events.subscribe("summary value", self._noted)

    def __enter__(self) -> SummaryRecord:
        if self._closed:
            raise ValueError("this SummaryRecord is closed.")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file of values."""
        return self._values.path

    def set_mode(self, mode: str) -> None:
        """ "train", or "eval": values of a network are then not taken.

        Raises:
            ValueError: another word.
        """
        if mode not in ("train", "eval"):
            raise AttributeValueError(f"SummaryRecord: mode={mode!r}; legal: 'train', 'eval'.")
        self._mode = mode

    def _noted(self, plugin: str, name: str, value: Any) -> None:
        if self._mode == "train":
            self._pool[plugin, name] = _checked(plugin, name, value)

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keep a value for the next ``record``; the newest of a name counts.

        Args:
            plugin: "scalar", "image" ([n, 1 or 3, height, width]), "tensor", "histogram", or "train_lineage",
                "eval_lineage", "custom_lineage_data" (a dict).
            name: under which a viewer shows it.
            value: a Tensor.

        Raises:
            ValueError: another plugin, no name, or a shape that it cannot show. TypeError: no Tensor.
        """
        if plugin in _LINEAGES:
            self._pool[plugin, name] = event_file.lineage_message(plugin, value)
            return
        if plugin not in _ENCODERS:
            legal = ", ".join((*_ENCODERS, *_LINEAGES))
            raise AttributeValueError(f"SummaryRecord: plugin={plugin!r}; legal: {legal}.")
        if not isinstance(value, Tensor):
            raise ArgumentError(f"SummaryRecord takes Tensors, got {type(value).__name__}.")
        self._pool[plugin, name] = _checked(plugin, name, value._host())

    def record(self, step: int, train_network: Any = None, plugin_filter: Callable[[str], bool] | None = None) -> bool:
        """Write the values that were added.

        Args:
            step: their step.
            train_network: for MindSpore's signature: graphs are not written.
            plugin_filter: which plugins are written; the values of others are dropped.

        Returns:
            False if this is closed.

        Raises:
            TypeError: the step is no int.
        """
        if isinstance(step, bool) or not isinstance(step, int):
            raise ArgumentError(f"SummaryRecord.record: the step must be an int, got {step!r}.")
        if self._closed:
            events.tell("this SummaryRecord is closed; nothing is recorded.")
            return False
        if train_network is not None:
            events.notice(_NO_GRAPH, "summary graph")
        pool, self._pool = self._pool, {}
        values = []
        for (plugin, name), value in pool.items():
            if plugin_filter is not None and not plugin_filter(plugin):
                continue
            if plugin in _LINEAGES:
                self._facts.write(value)
                continue
            values.append(_ENCODERS[plugin](name, value))
            if plugin == "tensor" and self._export:
                os.makedirs(self._export, exist_ok=True)
                np.save(os.path.join(self._export, f"{quote(name, safe='')}_{step}.npy"), value)
        if values:
            self._values.write(event_file.summary_message(step, values))
        return True

    def flush(self) -> None:
        """See that what was recorded is on the disk."""
        self._values.flush()
        self._facts.flush()

    def close(self) -> None:
        """Close the files; another SummaryRecord may be made."""
        if not self._closed:
            self._closed = True
            events.unsubscribe("summary value", self._noted)
            SummaryRecord._open = None
            self._values.close()
            self._facts.close()


def _need_names(**names: Any) -> None:
    for name, text in names.items():
        if not isinstance(text, str) or (name != "log_dir" and not re.fullmatch(r"[\w.\-]*", text)):
            raise ArgumentError(f"SummaryRecord: {name} must be a str of letters, digits, _ . and -, got {text!r}.")


def _stem(folder: str, prefix: str, second: int) -> str:
    """The path of files, without their ends."""
    return os.path.join(folder, f"{prefix}.out.events.summary.{second}.0.{platform.node()}")


def _checked(plugin: str, name: str, value: Any) -> Any:
    if not isinstance(name, str) or not name:
        raise AttributeValueError(f"a summary needs a name, a str, got {name!r}.")
    value = np.asarray(value)
    if not value.size:
        raise AttributeValueError(f"summary {name!r}: an empty tensor shows nothing.")
    if plugin == "image" and (value.ndim != 4 or value.shape[1] not in (1, 3)):
        raise AttributeValueError(f"summary {name!r}: images are [n, 1 or 3, height, width], got {list(value.shape)}.")
    if plugin in ("tensor", "histogram") and not value.ndim:
        raise AttributeValueError(f"summary {name!r}: a {plugin} has at least one axis; a number is a scalar.")
    return value
