"""Layers of sparse matrices, as networks of MindSpore 1 write them."""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.type_inference import need_bools
from msnb.ops.mindspore.sparse_primitives import sparse_dense_matmul
from msnb.ops.sparse.coordinates import COOTensor

__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]


class SparseToDense(Cell):
    """A COOTensor as a dense tensor.

    Source: `mindspore.nn.SparseToDense`

    Examples:
        >>> import msnb as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([5.0]), (1, 2))
        >>> ms.nn.SparseToDense()(x).tolist()
        [[0.0, 5.0]]
    """

    def construct(self, input: Any) -> Any:
        """The layer."""
        if not isinstance(input, COOTensor):
            raise ArgumentError(f"SparseToDense takes a COOTensor, got {type(input).__name__}.")
        return input.to_dense()


class SparseTensorDenseMatmul(Cell):
    """The product of a sparse matrix, given by coordinates, and a dense one.

    Args:
        adjoint_st: take the transpose of the sparse matrix.
        adjoint_dt: take the transpose of the dense one.

    Source: `mindspore.nn.SparseTensorDenseMatmul`

    Examples:
        >>> import msnb as ms
        >>> multiply = ms.nn.SparseTensorDenseMatmul()
        >>> multiply(ms.Tensor([[0, 1]]), ms.Tensor([5.0]), (1, 2), ms.Tensor([[1.0], [2.0]])).tolist()
        [[10.0]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        need_bools("SparseTensorDenseMatmul", adjoint_st=adjoint_st, adjoint_dt=adjoint_dt)
        self.adjoint_st: bool = adjoint_st
        self.adjoint_dt: bool = adjoint_dt

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Any:
        """The layer."""
        return sparse_dense_matmul(indices, values, sparse_shape, dense, self.adjoint_st, self.adjoint_dt)
