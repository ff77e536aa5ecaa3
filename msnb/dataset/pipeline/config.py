"""Settings of the data pipelines: seed, default number of threads, default prefetch (as `mindspore.dataset.config`).

The seed has two doors, `ms.set_seed(n)` and `ds.config.set_seed(n)`; the one used last counts. With neither, one
seed is drawn from the system when the first pipeline asks, so runs differ but one run is consistent with itself.
Setting a seed, even to the same number, restarts every pipeline at its first epoch: a program that sets the seed
twice sees the same order of rows twice.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError
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


def set_seed(seed: int) -> None:
    """Sets the seed of all pipelines, which start again at their first epoch, of NumPy's stream and of `random`'s.

    Args:
        seed: an integer from 0 to 2**32 - 1.

    Raises:
        TypeError, ValueError: `seed` is not such an integer.

    >>> set_seed(3)
    >>> get_seed()
    3
    """
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


_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("auto_num_workers", "auto_offload", "debug_mode", "dynamic_shape", "enable_autotune"), False),
    **dict.fromkeys(("enable_shared_mem", "enable_watchdog", "fast_recovery"), True),
    "numa_enable": False, "autotune_interval": 0, "callback_timeout": 60, "monitor_sampling_interval": 1000,
    "multiprocessing_timeout_interval": 300,
}  # fmt: skip
"""Settings of MindSpore's data pipelines that are kept and change nothing here, as they are at first."""


def _setting(name: str, first: Any) -> tuple[Callable[[], Any], Callable[..., None]]:
    def getter() -> Any:
        """The setting as it was set."""
        return _SETTINGS[name]

    def setter(value: Any, *rest: Any, **named: Any) -> None:
        """Kept, and told once; raises TypeError, ValueError for another kind of value, or for more than one."""
        if rest or named:
            raise ArgumentError(f"dataset.config.set_{name}: hooks and files are not part of msnb; give the value.")
        if type(value) is not type(first):
            raise ArgumentError(f"dataset.config.set_{name} takes a {type(first).__name__}, not {value!r}.")
        if type(first) is int and not value >= min(first, 1):
            raise AttributeValueError(f"dataset.config.set_{name} takes a number from {min(first, 1)}, not {value}.")
        _SETTINGS[name] = value
        if value is not first:
            events.notice(f"dataset.config.set_{name}({value}) changes nothing: rows come from threads here.", name)

    return getter, setter


for _name, _first in _SETTINGS.items():
    globals()[f"get_{_name}"], globals()[f"set_{_name}"] = _setting(_name, _first)
