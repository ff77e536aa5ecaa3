"""Shapes, views, joins and pieces; tensors made of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.onnx.model_reader import numpy_dtype
from msnb.onnx.operator_table import Known, has_tensors, known, operator, tensor


def ints(value: Any) -> list[int]:
    """The numbers of an array or list."""
    return [int(v) for v in np.asarray(value).reshape(-1)]


def plain(value: Any) -> bool:
    """Whether an array cannot be a Tensor: texts and storage types, which are moved by NumPy."""
    return isinstance(value, np.ndarray) and not has_tensors(value.dtype)


@operator("Shape")
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    """The sizes, or some of them."""
    return np.array(x.shape[start:end], np.int64)


@operator("Size")
def size(x: Any) -> Any:
    """How many elements."""
    return np.array(int(np.prod(x.shape)), np.int64)


@operator("Reshape")
def old_reshape(x: Any, *, shape: Any, consumed_inputs: Any = None) -> Any:
    """Before version 5 the shape was an attribute."""
    return reshape(x, np.asarray(shape))


@operator("Reshape", since=5)
def reshape(x: Any, shape: Known, *, allowzero: int = 0) -> Any:
    """The elements in another shape; 0 copies a size unless allowed, -1 is what remains."""
    wanted = ints(shape)
    if not allowzero:
        wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return x.reshape(tuple(wanted)) if plain(x) else ops.reshape(tensor(x), tuple(wanted))


@operator("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Any:
    """Two axes: what is before ``axis``, and the rest."""
    rows = int(np.prod(x.shape[: axis if axis >= 0 else axis + x.ndim]))
    return ops.reshape(x, (rows, -1 if x.size else int(np.prod(x.shape[axis:]))))


@operator("Transpose")
def transpose(x: Any, *, perm: Any = None) -> Any:
    """The axes in another order."""
    order = tuple(perm) if perm is not None else tuple(range(x.ndim))[::-1]
    return np.asarray(x.transpose(order), order="C") if plain(x) else ops.transpose(tensor(x), order)


@operator("Squeeze")
def squeeze(x: Any, axes_in: Known | None = None, *, axes: Any = None) -> Any:
    """Without axes of size 1."""
    chosen = ints(axes_in) if axes_in is not None else axes
    if chosen is None:
        chosen = [i for i, n in enumerate(x.shape) if n == 1]
    drop = {i % max(x.ndim, 1) for i in chosen}
    if any(x.shape[i] != 1 for i in drop):
        raise ShapeError(f"Squeeze: the axes {sorted(drop)} of {list(x.shape)} are not all of size 1.")
    left = tuple(n for i, n in enumerate(x.shape) if i not in drop)
    return x.reshape(left) if plain(x) else ops.reshape(tensor(x), left)


@operator("Unsqueeze")
def unsqueeze(x: Any, axes_in: Known | None = None, *, axes: Any = None) -> Any:
    """With axes of size 1 at these places of the result."""
    chosen = ints(axes_in) if axes_in is not None else axes
    ndim = x.ndim + len(chosen)
    new = {i % ndim for i in chosen}
    sizes = iter(x.shape)
    wanted = tuple(1 if i in new else next(sizes) for i in range(ndim))
    return x.reshape(wanted) if plain(x) else ops.reshape(tensor(x), wanted)


@operator("Concat")
def concat(*xs: Any, axis: int = 1) -> Any:
    """Joined along an axis."""
    if any(plain(x) for x in xs):
        return np.concatenate([known(x) for x in xs], axis)
    return ops.concat([tensor(x) for x in xs], axis)


@operator("Split")
def split(x: Tensor, split_in: Known | None = None, *, axis: int = 0, split: Any = None,
          num_outputs: int | None = None, results: int = 1) -> Any:  # fmt: skip
    """Pieces of given sizes, or equal ones, of which the last may be smaller."""
    sizes = ints(split_in) if split_in is not None else split
    if sizes is None:
        length, count = x.shape[axis], num_outputs or results
        step = -(-length // count)
        sizes = [max(min(step, length - step * i), 0) for i in range(count)]
    return tuple(ops.split(x, list(sizes), axis))


def _cut(x: Any, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Any:
    chosen = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        stop: int | None = end
        if step < 0 and end < -x.shape[axis]:
            stop = None
        chosen[axis % x.ndim] = slice(start, stop, step)
    return x[tuple(chosen)]


@operator("Slice")
def old_slice(x: Tensor, *, starts: Any, ends: Any, axes: Any = None) -> Any:
    """Before version 10 the places were attributes."""
    return _cut(x, starts, ends, list(range(len(starts))) if axes is None else axes, [1] * len(starts))


@operator("Slice", since=10)
def slice_of(x: Any, starts: Known, ends: Known, axes: Known | None = None, steps: Known | None = None) -> Any:
    """Every ``step``-th element from start to end along some axes."""
    count = starts.size
    along = list(range(count)) if axes is None else ints(axes)
    return _cut(x if plain(x) else tensor(x), ints(starts), ints(ends), along,
                [1] * count if steps is None else ints(steps))  # fmt: skip


@operator("Expand")
def expand(x: Any, shape: Known) -> Any:
    """Broadcast with a shape, both ways."""
    wanted = np.broadcast_shapes(tuple(x.shape), tuple(ints(shape)))
    return np.broadcast_to(x, wanted) if plain(x) else ops.broadcast_to(tensor(x), wanted)


@operator("Tile")
def tile(x: Tensor, repeats: Known, axis: Known | None = None) -> Any:
    """Repeated along its axes; before version 6 along one."""
    if axis is None:
        return ops.tile(x, tuple(ints(repeats)))
    counts = [1] * x.ndim
    counts[int(axis.reshape(()))] = int(repeats.reshape(()))
    return ops.tile(x, tuple(counts))


_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def padded(x: Any, before: list[int], after: list[int], mode: str, value: Any) -> Any:
    """x with more, or with less, at both ends of each axis."""
    if mode not in _MODES:
        raise AttributeValueError(f"Pad: mode is one of {', '.join(_MODES)}, got {mode!r}.")
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, x.shape))
    if any(b < 0 for b in before) or any(a < 0 for a in after):
        x, before, after = x[cut], [max(b, 0) for b in before], [max(a, 0) for a in after]
    if mode == "constant":
        return _constant_pad(x, before, after, value)
    for axis, (b, a) in enumerate(zip(before, after)):
        if b or a:
            places = np.pad(np.arange(x.shape[axis]), (b, a), mode)  # type: ignore[call-overload]
            x = ops.gather(x, Tensor(places.astype(np.int32)), axis)
    return x


def _constant_pad(x: Any, before: list[int], after: list[int], value: Any) -> Any:
    for axis, (b, a) in enumerate(zip(before, after)):
        parts = [ops.full(tuple(n if i != axis else m for i, n in enumerate(x.shape)), value, dtype=x.dtype)
                 if m else None for m in (b, a)]  # fmt: skip
        kept = [part for part in (parts[0], x, parts[1]) if part is not None]
        x = ops.concat(kept, axis) if len(kept) > 1 else x
    return x


@operator("Pad")
def old_pad(x: Tensor, *, pads: Any = None, paddings: Any = None, mode: str = "constant", value: float = 0.0) -> Any:
    """Before version 11 the widths were attributes."""
    widths = list(pads if pads is not None else paddings)
    return padded(x, widths[: x.ndim], widths[x.ndim :], mode, value)


@operator("Pad", since=11)
def pad(x: Tensor, pads: Known, value: Known | None = None, axes: Known | None = None, *,
        mode: str = "constant") -> Any:  # fmt: skip
    """More elements at the ends of axes."""
    along = list(range(x.ndim)) if axes is None else [i % x.ndim for i in ints(axes)]
    widths, before, after = ints(pads), [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(along):
        before[axis], after[axis] = widths[i], widths[len(along) + i]
    number = 0 if value is None or not value.size else value.reshape(-1)[0].item()
    return padded(x, before, after, mode, number)


@operator("CenterCropPad")
def center_crop_pad(x: Tensor, shape: Known, *, axes: Any = None) -> Any:
    """Cut or filled with zeros on both sides to a shape."""
    along = list(range(x.ndim)) if axes is None else [i % x.ndim for i in axes]
    before, after = [0] * x.ndim, [0] * x.ndim
    for axis, wanted in zip(along, ints(shape)):
        lack = wanted - x.shape[axis]
        before[axis] = lack // 2 if lack > 0 else -((-lack) // 2)
        after[axis] = lack - before[axis]
    return padded(x, before, after, "constant", 0)


@operator("ConstantOfShape")
def constant_of_shape(shape: Known, *, value: Any = None) -> Any:
    """One value everywhere."""
    number = np.zeros(1, np.float32) if value is None else value.reshape(-1)[:1]
    return np.full(tuple(ints(shape)), number[0], number.dtype)


@operator("Range")
def arange(start: Known, limit: Known, delta: Known) -> Any:
    """Numbers from start to limit."""
    a, b, d = (v.reshape(()) for v in (start, limit, delta))
    count = max(int(np.ceil((b.astype(np.float64) - a.astype(np.float64)) / d.astype(np.float64))), 0)
    if a.dtype.kind == "f":
        return (a + np.arange(count).astype(a.dtype) * d).astype(a.dtype)
    return (a + np.arange(count).astype(a.dtype) * d).astype(a.dtype)


@operator("EyeLike")
def eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    """Ones on a diagonal."""
    own = x.dtype.numpy if isinstance(x, Tensor) else x.dtype
    return np.eye(x.shape[0], x.shape[1], k, numpy_dtype(dtype) if dtype else own)


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Any:
    """Channels become places of blocks."""
    n, c, h, w = x.shape
    b, rest = blocksize, x.shape[1] // blocksize**2
    if mode == "DCR":
        moved = ops.transpose(ops.reshape(x, (n, b, b, rest, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        moved = ops.transpose(ops.reshape(x, (n, rest, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(moved, (n, c // b**2, h * b, w * b))


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Any:
    """Places of blocks become channels."""
    n, c, h, w = x.shape
    b = blocksize
    blocks = ops.reshape(x, (n, c, h // b, b, w // b, b))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return ops.reshape(ops.transpose(blocks, order), (n, c * b * b, h // b, w // b))
