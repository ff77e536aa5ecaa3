"""What is known of a tensor, and small functions under the names that MindSpore programs use.

``shape``, ``size``, ``rank`` are Python values: they cost nothing in a graph and may steer Python control flow.
"""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import DType, Shape, Tensor, as_dtype, cached, slot
from msnb.ops.definition import as_float, as_tensor, operand_lines
from msnb.ops.elementwise import identity, rsqrt, stop_gradient, where
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.comparison import isfinite
from msnb.ops.linalg.matmul import matmul, tensordot
from msnb.ops.reduction.functional import sum as total
from msnb.ops.shape import arange, full, reshape, transpose as permuted
from msnb.ops.sparse.sparse_tensor import SparseTensor
from msnb.ops.tensor.operators import named
from msnb.ops.tensor.subscripts import updated

__all__ = [
    "bias_add", "bilinear", "dense", "depend", "dtype", "fill", "intopk", "l2_loss", "l2_normalize", "linear", "numel",
    "rank", "shape", "size", "tensor_dot",
]  # fmt: skip


def _given(name: str, x: Any) -> Any:
    if not isinstance(x, (Tensor, SparseTensor)):
        raise ArgumentError(f"{name} needs a tensor, got a {type(x).__name__}.", hint="ms.Tensor(x) makes one.")
    return x


def shape(input_x: Any) -> Shape:
    """The size of every axis: ``x.shape``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.shape(ms.Tensor([[1, 2]]))
        (1, 2)
    """
    x = _given("shape", input_x)
    found: Shape = slot.engine.read(x, "shape") if isinstance(x, Tensor) else x.shape  # sizes that change are numbers
    return found


def size(input_x: Any) -> int:
    """The number of elements: ``x.size``."""
    found: int = _given("size", input_x).size
    return found


numel = size


def rank(input_x: Any) -> int:
    """The number of axes: ``x.ndim``."""
    found: int = _given("rank", input_x).ndim
    return found


def dtype(input_x: Any) -> DType:
    """The element type: ``x.dtype``."""
    found: DType = _given("dtype", input_x).dtype
    return found


def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """A tensor full of one number; the dtype comes first. ``full(shape, value, dtype=)`` reads better.

    Source: `mindspore.ops.fill`
    """
    return full(shape, value, dtype=as_dtype(type))


@cached
def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """input @ weight.T + bias: what ``nn.Dense`` computes.

    Args:
        input: [..., in_features].
        weight: [out_features, in_features].
        bias: [out_features], or None.

    Source: `mindspore.ops.dense`
    """
    out = matmul(as_tensor(input), permuted(as_tensor(weight)))
    return out if bias is None else out + bias


linear = dense


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """input1 W input2 for every matrix W of ``weight``, plus bias: what ``nn.Bilinear`` computes.

    Args:
        input1: [..., in1_features].
        input2: [..., in2_features].
        weight: [out_features, in1_features, in2_features].
        bias: [out_features], or None.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.bilinear.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.bilinear(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0]]), ms.Tensor([[[1.0], [10.0]]])).tolist()
        [[63.0]]
    """
    x, y = as_tensor(input1), as_tensor(input2)
    by_first = tensordot(x, as_tensor(weight), ([-1], [1]))  # [..., out_features, in2_features]
    out = matmul(by_first, reshape(y, (*y.shape, 1)))[..., 0]
    return out if bias is None else out + bias


def bias_add(input_x: Any, bias: Any) -> Tensor:
    """Add a vector along axis 1, the channels.

    Args:
        input_x: [n, channels, ...].
        bias: [channels].

    Source: `mindspore.ops.bias_add`
    """
    x = as_tensor(input_x)
    if x.ndim < 2:
        raise AttributeValueError(f"bias_add: needs [n, channels, ...], got a tensor of {x.ndim} axes.")
    return x + reshape(as_tensor(bias), (-1, *(1,) * (x.ndim - 2)))


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """``tensordot`` under MindSpore's name."""
    return tensordot(x1, x2, axes)


def l2_normalize(input_x: Any, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    """Divided by the Euclidean norm along ``axis``, at least sqrt(epsilon).

    Source: `mindspore.ops.L2Normalize`
    """
    x = as_float(input_x)
    squares = total(x * x, axis, True)
    return x * rsqrt(squares.clip(epsilon, None))


def l2_loss(input_x: Any) -> Tensor:
    """Half of the sum of squares.

    Source: `mindspore.ops.L2Loss`
    """
    x = as_float(input_x)
    return total(x * x) / 2


def depend(value: Any, expr: Any) -> Any:
    """``value``: effects happen in the order in which they are written, so nothing has to be tied to anything.

    Source: `mindspore.ops.Depend`
    """
    return value


def intopk(x1: Any, x2: Any, k: int) -> Tensor:
    """Whether fewer than ``k`` numbers of row ``x1[i]`` are larger than that of the class ``x2[i]``; bool [n].

    Args:
        x1: float [n, classes]. x2: integer [n]; a class that is not there gives False, as a row with NaN or infinity.
        k: how many places count; equal numbers share theirs.

    Raises:
        ShapeError: not [n, classes] and [n]. DTypeError: not floats and integers.

    Source: `mindspore.ops.intopk`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.intopk(ms.Tensor([[3.0, 3.0, 1.0], [1.0, 2.0, 3.0]]), ms.Tensor([1, 1]), 1).tolist()
        [True, False]
    """
    x, at = as_tensor(x1), as_tensor(x2)
    if x.ndim != 2 or at.ndim != 1 or (x._type.is_static and at._type.is_static and len(x) != len(at)):
        raise ShapeError("intopk takes rows [n, classes] and one class for each [n].", operands=_both(x, at))
    if not x.dtype.is_float or not at.dtype.is_int:
        raise DTypeError("intopk takes floats and integers.", operands=_both(x, at))
    own = reshape(at, (-1, 1)) == arange(x.shape[1], dtype=at.dtype)
    place = (x > where(own, x, 0).sum(1, keepdims=True)).sum(1)
    return own.any(1) & isfinite(x).all(1) & (place < k)


def _both(x: Any, at: Any) -> list[str]:
    return operand_lines(x._type, at._type, names=("x1", "x2"))


# ---- Tensor's methods ----


def _copied(x: Any) -> Tensor:
    """The same value as a Tensor of its own."""
    return identity(x)


def _detached(x: Any) -> Tensor:
    """The same value, through which no gradient flows."""
    return stop_gradient(x)


def _converted(x: Any, dtype: Any = None) -> Any:
    """The values with another dtype; without one, the dtype."""
    return x.dtype if dtype is None else cast(x, dtype)


def _filled(x: Any, value: Any) -> Tensor:
    """A tensor of this shape and dtype with ``value`` everywhere."""
    return full(x.shape, value, dtype=x.dtype)


def _new(number: int) -> Any:
    def method(x: Any, *size: Any, shape: Any = None, dtype: Any = None) -> Tensor:
        if dtype is None and len(size) > 1 and isinstance(size[-1], DType):
            size, dtype = size[:-1], size[-1]
        sizes = shape if shape is not None else size[0] if len(size) == 1 else size
        return full(sizes, number, dtype=dtype or x.dtype)

    method.__doc__ = f"A tensor of another shape full of {number}, in this one's dtype."
    return method


def _with_item(x: Any, *args: Any) -> Tensor:
    """A copy with one element replaced: ``x.itemset((0, 1), 3.0)``."""
    if len(args) not in (1, 2):
        raise ArgumentError("itemset takes (value) or (index, value).")
    index = args[0] if len(args) == 2 else (0,) * x.ndim
    if isinstance(index, int) and x.ndim != 1:
        return reshape(updated(reshape(x, (-1,)), index, args[-1]), x.shape)
    return updated(x, index, args[-1])


_DEVICE_NAMES = {"cpu": "CPU", "cuda": "GPU", "gpu": "GPU", "ascend": "Ascend", "npu": "Ascend"}


def _moved(
    self: Any, target: Any = None, dtype: Any = None, *, device: str | None = None, other: Any = None,
    non_blocking: bool = False, copy: bool = False,
) -> Tensor:  # fmt: skip
    """On another device (a name: "CPU", "GPU", PyTorch's "cuda"), with another dtype, or both.

    Args:
        target: a device, a dtype or a tensor, whose dtype is meant; dtype, device, other: the same by name.
        non_blocking: as of ``move_to``, turned round.
        copy: a tensor of its own, also where nothing changes.
    """
    name, kind = place_and_dtype(target, dtype, device, other)
    found: Tensor = self if kind is None else self.astype(kind)
    found = found if name is None else found.move_to(name, not non_blocking)
    return found.copy() if copy and found is self else found


def place_and_dtype(target: Any, dtype: Any, device: str | None, other: Any) -> tuple[str | None, DType | None]:
    """The device and the dtype that arguments of ``to`` ask for; None where they ask for none."""
    like = target if isinstance(target, Tensor) else other
    if like is not None:
        target, dtype = None, like.dtype
    elif target is not None and dtype is None:
        try:
            target, dtype = None, as_dtype(target)
        except TypeError:
            if not isinstance(target, str):
                raise
    where: str | None = device if target is None else target
    name = None if where is None else _DEVICE_NAMES.get(where.lower().partition(":")[0], where)
    return name, None if dtype is None else as_dtype(dtype)


def bind() -> None:
    """Methods that make copies. Values never alias, so a copy is the value under another name."""
    copies = dict.fromkeys(("copy", "clone", "value"), _copied)
    made = {"detach": _detached, "type": _converted, "fill": _filled, "fills": _filled,
            "to": _moved, "new_zeros": _new(0), "new_ones": _new(1), "itemset": _with_item}  # fmt: skip
    for name, method in {**copies, **made}.items():
        setattr(Tensor, name, named(name, method))


bind()
