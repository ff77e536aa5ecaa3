"""New arrays, in MindSpore's 32-bit world: Python's ints become int32, its floats float32.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (array generation)
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from msnb import ops
from msnb.base import ArgumentError
from msnb.core import DType, Tensor, as_dtype, float32, int32, slot
from msnb.ops.definition.operand_checks import holds_tensors

__all__ = [
    "arange", "array", "asarray", "asfarray", "copy", "diag", "diagflat", "empty", "empty_like", "eye", "full",
    "full_like", "geomspace", "identity", "indices", "linspace", "logspace", "meshgrid", "mgrid", "ogrid", "ones",
    "ones_like", "promote_types", "rand", "randint", "randn", "result_type", "tri", "zeros", "zeros_like",
]  # fmt: skip

_NARROW = {"int64": "int32", "float64": "float32", "complex128": "complex64"}


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """A tensor of what is given.

    Args:
        obj: a tensor, an array, a number, or (nested) lists of these.
        dtype: of the result. Numbers and lists of them are int32 or float32 without it, arrays keep theirs.
        copy: False gives a tensor of this dtype itself, which a write into the result changes too.
        ndmin: axes of size 1 are put in front until there are so many.

    Source: `mindspore.numpy.array`

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.array([1, 2]).dtype, mnp.array([1.5, 2]).dtype, mnp.array(3, ndmin=2).shape
        (Int32, Float32, (1, 1))
    """
    made = asarray(obj, dtype)
    made = ops.identity(made) if copy and made is obj else made
    return made.reshape((1,) * builtins.max(ndmin - made.ndim, 0) + tuple(made.shape)) if ndmin > made.ndim else made


def _made(obj: Any) -> Any:
    if isinstance(obj, (Tensor, numpy.ndarray, numpy.generic)):
        kind = slot.engine.number_kind(obj)
        obj = obj if isinstance(obj, Tensor) else Tensor(obj)
        return obj if kind is None else ops.identity(obj).astype(_dtype(kind))
    if isinstance(obj, (list, tuple)) and holds_tensors(obj):
        return ops.stack([_made(part) for part in obj])
    if obj.__class__ is not type(obj) and obj.__class__ in (int, float):  # a size that each call has
        return ops.full((), obj, dtype=_dtype(obj.__class__))
    plain = numpy.asarray(obj)
    return Tensor(plain.astype(_NARROW.get(plain.dtype.name, plain.dtype)))


def asarray(a: Any, dtype: Any = None) -> Any:
    """``array`` that gives a tensor of this dtype itself."""
    made = _made(a)
    return made if dtype is None else made.astype(_dtype(dtype))


def _dtype(spec: Any) -> DType:
    return int32 if spec in (int, "int") else as_dtype(spec)


def asfarray(a: Any, dtype: Any = float32) -> Any:
    """``array`` of floats: float32 where the dtype is another kind, as in MindSpore."""
    found = asarray(a, dtype)
    return found if found.dtype.is_float else found.astype(float32)


def copy(a: Any) -> Any:
    """Another tensor of the same numbers."""
    return ops.identity(asarray(a))


def _shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if not isinstance(shape, (list, tuple)) else tuple(shape)


def zeros(shape: Any, dtype: Any = float32) -> Any:
    """Zeros, float32 unless said otherwise.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.zeros((2, 3)).dtype
        Float32
    """
    return ops.zeros(_shape(shape), dtype=_dtype(dtype))


def ones(shape: Any, dtype: Any = float32) -> Any:
    """Ones, float32 unless said otherwise."""
    return ops.ones(_shape(shape), dtype=_dtype(dtype))


def empty(shape: Any, dtype: Any = float32) -> Any:
    """A tensor of arbitrary numbers."""
    return ops.empty(_shape(shape), dtype=_dtype(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One number (or a row of them, broadcast) everywhere."""
    return ops.broadcast_to(asarray(fill_value, dtype), _shape(shape))


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros of another array's shape and dtype."""
    return _like(a, 0, dtype, shape)


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Ones of another array's shape and dtype."""
    return _like(a, 1, dtype, shape)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A tensor of another array's shape and dtype, of arbitrary numbers."""
    return _like(prototype, 0, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """One number everywhere, in another array's shape and dtype."""
    return _like(a, fill_value, dtype, shape)


def _like(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    t = asarray(a)
    sizes = t.shape if shape is None else _shape(shape)
    return full(sizes, value, t.dtype if dtype is None else dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers from ``start`` up to before ``stop``; with one argument from 0.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.arange(3).dtype, mnp.arange(1.0, 2.0, 0.5).tolist()
        (Int32, [1.0, 1.5])
    """
    first, last = (0, start) if stop is None else (start, stop)
    whole = not any(isinstance(v, float) or (isinstance(v, Tensor) and v.dtype.is_float) for v in (first, last, step))
    return ops.arange(first, last, step, dtype=(int32 if whole else float32) if dtype is None else as_dtype(dtype))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0) -> Any:  # fmt: skip
    """``num`` numbers at equal distances.

    Args:
        start, stop: the first and (with ``endpoint``) the last: numbers or tensors.
        num: how many.
        endpoint: whether ``stop`` is one of them.
        retstep: give the distance as well.
        dtype: float32 unless said otherwise.
        axis: the new axis, where start and stop are tensors.

    Raises:
        TypeError: ``num`` is negative or no int.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.linspace(0, 1, 5).tolist(), mnp.linspace(0, 1, 2, endpoint=False).tolist()
        ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5])
    """
    if not isinstance(num, int) or num < 0:
        raise ArgumentError(f"linspace: num is how many numbers, an int of at least 0, got {num!r}.")
    low, high = (asarray(v).astype(float32) for v in (start, stop))
    low, high = ops.broadcast_to(low, (low + high).shape), ops.broadcast_to(high, (low + high).shape)
    step = (high - low) / builtins.max(num - 1 if endpoint else num, 1)
    places = ops.arange(num, dtype=float32).reshape((num,) + (1,) * low.ndim)
    out = low + places * step
    if endpoint and num > 1:  # the last is `stop` itself, not what rounding makes of it
        out = ops.where(ops.equal(places, num - 1), high, out)
    out = ops.moveaxis(out, 0, axis) if low.ndim else out
    out = out.astype(float32 if dtype is None else as_dtype(dtype))
    return (out, step) if retstep else out


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None,
             axis: int = 0) -> Any:  # fmt: skip
    """``base`` to the power of ``linspace``."""
    out = ops.pow(asarray(base).astype(float32), linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(as_dtype(dtype))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Numbers of which each is the one before times the same factor."""
    low, high = (ops.log(asarray(v).astype(float32)) for v in (start, stop))
    out = ops.exp(linspace(low, high, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(as_dtype(dtype))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """Ones on a diagonal, zeros elsewhere; ``k`` of 1 is the diagonal above the middle one."""
    return ops.eye(N, M, _dtype(dtype), k=k)


def identity(n: int, dtype: Any = float32) -> Any:
    """The square matrix that changes nothing."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """Ones on and below a diagonal."""
    return ops.tril(ones((N, N if M is None else M), dtype), k)


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with this diagonal; of a matrix: its diagonal."""
    return ops.diag(asarray(v), k)


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix whose diagonal holds all numbers of ``v``."""
    return ops.diag(asarray(v).reshape(-1), k)


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinates of a grid, one array per axis.

    Args:
        xi: the coordinates along each axis.
        sparse: keep every array one number thin along the other axes; they broadcast to the grid.
        indexing: "xy" (the first changes along the second axis) or "ij".

    Examples:
        >>> import msnb.numpy as mnp
        >>> [g.shape for g in mnp.meshgrid(mnp.arange(2), mnp.arange(3))]
        [(3, 2), (3, 2)]
    """
    rows = [asarray(x).reshape(-1) for x in xi]
    if not sparse:
        return ops.meshgrid(*rows, indexing=indexing)
    places = [1, 0, *range(2, len(rows))] if indexing == "xy" and len(rows) > 1 else list(range(len(rows)))
    return tuple(x.reshape([-1 if i == at else 1 for i in range(len(rows))]) for x, at in zip(rows, places))


class _Grid:
    """``mgrid[0:2, 0:3]``: the coordinates of a grid by slices; a step such as ``5j`` says how many instead."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self._along(key)
        grid = meshgrid(*[self._along(k) for k in key], sparse=self._sparse, indexing="ij")
        return list(grid) if self._sparse else ops.stack(list(grid))

    @staticmethod
    def _along(part: Any) -> Any:
        if not isinstance(part, slice) or part.stop is None:
            raise ArgumentError(f"a grid is made of slices with an end, such as 0:3, got {part!r}.")
        start, step = part.start or 0, 1 if part.step is None else part.step
        if isinstance(step, complex):
            return linspace(start, part.stop, int(abs(step)))
        return arange(start, part.stop, step)


mgrid: _Grid = _Grid(sparse=False)
ogrid: _Grid = _Grid(sparse=True)


def indices(dimensions: Any, dtype: Any = int32, sparse: bool = False) -> Any:
    """The coordinates of every place in an array of these sizes."""
    grid = meshgrid(*[arange(n, dtype=dtype) for n in dimensions], sparse=sparse, indexing="ij")
    return grid if sparse else ops.stack(list(grid))


def rand(*shape: int, dtype: Any = float32) -> Any:
    """Draws from 0 to 1."""
    return ops.rand(*shape, dtype=as_dtype(dtype))


def randn(*shape: int, dtype: Any = float32) -> Any:
    """Draws of the standard normal distribution."""
    return ops.randn(*shape, dtype=as_dtype(dtype))


def randint(minval: int, maxval: int | None = None, shape: Any = (), dtype: Any = int32) -> Any:
    """Whole draws from ``minval`` up to before ``maxval``; with one bound from 0."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return ops.randint(low, high, _shape(() if shape is None else shape), dtype=as_dtype(dtype))


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that holds both.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.promote_types(mnp.int32, mnp.float32)
        Float32
    """
    return result_type(zeros((), type1), zeros((), type2))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that an operation on all of these gives; numbers count as int32 and float32."""
    parts = [asarray(a) if isinstance(a, (Tensor, int, float)) else zeros((), a) for a in arrays_and_dtypes]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    found: DType = total.dtype
    return found
