"""Laws of products in which one side is a vector: walks over the other side, not matrix products.

    x [m, k] @ v [k, 1]       sum over k of x * v.T       one number per row of x
    v [1, m] @ x [m, k]       sum over m of x * v.T       one number per column of x
    u [m, 1] @ v [1, n]       u * v                       nothing is added up

Each element of x is used once, so such a product is as fast as memory, and a walk like any other: it joins the group
that makes x, or the one that reads the result. A library that is built for tiles spends more on bringing x into shape
than on the sum: measured on two cores, 2000 x 64 took it 26 us where the generated sum took 9, the transpose of that
33 us and 14, 4096 x 4096 transposed 7.0 ms and 1.3.

Short floats are left to the library, which adds up in float32 and rounds once.
"""

from __future__ import annotations

from msnb.core import TensorType, dtypes
from msnb.graph.compile.rewriting import Found, GraphRewriter, RewriteRule, op_of
from msnb.graph.compile.rules.arithmetic import case, unchanged
from msnb.ir.graph import Node, Value

Matrix = tuple[int, int]


def _sizes(value: Value) -> tuple[int, ...]:
    """The sizes of a tensor of wide floats; () where there are none, or one is 0."""
    t = value.type
    if not isinstance(t, TensorType) or not t.is_static or t.weak or t.dtype not in (dtypes.float32, dtypes.float64):
        return ()
    return () if 0 in t.ints() else t.ints()


def _of_one_dtype(node: Node) -> bool:
    return len({v.type.dtype for v in (*node.inputs, node.out) if isinstance(v.type, TensorType)}) == 1


def _as_matrices(node: Node) -> tuple[Matrix, Matrix] | None:
    """The sizes of the operands of a product of matrices or vectors: a vector is a row on the left, a column on the
    right."""
    x, y = (_sizes(v) for v in node.inputs)
    if not 1 <= len(x) <= 2 or not 1 <= len(y) <= 2 or not _of_one_dtype(node):
        return None
    left = (x[0], x[1]) if len(x) == 2 else (1, x[0])
    right = (y[0], y[1]) if len(y) == 2 else (y[0], 1)
    return left, right


def _outer_product(sweep: GraphRewriter, node: Node) -> Found:
    sizes = _as_matrices(node)
    if sizes is None or sizes[0][1] != 1:
        return None
    column, row = (_reshaped(sweep, v, shape) for v, shape in zip(node.inputs, sizes))
    return _reshaped(sweep, sweep.emit("multiply", column, row), _sizes(node.out))


def _matrix_times_vector(sweep: GraphRewriter, node: Node) -> Found:
    sizes = _as_matrices(node)
    if sizes is None or sizes[0][1] == 1:
        return None
    (m, k), (_, n) = sizes
    if n == 1:
        total = _weighted(sweep, node.inputs[0], (m, k), node.inputs[1], along=1)
    elif m == 1:
        total = _weighted(sweep, node.inputs[1], (k, n), node.inputs[0], along=0)
    else:
        return None
    return _reshaped(sweep, total, _sizes(node.out))


def _weighted(sweep: GraphRewriter, matrix: Value, sizes: Matrix, vector: Value, along: int) -> Value:
    """The sum along an axis of a matrix whose slices are multiplied by the numbers of a vector. A transpose is seen
    through: the sum runs along the other axis."""
    turn = op_of(matrix, "transpose")
    if turn is not None and tuple(turn.attrs["perm"]) == (1, 0):
        matrix, along, sizes = turn.inputs[0], 1 - along, (sizes[1], sizes[0])
    matrix = _reshaped(sweep, matrix, sizes)
    weights = _reshaped(sweep, vector, (1, sizes[1]) if along else (sizes[0], 1))
    return sweep.emit("sum", sweep.emit("multiply", matrix, weights), axis=along)


def _reshaped(sweep: GraphRewriter, value: Value, shape: tuple[int, ...]) -> Value:
    return value if _sizes(value) == shape else sweep.emit("reshape", value, shape=shape)


_ORDER = "in the last digits: the products are added up in another order"
_MATRIX = "x: f32[4,3], v: f32[3,1], u: f32[1,4]"
VECTORS: tuple[RewriteRule, ...] = (
    RewriteRule(
        "outer product", "a column times a row is the product of the two, broadcast", ("matmul",), _outer_product,
        (case(("%1 = matmul(u, v) : f32[4,3]", "%1"), ("%1 = multiply(u, v) : f32[4,3]", "%1"), types="f32[4,3]",
              params="u: f32[4,1], v: f32[1,3]"),
         unchanged(("%1 = matmul(u, v) : f16[4,3]", "%1"), "short floats belong to the library", types="f16[4,3]",
                   params="u: f16[4,1], v: f16[1,3]")),
        exact=False, differs="in the sign of zero: sums start at 0.0",
    ),
    RewriteRule(
        "matrix times vector", "a matrix times a vector is the sum of its columns, each times its number", ("matmul",),
        _matrix_times_vector,
        (case(("%1 = matmul(x, v) : f32[4,1]", "%1"),
              ("%1 = reshape(v, shape=(1, 3)) : f32[1,3]", "%2 = multiply(x, %1) : f32[4,3]",
               "%3 = sum(%2, axis=1) : f32[4]", "%4 = reshape(%3, shape=(4, 1)) : f32[4,1]", "%4"), types="f32[4,1]",
              params=_MATRIX),
         case(("%1 = transpose(x, perm=(1, 0)) : f32[3,4]", "%2 = transpose(u, perm=(1, 0)) : f32[4,1]",
               "%3 = matmul(%1, %2) : f32[3,1]", "%3"),
              ("%1 = transpose(u, perm=(1, 0)) : f32[4,1]", "%2 = multiply(x, %1) : f32[4,3]",
               "%3 = sum(%2, axis=0) : f32[3]", "%4 = reshape(%3, shape=(3, 1)) : f32[3,1]", "%4"), types="f32[3,1]",
              params=_MATRIX),
         unchanged(("%1 = matmul(x, y) : f32[4,2]", "%1"), "two columns are a matrix", types="f32[4,2]",
                   params="x: f32[4,3], y: f32[3,2]")),
        exact=False, differs=_ORDER,
    ),
)  # fmt: skip
