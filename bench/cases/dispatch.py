"""Dispatch: what one small operation costs in eager mode, alone and with its share of a gradient.

A chain of a thousand additions of vectors of 8, told per addition. With a gradient the figure is the whole of it:
recording, the backward sweep, handing the gradient over.
"""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, several

LENGTH = 1000


def _pair(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(8), seeded.normal(8, scale=1e-3)


def _chain(a: Any, b: Any) -> Any:
    for _ in range(LENGTH):
        a = a + b
    return a


def _summed(a: Any, b: Any) -> Any:
    return _chain(a, b).sum()


def _torch(side: Any) -> Any:
    return side.over(_chain)


def _torch_gradient(side: Any) -> Any:
    def gradient(a: Any, b: Any) -> Any:
        (a,) = side.leaves(a)
        _summed(a, b).backward()
        return a.grad

    return side.over(gradient)


def _msnb(side: Any) -> Any:
    return side.over(_chain)


def _msnb_gradient(side: Any) -> Any:
    return side.over(side.ms.grad(_summed))


EAGER = ("msnb eager", "torch eager")
CASES = [
    Case("dispatch", "one small addition", {"msnb": _msnb, "torch": _torch}, several(_pair), ops=LENGTH, only=EAGER),
    Case(
        "dispatch_grad",
        "one small addition with its gradient",
        {"msnb": _msnb_gradient, "torch": _torch_gradient},
        several(_pair),
        ops=LENGTH,
        only=EAGER,
    ),
]
