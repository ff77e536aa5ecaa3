"""Row-major products for a library that knows columns only ("column-major", as Fortran has it).

A matrix whose rows lie one after the other is, read by columns, its transpose. So

    out (row-major) = a @ b      is      out^T (column-major) = b^T @ a^T

Operands change places, each is transposed once more, and nothing is copied. Where ``out`` lies in columns, operands
stay where they are. Which of the two, the transpositions and the leading dimensions are worked out here, without a
library.

    element (r, c) of a column-major matrix lies at  r + c * leading
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MatrixLayout:
    """How a matrix, or a stack of them, lies in memory, in elements.

    Element (r, c) of matrix i lies at ``i * batch_stride + r * row_stride + c * col_stride``.

    Attributes:
        rows, cols: its sizes.
        row_stride, col_stride: from one row, or column, to the next; one of them is 1.
        batch_stride: from one matrix to the next; 0 repeats the same one.
    """

    rows: int
    cols: int
    row_stride: int
    col_stride: int
    batch_stride: int = 0


@dataclass(frozen=True)
class ColumnMatrix:
    """A matrix as column-major memory.

    Attributes:
        rows, cols: of the memory, which holds the transpose of what is meant if ``transposed``.
        leading: from one column to the next.
        batch_stride: from one matrix to the next.
        transposed: the product takes its transpose.
    """

    rows: int
    cols: int
    leading: int
    batch_stride: int
    transposed: bool


@dataclass(frozen=True)
class Gemm:
    """A column-major product ``d = op(first) @ op(second)``.

    Attributes:
        swapped: ``first`` is the problem's b and ``second`` its a; ``d`` holds the transpose of the result.
        first, second, d: the matrices; ``d`` is never transposed.
    """

    swapped: bool
    first: ColumnMatrix
    second: ColumnMatrix
    d: ColumnMatrix


def plain(a: MatrixLayout) -> ColumnMatrix | None:
    """The matrix as column-major memory of the same sizes; None where it does not lie so."""
    if a.rows > 1 and a.row_stride != 1:
        return None
    leading = a.rows if a.cols == 1 else a.col_stride
    return ColumnMatrix(a.rows, a.cols, leading, a.batch_stride, False) if leading >= a.rows else None


def turned(a: MatrixLayout) -> ColumnMatrix | None:
    """The matrix as column-major memory that holds its transpose; None where it does not lie so."""
    other = plain(MatrixLayout(a.cols, a.rows, a.col_stride, a.row_stride, a.batch_stride))
    return None if other is None else replace(other, transposed=True)


def _operand(a: MatrixLayout, transpose: bool) -> ColumnMatrix | None:
    """The matrix, or its transpose, as an operand; a vector lies both ways, then as a column."""
    both = [m for m in (turned(a), plain(a)) if m is not None]
    if not both:
        return None
    found = max(both, key=lambda m: m.rows)
    return replace(found, transposed=found.transposed != transpose)


def gemm(a: MatrixLayout, b: MatrixLayout, out: MatrixLayout, by_columns: bool = False) -> Gemm | None:
    """The column-major product that computes ``out = a @ b``.

    Args:
        a, b, out: how they lie.
        by_columns: something is added per column of ``out``, which the library does per row of ``d``.

    Returns:
        The product; None where sizes are 0 or do not fit one another, or a layout has no stride of 1.
    """
    if min(a.rows, a.cols, b.cols) < 1 or (a.cols, a.rows, b.cols) != (b.rows, out.rows, out.cols):
        return None
    d = turned(out)
    if d is not None and (d.rows > 1 or by_columns or plain(out) is None):
        first, second = _operand(b, transpose=True), _operand(a, transpose=True)
        swapped = True
    else:
        d = None if by_columns else plain(out)
        first, second = _operand(a, transpose=False), _operand(b, transpose=False)
        swapped = False
    if first is None or second is None or d is None:
        return None
    return Gemm(swapped, first, second, replace(d, transposed=False))


def folded(
    a: MatrixLayout, b: MatrixLayout, out: MatrixLayout, batch: int
) -> tuple[MatrixLayout, MatrixLayout, MatrixLayout, int]:
    """The same product with the batch among the rows, where b is one matrix and the rows of a and out go on.

    Args:
        a, b, out: how they lie.
        batch: how many products.

    Returns:
        The three layouts and the batch, folded into 1 or as they were.
    """
    tall = [_continued(m, batch) for m in (a, out)]
    if batch == 1 or b.batch_stride or tall[0] is None or tall[1] is None:
        return a, b, out, batch
    return tall[0], b, tall[1], 1


def _continued(m: MatrixLayout, batch: int) -> MatrixLayout | None:
    """A stack of matrices as one, where the rows of each follow those of the one before."""
    step = m.batch_stride if m.rows == 1 else m.row_stride
    if m.col_stride != 1 or step < m.cols or m.batch_stride != m.rows * step:
        return None
    return replace(m, rows=m.rows * batch, row_stride=step, batch_stride=0)
