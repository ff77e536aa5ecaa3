"""Laws of arithmetic and logic, each with the reason why it is exact."""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import DType, TensorType, dtypes
from msnb.graph.compile.rewriting import Case, Found, GraphRewriter, RewriteRule, op_of
from msnb.graph.compile.rewriting.node_facts import is_one, is_zero, uniform
from msnb.graph.compile.rewriting.rewrite_rule import kind, other_operand, truth
from msnb.ir.graph import Node, Value
from msnb.ops.elementwise.arithmetic import is_product


def f(*lines: str, types: str = "f32[2]", params: str = "x: f32[2]") -> str:
    """The text of an example: ``return`` gives the last operand."""
    *body, last = lines
    return "\n".join([f"graph f({params}) -> ({types})", *(f"  {line}" for line in body), f"  return {last}"])


Lines = str | tuple[str, ...]


def case(
    before: Lines, after: Lines, about: str = "", *, types: str = "f32[2]", params: str = "x: f32[2]",
    gradient: bool = False,
) -> Case:  # fmt: skip
    """An example: the lines of two graphs with the same parameters and results."""
    texts = [f(*([x] if isinstance(x, str) else x), types=types, params=params) for x in (before, after)]
    return Case(texts[0], texts[1], about, gradient)


def unchanged(lines: Lines, about: str, *, types: str = "f32[2]", params: str = "x: f32[2]") -> Case:
    """A graph in which the law must not act."""
    return case(lines, lines, about, types=types, params=params)


def _add_zero(sweep: GraphRewriter, node: Node) -> Found:
    if kind(node.out) == "int":
        return other_operand(node, is_zero)
    if kind(node.out) == "float":
        return other_operand(node, lambda v: kind(v) == "float" and is_zero(v, negative=True))
    return None


def _subtract_zero(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    if kind(node.out) == "int":
        return x if is_zero(y) else None
    return x if kind(node.out) == "float" and is_zero(y, negative=False) else None


def _times_one(sweep: GraphRewriter, node: Node) -> Found:
    return other_operand(node, is_one) if kind(node.out) in ("int", "float") else None


def _over_one(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    return x if kind(node.out) == "float" and is_one(y) else None


def _twice(sweep: GraphRewriter, node: Node) -> Found:
    inner = op_of(node.inputs[0], node.op.name)
    return None if inner is None else inner.inputs[0]


def _is_its_operand(sweep: GraphRewriter, node: Node) -> Found:
    return node.inputs[0]


def _again(sweep: GraphRewriter, node: Node) -> Found:
    return node.inputs[0] if op_of(node.inputs[0], node.op.name) is not None else None


def _abs_of_negative(sweep: GraphRewriter, node: Node) -> Found:
    inner = op_of(node.inputs[0], "negative")
    return None if inner is None else sweep.emit("abs", inner.inputs[0])


def _minus_negative(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    inner = op_of(y, "negative")
    if inner is None or x.type != y.type or kind(x) == "complex":
        return None
    return sweep.emit("subtract" if node.op.name == "add" else "add", x, inner.inputs[0])


def _power_one(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    return x if kind(node.out) != "complex" and x.type is node.out.type and uniform(y) == 1 else None


def _square_of(sweep: GraphRewriter, node: Node, want: str) -> Found:
    x, y = node.inputs
    if kind(node.out) != want or not isinstance(x.type, TensorType) or x.type.weak:
        return None
    return sweep.emit("multiply", x, x) if uniform(y) == 2 else None


def _cube(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    applies = x.type is node.out.type and uniform(y) == 3 and is_product(x.type.dtype, 3)  # type: ignore[union-attr]
    return sweep.emit("multiply", sweep.emit("multiply", x, x), x) if applies else None


def _same_operands(sweep: GraphRewriter, node: Node) -> Found:
    x, y = node.inputs
    return x if x is y else None


def _where_same(sweep: GraphRewriter, node: Node) -> Found:
    _, x, y = node.inputs
    return x if x is y else None


def _where_known(sweep: GraphRewriter, node: Node) -> Found:
    known = truth(node.inputs[0])
    return None if known is None else node.inputs[1 if known else 2]


def _with_truth(word: bool) -> Callable[[GraphRewriter, Node], Found]:
    def find(sweep: GraphRewriter, node: Node) -> Found:
        if not all(isinstance(v.type, TensorType) and v.type.dtype is dtypes.bool_ for v in node.inputs):
            return None
        return other_operand(node, lambda v: truth(v) is word)

    return find


def holds_all(wide: DType, narrow: DType) -> bool:
    """True when every value of ``narrow`` is a value of ``wide``, so that a cast there and back is the identity."""
    if wide is narrow:
        return True
    if narrow is dtypes.bool_ or (narrow.is_int and wide.is_int):
        return narrow is dtypes.bool_ or _int_holds(wide, narrow)
    if narrow.is_int:
        bits = narrow.itemsize * 8 - narrow.signed
        return wide.category >= dtypes.FLOAT and bits <= _PRECISION[wide.name]
    return wide.category >= narrow.category >= dtypes.FLOAT and (narrow.name, wide.name) in _WIDER


def _int_holds(wide: DType, narrow: DType) -> bool:
    if narrow.signed and not wide.signed:
        return False
    return wide.itemsize > narrow.itemsize or (wide.itemsize == narrow.itemsize and wide.signed == narrow.signed)


_PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
_WIDER = {
    ("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"), ("bfloat16", "float64"),
    ("float32", "float64"), ("complex64", "complex128"), ("float16", "complex64"), ("bfloat16", "complex64"),
    ("float32", "complex64"), ("float16", "complex128"), ("bfloat16", "complex128"), ("float32", "complex128"),
    ("float64", "complex128"),
}  # fmt: skip


def _strong(value: Value) -> TensorType | None:
    return value.type if isinstance(value.type, TensorType) and not value.type.weak else None


def _one_conversion(first: DType, middle: DType, last: DType) -> bool:
    """True when first -> last gives the bits of first -> middle -> last."""
    if middle.is_complex or not holds_all(middle, first):
        return False
    if first.category >= dtypes.FLOAT:
        return not last.is_int  # out of range, float -> int depends on which float it starts from
    if last.category <= dtypes.INT:
        return middle.category <= dtypes.INT
    return last.itemsize >= 4  # int -> 16-bit floats goes through float32 in array libraries and rounds twice


def _cast_same(sweep: GraphRewriter, node: Node) -> Found:
    return node.inputs[0]


def _cast_cast(sweep: GraphRewriter, node: Node) -> Found:
    inner = op_of(node.inputs[0], "cast")
    if inner is None:
        return None
    first, middle = _strong(inner.inputs[0]), _strong(inner.out)
    if first is None or middle is None or not _one_conversion(first.dtype, middle.dtype, node.attrs["dtype"]):
        return None
    return sweep.emit("cast", inner.inputs[0], dtype=node.attrs["dtype"])


ARITHMETIC: tuple[RewriteRule, ...] = (
    RewriteRule(
        "add zero", "x + 0 is x for integers, x + -0.0 is x for floats", ("add",), _add_zero,
        (case(("%1 = add(x, ~0) : i32[2]", "%1"), "x", types="i32[2]", params="x: i32[2]"),
         case(("%1 = add(~-0.0, x) : f32[2]", "%1"), "x"),
         unchanged(("%1 = add(x, 0.0) : f32[2]", "%1"), "-0.0 + 0.0 is 0.0, so x could change its sign"),
         unchanged(("%1 = add(x, ~0) : i64[2]", "%1"), "a bool becomes an int", types="i64[2]", params="x: bool[2]")),
    ),
    RewriteRule(
        "subtract zero", "x - 0 is x", ("subtract",), _subtract_zero,
        (case(("%1 = subtract(x, ~0) : f32[2]", "%1"), "x"),
         unchanged(("%1 = subtract(x, ~-0.0) : f32[2]", "%1"), "-0.0 - -0.0 is 0.0")),
    ),
    RewriteRule(
        "times one", "x * 1 is x", ("multiply",), _times_one,
        (case(("%1 = multiply(~1.0, x) : f32[2]", "%1"), "x"),
         case(("%1 = ones(shape=(2,)) : f32[2]", "%2 = multiply(x, %1) : f32[2]", "%2"), "x"),
         unchanged(("%1 = multiply(x, ~1.0) : f32[2]", "%1"), "an int becomes a float", params="x: i32[2]"),
         unchanged(("%1 = multiply(x, ~0.0) : f32[2]", "%1"), "x * 0 is NaN where x is NaN or infinite")),
    ),
    RewriteRule("over one", "x / 1 is x", ("divide",), _over_one, (case(("%1 = divide(x, ~1) : f32[2]", "%1"), "x"),)),
    RewriteRule(
        "negative twice", "-(-x) is x", ("negative",), _twice,
        (case(("%1 = negative(x) : f32[2]", "%2 = negative(%1) : f32[2]", "%2"), "x"),),
    ),
    RewriteRule(
        "not twice", "not not x is x", ("logical_not",), _twice,
        (case(("%1 = logical_not(x) : bool[2]", "%2 = logical_not(%1) : bool[2]", "%2"), "x", types="bool[2]",
              params="x: bool[2]"),
         unchanged(("%1 = logical_not(x) : bool[2]", "%2 = logical_not(%1) : bool[2]", "%2"),
                   "not not of a float is a bool", types="bool[2]")),
    ),
    RewriteRule(
        "invert twice", "~~x is x", ("bitwise_invert",), _twice,
        (case(("%1 = bitwise_invert(x) : i8[2]", "%2 = bitwise_invert(%1) : i8[2]", "%2"), "x", types="i8[2]",
              params="x: i8[2]"),),
    ),
    RewriteRule("plus", "+x is x", ("positive",), _is_its_operand, (case(("%1 = positive(x) : f32[2]", "%1"), "x"),)),
    RewriteRule(
        "abs twice", "abs(abs(x)) is abs(x)", ("abs",), _again,
        (case(("%1 = abs(x) : f32[2]", "%2 = abs(%1) : f32[2]", "%2"), ("%1 = abs(x) : f32[2]", "%1")),),
    ),
    RewriteRule(
        "abs of negative", "abs(-x) is abs(x)", ("abs",), _abs_of_negative,
        (case(("%1 = negative(x) : f32[2]", "%2 = abs(%1) : f32[2]", "%2"), ("%1 = abs(x) : f32[2]", "%1")),),
    ),
    RewriteRule(
        "add negative", "x + (-y) is x - y, x - (-y) is x + y: IEEE subtraction is addition of the negative",
        ("add", "subtract"), _minus_negative,
        (case(("%1 = negative(y) : f32[2]", "%2 = add(x, %1) : f32[2]", "%2"), ("%1 = subtract(x, y) : f32[2]", "%1"),
              params="x: f32[2], y: f32[2]"),
         case(("%1 = negative(y) : f32[2]", "%2 = subtract(x, %1) : f32[2]", "%2"), ("%1 = add(x, y) : f32[2]", "%1"),
              params="x: f32[2], y: f32[2]")),
    ),
    RewriteRule(
        "power one", "x ** 1 is x", ("power",), _power_one,
        (case(("%1 = power(x, ~1) : i64[2]", "%1"), "x", types="i64[2]", params="x: i64[2]"),
         case(("%1 = power(x, ~1) : f32[2]", "%1"), "x")),
    ),
    RewriteRule(
        "power two", "x ** 2 is x * x for integers: both count modulo 2 ** bits", ("power",),
        lambda s, n: _square_of(s, n, "int"),
        (case(("%1 = power(x, ~2) : i64[2]", "%1"), ("%1 = multiply(x, x) : i64[2]", "%1"), types="i64[2]",
              params="x: i64[2]"),),
    ),
    RewriteRule(
        "power two of floats", "x ** 2 is x * x", ("power",), lambda s, n: _square_of(s, n, "float"),
        (case(("%1 = power(x, ~2) : f32[2]", "%1"), ("%1 = multiply(x, x) : f32[2]", "%1")),),
        exact=False, differs="by one unit in the last place where the library's pow does not round correctly",
    ),
    RewriteRule(
        "power three", "x ** 3 is x * x * x, as eager mode computes it", ("power",), _cube,
        (case(("%1 = power(x, ~3) : f32[2]", "%1"),
              ("%1 = multiply(x, x) : f32[2]", "%2 = multiply(%1, x) : f32[2]", "%2")),),
    ),
    RewriteRule(
        "idempotent", "max(x, x), min(x, x), x & x, x | x are x",
        ("maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and", "logical_or"), _same_operands,
        (case(("%1 = maximum(x, x) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "and true", "x and True is x", ("logical_and",), _with_truth(True),
        (case(("%1 = logical_and(x, True) : bool[2]", "%1"), "x", types="bool[2]", params="x: bool[2]"),),
    ),
    RewriteRule(
        "or false", "x or False is x", ("logical_or",), _with_truth(False),
        (case(("%1 = logical_or(False, x) : bool[2]", "%1"), "x", types="bool[2]", params="x: bool[2]"),),
    ),
    RewriteRule(
        "where same", "where(c, x, x) is x", ("where",), _where_same,
        (case(("%1 = where(c, x, x) : f32[2]", "%1"), "x", params="x: f32[2], c: bool[2]"),),
    ),
    RewriteRule(
        "where known", "where(True, x, y) is x, where(False, x, y) is y", ("where",), _where_known,
        (case(("%1 = where(False, y, x) : f32[2]", "%1"), "x", params="x: f32[2], y: f32[2]"),
         unchanged(("%1 = where(True, x, y) : f32[2]", "%1"), "the other branch gives the shape",
                   params="x: f32[], y: f32[2]")),
    ),
    RewriteRule(
        "cast to the same", "a cast to the dtype a tensor has is the tensor", ("cast",), _cast_same,
        (case(("%1 = cast(x, dtype=f32) : f32[2]", "%1"), "x"),
         unchanged(("%1 = cast(x, dtype=f64) : f64[2]", "%1"), "another dtype", types="f64[2]")),
    ),
    RewriteRule(
        "cast of a lossless cast", "a cast of a cast is one cast if the first one lost nothing", ("cast",), _cast_cast,
        (case(("%1 = cast(x, dtype=f64) : f64[2]", "%2 = cast(%1, dtype=f16) : f16[2]", "%2"),
              ("%1 = cast(x, dtype=f16) : f16[2]", "%1"), types="f16[2]"),
         unchanged(("%1 = cast(x, dtype=f16) : f16[2]", "%2 = cast(%1, dtype=f32) : f32[2]", "%2"),
                   "float16 has lost digits")),
    ),
)  # fmt: skip
