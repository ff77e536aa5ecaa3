"""The assignment problem by SciPy's name."""

from __future__ import annotations

import sys
from typing import Any

from msnb.core import Tensor
from msnb.ops.definition import as_tensor, need_bools
from msnb.ops.linalg.assignment import ASSIGNMENT


def linear_sum_assignment(cost_matrix: Any, maximize: bool, dimension_limit: Any = sys.maxsize) -> tuple[Any, Any]:
    """Rows and columns that belong together, with the least sum of costs.

    Args:
        cost_matrix: [m, n] real numbers.
        maximize: the largest sum instead.
        dimension_limit: only so many columns count (a number or a Tensor).

    Returns:
        [min(m, n)] int64 each: rows, increasing, and their columns; -1 at the end where columns are fewer.

    Raises:
        ShapeError: no matrix. ArgumentError: ``maximize`` is no bool. AttributeValueError: a cost is NaN, or every
        assignment costs infinitely much.

    Source: `mindspore.scipy.optimize.linear_sum_assignment`

    Examples:
        >>> import msnb as ms
        >>> costs = ms.Tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
        >>> rows, columns = ms.scipy.optimize.linear_sum_assignment(costs, False)
        >>> columns.tolist()
        [1, 0, 2]
    """
    need_bools("linear_sum_assignment", maximize=maximize)
    limit: Tensor = as_tensor(dimension_limit)
    rows, columns = ASSIGNMENT(as_tensor(cost_matrix), limit, maximize=maximize)
    return rows, columns
