"""Writes into a Parameter at places: MindSpore's ``scatter_*`` (rows) and ``scatter_nd_*`` (coordinates).

    scatter_mul(w, indices, updates)       w[indices[i], ...] *= updates[i, ...]
    scatter_nd_mul(w, indices, updates)    w[indices[i, 0], indices[i, 1], ...] *= updates[i, ...]

Updates of equal places are all combined in; the Parameter takes the new value and is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.core import Tensor
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.elementwise.identity_and_effects import changed
from msnb.ops.indexing.gather import coordinates
from msnb.ops.indexing.scatter import combine

__all__ = [
    "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_div", "scatter_nd_max",
    "scatter_nd_min", "scatter_nd_mul", "scatter_nd_sub", "scatter_nd_update", "scatter_non_aliasing_add",
    "scatter_sub",
]  # fmt: skip


def _writer(name: str, how: str, meaning: str) -> Callable[..., Tensor]:
    nd = name.startswith("scatter_n")

    def write(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
        parts = coordinates(name, indices, input_x.ndim) if nd else (as_tensor(indices),)
        new = combine(input_x, parts, ("t",) * len(parts), as_tensor(updates), how)
        return changed(input_x, new)

    write.__name__ = write.__qualname__ = name
    places = "coordinates ``indices[..., k]``" if nd else "rows ``indices``"
    write.__doc__ = f"""The Parameter ``input_x`` with ``updates`` {meaning} at the {places}; it takes the new value.

    Args:
        input_x: Parameter, [n, ...].
        indices: integers{", [..., k]" if nd else ""}.
        updates: a tensor of the shape of what ``indices`` names.
        use_locking: accepted; a program writes a Parameter once, there is nothing to lock.

    Returns:
        The Parameter.

    Raises:
        ValueError: the shapes do not fit. IndexError: a place outside of ``input_x``.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.{name}.html

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0, 4.0]), name="w")
        >>> ms.ops.{name}(w, ms.Tensor({"[[0], [2]]" if nd else "[0, 2]"}), ms.Tensor([2.0, 2.0])).tolist()
        {_EXAMPLES[how]}
    """
    return write


_EXAMPLES = {
    "add": [3.0, 2.0, 6.0], "sub": [-1.0, 2.0, 2.0], "mul": [2.0, 2.0, 8.0], "div": [0.5, 2.0, 2.0],
    "max": [2.0, 2.0, 4.0], "min": [1.0, 2.0, 2.0], "update": [2.0, 2.0, 2.0],
}  # fmt: skip

scatter_sub: Callable[..., Any] = _writer("scatter_sub", "sub", "subtracted")
scatter_mul: Callable[..., Any] = _writer("scatter_mul", "mul", "multiplied in")
scatter_div: Callable[..., Any] = _writer("scatter_div", "div", "divided out")
scatter_max: Callable[..., Any] = _writer("scatter_max", "max", "combined by max")
scatter_min: Callable[..., Any] = _writer("scatter_min", "min", "combined by min")
scatter_nd_update: Callable[..., Any] = _writer("scatter_nd_update", "update", "written")
scatter_nd_add: Callable[..., Any] = _writer("scatter_nd_add", "add", "added")
scatter_nd_sub: Callable[..., Any] = _writer("scatter_nd_sub", "sub", "subtracted")
scatter_nd_mul: Callable[..., Any] = _writer("scatter_nd_mul", "mul", "multiplied in")
scatter_nd_div: Callable[..., Any] = _writer("scatter_nd_div", "div", "divided out")
scatter_nd_max: Callable[..., Any] = _writer("scatter_nd_max", "max", "combined by max")
scatter_nd_min: Callable[..., Any] = _writer("scatter_nd_min", "min", "combined by min")
scatter_non_aliasing_add: Callable[..., Any] = _writer("scatter_non_aliasing_add", "add", "added")
