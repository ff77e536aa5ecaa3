"""Laws of sums: what does not vary along the summed axes is multiplied in afterwards, and sums are shared.

The gradient of a normalisation is full of sums of the same things. With c = x - mean, r = 1 / sqrt(var + eps), per
channel:

    as differentiated                                              as it is left
    sum(dy)                                                        b = sum(dy)
    sum(dy * (c * r))                                              s = sum(dy * c) ; s * r
    sum(dy * g * c)                                                s * g
    sum(-(dy * g * r + k * (c * 2)))       k from the one before   -(b * g * r + k * 2 * (mean * 0))

Four walks over dy, the last of which must wait for the third, become one with two sums. The deviations from a mean add
up to nothing; mean * 0 stands for it because it is NaN where the mean is NaN or infinite.

No law here keeps the last digits (``differs``): they are for ``regroup``, which a device asks for. Only float32 and
float64: shorter floats could overflow where the sum did not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msnb.core import WEAK, Shape, TensorType, dtypes
from msnb.graph.compile.rewriting import Found, GraphRewriter, RewriteRule, op_of
from msnb.graph.compile.rewriting.available_values import Axes, seen, summed_axes
from msnb.graph.compile.rules.arithmetic import case, unchanged
from msnb.ir import Const, Node, Value
from msnb.ops.definition import has_sizes, normal_axes
from msnb.ops.elementwise.constant import constant

_MOST = 8


def _shape(value: Value) -> Shape:
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _is_wide(value: Value, like: Value) -> bool:
    """A tensor in the dtype of ``like``, or a Python number."""
    t, want = value.type, like.type
    if not isinstance(t, TensorType) or not isinstance(want, TensorType) or not has_sizes(t):
        return False
    return t.weak if t.dtype is not want.dtype else want.dtype in (dtypes.float32, dtypes.float64)


def _constant_along(value: Value, axes: Axes, ndim: int) -> bool:
    """True where ``value``, broadcast to ``ndim`` axes, is the same all along ``axes``."""
    shape = _shape(value)
    gap = ndim - len(shape)
    return all(a < gap or shape[a - gap] == 1 for a in axes)


@dataclass
class _Product:
    """A product as what varies along the axes, what does not (and is divided by), and a sign."""

    varying: list[Value] = field(default_factory=list)
    fixed: list[tuple[Value, bool]] = field(default_factory=list)
    negative: bool = False

    @property
    def terms(self) -> int:
        return len(self.varying) + len(self.fixed)

    @property
    def pulls(self) -> bool:
        """True when something can be taken out of the sum."""
        return bool(self.varying) and (bool(self.fixed) or self.negative)


def _factors(x: Value, axes: Axes) -> _Product:
    """The factors of x. A quotient inside a product stays whole: it is there already, its dividend need not be kept."""
    found, queue, ndim = _Product(), [x], len(_shape(x))
    while queue:
        v = queue.pop(0)
        node, outermost = v.node, not queue and not found.varying
        if _constant_along(v, axes, ndim) and _is_wide(v, x):
            found.fixed.append((v, False))
        elif node is None or found.terms + len(queue) >= _MOST or not _comes_apart(node, axes, x, outermost):
            found.varying.append(v)
        elif node.op.name == "multiply":
            queue[:0] = node.inputs
        else:
            queue.insert(0, node.inputs[0])
            found.negative ^= node.op.name == "negative"
            found.fixed += [(node.inputs[1], True)] if node.op.name == "divide" else []
    return found


def _comes_apart(node: Node, axes: Axes, x: Value, outermost: bool) -> bool:
    """Whether a node of the product x stands for its operands as factors."""
    ndim = len(_shape(x))
    match node.op.name:
        case "negative":
            return True
        case "multiply":
            return all(_is_wide(i, x) for i in node.inputs) and not _has_weight(node)
        case "broadcast_to":
            return _constant_along(node.inputs[0], axes, ndim)
        case "divide":
            return outermost and _divides_evenly(node, axes, ndim, x)
    return False


def _is_weight(value: Value) -> bool:
    """A weight of a mean, as softmax makes them. Where one weight takes all, the mean is one of its terms, which the
    gradient subtracts from that very term: a product that is formed in another order would leave noise."""
    quotient = op_of(value, "divide")
    return op_of(value if quotient is None else quotient.inputs[0], "exp") is not None


def _has_weight(product: Node) -> bool:
    """Whether a weight is among the factors of a product, or of its factors."""
    queue = list(product.inputs)
    for v in queue:
        if _is_weight(v):
            return True
        inner = op_of(v, "multiply", "negative", "divide")
        if inner is not None and len(queue) < 2 * _MOST:
            queue += inner.inputs
    return False


def _divides_evenly(node: Node, axes: Axes, ndim: int, like: Value) -> bool:
    x, y = node.inputs
    return _is_wide(x, like) and _is_wide(y, like) and _constant_along(y, axes, ndim)


def _kept_shape(x: Value, axes: Axes) -> Shape:
    return tuple(1 if a in axes else d for a, d in enumerate(_shape(x)))


def _reshaped(sweep: GraphRewriter, value: Value, shape: Shape) -> Value:
    return value if _shape(value) == shape else sweep.emit("reshape", value, shape=shape)


def _product(sweep: GraphRewriter, values: list[Value]) -> Value:
    """The product of values, in the order given; two that were multiplied before are not again."""
    out = values[0]
    for v in values[1:]:
        out = seen(sweep).products.get(frozenset((out, v))) or sweep.emit("multiply", out, v)
    return out


def _summed(sweep: GraphRewriter, x: Value, axes: Axes) -> Value:
    """The sum of ``x`` with its axes kept: one that is there, nothing for deviations from a mean, or a new one."""
    shape = _kept_shape(x, axes)
    there = seen(sweep).sums.get((x, axes))
    if there is None:
        mean = _mean_of_deviations(x, axes)
        if mean is not None:
            return sweep.emit("multiply", mean, sweep.constant(0.0, WEAK[float]))
        there = sweep.emit("sum_to", x, shape=shape)
    return _reshaped(sweep, there, shape)


def _mean_of_deviations(x: Value, axes: Axes) -> Value | None:
    """m where x = u - m and m = mean(u) over just these axes."""
    node = op_of(x, "subtract")
    mean = None if node is None else op_of(node.inputs[1], "mean")
    if node is None or mean is None or mean.inputs[0] is not node.inputs[0] or not mean.attrs["keepdims"]:
        return None
    over = normal_axes("mean", mean.attrs["axis"], len(_shape(x)))
    same = tuple(sorted(a for a in over if _shape(x)[a] != 1)) == axes and _shape(mean.out) == _kept_shape(x, axes)
    return mean.out if same else None


def _scaled(sweep: GraphRewriter, total: Value, product: _Product) -> Value:
    total = sweep.emit("negative", total) if product.negative else total
    for v, divides in product.fixed:
        total = sweep.emit("divide" if divides else "multiply", total, v)
    return total


def _places(node: Node) -> Axes | None:
    """The summed axes of a sum that the laws may touch."""
    x = node.inputs[0]
    axes = summed_axes(node) if _is_wide(x, x) and _is_wide(node.out, x) else None
    return axes if axes and 0 not in _shape(x) else None


def _sum_of_multiple(sweep: GraphRewriter, node: Node) -> Found:
    axes, x = _places(node), node.inputs[0]
    if axes is None:
        return None
    product = _factors(x, axes)
    if not product.pulls:
        return None
    inner = _product(sweep, product.varying)
    if _shape(inner) != _shape(x):
        return None
    return _reshaped(sweep, _scaled(sweep, _summed(sweep, inner, axes), product), _shape(node.out))


def _same_sum(sweep: GraphRewriter, node: Node) -> Found:
    axes = _places(node)
    there = None if axes is None else seen(sweep).sums.get((node.inputs[0], axes))
    return None if there is None else _reshaped(sweep, there, _shape(node.out))


def _terms(x: Value) -> list[tuple[Value, bool]]:
    """x as a sum of terms, each with its sign."""
    found: list[tuple[Value, bool]] = []
    queue = [(x, False)]
    while queue:
        v, minus = queue.pop(0)
        node = op_of(v, "add", "subtract", "negative")
        if node is None or len(queue) + len(found) >= _MOST or any(_shape(i) != _shape(x) for i in node.inputs):
            found.append((v, minus))
        else:
            signs = (minus, minus != (node.op.name == "subtract")) if len(node.inputs) == 2 else (not minus,)
            queue[:0] = zip(node.inputs, signs)
    return found


def _pays(sweep: GraphRewriter, products: list[_Product], axes: Axes) -> bool:
    """Whether a term adds up to nothing, or the sums of all are there."""
    single = [p.varying[0] if len(p.varying) == 1 else None for p in products]
    nothing = [v is not None and _mean_of_deviations(v, axes) is not None for v in single]
    there = [v is not None and (v, axes) in seen(sweep).sums for v in single]
    return any(nothing) or all(there)


def _sum_of_terms(sweep: GraphRewriter, node: Node) -> Found:
    """Worth it where a term adds up to nothing, or all sums are there."""
    axes, x = _places(node), node.inputs[0]
    terms = [] if axes is None else _terms(x)
    if axes is None or len(terms) < 2:
        return None
    products = [_factors(v, axes) for v, _ in terms]
    if not all(p.varying for p in products) or not _pays(sweep, products, axes):
        return None
    total = None
    for (_, minus), product in zip(terms, products):
        inner = _product(sweep, product.varying)
        if _shape(inner) != _shape(x):
            return None
        part = _scaled(sweep, _summed(sweep, inner, axes), product)
        part = sweep.emit("negative", part) if minus else part
        total = part if total is None else sweep.emit("add", total, part)
    assert total is not None
    return _reshaped(sweep, total, _shape(node.out))


# ---- quotients: the gradient of softmax ----


def _quotient(value: Value) -> Node | None:
    """The division that makes a value, which may be broadcast."""
    wide = op_of(value, "broadcast_to")
    return op_of(value if wide is None else wide.inputs[0], "divide")


def _common_divisor(sweep: GraphRewriter, node: Node) -> Found:
    """a / s + t / s, where the second is broadcast."""
    a, b = (_quotient(v) for v in node.inputs)
    if a is None or b is None or a.inputs[1] is not b.inputs[1]:
        return None
    if not all(_is_wide(v, node.out) for v in (*a.inputs, *b.inputs)) or _shape(a.inputs[1]) == _shape(node.out):
        return None
    top = sweep.emit("add", a.inputs[0], b.inputs[0])
    return sweep.emit("divide", top, a.inputs[1]) if _shape(top) == _shape(node.out) else None


def _times_quotient(sweep: GraphRewriter, node: Node) -> Found:
    """u / s * e where e / s is there, and was there first."""
    for v, e in (node.inputs, node.inputs[::-1]):
        quotient = op_of(v, "divide")
        if quotient is None or not _is_wide(e, node.out) or _shape(e) == ():
            continue
        u, s = quotient.inputs
        known = seen(sweep)
        there = known.quotients.get((e, s))
        if there is not None and known.age[there] < known.age[v] and _is_wide(u, node.out):
            return sweep.emit("multiply", u, there)
    return None


def _power_of_two(sweep: GraphRewriter, node: Node) -> Found:
    """Exact: the reciprocal of a power of two is one, and both round the same real number."""
    x, y = node.inputs
    made = y.node
    if made is None or made.op is not constant or not _is_wide(x, node.out) or _shape(y) != ():
        return None
    const: Const = made.attrs["value"]
    number = float(const.data)  # type: ignore[arg-type]
    if not const.type.weak or number == 0 or abs(number) > 2.0**64 or abs(number) < 2.0**-64:
        return None
    if number.hex().lstrip("-").split("p")[0] != "0x1.0000000000000":
        return None
    return sweep.emit("multiply", x, sweep.constant(1.0 / number, WEAK[float]))


_NX = "x: f32[2,3], s: f32[2,1]"
_DIGITS = "in the last digits: products and sums are formed in another order"
SUMS: tuple[RewriteRule, ...] = (
    RewriteRule(
        "sum of a multiple", "the sum of x * s along axes where s is one number is s times the sum of x",
        ("sum", "sum_to"), _sum_of_multiple,
        (case(("%1 = multiply(x, s) : f32[2,3]", "%2 = sum(%1, axis=1) : f32[2]", "%2"),
              ("%1 = sum_to(x, shape=(2, 1)) : f32[2,1]", "%2 = multiply(%1, s) : f32[2,1]",
               "%3 = reshape(%2, shape=(2,)) : f32[2]", "%3"), params=_NX),
         case(("%1 = negative(x) : f32[2,3]", "%2 = sum_to(%1, shape=(2, 1)) : f32[2,1]", "%2"),
              ("%1 = sum_to(x, shape=(2, 1)) : f32[2,1]", "%2 = negative(%1) : f32[2,1]", "%2"), types="f32[2,1]",
              params="x: f32[2,3]"),
         unchanged(("%1 = multiply(x, s) : f16[2,3]", "%2 = sum_to(%1, shape=(2, 1)) : f16[2,1]", "%2"),
                   "a sum of short floats could overflow", types="f16[2,1]", params="x: f16[2,3], s: f16[2,1]"),
         unchanged(("%1 = exp(x) : f32[2,3]", "%2 = divide(%1, s) : f32[2,3]", "%3 = multiply(y, s) : f32[2,3]",
                    "%4 = multiply(%3, %2) : f32[2,3]", "%5 = sum_to(%4, shape=(2, 1)) : f32[2,1]", "%5"),
                   "softmax's gradient subtracts this mean from a term that it may equal", types="f32[2,1]",
                   params="x: f32[2,3], y: f32[2,3], s: f32[2,1]")),
        exact=False, differs=_DIGITS,
    ),
    RewriteRule(
        "sum of terms", "the sum of a + b is the sum of a and the sum of b, where the one is nothing or both are there",
        ("sum", "sum_to"), _sum_of_terms,
        (case(("%1 = mean(x, axis=(1,), keepdims=True) : f32[2,1]", "%2 = subtract(x, %1) : f32[2,3]",
               "%3 = add(y, %2) : f32[2,3]", "%4 = sum_to(%3, shape=(2, 1)) : f32[2,1]", "%4"),
              ("%1 = mean(x, axis=(1,), keepdims=True) : f32[2,1]", "%2 = sum_to(y, shape=(2, 1)) : f32[2,1]",
               "%3 = multiply(%1, ~0.0) : f32[2,1]", "%4 = add(%2, %3) : f32[2,1]", "%4"),
              "deviations from a mean add up to nothing, or to NaN", types="f32[2,1]",
              params="x: f32[2,3], y: f32[2,3]"),),
        exact=False, differs=_DIGITS,
    ),
    RewriteRule(
        "same sum", "a sum that is there is not formed again under another shape", ("sum", "sum_to"), _same_sum,
        (case(("%1 = sum_to(x, shape=(3,)) : f32[3]", "%2 = sum_to(x, shape=(1, 3)) : f32[1,3]", "%1, %2"),
              ("%1 = sum_to(x, shape=(3,)) : f32[3]", "%2 = reshape(%1, shape=(1, 3)) : f32[1,3]", "%1, %2"),
              types="f32[3], f32[1,3]", params="x: f32[2,3]"),),
        exact=False, differs="in the last digits, where a library adds in another order for another shape",
    ),
    RewriteRule(
        "common divisor", "a / s + b / s is (a + b) / s", ("add",), _common_divisor,
        (case(("%1 = divide(x, s) : f32[2,3]", "%2 = divide(y, s) : f32[2,1]",
               "%3 = broadcast_to(%2, shape=(2, 3)) : f32[2,3]", "%4 = add(%1, %3) : f32[2,3]", "%4"),
              ("%1 = add(x, y) : f32[2,3]", "%2 = divide(%1, s) : f32[2,3]", "%2"), types="f32[2,3]",
              params="x: f32[2,3], y: f32[2,1], s: f32[2,1]", gradient=True),),
        exact=False, differs=_DIGITS, of_gradients=True,
    ),
    RewriteRule(
        "times a quotient", "x / s * e is x * (e / s), where e / s is there", ("multiply",), _times_quotient,
        (case(("%1 = divide(y, s) : f32[2,3]", "%2 = divide(x, s) : f32[2,3]", "%3 = multiply(%2, y) : f32[2,3]",
               "%1, %3"), ("%1 = divide(y, s) : f32[2,3]", "%2 = multiply(x, %1) : f32[2,3]", "%1, %2"),
              types="f32[2,3], f32[2,3]", params="x: f32[2,3], y: f32[2,3], s: f32[2,1]", gradient=True),),
        exact=False, differs=_DIGITS, of_gradients=True,
    ),
    RewriteRule(
        "over a power of two", "x / 4 is x * 0.25", ("divide",), _power_of_two,
        (case(("%1 = divide(x, ~4.0) : f32[2]", "%1"), ("%1 = multiply(x, ~0.25) : f32[2]", "%1")),
         unchanged(("%1 = divide(x, ~3.0) : f32[2]", "%1"), "a third is no binary number")),
    ),
)  # fmt: skip
