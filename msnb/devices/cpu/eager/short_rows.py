"""Broadcasts whose last axes are short, for NumPy's loops: boxes [n, 1, 4] against [1, m, 4], points against centres.

    x[1000, 1, 2] - y[1, 500, 2]     NumPy: 500 000 loops of 2 elements, 15 ns each
    here                             2 loops over [1000, 500], each of one place of the last axis
    x[1000, 1, 4] - y[5, 4]          20 loops of 1000
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from msnb.core import TensorType, Type
from msnb.devices.device import Kernel

WORTH, FEW, LONG = 2048, 32, 32  # elements of a result; loops; elements of each


def columns(types: tuple[Type, ...], out: Type, body: Kernel) -> Kernel | None:
    """A kernel that runs a ufunc along longer axes than the last ones; None where NumPy's way is as good."""
    if not isinstance(body, np.ufunc) or not isinstance(out, TensorType) or out.size < WORTH:
        return None
    shape = out.ints()
    shapes = [t.ints() for t in types if isinstance(t, TensorType)]
    alike = next((k for k in range(1, len(shape) + 1) if len({(1, *s)[-k:] for s in shapes if s}) > 1), len(shape) + 1)
    if math.prod(shape[len(shape) - alike + 1 :]) >= LONG or alike > len(shape) or alike == 1:
        return None  # the last axes, in which all operands go along, are long or everything there is
    long = max(range(len(shape)), key=lambda k: shape[k])
    walked = [k for k in range(len(shape)) if k != long]
    if math.prod(shape[k] for k in walked) > FEW:
        walked = [*range(len(shape) - alike + 1, len(shape))]
    if shape[long] < LONG or math.prod(shape[k] for k in walked) > FEW:
        return None
    places = [
        [_place(s, len(shape), walked, at) for s in (*shapes, shape)]
        for at in itertools.product(*(range(shape[k]) for k in walked))
    ]
    dtype = out.dtype.numpy

    def run(*arrays: Any) -> Any:
        result = np.empty(shape, dtype)
        for *given, made in places:
            body(*[a if p is None else a[p] for a, p in zip(arrays, given)], out=result[made])
        return result

    return run


def _place(sizes: tuple[int, ...], ndim: int, walked: list[int], at: tuple[int, ...]) -> Any:
    """How one step indexes an operand; None for numbers."""
    found: list[Any] = [slice(None)] * len(sizes)
    for k, i in zip(walked, at):
        own = k - (ndim - len(sizes))
        if own >= 0:
            found[own] = i if sizes[own] > 1 else 0
    return tuple(found) if sizes else None
