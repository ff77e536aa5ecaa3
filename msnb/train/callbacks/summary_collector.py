"""SummaryCollector: a callback that records loss, inputs, weights and facts of a training by a SummaryRecord.

Source: `mindspore.train.SummaryCollector`
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.core import Tensor
from msnb.train.callbacks.callback import Callback, RunContext, RunParams, loss_of
from msnb.train.summary.summary_record import SummaryRecord

__all__ = ["SummaryCollector"]
_FLAGS = (
    "collect_metric", "collect_graph", "collect_train_lineage", "collect_eval_lineage", "collect_input_data",
    "collect_dataset_graph",
)  # fmt: skip
_MOST_TENSORS = 20


class SummaryCollector(Callback):
    """Records, at the first step and then every ``collect_freq`` steps (epochs in data sink mode):

        loss/auto            the loss                                        a scalar
        input_data/auto      the first input, if it is images                an image
        <parameter>/auto     five parameters, or those of a pattern          histograms
        lineage              network, loss, optimizer, rate, epochs, sizes   at the end

    Args:
        summary_dir: the folder of the event files.
        collect_freq: above 0.
        num_process: for MindSpore's signature.
        collect_specified_data: {"collect_metric": bool, "collect_input_data": bool, "collect_train_lineage": bool,
            "collect_eval_lineage": bool, "histogram_regular": pattern of names or None}; graphs
            ("collect_graph", "collect_dataset_graph") and "collect_landscape" are not recorded here, which is said
            where they are asked for.
        keep_default_action: what the dict does not name is recorded as above; else not.
        custom_lineage_data: numbers and texts that the lineage keeps.
        collect_tensor_freq: how often values of ``ops.TensorSummary`` are kept; by default 20 times at most.
        max_file_size: bytes of a file.
        export_options: as in ``SummaryRecord``.

    Raises:
        ValueError: a number not above 0, an unknown key. TypeError: another type.
    """

    def __init__(
        self, summary_dir: str, collect_freq: int = 10, num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None, keep_default_action: bool = True,
        custom_lineage_data: dict[str, Any] | None = None, collect_tensor_freq: int | None = None,
        max_file_size: int | None = None, export_options: dict[str, str | None] | None = None,
    ) -> None:  # fmt: skip
        for name, number in (("collect_freq", collect_freq), ("collect_tensor_freq", collect_tensor_freq or 1)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise ArgumentError(f"SummaryCollector: {name} must be an int, got {number!r}.")
            if number < 1:
                raise AttributeValueError(f"SummaryCollector: {name} must be above 0, got {number}.")
        for key, value in (custom_lineage_data or {}).items():
            if not isinstance(key, str) or not isinstance(value, (int, float, str)):
                raise ArgumentError(f"custom_lineage_data has texts and numbers by name, got {key!r}: {value!r}.")
        if num_process != 32:
            events.ignored(f"SummaryCollector(num_process={num_process})", "a record is written at once")
        self._record_of = (summary_dir, max_file_size, export_options)
        self._freq, self._tensor_freq = collect_freq, collect_tensor_freq
        self._wanted = _wanted(collect_specified_data or {}, bool(keep_default_action))
        self._custom = dict(custom_lineage_data or {})
        self._record: SummaryRecord | None = None
        self._first = True

    def __enter__(self) -> SummaryCollector:
        folder, most, options = self._record_of
        self._record = SummaryRecord(folder, max_file_size=most, export_options=options)
        self._first = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._record is not None:
            self._record.close()

    @property
    def record(self) -> SummaryRecord:
        """What it writes with. Raises RuntimeError outside a run."""
        if self._record is None:
            raise RuntimeError("a SummaryCollector records within model.train(..., callbacks=[collector]).")
        return self._record

    def begin(self, run_context: RunContext) -> None:
        """Raises ValueError: two collectors."""
        params = run_context.original_args()
        if sum(isinstance(c, SummaryCollector) for c in params.get("list_callback", ())) > 1:
            raise AttributeValueError("one SummaryCollector records a training, there are several.")
        self.record.set_mode(params.mode)

    def step_end(self, run_context: RunContext) -> None:
        """Record, if it is time."""
        params = run_context.original_args()
        if params.mode == "train" and not params.get("dataset_sink_mode"):
            self._collect(params, int(params.cur_step_num), int(params.epoch_num) * int(params.batch_num))

    def epoch_end(self, run_context: RunContext) -> None:
        """Record in data sink mode; write to the disk."""
        params = run_context.original_args()
        if params.mode == "train" and params.get("dataset_sink_mode"):
            self._collect(params, int(params.cur_epoch_num), int(params.epoch_num))
        self.record.flush()

    def end(self, run_context: RunContext) -> None:
        """Record what the training was."""
        params = run_context.original_args()
        if params.mode == "train" and self._wanted["collect_train_lineage"]:
            self.record.add_value("train_lineage", "train_lineage", _train_facts(params))
        elif params.mode == "eval" and self._wanted["collect_eval_lineage"]:
            results = params.get("eval_results") or params.get("metrics") or {}
            self.record.add_value("eval_lineage", "eval_lineage", {"metric": str(dict(results))})
        if self._custom and params.mode == "train":
            self.record.add_value("custom_lineage_data", "custom_lineage_data", self._custom)
        self.record.set_mode("eval")
        self.record.record(0)

    def _collect(self, params: RunParams, now: int, last: int) -> None:
        tensors = self._first or now in _tensor_steps(self._freq, self._tensor_freq, last)
        others = self._first or now % self._freq == 0
        self._first = False
        if others:
            self._add(params)
        if tensors or others:
            step = int(params.cur_step_num)
            self.record.record(step, None, lambda plugin: tensors if plugin == "tensor" else others)

    def _add(self, params: RunParams) -> None:
        if self._wanted["collect_metric"]:
            self.record.add_value("scalar", "loss/auto", Tensor(loss_of(params)))
        found = params.get("train_dataset_element")
        found = found[0] if isinstance(found, (tuple, list)) and found else found
        if self._wanted["collect_input_data"] and isinstance(found, Tensor):
            if found.ndim == 4 and found.shape[1] in (1, 3) and found.size:
                self.record.add_value("image", "input_data/auto", found)
        if self._wanted["histogram"]:
            pattern, optimizer = self._wanted["histogram_regular"], params.get("optimizer")
            weights = list(getattr(optimizer, "parameters", ()))
            chosen = weights[:5] if pattern is None else [p for p in weights if re.match(pattern, p.name)]
            for p in chosen:
                self.record.add_value("histogram", f"{p.name}/auto", p if p.ndim else p.reshape((1,)))


def _wanted(given: dict[str, Any], defaults: bool) -> dict[str, Any]:
    known = (*_FLAGS, "histogram_regular", "collect_landscape")
    for key, value in given.items():
        if key not in known:
            raise AttributeValueError(f"collect_specified_data has no {key!r}; it has {', '.join(known)}.")
        if key in _FLAGS and not isinstance(value, bool):
            raise ArgumentError(f"collect_specified_data: {key} is a bool, got {value!r}.")
        if value and key in ("collect_graph", "collect_dataset_graph", "collect_landscape"):
            events.notice(f"SummaryCollector does not record {key}; ms.show draws graphs.", f"summary {key}")
    pattern = given.get("histogram_regular")
    if not (pattern is None or isinstance(pattern, str)):
        raise ArgumentError(f"collect_specified_data: histogram_regular is a pattern or None, got {pattern!r}.")
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise AttributeValueError(f"histogram_regular {pattern!r} is no pattern: {error}.") from None
    wanted: dict[str, Any] = {name: given.get(name, defaults) for name in _FLAGS}
    return wanted | {"histogram_regular": pattern, "histogram": defaults or "histogram_regular" in given}


def _tensor_steps(freq: int, asked: int | None, last: int) -> range:
    if asked is not None:
        return range(0, last + 1, asked)
    if len(range(0, last + 1, freq)) <= _MOST_TENSORS:
        return range(0, last + 1, freq)
    return range(0, last + 1, max(1, last // (_MOST_TENSORS - 1)))[: _MOST_TENSORS + 1]


def _train_facts(params: RunParams) -> dict[str, Any]:
    optimizer, loss_fn, network = (params.get(name) for name in ("optimizer", "loss_fn", "network"))
    facts: dict[str, Any] = {"epoch": int(params.epoch_num), "parallel_mode": "stand_alone", "device_num": 1}
    for name, owner in (("optimizer", optimizer), ("loss_function", loss_fn), ("network", network)):
        if owner is not None:
            facts[name] = type(owner).__name__
    rate = getattr(optimizer, "learning_rate", None)
    if isinstance(rate, (int, float)) or (isinstance(rate, Tensor) and rate.ndim == 0):
        facts["learning_rate"] = float(rate)
    if params.get("net_outputs") is not None:
        facts["loss"] = loss_of(params)
    data = params.get("train_dataset")
    if data is not None:
        size = getattr(data, "get_batch_size", lambda: None)()
        facts["train_dataset_size"] = int(params.batch_num) * (size or 1)
        facts |= {"batch_size": int(size)} if size else {}
    if network is not None:
        facts["model_size"] = int(sum(np.prod(p.shape) * p.dtype.itemsize for p in network.get_parameters()))
    return facts
