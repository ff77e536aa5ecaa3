"""Where a distribution's random numbers come from: the stream of all draws, or one of its own that a seed starts."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import ArgumentError
from msnb.ops.mindspore.primitive_results import seed_state
from msnb.ops.random.draws import drawn_normal, drawn_uniform, next_key


class DrawStream:
    """Draws for one distribution.

    Args:
        owner: the distribution's name.
        seed: None or 0 for the stream of ``ms.set_seed``; else the start of a stream that moves with each draw.
    """

    def __init__(self, owner: str, seed: Any) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, type(None))):
            raise ArgumentError(f"{owner}: a seed is an int, not {seed!r}.")
        self._state = seed_state(owner, seed or 0)

    def key(self) -> Any:
        """The key of the next draw; None in the stream of all draws."""
        return None if self._state is None else next_key(self._state)

    def normal(self, sizes: tuple[int, ...]) -> Any:
        """Normal numbers of mean 0 and variance 1."""
        return drawn_normal(sizes, self.key())

    def uniform(self, sizes: tuple[int, ...]) -> Any:
        """Numbers in (0, 1)."""
        return ops.clamp(drawn_uniform(sizes, self.key()), 1e-7, 1.0 - 1e-7)

    def gamma(self, shape: tuple[int, ...], concentration: Any, rate: Any) -> Any:
        """Numbers of gamma distributions."""
        return ops.gamma(shape, concentration, rate, self.key())

    def poisson(self, shape: tuple[int, ...], rate: Any) -> Any:
        """Counts of Poisson distributions."""
        return ops.random_poisson(shape, rate, self.key())
