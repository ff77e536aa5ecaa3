"""Images of another size as MindSpore's resize operators count pixels.

    align_corners        the corner pixels stay where they are
    half_pixel_centers   a pixel's value lies in its middle (``interpolate`` does so)
    neither              a pixel's value lies at its upper left corner

Source: https://www.mindspore.cn/docs/en/r1.10/api_python/ops/mindspore.ops.ResizeBilinear.html and its neighbours
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.core import DType, Tensor, float32
from msnb.ops.definition import as_sizes, as_tensor, need_float
from msnb.ops.indexing.gather import GATHER
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.linalg.matmul import tensordot
from msnb.ops.spatial.interpolate import cubic_matrix, linear_matrix
from msnb.ops.spatial.unfold import need_images

__all__ = ["resize_bicubic", "resize_bilinear", "resize_nearest_neighbor"]


def sizes_of(name: str, size: Any) -> tuple[int, int]:
    """(height, width) of two numbers, one for both, or a tensor of two."""
    sizes = as_sizes(name, (size,) if isinstance(size, (tuple, list, Tensor)) else (size, size))
    if len(sizes) != 2 or not all(isinstance(s, int) and s > 0 for s in sizes):
        raise AttributeValueError(f"{name}: size is (height, width), known and above 0, got {size!r}.")
    return sizes  # type: ignore[return-value]


def _places(name: str, new: int, old: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Where the new pixels lie among the old ones."""
    if align_corners and half_pixel_centers:
        raise AttributeValueError(f"{name}: align_corners and half_pixel_centers exclude one another.")
    at = np.arange(new, dtype=np.float64)
    if align_corners:
        return at * ((old - 1) / (new - 1) if new > 1 else 0.0)
    return (at + 0.5) * (old / new) - 0.5 if half_pixel_centers else at * (old / new)


def _wide(name: str, x: Any) -> tuple[DType, Any]:
    """Images whose pixels may be blended, half precision as float32: weights of it would round twice."""
    t = need_images(name, x)
    need_float(name, t._type)
    return t.dtype, t.astype(float32) if t.dtype.itemsize < 4 else t


def resize_bilinear(x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, values between pixels by straight lines.

    Args:
        x: [n, channels, height, width]. size: (height, width) of the result.
        align_corners, half_pixel_centers: where a pixel's value lies, see above.

    Raises:
        ShapeError: not four axes. TypeError: no floats. ValueError: no such size, or both conventions at once.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.resize_bilinear(ms.Tensor([[[[1.0, 3.0]]]]), (1, 4)).tolist()
        [[[[1.0, 2.0, 3.0, 3.0]]]]
    """
    kind, t = _wide("resize_bilinear", x)
    for axis, new in enumerate(sizes_of("resize_bilinear", size), start=2):
        old = t.shape[axis]
        at = _places("resize_bilinear", new, old, align_corners, half_pixel_centers)
        t = moveaxis(tensordot(t, as_tensor(linear_matrix(at, old)).astype(t.dtype), ([axis], [1])), -1, axis)
    return t.astype(kind)  # type: ignore[no-any-return]


def resize_bicubic(x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, values between pixels by Keys's cubics; arguments as ``resize_bilinear``.

    The cubics have the slope -0.75, with ``half_pixel_centers`` -0.5, and pixels outside the image have no weight then.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.resize_bicubic(ms.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), (1, 4)).tolist()
        [[[[1.0, 1.5, 2.0, 2.09375]]]]
    """
    kind, t = _wide("resize_bicubic", x)
    for axis, new in enumerate(sizes_of("resize_bicubic", size), start=2):
        old = t.shape[axis]
        at = _places("resize_bicubic", new, old, align_corners, half_pixel_centers)
        matrix = as_tensor(cubic_matrix(at, old, half_pixel_centers)).astype(t.dtype)
        t = moveaxis(tensordot(t, matrix, ([axis], [1])), -1, axis)
    return t.astype(kind)  # type: ignore[no-any-return]


def resize_nearest_neighbor(x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, every pixel a copy of an old one; arguments as ``resize_bilinear``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.resize_nearest_neighbor(ms.Tensor([[[[1.0, 3.0]]]]), (1, 4)).tolist()
        [[[[1.0, 1.0, 3.0, 3.0]]]]
    """
    t = need_images("resize_nearest_neighbor", x)
    for axis, new in enumerate(sizes_of("resize_nearest_neighbor", size), start=2):
        old = t.shape[axis]
        at = _places("resize_nearest_neighbor", new, old, align_corners, half_pixel_centers)
        near = np.floor(at + 0.5) if align_corners or half_pixel_centers else np.floor(at)
        t = GATHER(t, as_tensor(np.minimum(near, old - 1).astype(np.int64)), axis=axis)
    return t  # type: ignore[no-any-return]
