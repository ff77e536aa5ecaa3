"""Max poolings over windows with gaps, or with the places of the largest elements.

    places of one axis      [results, kernel]: i * stride + k * dilation - pad, outside of the axis: the padding
    windows                 x gathered by the places of every axis, the kernel's axes last and as one
    values, indices         the largest along them, and its place in a plane of ``x``, counted in rows

The poolings without either are records of their own (``pooling_records``), which are faster.
Source: `mindspore.ops.max_pool2d`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.core import Array, Tensor
from msnb.ops.definition import as_tensor, operand_lines, per_axis, reach, resolve_pads
from msnb.ops.definition.window_geometry import out_size
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.masked_select import where
from msnb.ops.reduction import functional
from msnb.ops.shape.views import permute, reshape


def asks_more(dilation: Any, return_indices: bool) -> bool:
    """Whether a max pooling has gaps, or gives places."""
    gaps = dilation if isinstance(dilation, (tuple, list)) else (dilation,)
    return bool(return_indices) or any(gap != 1 for gap in gaps)


def largest_of_windows(
    name: str, x: Any, axes: int, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, dilation: Any,
    return_indices: bool, ceil_mode: bool,
) -> Any:  # fmt: skip
    """The largest element of each window over the last ``axes`` axes; with ``return_indices`` (values, int64 places).

    Raises:
        ShapeError: no window fits. AttributeValueError: a size that is not legal.
    """
    x = as_tensor(x)
    if x.ndim != axes + 2:
        raise ShapeError(f"{name} needs x of {axes + 2} axes.", operands=operand_lines(x._type))
    sizes = x._type.ints(2)
    kernel, gaps = _ints(name, "kernel_size", kernel_size, axes), _ints(name, "dilation", dilation, axes)
    steps = kernel if stride is None else _ints(name, "stride", stride, axes)
    spans = [reach(k, d) for k, d in zip(kernel, gaps)]
    mode = "pad" if pad_mode == "valid" and padding != 0 else pad_mode
    pads = [int(p) for p in resolve_pads(name, mode, padding, sizes, spans, steps)]
    tables = [
        _places(name, sizes[i], spans[i], steps[i], gaps[i], kernel[i], pads[2 * i : 2 * i + 2], ceil_mode)
        for i in range(axes)
    ]
    return _largest(x, tables, sizes, return_indices)


def _ints(name: str, what: str, value: Any, axes: int) -> tuple[int, ...]:
    """One plain int per axis: the tables are NumPy's."""
    return tuple(int(n) for n in per_axis(name, what, value, axes))


def _places(
    name: str, size: int, span: int, step: int, gap: int, kernel: int, pads: Sequence[int], ceil: bool
) -> Array:
    """[results, kernel]: the places of one axis."""
    count = out_size(size, pads[0], pads[1], span, step, ceil)
    if not isinstance(count, int) or count < 1:
        raise ShapeError(
            f"{name}: a window reaches over {span} elements, the axis has {size} and {sum(pads)} of padding."
        )
    return np.arange(count)[:, None] * step + np.arange(kernel) * gap - pads[0]


def _largest(x: Tensor, tables: Sequence[Array], sizes: Sequence[int], return_indices: bool) -> Any:
    n, outs = len(tables), [len(table) for table in tables]
    windows: Any = x
    for i, table in enumerate(tables):  # axis 2 + 2i becomes the pair (results, kernel)
        inside = Tensor(np.clip(table, 0, sizes[i] - 1).reshape(-1))
        cut = gather(windows, inside, axis=2 + 2 * i)
        windows = reshape(cut, (*cut.shape[: 2 + 2 * i], *table.shape, *cut.shape[3 + 2 * i :]))
    order = (0, 1, *range(2, 2 + 2 * n, 2), *range(3, 3 + 2 * n, 2))
    windows = reshape(permute(windows, *order), (*x.shape[:2], *outs, -1))
    there, flat = _plane(tables, sizes)
    if not there.all():
        windows = where(Tensor(there), windows, _lowest(x))
    values, places = functional.max(windows, axis=-1, return_indices=True)
    if not return_indices:
        return values
    rows = Tensor(np.arange(math.prod(outs)).reshape(outs) * flat.shape[-1])
    return values, gather(Tensor(flat.reshape(-1)), places + rows, axis=0)


def _plane(tables: Sequence[Array], sizes: Sequence[int]) -> tuple[Array, Array]:
    """[results ..., kernel elements]: whether an element lies in the plane, and its place there."""
    n = len(tables)
    there: Any = True
    flat = np.zeros((), np.int64)
    for i, (table, size) in enumerate(zip(tables, sizes)):
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = table.shape
        places = table.reshape(shape)
        there, flat = there & (places >= 0) & (places < size), flat * size + np.clip(places, 0, size - 1)
    outs = tuple(len(table) for table in tables)
    return np.asarray(there).reshape(*outs, -1), flat.reshape(*outs, -1)


def _lowest(x: Tensor) -> Any:
    return -math.inf if x.dtype.is_float else int(np.iinfo(x.dtype.numpy).min)
