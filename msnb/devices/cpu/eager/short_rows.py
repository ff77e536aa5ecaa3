"""Broadcasts whose last axes are short, for NumPy's loops: boxes [n, 1, 4] against [1, m, 4], points against centres.

    x[1000, 1, 2] - y[1, 500, 2]     NumPy: 500 000 loops of 2 elements, 15 ns each
    here                             2 loops over [1000, 500], each of one place of the last axis
    x[1000, 1, 4] - y[5, 4]          20 loops of 1000

What each loop takes of the operands is found once for a signature.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core import TensorType, Type
from msnb.devices.device import Kernel

WORTH, FEW, LONG = 2048, 32, 32  # elements of a result; loops; elements of each


def columns(types: tuple[Type, ...], out: Type, body: Kernel) -> Kernel | None:
    """A kernel that runs a ufunc along longer axes than the last ones; None where NumPy's way is as good."""
    if not isinstance(body, np.ufunc) or not isinstance(out, TensorType):
        return None
    if not all(t.is_static for t in (*types, out) if isinstance(t, TensorType)) or out.size < WORTH:
        return None
    shape, sizes = out.ints(), [t.ints() for t in types if isinstance(t, TensorType)]
    walked = _walked(shape, sizes)
    if not walked:
        return None
    steps = [dict(zip(walked, at)) for at in itertools.product(*(range(shape[k]) for k in walked))]
    places = [[_place(s, len(shape) - len(s), at) for s in (*sizes, shape)] for at in steps]

    def run(*arrays: Any) -> Any:
        result = np.empty(shape, out.dtype.numpy)
        for *given, made in places:
            body(*[a[p] if p else a for a, p in zip(arrays, given)], out=result[made])
        return result

    return run


def _walked(shape: tuple[int, ...], sizes: Sequence[tuple[int, ...]]) -> list[int]:
    """The axes that are walked in Python: all but the longest, or the last ones, in which all operands go along."""
    padded = [(1,) * (len(shape) - len(s)) + s for s in sizes]
    differ = [k for k in range(len(shape)) if len({s[k] for s in padded if math.prod(s) > 1}) > 1]
    long, near = shape.index(max(shape)), [*range(max(differ, default=len(shape)) + 1, len(shape))]
    others, last = [k for k in range(len(shape)) if k != long], math.prod(shape[k] for k in near)
    loops = math.prod(shape[k] for k in others)
    if not near or shape[long] < LONG or last >= LONG or not 1 < min(loops, last) <= FEW:
        return []
    return others if loops <= FEW else near


def _place(sizes: tuple[int, ...], missing: int, at: dict[int, int]) -> Any:
    """How one step indexes an operand that lacks so many axes."""
    return tuple([slice(None) if k not in at else min(at[k], n - 1) for k, n in enumerate(sizes, missing)])
