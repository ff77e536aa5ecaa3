"""Products of groups of rows, each group with a matrix of its own: what the experts of a mixture compute.

    x [s, k]   weight [e, k, n]   ends [e]        group i: the rows ends[i - 1] to ends[i] of x, times weight[i]

    gradients     dx = grouped_matmul(dout, weight')      dweight[i] = (rows of group i of x)' @ (those of dout)

The second is ``grouped_outer``, whose gradients are grouped products again (' conjugates, too). Rows behind the last
group are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, TensorType, cached, result_dtype, tensor_type
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.record import Example, InvalidExample, Op, define
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.elementwise import adjoint
from msnb.ops.linalg.matmul import conjugate_transpose, matmul, turned, wide
from msnb.ops.shape.views import TRANSPOSE

__all__ = ["grouped_mm"]

FAMILY = "contract"
_X = np.array([[0.5, -1.25], [1.5, 0.25], [-2.0, 0.75]])
_Y = np.array([[1.0, 2.0, -0.5], [0.5, 1.5, 1.0], [0.25, -1.0, 2.0]])
_WEIGHT = np.arange(12.0).reshape(2, 2, 3) / 8 - 0.5


def _need(name: str, fits: bool, ends: TensorType, *types: TensorType) -> None:
    if not fits or ends.ndim != 1 or not ends.dtype.is_int:
        raise ShapeError(f"{name}: sizes do not fit, or the groups' ends are no vector of integers.",
                         operands=operand_lines(*types, ends))  # fmt: skip


def _product_type(x: TensorType, weight: TensorType, ends: TensorType) -> TensorType:
    fits = x.ndim == 2 and weight.ndim == 3 and x.shape[1] == weight.shape[1] and ends.shape == weight.shape[:1]
    _need("grouped_matmul", fits, ends, x, weight)
    return tensor_type((x.shape[0], weight.shape[2]), result_dtype((x, weight)))


def _outer_type(x: TensorType, y: TensorType, ends: TensorType) -> TensorType:
    _need("grouped_outer", x.ndim == y.ndim == 2 and x.shape[0] == y.shape[0], ends, x, y)
    return tensor_type((*ends.shape, x.shape[1], y.shape[1]), result_dtype((x, y)))


def _groups(ends: Any, rows: int) -> list[tuple[int, int, int]]:
    """Which group, its first row, the row behind its last."""
    told = [0, *(ends.get() if hasattr(ends, "get") else ends).tolist()]  # CuPy's are fetched
    if any(a > b for a, b in zip(told, [*told[1:], rows])):
        raise AttributeValueError(f"grouped_matmul: the groups' ends {told[1:]} must ascend from 0 to {rows}.")
    return [(i, a, b) for i, (a, b) in enumerate(zip(told, told[1:])) if a < b]


def _product_body(xp: Any, x: Any, weight: Any, ends: Any) -> Any:
    x, weight = wide(xp, x, weight)
    out = xp.zeros((x.shape[0], weight.shape[2]), xp.result_type(x, weight))
    for i, a, b in _groups(ends, len(x)):
        out[a:b] = x[a:b] @ weight[i]
    return out


def _outer_body(xp: Any, x: Any, y: Any, ends: Any) -> Any:
    x, y = wide(xp, x, y)
    out = xp.zeros((len(ends), x.shape[1], y.shape[1]), xp.result_type(x, y))
    for i, a, b in _groups(ends, len(x)):
        out[i] = x[a:b].T @ y[a:b]
    return out


def _product_grad(dout: Any, x: Any, weight: Any, ends: Any) -> tuple[Any, Any, None]:
    return GROUPED_MATMUL(dout, conjugate_transpose(weight), ends), GROUPED_OUTER(adjoint(x), dout, ends), None


def _outer_grad(dout: Any, x: Any, y: Any, ends: Any) -> tuple[Any, Any, None]:
    return GROUPED_MATMUL(adjoint(y), turned(dout), ends), GROUPED_MATMUL(adjoint(x), dout, ends), None


GROUPED_MATMUL: Op = define(
    "grouped_matmul", "x, weight, ends", infer=_product_type, body=_product_body, grad=_product_grad, onnx="grouped",
    axes="s! k!, e! k! n!, e! -> s! n!", doc="Groups of rows, which end at `ends`, each times its matrix.",
    examples=(Example((_X, _WEIGHT, np.array([1, 3]))), Example((_X, _WEIGHT, np.array([0, 2])))),
    wrong=(InvalidExample((_X, _WEIGHT, np.array([1])), {}, "sizes do not fit", ShapeError),),
)  # fmt: skip
GROUPED_OUTER: Op = define(
    "grouped_outer", "x, y, ends", infer=_outer_type, body=_outer_body, grad=_outer_grad, onnx="grouped",
    axes="s! k!, s! n!, e! -> e! k! n!", doc="Of every group of rows, which end at `ends`, the product x' @ y.",
    examples=(Example((_X, _Y, np.array([1, 3]))), Example((_X, _Y, np.array([2, 2])))),
    wrong=(InvalidExample((_X, _Y[:2], np.array([1])), {}, "sizes do not fit", ShapeError),),
)  # fmt: skip


@cached
def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None) -> Tensor:
    """Products of groups of matrices.

    Args:
        mat_a: [rows, k] with the rows in groups, [m, rows] with the columns in groups, or one matrix for each group.
        mat_b: matrices of the groups [groups, k, n]; [rows, n] beside columns in groups.
        offs: where the groups end, integers that ascend; None where both are [groups, ., .].

    Returns:
        [rows, n], [groups, m, n], or [m, columns] where the columns of ``mat_b`` are in groups.

    Raises:
        ShapeError: sizes do not fit. AttributeValueError: ends that do not ascend.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html

    Examples:
        >>> import msnb as ms
        >>> x, weight = ms.ops.ones((3, 2)), ms.ops.stack([ms.ops.ones((2, 1)), 2 * ms.ops.ones((2, 1))])
        >>> ms.ops.grouped_mm(x, weight, offs=ms.Tensor([1, 3])).tolist()
        [[2.0], [4.0], [4.0]]
    """
    a, b = as_tensor(mat_a), as_tensor(mat_b)
    if offs is None or a.ndim == b.ndim == 3:
        return matmul(a, b)
    if b.ndim == 3:
        return GROUPED_MATMUL(a, b, offs)
    if a.ndim == 3:
        return TRANSPOSE(GROUPED_MATMUL(TRANSPOSE(b, perm=(1, 0)), conjugate_transpose(a), offs), perm=(1, 0))
    return GROUPED_OUTER(TRANSPOSE(a, perm=(1, 0)), b, offs)
