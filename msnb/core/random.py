"""The one stream of random draws.

    value = philox(seed, draw index, element index)

``STATE`` holds (seed, draw index) as uint64[2]. It is a Parameter: a graph takes it in and gives it out like any state,
so every executed draw advances it in both modes alike. The generator itself is an op (``msnb.ops.random.draws``).
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, device_registry, events
from msnb.core.parameter import Parameter
from msnb.core.tensor import Tensor

_DEFAULT_SEED = 0
_seed: int | None = None
seed_version = 0  # counts calls of set_seed: who follows the seed starts anew even if it is the same number
_state: list[Parameter] = []
_seeded: dict[int, Parameter] = {}
_generators: weakref.WeakSet[Generator] = weakref.WeakSet()


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


def legal_seed(what: str, seed: Any) -> int:
    """A seed. Raises TypeError for what is no int, ValueError for one outside its range."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < 2**64:
        error = AttributeValueError if whole else ArgumentError
        raise error(f"{what} an int from 0 to 2**64 - 1, got {seed!r}.")
    return int(seed)


class Generator:
    """A stream of random draws of one's own: ``mint.rand(3, generator=g)``.

    Attributes:
        state: the Parameter uint64[2] = (seed, draw index) that draws move on, in both modes.

    Source: `mindspore.Generator`

    Examples:
        >>> import msnb as ms
        >>> g = ms.Generator().manual_seed(5)
        >>> first = ms.mint.rand(2, generator=g).tolist()
        >>> first == ms.mint.rand(2, generator=g.manual_seed(5)).tolist()
        True
    """

    def __init__(self) -> None:
        self.state: Parameter = Parameter(_key(_DEFAULT_SEED), "random.generator", requires_grad=False)
        _generators.add(self)

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew with a seed; gives back the generator."""
        self.state.set_data(_key(legal_seed("manual_seed needs", seed)))
        return self

    def initial_seed(self) -> int:
        """The seed with which it began."""
        return int(self.state._host()[0])

    def seed(self) -> int:
        """Begin anew with a seed that nobody knows before; gives back the seed."""
        found = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        self.manual_seed(found)
        return found

    def get_state(self) -> Tensor:
        """Where it is, for ``set_state``."""
        return Tensor(self.state._host().copy())

    def set_state(self, state: Tensor) -> None:
        """Go on from there."""
        self.state.set_data(state)


class DefaultGenerator(Generator):
    """The stream of all draws that name none: ``ms.default_generator``. ``manual_seed`` is ``ms.set_seed``."""

    def __init__(self) -> None:
        pass  # its state is the module's

    @property
    def state(self) -> Parameter:  # type: ignore[override]  # there is one, made on first use
        """The Parameter uint64[2] = (seed, draw index) of this stream."""
        return state()

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew with a seed, as ``set_seed``; gives back the generator."""
        _restart(seed)
        return self


default_generator = DefaultGenerator()


def manual_seed(seed: int) -> Generator:
    """``set_seed``, in PyTorch's words; gives back ``default_generator``.

    Source: `mindspore.manual_seed`

    Examples:
        >>> import msnb as ms
        >>> ms.manual_seed(13).initial_seed()
        13
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the stream of draws anew with a seed that nobody knows before; gives back the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed with which the stream of draws began."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the stream of draws is, for ``set_rng_state``.

    Returns:
        A uint64 tensor [2]: the seed and the number of draws so far.

    Examples:
        >>> import msnb as ms
        >>> state = ms.get_rng_state()
        >>> x = ms.ops.rand(2)
        >>> ms.set_rng_state(state)
        >>> ms.ops.rand(2).tolist() == x.tolist()
        True
    """
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Go on from where ``get_rng_state`` was asked."""
    default_generator.set_state(state)


def set_seed(seed: int) -> None:
    """Start the stream of random draws anew, and NumPy's (``numpy.random.rand``) with the seed's last 32 bits.

    Args:
        seed: an int >= 0.

    Raises:
        ValueError: not an int >= 0.

    Examples:
        >>> import msnb as ms
        >>> ms.set_seed(1)
    """
    _restart(seed)
    np.random.seed(int(seed) % 2**32)  # noqa: NPY002 - programs draw their data from it


def _restart(seed: int) -> None:
    global _seed, seed_version
    _seed = legal_seed("set_seed needs", seed)
    seed_version += 1
    state().set_data(_key(_seed))
    for own, stream in _seeded.items():
        stream.set_data(_key(own))


def _follow(changes: dict[str, Any]) -> None:
    """The state lives where operations run: its draws go on where they stopped."""
    if "device_target" in changes:
        for stream in (*_state, *_seeded.values(), *(g.state for g in _generators)):
            buffer = stream._buffer()  # no wrong index is told here: it would keep the session from leaving its device
            host = np.array(device_registry.device_of(buffer).to_host(buffer, check=False))
            stream._data = device_registry.current().from_host(host)


events.subscribe("context", _follow)


def get_seed() -> int | None:
    """The seed given to ``set_seed``, or None."""
    return _seed
