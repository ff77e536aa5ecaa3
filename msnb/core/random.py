"""The one stream of random draws.

    value = philox(seed, draw index, element index)

``STATE`` holds (seed, draw index) as uint64[2]. It is a Parameter: a graph takes it in and gives it out like any state,
so every executed draw advances it in both modes alike. The generator itself is an op (``msnb.ops.random.draws``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import device_registry, events
from msnb.core.parameter import Parameter

_DEFAULT_SEED = 0
_seed: int | None = None
seed_version = 0  # counts calls of set_seed: who follows the seed starts anew even if it is the same number
_state: list[Parameter] = []
_seeded: dict[int, Parameter] = {}


def state() -> Parameter:
    """The Parameter uint64[2] = (seed, draw index), made on first use."""
    if not _state:
        _state.append(Parameter(_key(_DEFAULT_SEED if _seed is None else _seed), "random.state", requires_grad=False))
    return _state[0]


def seeded_state(seed: int) -> Parameter:
    """The state of the stream with a seed of its own (``ops.dropout(seed=...)``): it begins at draw 0, and ``set_seed``
    starts it anew."""
    found = _seeded.get(seed)
    if found is None:
        found = _seeded[seed] = Parameter(_key(seed), f"random.state.{seed}", requires_grad=False)
    return found


def _key(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return np.array([seed, 0], np.uint64)


def set_seed(seed: int) -> None:
    """Start the stream of random draws anew.

    Args:
        seed: an int >= 0.

    Raises:
        ValueError: not an int >= 0.

    Examples:
        >>> import msnb as ms
        >>> ms.set_seed(1)
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= int(seed) < 2**64:
        raise ValueError(f"set_seed needs an int from 0 to 2**64 - 1, got {seed!r}.")
    global _seed, seed_version
    _seed = int(seed)
    seed_version += 1
    state().set_data(_key(_seed))
    for own, stream in _seeded.items():
        stream.set_data(_key(own))


def _follow(changes: dict[str, Any]) -> None:
    """The state lives where operations run: its draws go on where they stopped."""
    if "device_target" in changes:
        for stream in (*_state, *_seeded.values()):
            stream._data = device_registry.current().from_host(stream._host())


events.subscribe("context", _follow)


def get_seed() -> int | None:
    """The seed given to ``set_seed``, or None."""
    return _seed
