"""What COO and CSR tensors share: a dense shape, a vector of stored values, and operators of the values.

They are plain data of tensors, so they go wherever tuples of tensors go: as arguments and results of ``jit`` and
``construct``, through branches and loops, through ``grad``, which gives a sparse tensor back with the gradient as its
values. The places are data, no numbers: they have no gradient.
"""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, DTypeError, ShapeError
from msnb.core import DType, Parameter, Shape, Tensor
from msnb.ops.definition.operand_checks import as_sizes, as_tensor
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.identity_and_effects import stop_gradient
from msnb.ops.shape.views import broadcast_to


def is_known(x: Tensor) -> bool:
    """Whether the values are there to be looked at; False in a program that is being captured."""
    return type(x) in (Tensor, Parameter)


def need_indices(kind: str, name: str, x: Any, ndim: int) -> Tensor:
    """A tensor of integers with so many axes, by which no gradient is: MindSpore's by integers would be ones.

    Raises:
        DTypeError, ShapeError: it is none.
    """
    t = as_tensor(x)
    if not t.dtype.is_int:
        raise DTypeError(f"{kind}: {name} holds integers, got {t.dtype}.")
    if t.ndim != ndim:
        raise ShapeError(f"{kind}: {name} has {ndim} axes, got the shape {t.shape}.")
    return t if is_known(t) else stop_gradient(t)


def need_shape(kind: str, shape: Any) -> Shape:
    """A dense shape: a tuple of integers, none negative."""
    if not isinstance(shape, (tuple, list)):
        raise ArgumentError(f"{kind}: shape is a tuple of integers, got {shape!r}.")
    sizes = as_sizes(kind, (shape,))
    if any(type(d) is int and d < 0 for d in sizes):
        raise ShapeError(f"{kind}: no size is negative, got the shape {sizes}.")
    return sizes


def as_values(kind: str, x: Any, count: Any) -> Tensor:
    """The stored values: one, or a row, for every one of ``count`` places."""
    t = as_tensor(x)
    if not t.ndim or (type(count) is int and type(t.shape[0]) is int and t.shape[0] != count):
        raise ShapeError(f"{kind}: a value for each of the {count} places, got values of shape {t.shape}.")
    return t


class SparseTensor:
    """Base of COOTensor and CSRTensor: where values stand, and the values."""

    values: Any
    shape: Shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        found: DType = self.values.dtype
        return found

    @property
    def size(self) -> int:
        """How many values are stored."""
        return int(self.values.size)

    @property
    def itemsize(self) -> int:
        """Bytes of one value."""
        return int(self.values.itemsize)

    @property
    def ndim(self) -> int:
        """The number of axes of the dense tensor."""
        return len(self.shape)

    def with_values(self, values: Any) -> Any:
        """The same places with other values."""
        raise NotImplementedError

    def at_places(self, dense: Any) -> Tensor:
        """The elements of a dense tensor, of this shape or one that broadcasts to it, at the stored places."""
        raise NotImplementedError

    def to_dense(self) -> Tensor:
        """The dense tensor."""
        raise NotImplementedError

    def plus(self, other: Any) -> Any:
        """The sum with a sparse tensor of the same kind."""
        raise NotImplementedError

    def abs(self) -> Any:
        """The absolute values, at the same places."""
        return self.with_values(self.values.abs())

    def astype(self, dtype: Any) -> Any:
        """The values in another dtype."""
        return self.with_values(cast(self.values, dtype))

    # ---- operators ----

    def __neg__(self) -> Any:
        return self.with_values(-self.values)

    def __add__(self, other: Any) -> Any:
        if type(other) is type(self):
            return self.plus(other)
        return self.to_dense() + other if isinstance(other, Tensor) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + self.to_dense() if isinstance(other, Tensor) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        if type(other) is type(self):
            return self.plus(-other)
        return self.to_dense() - other if isinstance(other, Tensor) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return other - self.to_dense() if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return self.with_values(self.values * other)
        return self.with_values(self.values * self.at_places(other)) if isinstance(other, Tensor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return self.with_values(self.values / other)
        return self.with_values(self.values / self.at_places(other)) if isinstance(other, Tensor) else NotImplemented


def whole(x: SparseTensor, dense: Any) -> Tensor:
    """A dense operand at the shape of a sparse one."""
    t = as_tensor(dense)
    return t if t.shape == x.shape else broadcast_to(t, shape=x.shape)
