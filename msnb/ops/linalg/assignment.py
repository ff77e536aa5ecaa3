"""The assignment of rows to columns with the least sum of costs.

Each row in turn is entered by the shortest augmenting path: Dijkstra's algorithm over the columns with reduced costs
c[i, j] - u[i] - v[j], which the dual variables u and v keep at or above 0. O(n^3), on the host.

Source: R. Jonker, A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment problems,
Computing 38 (1987)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import AttributeValueError, ShapeError
from msnb.core import TensorType, dtypes, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, define, operand_lines

FAMILY = "linalg"
_COST = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
_ALL = np.array(2**31 - 1)


def _type(cost: TensorType, dimension_limit: TensorType, *, maximize: bool) -> tuple[TensorType, TensorType]:
    if cost.ndim != 2 or cost.dtype.is_complex or dimension_limit.ndim > 1:
        raise ShapeError(
            "linear_sum_assignment takes real costs [m, n] and one limit.",
            operands=operand_lines(cost, dimension_limit),
        )
    rows, columns = cost.ints()
    found = tensor_type((min(rows, columns),), dtypes.int64)
    return found, found


def _body(xp: Any, cost: Any, limit: Any, *, maximize: bool) -> tuple[Any, Any]:
    cost, limit = (np.asarray(x.get() if hasattr(x, "get") else x) for x in (cost, limit))  # CuPy's are fetched
    count = min(cost.shape)
    width = int(np.clip(limit.reshape(()), 0, cost.shape[1]))
    costs = cost[:, :width].astype(np.float64)
    if np.isnan(costs).any() or (costs == (np.inf if maximize else -np.inf)).any():
        raise AttributeValueError("linear_sum_assignment: a cost is NaN or infinitely good.")
    rows, columns = assign(-costs if maximize else costs)
    padding = np.full(count - len(rows), -1, np.int64)
    return xp.asarray(np.concatenate([rows, padding])), xp.asarray(np.concatenate([columns, padding]))


def assign(costs: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows, increasing, and the column of each, with the least sum of costs.

    Raises:
        AttributeValueError: no assignment has a finite sum.
    """
    if costs.shape[0] > costs.shape[1]:
        columns, rows = assign(costs.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    u, v = np.zeros(costs.shape[0]), np.zeros(costs.shape[1])
    row_of = np.full(costs.shape[1], -1)
    for row in range(costs.shape[0]):
        _augment(costs, row, u, v, row_of)
    columns = np.flatnonzero(row_of >= 0)
    order = np.argsort(row_of[columns])
    return row_of[columns][order].astype(np.int64), columns[order].astype(np.int64)


def _augment(costs: NDArray[Any], row: int, u: NDArray[Any], v: NDArray[Any], row_of: NDArray[Any]) -> None:
    """Enter a row: along the shortest path to a free column every column goes over to the row before it."""
    distance = np.full(len(v), np.inf)
    before, done = np.full(len(v), row), np.zeros(len(v), bool)
    here, length = row, 0.0
    while True:
        reached = length + costs[here] - u[here] - v
        nearer = ~done & (reached < distance)
        distance[nearer], before[nearer] = reached[nearer], here
        column = int(np.argmin(np.where(done, np.inf, distance)))
        if done[column] or not np.isfinite(distance[column]):
            raise AttributeValueError("linear_sum_assignment: every assignment has an infinite cost.")
        length, done[column] = distance[column], True
        if row_of[column] < 0:
            break
        here = row_of[column]
    visited = np.flatnonzero(done & (row_of >= 0))
    u[row] += length
    u[row_of[visited]] += length - distance[visited]
    v[done] -= length - distance[done]
    while True:
        previous = before[column]
        row_of[column], column = previous, _column_of(row_of, previous, column)
        if previous == row:
            return


def _column_of(row_of: NDArray[Any], row: int, other: int) -> int:
    """The column that a row had, besides the one it has now."""
    found = np.flatnonzero(row_of == row)
    return int(found[found != other][0]) if (found != other).any() else -1


ASSIGNMENT: Op = define(
    "linear_sum_assignment", "cost_matrix, dimension_limit", attrs={"maximize": False}, infer=_type, body=_body,
    no_grad="an assignment is a choice of positions.", traits=("pure",), axes="m! n!, -> K!, K!",
    doc="Rows, increasing, and the column of each, with the least (or largest) sum of costs; only the first "
    "`dimension_limit` columns count, and -1 stands where no row is left.",
    examples=(Example((_COST, _ALL)), Example((_COST[:2], _ALL), {"maximize": True}), Example((_COST, np.array(2)))),
    wrong=(InvalidExample((_COST[0], _ALL), {}, "real costs", ShapeError),),
)  # fmt: skip
