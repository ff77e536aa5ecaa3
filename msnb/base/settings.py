"""The settings of a session: every knob declared once, with its legal values.

``set_context`` works as a statement and as a ``with`` block. Rooms that must act on a change (eager when the device
changes, the notebook's status line) subscribe to the event ``context``.
Source: `mindspore.set_context`
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from msnb.base import device_registry, events, missing_names
from msnb.base.errors import ArgumentError, ContextError, DeviceError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from msnb.base.context_keys import ContextKeys  # a stub alone, made by tools/stubs.py

GRAPH_MODE = 0
_LEVELS = ("O0", "O1", "O2")
PYNATIVE_MODE = 1


@dataclass(frozen=True)
class Setting:
    """One setting, or one entry of a setting that is a table.

    Attributes:
        default: its value until one is set; legal: the legal values in words; check: whether a value is one.
        doc: a line of documentation.
        modes: the parallel modes that use it; none: all.
        entries: of a table its entries, each may be missing.
        idle: why another value than the default changes nothing here; warned of once.
    """

    default: Any
    legal: str
    check: Callable[[Any], bool]
    doc: str = ""
    modes: tuple[str, ...] = ()
    entries: Mapping[str, Setting] | None = None
    idle: str = ""


def is_int(low: int, high: float = math.inf) -> Callable[[Any], bool]:
    """A check for ints, bounds included."""
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_str(value: Any) -> bool:
    return isinstance(value, str)


def _is_device(value: Any) -> bool:
    return isinstance(value, str) and device_registry.is_known(value)


KNOBS: dict[str, Setting] = {
    "mode": Setting(
        PYNATIVE_MODE,
        "GRAPH_MODE (0), PYNATIVE_MODE (1), 'graph' or 'pynative'",
        lambda v: v in (0, 1) and not isinstance(v, bool),
        "whether Cells run operator by operator or compiled as one graph",
    ),
    "device_target": Setting(
        "CPU", "a registered device", _is_device, "the device on which tensors are made and ops run"
    ),
    "device_id": Setting(0, "an int from 0 to 4095", is_int(0, 4095), "which device of that kind"),
    "soc_version": Setting(
        "Ascend910",
        "'Ascend910' or 'Ascend310'",
        lambda v: v in ("Ascend910", "Ascend310"),
        "which chip the simulated Ascend is",
    ),
    "save_graphs": Setting(
        False,
        "True, False, or 0 to 3",
        lambda v: isinstance(v, bool) or v in (0, 1, 2, 3),
        "keep the graph of every compile stage (in memory, and as files under save_graphs_path)",
    ),
    "save_graphs_path": Setting("", "a folder; '' keeps graphs in memory only", _is_str, "where save_graphs writes"),
    "verify_graphs": Setting(
        False, "True or False", _is_bool, "check every law of the IR after every pass (slow; tests)"
    ),
    "runtime_num_threads": Setting(0, "an int from 0 (all cores) to 1024", is_int(0, 1024), "threads of CPU kernels"),
    "jit_level": Setting(
        os.environ["MSNB_JIT_LEVEL"] if os.environ.get("MSNB_JIT_LEVEL") in _LEVELS else "O1",
        "'O0', 'O1' or 'O2'",
        lambda v: v in _LEVELS,
        "how graphs compiled from now on run: O1 as one native program (on the CPU, with llvmlite), MindSpore's O2 (the"
        " whole graph at once) the same, O0 operation by"
        " operation on the reference bodies, bit for bit as in eager mode; MSNB_JIT_LEVEL in the environment sets the"
        " default",
    ),
    "matmul_precision": Setting(
        "highest",
        "'highest' or 'high'",
        lambda v: v in ("highest", "high"),
        "how a GPU multiplies float32: as float32, or rounded to TF32 (10 bits) for its tensor cores",
    ),
    "max_call_depth": Setting(1000, "an int from 1 to 100000", is_int(1, 100000), "deepest nesting of captured calls"),
    "deterministic": Setting("ON", "'ON' or 'OFF'", lambda v: v in ("ON", "OFF"), "same bits from run to run"),
    "pynative_synchronize": Setting(False, "True or False", _is_bool, "wait after every eager op"),
}

# MindSpore's keys that tune its own compiler, memory or devices: taken and kept, they change nothing here
TUNING: dict[str, Any] = {
    "enable_graph_kernel": False, "graph_kernel_flags": "", "enable_compile_cache": False, "compile_cache_path": "",
    "jit_config": {}, "jit_syntax_level": 2, "max_device_memory": "1024GB", "mempool_block_size": "1GB",
    "variable_memory_max_size": "30GB", "memory_optimize_level": "O0", "memory_offload": "OFF",
    "enable_reduce_precision": True, "auto_tune_mode": "NO_TUNE", "check_bprop": False, "enable_sparse": False,
    "grad_for_scalar": False, "op_timeout": 900, "ascend_config": {}, "gpu_config": {}, "exec_order": "bfs",
    "env_config_path": "", "print_file_path": "", "disable_format_transform": False, "support_binary": False,
    "inter_op_parallel_num": 0, "aoe_tune_mode": "", "aoe_config": {}, "reserve_class_name_in_scope": True,
    "debug_level": "RELEASE", "enable_profiling": False, "profiling_options": "", "enable_dump": False,
    "save_dump_path": "", "enable_mem_reuse": True, "enable_auto_mixed_precision": False, "enable_loop_sink": True,
    "enable_task_sink": True, "enable_gpu_kernel_cache": True, "enable_debugger": False, "op_debug_option": "",
}  # fmt: skip

_MODE_WORDS = {"graph": GRAPH_MODE, "pynative": PYNATIVE_MODE, "eager": PYNATIVE_MODE}
_values: dict[str, Any] = {**{name: knob.default for name, knob in KNOBS.items()}, **TUNING}


def _illegal(name: str, value: Any) -> ContextError:
    devices = sorted(device_registry.names()) if name == "device_target" else []
    near = [device for device in devices if device.lower() == str(value).lower()]
    guess = f" did you mean {near[0]!r}?" if near else ""
    legal = ", ".join(devices) or KNOBS[name].legal
    return ContextError(f"set_context({name}={value!r}) is not legal;{guess} legal: {legal}.")


def _nearest(name: str) -> str:
    """The end of the sentence on a key that does not exist."""
    near = difflib.get_close_matches(str(name), [*KNOBS, *TUNING], 1, 0.6)
    guess = f"; did you mean {near[0]}?" if near else "."
    return f"{guess} Legal: {', '.join(sorted(KNOBS))}."


def _check(changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if name in TUNING:
            continue
        if name not in KNOBS:
            raise ContextError(f"set_context has no key {name!r}{_nearest(name)}")
        if not KNOBS[name].check(value):
            raise _illegal(name, value)


def _apply(changes: dict[str, Any]) -> None:
    """All the changes or none: a device that is missing leaves everything as it was."""
    before = {name: _values[name] for name in changes}
    try:
        _put(changes)
    except BaseException:
        _put(before)
        raise


def _put(changes: dict[str, Any]) -> None:
    _values.update(changes)  # first: a device that is made reads device_id
    if "device_target" in changes:
        try:
            device_registry.set_current(changes["device_target"])
        except DeviceError as error:
            events.refuse(error)
            changes = {**changes, "device_target": "CPU"}
            _put(changes)
    events.emit("context", changes=dict(changes))


class ContextChange:
    """The change a call of ``set_context`` made; leaving it as a ``with`` block takes the change back."""

    def __init__(self, before: dict[str, Any], changes: dict[str, Any]) -> None:
        self._before, self._changes = before, changes

    def __repr__(self) -> str:
        others = [f"{name}={value!r}" for name, value in self._changes.items() if name not in ("mode", "device_target")]
        mode = "graph" if in_graph_mode() else "PyNative"
        return ", ".join([f"{mode} mode on {_values['device_target']}", *others])

    def __enter__(self) -> ContextChange:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _apply(self._before)


def set_context(**changes: Unpack[ContextKeys]) -> ContextChange:
    """Change settings of the session, for good or for a ``with`` block.

    Args:
        **changes: keys of ``KNOBS``: mode (a constant, "graph" or "pynative"), device_target, device_id, soc_version,
            save_graphs, save_graphs_path, runtime_num_threads, jit_level, matmul_precision, max_call_depth,
            deterministic, pynative_synchronize.
            Keys that tune MindSpore's own compiler (``TUNING``) are taken, and a notice says that nothing changes.

    Returns:
        An object that restores the former values when used as ``with set_context(...):``.

    Raises:
        ValueError: an unknown key or an illegal value; the message lists the legal ones. Nothing is changed.

    Examples:
        >>> import msnb as ms
        >>> with ms.set_context(mode=ms.GRAPH_MODE):
        ...     ms.get_context("mode")
        0
    """
    asked: dict[str, Any] = dict(changes)
    if isinstance(asked.get("mode"), str):
        asked["mode"] = _MODE_WORDS.get(asked["mode"].lower().removesuffix("_mode"), asked["mode"])
    _check(asked)
    for name in asked.keys() & TUNING.keys():
        events.notice(f"set_context({name}=...) changes nothing: it tunes MindSpore's own compiler.", f"tuning {name}")
    before = {name: _values[name] for name in asked}
    _apply(asked)
    return ContextChange(before, asked)


def get_context(attr_key: str) -> Any:
    """The value of one setting.

    Raises:
        ValueError: there is no such key.
    """
    if attr_key not in _values:
        raise ContextError(f"get_context has no key {attr_key!r}{_nearest(attr_key)}")
    return _values[attr_key]


def reset_context() -> None:
    """Back to the defaults."""
    _apply({**{name: knob.default for name, knob in KNOBS.items()}, **TUNING})


def in_graph_mode() -> bool:
    """True when Cells are compiled."""
    return bool(_values["mode"] == GRAPH_MODE)


def set_device(device_target: str, device_id: int = 0) -> None:
    """Same as ``set_context(device_target=..., device_id=...)``.

    Source: `mindspore.set_device`
    """
    set_context(device_target=device_target, device_id=device_id)


class CurrentDevice(NamedTuple):
    """Where operations run: ``device_target`` and ``device_id``."""

    device_target: str
    device_id: int


def get_current_device() -> CurrentDevice:
    """Where operations run.

    Source: `mindspore.get_current_device`

    Examples:
        >>> import msnb as ms
        >>> ms.get_current_device().device_id
        0
    """
    return CurrentDevice(get_context("device_target"), get_context("device_id"))


def set_deterministic(deterministic: bool) -> None:
    """Whether runs give the same bits: ``set_context(deterministic="ON")`` or ``"OFF"``.

    Raises:
        TypeError: neither True nor False.

    Source: `mindspore.set_deterministic`
    """
    if not isinstance(deterministic, bool):
        raise ArgumentError(f"set_deterministic takes True or False, got {deterministic!r}.")
    set_context(deterministic="ON" if deterministic else "OFF")


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """How deep calls may nest while a program is captured: ``set_context(max_call_depth=recursion_limit)``.

    Source: `mindspore.set_recursion_limit`
    """
    set_context(max_call_depth=recursion_limit)


def __getattr__(name: str) -> Any:
    """``from msnb import context``: a sentence on what MindSpore has in its module and msnb has not."""
    return missing_names.attribute(__name__, name)
