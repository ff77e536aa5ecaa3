"""Images of another size as MindSpore's resize operators count pixels.

    align_corners        the corner pixels stay where they are
    half_pixel_centers   a pixel's value lies in its middle (``interpolate`` does so)
    neither              a pixel's value lies at its upper left corner

Source: https://www.mindspore.cn/docs/en/r1.10/api_python/ops/mindspore.ops.ResizeBilinear.html and its neighbours
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError
from msnb.core.tensor import Tensor
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.indexing.gather import GATHER
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.linalg.matmul import tensordot
from msnb.ops.spatial.interpolate import linear_matrix
from msnb.ops.spatial.unfold import need_images

__all__ = ["resize_bilinear", "resize_nearest_neighbor"]


def _sizes(name: str, size: Any) -> tuple[int, int]:
    sizes = tuple(int(s) for s in size) if isinstance(size, (tuple, list)) else (int(size),) * 2
    if len(sizes) != 2 or min(sizes) < 1:
        raise AttributeValueError(f"{name}: size is (height, width), got {size!r}.")
    return sizes[0], sizes[1]


def resize_bilinear(x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, values between pixels by straight lines.

    Args:
        x: [n, channels, height, width]. size: (height, width) of the result.
        align_corners, half_pixel_centers: where a pixel's value lies, see above.

    Raises:
        ShapeError: not four axes. ValueError: no such size, or both conventions at once.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.resize_bilinear(ms.Tensor([[[[1.0, 3.0]]]]), (1, 4)).tolist()
        [[[[1.0, 2.0, 3.0, 3.0]]]]
    """
    t = need_images("resize_bilinear", x)
    if align_corners and half_pixel_centers:
        raise AttributeValueError("resize_bilinear: align_corners and half_pixel_centers exclude one another.")
    for axis, new in enumerate(_sizes("resize_bilinear", size), start=2):
        old = t.shape[axis]
        at = np.arange(new, dtype=np.float64)
        if align_corners:
            at = at * ((old - 1) / (new - 1) if new > 1 else 0.0)
        elif half_pixel_centers:
            at = (at + 0.5) * (old / new) - 0.5
        else:
            at = at * (old / new)
        t = moveaxis(tensordot(t, as_tensor(linear_matrix(at, old)).astype(t.dtype), ([axis], [1])), -1, axis)
    return t  # type: ignore[no-any-return]


def resize_nearest_neighbor(x: Any, size: Any, align_corners: bool = False) -> Tensor:
    """Images of another size, every pixel a copy of an old one; arguments as ``resize_bilinear``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.resize_nearest_neighbor(ms.Tensor([[[[1.0, 3.0]]]]), (1, 4)).tolist()
        [[[[1.0, 1.0, 3.0, 3.0]]]]
    """
    t = need_images("resize_nearest_neighbor", x)
    for axis, new in enumerate(_sizes("resize_nearest_neighbor", size), start=2):
        old = t.shape[axis]
        if align_corners:
            step = (old - 1) / (new - 1) if new > 1 else 0.0
            at = [floor(i * step + 0.5) for i in range(new)]
        else:
            at = [min(floor(i * (old / new)), old - 1) for i in range(new)]
        t = GATHER(t, as_tensor(np.array(at)), axis=axis)
    return t  # type: ignore[no-any-return]
