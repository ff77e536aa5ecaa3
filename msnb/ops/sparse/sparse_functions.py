"""Functions of sparse tensors under MindSpore's names; most are methods of COOTensor and CSRTensor too.

dense_to_sparse_coo, dense_to_sparse_csr, csr_to_coo, coo_to_csr, csr_to_dense, coo_to_dense      conversion
csr_add, coo_add, coo_concat                                                                      sums
csr_mul, csr_div, csr_mm, csr_mv, csr_gather, csr_reduce_sum, csr_softmax                         the rest
"""

from __future__ import annotations

from typing import Any, TypeVar

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition import as_sizes, as_tensor, normal_axis
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.factory import adjoint
from msnb.ops.shape import concat, stack, transpose
from msnb.ops.sparse.compressed_rows import CSRTensor, common, coo_to_csr, csr_of, dense_to_csr, pointers_like
from msnb.ops.sparse.coordinates import COOTensor, coo_of, dense_to_coo
from msnb.ops.sparse.row_products import CSR_MATMUL_TRANSPOSED
from msnb.ops.sparse.row_softmax import CSR_ROW_SOFTMAX

__all__ = [
    "coalesce", "coo_add", "coo_concat", "coo_to_csr", "coo_to_dense", "csr_add", "csr_div", "csr_gather", "csr_mm",
    "csr_mul", "csr_mv", "csr_reduce_sum", "csr_softmax", "csr_to_coo", "csr_to_dense", "dense_to_sparse_coo",
    "dense_to_sparse_csr",
]  # fmt: skip


_Kind = TypeVar("_Kind")


def _need(name: str, x: Any, kind: type[_Kind]) -> _Kind:
    if not isinstance(x, kind):
        raise ArgumentError(f"{name} takes a {kind.__name__}, got {type(x).__name__}.")
    return x


def dense_to_sparse_coo(tensor: Any) -> COOTensor:
    """The elements of a dense tensor that are not zero, with their coordinates (int64).

    Source: `mindspore.ops.dense_to_sparse_coo`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.dense_to_sparse_coo(ms.Tensor([[0.0, 3.0]])).indices.tolist()
        [[0, 1]]
    """
    return dense_to_coo(as_tensor(tensor))


def dense_to_sparse_csr(tensor: Any) -> CSRTensor:
    """The elements of a dense matrix that are not zero, row by row; pointers and columns are int32.

    Source: `mindspore.ops.dense_to_sparse_csr`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.dense_to_sparse_csr(ms.Tensor([[0.0, 3.0], [0.0, 0.0]])).indptr.tolist()
        [0, 1, 1]
    """
    return dense_to_csr(tensor)


def coalesce(x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Coordinates in order, each of them once; values of the same place are added up.

    Args:
        x_indices: whole numbers [axes, n], one column per value. x_values: [n].
        x_shape: a tensor or tuple of the dense shape; it must be known while a program is captured.

    Returns:
        (indices [axes, m], values [m], the shape as a tensor).

    Raises:
        ShapeError: the three do not fit. IndexOutOfRange: a coordinate lies outside of the shape.

    Source: `mindspore.ops.coalesce`.

    Examples:
        >>> import msnb as ms
        >>> found = ms.ops.coalesce(ms.Tensor([[0, 0, 1], [1, 1, 2]]), ms.Tensor([1.0, 5.0, 4.0]), (3, 3))
        >>> found[0].tolist(), found[1].tolist()
        ([[0, 1], [1, 2]], [6.0, 4.0])
    """
    sizes = as_sizes("coalesce", (x_shape,))
    found = COOTensor(transpose(x_indices, (1, 0)), x_values, sizes).coalesce()
    return transpose(found.indices, (1, 0)), found.values, as_tensor(x_shape)


def csr_to_coo(tensor: Any) -> COOTensor:
    """A CSRTensor by coordinates: ``tensor.to_coo()``.

    Source: `mindspore.ops.csr_to_coo`
    """
    return _need("csr_to_coo", tensor, CSRTensor).to_coo()


def csr_to_dense(csr_tensor: Any) -> Tensor:
    """The dense tensor: ``csr_tensor.to_dense()``.

    Source: `mindspore.ops.csr_to_dense`
    """
    return _need("csr_to_dense", csr_tensor, CSRTensor).to_dense()


def coo_to_dense(coo_tensor: Any) -> Tensor:
    """The dense tensor: ``coo_tensor.to_dense()``."""
    return _need("coo_to_dense", coo_tensor, COOTensor).to_dense()


def csr_add(a: Any, b: Any, alpha: Any = 1, beta: Any = 1) -> CSRTensor:
    """``alpha a + beta b`` for two CSRTensors of one shape.

    Source: `mindspore.ops.csr_add`
    """
    return _need("csr_add", a, CSRTensor).add(b, alpha, beta)


def coo_add(x1: Any, x2: Any, thresh: Any = 0) -> COOTensor:
    """The sum of two COOTensors of one shape; sums whose absolute value is below ``thresh`` are left out.

    Source: `mindspore.ops.coo_add`
    """
    return _need("coo_add", x1, COOTensor).add(x2, thresh)


def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """COOTensors put side by side along an axis; coordinates in order.

    Args:
        sp_input: a tuple or list of COOTensors, whose shapes agree along the other axes.
        concat_dim: the axis.

    Raises:
        TypeError: an element is no COOTensor.
        ShapeError: the other axes differ.

    Source: `mindspore.ops.coo_concat`

    Examples:
        >>> import msnb as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([5.0]), (1, 2))
        >>> ms.ops.coo_concat((x, x), 0).to_dense().tolist()
        [[0.0, 5.0], [0.0, 5.0]]
    """
    parts: list[Any] = [_need("coo_concat", x, COOTensor) for x in sp_input]
    if not parts:
        raise ArgumentError("coo_concat needs at least one COOTensor.")
    axis = normal_axis("coo_concat", concat_dim, parts[0].ndim)
    others = {x.shape[:axis] + x.shape[axis + 1 :] for x in parts}
    if len(others) > 1:
        raise ShapeError(f"coo_concat: shapes differ beside axis {axis}: {', '.join(str(x.shape) for x in parts)}.")
    places, before = [], 0
    for x in parts:
        columns = [x.indices[:, a] + (before if a == axis else 0) for a in range(x.ndim)]
        places.append(stack(columns, axis=1))
        before += x.shape[axis]
    shape = (*parts[0].shape[:axis], before, *parts[0].shape[axis + 1 :])
    return coo_of(concat(places), concat([x.values for x in parts]), shape).coalesce()


def csr_mul(x: Any, y: Any) -> CSRTensor:
    """A CSRTensor times a dense tensor that broadcasts to its shape, at the stored places.

    Source: `mindspore.ops.csr_mul`
    """
    found: CSRTensor = _need("csr_mul", x, CSRTensor) * as_tensor(y)
    return found


def csr_div(x: Any, y: Any) -> CSRTensor:
    """A CSRTensor divided by a dense tensor that broadcasts to its shape, at the stored places.

    Source: `mindspore.ops.csr_div`
    """
    found: CSRTensor = _need("csr_div", x, CSRTensor) / as_tensor(y)
    return found


def csr_gather(indptr: Any, indices: Any, dense: Any, sparse_shape: Any) -> Tensor:
    """The elements of ``dense``, which broadcasts to ``sparse_shape``, at the places of compressed rows."""
    return csr_of(as_tensor(indptr), as_tensor(indices), None, tuple(sparse_shape)).at_places(dense)


def csr_mv(csr_tensor: Any, dense: Any) -> Tensor:
    """The product of a CSRTensor and a vector [columns, 1] (or [columns]).

    Source: `mindspore.ops.csr_mv`
    """
    return _need("csr_mv", csr_tensor, CSRTensor).mv(dense)


def _transposed(x: CSRTensor, adjoint_too: bool) -> CSRTensor:
    coo = x.to_coo()
    values = adjoint(coo.values) if adjoint_too else coo.values
    return coo_to_csr(coo_of(stack((coo.indices[:, 1], coo.indices[:, 0]), axis=1), values, x.shape[::-1]))


def csr_mm(
    a: Any, b: Any, trans_a: bool = False, trans_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False
) -> Any:
    """The product of a CSRTensor with a dense matrix (dense) or a CSRTensor (a CSRTensor).

    Args:
        a: a CSRTensor.
        b: a matrix, or a CSRTensor.
        trans_a, trans_b: take the transpose of an operand.
        adjoint_a, adjoint_b: take the conjugate transpose; not together with the former.

    Source: `mindspore.ops.csr_mm`

    Examples:
        >>> import msnb as ms
        >>> x = ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([5.0]), (1, 2))
        >>> ms.ops.csr_mm(x, ms.Tensor([[2.0]]), trans_a=True).tolist()
        [[0.0], [10.0]]
    """
    _need("csr_mm", a, CSRTensor)
    if (trans_a and adjoint_a) or (trans_b and adjoint_b):
        raise AttributeValueError("csr_mm: an operand is transposed or its adjoint is taken, not both.")
    turn_a, turn_b = trans_a or adjoint_a, trans_b or adjoint_b
    if isinstance(b, CSRTensor):
        return (_transposed(a, adjoint_a) if turn_a else a).mm(_transposed(b, adjoint_b) if turn_b else b)
    dense = as_tensor(b)
    if turn_b:
        dense = (adjoint(dense) if adjoint_b else dense).T
    return _transposed_product(a, dense, adjoint_a) if turn_a else a.mm(dense)


def _transposed_product(x: CSRTensor, dense: Tensor, adjoint_too: bool) -> Tensor:
    """The product of the transposed x and a matrix; nothing is put in another order."""
    values, dense = common(adjoint(x.values) if adjoint_too else x.values, dense)
    return CSR_MATMUL_TRANSPOSED(*pointers_like(x), values, dense, columns=x.shape[1])


def csr_reduce_sum(csr_tensor: Any, axis: int) -> Tensor:
    """The sums along an axis, which stays with size 1.

    Source: `mindspore.ops.csr_reduce_sum`
    """
    return _need("csr_reduce_sum", csr_tensor, CSRTensor).sum(axis)


def csr_softmax(logits: Any, dtype: Any = None) -> CSRTensor:
    """Softmax over the stored values of every row.

    Args:
        logits: a CSRTensor of floats.
        dtype: of the result; that of the values if None.

    Source: `mindspore.ops.csr_softmax`

    Examples:
        >>> import msnb as ms
        >>> x = ms.CSRTensor(ms.Tensor([0, 2]), ms.Tensor([0, 2]), ms.Tensor([1.0, 1.0]), (1, 3))
        >>> ms.ops.csr_softmax(x).values.tolist()
        [0.5, 0.5]
    """
    x = _need("csr_softmax", logits, CSRTensor)
    found = CSR_ROW_SOFTMAX(x.indptr, x.values)
    out: CSRTensor = x.with_values(found if dtype is None else cast(found, dtype))
    return out
