"""Windows that slide: sizes, paddings and places, for any number of axes.

windows(x, geometry)    [n, c, a, b]  ->  [n, c, a', k, b', k']      the elements of every window
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Tensor


@dataclass(frozen=True)
class WindowGeometry:
    """Windows along each spatial axis.

    Attributes:
        kernel, strides, dilations: per axis.
        before, after: padding per axis.
        sizes: how many windows per axis.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    sizes: tuple[int, ...]

    def places(self, axis: int) -> np.ndarray[Any, Any]:
        """Where the elements of each window lie, [windows, kernel]; padding is negative or beyond the end."""
        starts = np.arange(self.sizes[axis]) * self.strides[axis] - self.before[axis]
        return starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]


def geometry(space: Sequence[int], kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str,
             ceil_mode: int = 0) -> WindowGeometry:  # fmt: skip
    """The windows over axes of these sizes, by ONNX's attributes."""
    axes = len(space)
    kernel, strides = tuple(kernel), tuple(strides or (1,) * axes)
    dilations = tuple(dilations or (1,) * axes)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        sizes, before, after = _same(space, reach, strides, upper=auto_pad == "SAME_UPPER")
    elif auto_pad in ("NOTSET", "VALID", ""):
        widths = list(pads) if pads and auto_pad != "VALID" else [0] * (2 * axes)
        before, after = widths[:axes], widths[axes:]
        sizes = [_count(n, b, a, r, s, ceil_mode) for n, b, a, r, s in zip(space, before, after, reach, strides)]
    else:
        raise AttributeValueError(f"auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {auto_pad!r}.")
    return WindowGeometry(kernel, strides, dilations, tuple(before), tuple(after), tuple(sizes))


def _same(space: Sequence[int], reach: Sequence[int], strides: Sequence[int],
          upper: bool) -> tuple[list[int], list[int], list[int]]:  # fmt: skip
    """As many windows as strides fit; the odd element of padding stands at the end (upper) or the beginning."""
    sizes = [-(-n // s) for n, s in zip(space, strides)]
    total = [max((c - 1) * s + r - n, 0) for c, s, r, n in zip(sizes, strides, reach, space)]
    small, large = [t // 2 for t in total], [t - t // 2 for t in total]
    return (sizes, small, large) if upper else (sizes, large, small)


def _count(size: int, before: int, after: int, reach: int, stride: int, ceil_mode: int) -> int:
    """Windows along an axis; rounded up, none begins in the padding behind the end."""
    free = size + before + after - reach
    count = (-(-free // stride) if ceil_mode else free // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + before else count


def windows(x: Any, found: WindowGeometry, fill: Any) -> Any:
    """The elements of every window, two axes per spatial axis; padding is ``fill``."""
    for axis in range(len(found.kernel)):
        at = 2 + 2 * axis
        places, size = found.places(axis), x.shape[at]
        inside = (places >= 0) & (places < size)
        taken = ops.gather(x, Tensor(np.clip(places, 0, size - 1).reshape(-1).astype(np.int32)), at)
        shape = (*x.shape[:at], *places.shape, *x.shape[at + 1 :])
        x = ops.reshape(taken, shape)
        if not inside.all():
            mask = inside.reshape((1,) * at + inside.shape + (1,) * (len(shape) - at - 2))
            x = ops.where(Tensor(mask), x, Tensor(np.array(fill, x.dtype.numpy)))
    return x


def counts(space: Sequence[int], found: WindowGeometry, padding_too: bool) -> np.ndarray[Any, Any]:
    """How many elements of each window count for a mean, [windows per axis...]."""
    total = np.ones((), np.int64)
    for axis, size in enumerate(space):
        places = found.places(axis)
        low, high = (-found.before[axis], size + found.after[axis]) if padding_too else (0, size)
        total = np.multiply.outer(total, ((places >= low) & (places < high)).sum(1))
    return total
