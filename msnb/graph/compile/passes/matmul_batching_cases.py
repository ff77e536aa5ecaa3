"""Examples of gathered products: the gradient of a weight after some steps, and parts of one tensor times a matrix."""

from __future__ import annotations

from msnb.graph.compile.rewriting.pass_record import Case
from msnb.graph.compile.rules.arithmetic import f


def _steps(rows: int, count: int) -> str:
    """The sum of d[i].T @ x[i]."""
    lines: list[str] = []
    for i in range(count):
        lines += [
            f"%{2 * i + 1} = transpose(d{i}, perm=(1, 0)) : f32[8,{rows}]",
            f"%{2 * i + 2} = matmul(%{2 * i + 1}, x{i}) : f32[8,8]",
        ]
    total = "%2"
    for i in range(1, count):
        lines.append(f"%{2 * count + i} = add({total}, %{2 * i + 2}) : f32[8,8]")
        total = f"%{2 * count + i}"
    return f(*lines, total, types="f32[8,8]", params=_params(rows, count))


def _params(rows: int, count: int) -> str:
    return ", ".join(f"{name}{i}: f32[{rows},8]" for name in "dx" for i in range(count))


def _parts(rows: int) -> str:
    """Rows 0 and 1, 2 and 3, 4 and 5, 6 and 7 of x, each times w."""
    lines: list[str] = []
    for i in range(4):
        lines += [
            f"%{2 * i + 1} = slice(x, begin=({2 * i},), end=({2 * i + 2},), step=(1,)) : f32[2,8]",
            f"%{2 * i + 2} = matmul(%{2 * i + 1}, w) : f32[2,3]",
        ]
    return f(*lines, "%2, %4, %6, %8", types=", ".join(["f32[2,3]"] * 4), params=f"x: f32[{rows},8], w: f32[8,3]")


CASES: tuple[Case, ...] = (
    Case(
        _steps(2, 4),
        f(
            "%1 = concat(d3, d2, d1, d0) : f32[8,8]",
            "%2 = transpose(%1, perm=(1, 0)) : f32[8,8]",
            "%3 = concat(x3, x2, x1, x0) : f32[8,8]",
            "%4 = matmul(%2, %3) : f32[8,8]",
            "%4",
            types="f32[8,8]",
            params=_params(2, 4),
        ),
        "a sum of products is one product of operands side by side",
    ),
    Case(_steps(2, 3), _steps(2, 3), "three products are too few"),
    Case(_steps(5, 4), _steps(5, 4), "what would be copied is more than what is added up"),
    Case(
        _parts(8),
        f(
            "%1 = matmul(x, w) : f32[8,3]",
            *(f"%{i + 2} = slice(%1, begin=({2 * i},), end=({2 * i + 2},), step=(1,)) : f32[2,3]" for i in range(4)),
            "%2, %3, %4, %5",
            types=", ".join(["f32[2,3]"] * 4),
            params="x: f32[8,8], w: f32[8,3]",
        ),
        "parts of one tensor times one matrix are parts of one product",
    ),
    Case(_parts(17), _parts(17), "most rows are not wanted"),
)
