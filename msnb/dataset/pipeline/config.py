"""Settings of the data pipelines: seed, default number of threads, default prefetch (as `mindspore.dataset.config`).

The seed has two doors, `ms.set_seed(n)` and `ds.config.set_seed(n)`; the one used last counts. With neither, one
seed is drawn from the system when the first pipeline asks, so runs differ but one run is consistent with itself.
Setting a seed, even to the same number, restarts every pipeline at its first epoch: a program that sets the seed
twice sees the same order of rows twice.
"""

from __future__ import annotations

import enum
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.core import random as core_random
from msnb.dataset.pipeline.rows import check_count


class _State:
    def __init__(self) -> None:
        self.seed: int | None = None
        self.core_mark_at_set: object = None
        self.times_set = 0
        self.fallback: int | None = None
        self.workers = 1
        self.prefetch = 0


_state = _State()


def _core_mark() -> object:
    return core_random.seed_version


def set_seed(seed: int | None) -> None:
    """Sets the seed of all pipelines, which start again at their first epoch, of NumPy's stream and of `random`'s.

    Args:
        seed: an integer from 0 to 2**32 - 1; None, which `get_seed` says where none was set, takes it away.

    Raises:
        TypeError, ValueError: `seed` is not such an integer.

    >>> set_seed(3)
    >>> get_seed()
    3
    """
    if seed is None:
        _state.seed = None
        return
    number = check_count(seed, "seed", least=0)
    if number >= 2**32:
        raise AttributeValueError(f"seed must be below 2**32, got {number}")
    np.random.seed(number)  # noqa: NPY002 - users' functions draw from both
    random.seed(number)
    _state.seed = number
    _state.core_mark_at_set = _core_mark()
    _state.times_set += 1


def get_seed() -> int | None:
    """The seed in force, or None if none was set."""
    if _state.seed is not None and _state.core_mark_at_set == _core_mark():
        return _state.seed
    core = core_random.get_seed()
    return _state.seed if core is None else core


def effective_seed() -> int:
    """The seed in force; when none was set, one drawn once for this process."""
    seed = get_seed()
    if seed is not None:
        return seed
    if _state.fallback is None:
        _state.fallback = secrets.randbits(32)
    return _state.fallback


def seed_mark() -> object:
    """Changes whenever a seed is set; pipelines compare it to know when to start over."""
    return (_state.times_set, _core_mark())


def set_num_parallel_workers(num: int) -> None:
    """Threads used by operations without a number of their own; 1 (the default) runs them in the caller's thread."""
    _state.workers = check_count(num, "num_parallel_workers")


def get_num_parallel_workers() -> int:
    return _state.workers


def set_prefetch_size(size: int) -> None:
    """Rows that a background thread reads ahead for every new iterator; 0 (the default) reads on demand."""
    _state.prefetch = check_count(size, "prefetch size", least=0)


def get_prefetch_size() -> int:
    return _state.prefetch


class ErrorSamplesMode(enum.IntEnum):
    """What becomes of a row for which an operation of ``map`` fails: an error, another row of the epoch, nothing."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_FIRST: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("auto_num_workers", "dynamic_shape", "enable_autotune"), ("enable", False)),
    **dict.fromkeys(("enable_shared_mem", "enable_watchdog"), ("enable", True)),
    "auto_offload": ("offload", False), "debug_mode": ("debug_mode_flag", False), "numa_enable": ("numa_enable", False),
    "fast_recovery": ("fast_recovery", True), "autotune_interval": ("interval", 0), "callback_timeout": ("timeout", 60),
    "monitor_sampling_interval": ("interval", 1000), "multiprocessing_timeout_interval": ("interval", 300),
    "multiprocessing_start_method": ("start_method", "fork"), "sending_batches": ("batch_num", 0),
    "error_samples_mode": ("error_samples_mode", ErrorSamplesMode.RETURN),
}  # fmt: skip
"""Settings of MindSpore's data pipelines: the argument that sets each, and what it is at first."""
_SETTINGS: dict[str, Any] = {name: first for name, (_, first) in _FIRST.items()}


def _setting(name: str, argument: str, first: Any) -> tuple[Callable[[], Any], Callable[..., None]]:
    def getter() -> Any:
        """The setting as it was set."""
        return _SETTINGS[name]

    def setter(*given: Any, **named: Any) -> None:
        """Kept, and told once where it changes nothing; raises TypeError, ValueError for another kind of value, or for
        more than one."""
        if len(given) + (argument in named) != 1 or len(given) + len(named) != 1:
            raise ArgumentError(f"dataset.config.set_{name}({argument}): hooks and files are not part of msnb.")
        value = given[0] if given else named[argument]
        if type(value) is not type(first):
            raise ArgumentError(f"dataset.config.set_{name} takes a {type(first).__name__}, not {value!r}.")
        if type(first) is int and not min(first, 1) <= value < 2**31:
            raise AttributeValueError(f"dataset.config.set_{name}: a number from {min(first, 1)}, not {value}.")
        if name == "multiprocessing_start_method" and value not in ("fork", "spawn"):
            raise AttributeValueError(f"dataset.config.set_{name} takes 'fork' or 'spawn', not {value!r}.")
        _SETTINGS[name] = value
        if value != first and name != "error_samples_mode":
            events.notice(f"dataset.config.set_{name}({value}) changes nothing: rows come from threads here.", name)

    return getter, setter


get_error_samples_mode: Callable[[], ErrorSamplesMode]
for _name, (_argument, _value) in _FIRST.items():
    globals()[f"get_{_name}"], globals()[f"set_{_name}"] = _setting(_name, _argument, _value)
_iterator_mode: dict[str, bool] = {"do_copy": False, "parallel_convert": False}


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """MindSpore's choice between ways to hand out rows, kept: a row is the caller's own here, whichever is chosen.

    >>> set_iterator_mode(do_copy=False)
    >>> get_iterator_mode()
    {'do_copy': False, 'parallel_convert': False}
    """
    if not isinstance(do_copy, bool) or not isinstance(parallel_convert, bool):
        raise ArgumentError(f"set_iterator_mode takes two bools, got {do_copy!r}, {parallel_convert!r}")
    _iterator_mode.update(do_copy=do_copy, parallel_convert=parallel_convert)
    if parallel_convert:
        events.notice("set_iterator_mode(parallel_convert=True) changes nothing: set_prefetch_size reads ahead.")


def get_iterator_mode() -> dict[str, bool]:
    """What ``set_iterator_mode`` was told."""
    return dict(_iterator_mode)
