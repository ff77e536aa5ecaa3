"""Laws of matrix products, and of indexing by numbers.

The gradient of a weight that was used on many rows of many sequences is, as differentiated,

    x [b, m, k], d [b, m, n]      transpose(sum over b of (x[b].T @ d[b]))      b products, a sum, a transpose
                                  d' .T @ x'   with d' [b * m, n], x' [b * m, k]      one product, b times as long

A transpose of an operand costs nothing (libraries read with strides), one of a result is a walk over memory.

An index by numbers alone is a slice without the axes of size 1: libraries and kernels read slices where they lie, and
adjoints of slices that cover an axis without overlap are put side by side instead of added up.
"""

from __future__ import annotations

from typing import Any

from msnb.core import Dim, Shape, TensorType, sliced_axis
from msnb.graph.compile.rewriting import Found, GraphRewriter, RewriteRule, op_of
from msnb.graph.compile.rules.arithmetic import case, unchanged
from msnb.ir.graph import Node, Value
from msnb.ops.definition.symbolic_sizes import has_sizes, is_bindable, product as product_of, sliced


def _sizes(value: Value) -> Shape | None:
    t = value.type
    return t.shape if isinstance(t, TensorType) and has_sizes(t) and not t.weak else None


def swaps_last(perm: tuple[int, ...]) -> bool:
    """Whether an order of axes swaps the last two."""
    n = len(perm)
    return n >= 2 and tuple(perm) == (*range(n - 2), n - 1, n - 2)


def _swapped(sweep: GraphRewriter, x: Value) -> Value:
    shape = _sizes(x)
    assert shape is not None
    n = len(shape)
    return sweep.emit("transpose", x, perm=(*range(n - 2), n - 1, n - 2))


def _transposed_base(value: Value) -> Value | None:
    """x where ``value`` is x with its last two axes exchanged."""
    node = op_of(value, "transpose")
    return node.inputs[0] if node is not None and swaps_last(node.attrs["perm"]) else None


def _sum_of_products(sweep: GraphRewriter, node: Node) -> Found:
    product = op_of(node.inputs[0], "matmul")
    base = None if product is None else _transposed_base(product.inputs[0])
    if product is None or base is None:
        return None
    x, y = _sizes(base), _sizes(product.inputs[1])
    if x is None or y is None or len(x) < 3 or x[:-1] != y[:-1] or node.attrs["shape"] != (x[-1], y[-1]):
        return None
    rows = product_of(x[:-1])
    left = sweep.emit("reshape", base, shape=(rows, x[-1]))
    right = sweep.emit("reshape", product.inputs[1], shape=(rows, y[-1]))
    return sweep.emit("matmul", _swapped(sweep, left), right)


def _transposed_product(sweep: GraphRewriter, node: Node) -> Found:
    terms = _terms(node.inputs[0]) if swaps_last(node.attrs["perm"]) else []
    if not terms or not all(_gains_by_swap(term) for term in terms if term.op.name == "matmul"):
        return None
    swapped: dict[Value, Value] = {}
    for term in terms:
        a, b = term.inputs
        if term.op.name == "matmul":
            swapped[term.out] = sweep.emit("matmul", _swapped(sweep, b), _swapped(sweep, a))
        else:
            swapped[term.out] = sweep.emit("add", swapped[a], swapped[b])
    return swapped[node.inputs[0]]


def _terms(value: Value) -> list[Node]:
    """A product, or a sum of products with its partial sums, operands first; [] for anything else, and where a term is
    added twice."""
    found: dict[Value, Node] = {}
    queue = [value]
    while queue:
        v = queue.pop()
        node = op_of(v, "matmul", "add")
        if node is None or v.type != value.type or v in found:
            return []
        found[v] = node
        if node.op.name == "add":
            queue += node.inputs
    return list(found.values())[::-1]


def _gains_by_swap(product: Node) -> bool:
    """A product of matrices, one of them transposed."""
    matrices = all(len(_sizes(v) or ()) >= 2 for v in product.inputs)
    return matrices and any(_transposed_base(v) is not None for v in product.inputs)


# ---- indexing by numbers ----


def _box(spec: tuple[Any, ...], sizes: Shape) -> dict[str, Any] | None:
    """The slice that a spec of ints, slices and new axes takes."""
    begin: list[Any] = []
    end: list[Any] = []
    step: list[Any] = []
    for entry in (e for e in spec if e is not None):
        if isinstance(entry, tuple):
            first, last, stride = entry
        elif isinstance(entry, int) and (entry < 0 or isinstance(sizes[len(begin)], int)):
            first, last, stride = entry, entry + 1 or None, 1
        else:
            return None
        begin.append(first)
        end.append(last)
        step.append(1 if stride is None else stride)
    return {"begin": tuple(begin), "end": tuple(end), "step": tuple(step)}


def _index_is_slice(sweep: GraphRewriter, node: Node) -> Found:
    sizes, out = _sizes(node.inputs[0]), _sizes(node.out)
    box = None if sizes is None or out is None or len(node.inputs) > 1 else _box(node.attrs["spec"], sizes)
    if box is None or 0 in (sizes or ()):
        return None
    return sweep.emit("reshape", sweep.emit("slice", node.inputs[0], **box), shape=out)


def _unindex_is_unslice(sweep: GraphRewriter, node: Node) -> Found:
    whole = node.attrs["shape"]
    if len(node.inputs) > 1 or not all(is_bindable(d) and d for d in whole) or _sizes(node.inputs[0]) is None:
        return None
    box = _box(node.attrs["spec"], whole)
    if box is None:
        return None
    part = [sliced(d, b, e, s) for b, e, s, d in zip(*box.values(), whole)]
    return sweep.emit("unslice", sweep.emit("reshape", node.inputs[0], shape=(*part, *whole[len(part) :])),
                      shape=whole, **box)  # fmt: skip


class _Coverage:
    """(axis, how many of its places) the parts in a sum take together, for every sum met so far; None for a sum of
    anything else. A chain of additions is asked at every one of them: each looks at its two summands alone."""

    def __init__(self) -> None:
        self._known: dict[Value, tuple[int, int] | None] = {}

    def __call__(self, value: Value) -> tuple[int, int] | None:
        queue = [value]
        while queue:
            v = queue[-1]
            node = op_of(v, "add", "unslice")
            missing = [] if node is None or v in self._known else [x for x in _summands(node) if x not in self._known]
            if missing:
                queue += missing
                continue
            if v not in self._known:
                self._known[v] = None if node is None else self._of(node)
            queue.pop()
        return self._known[value]

    def _of(self, node: Node) -> tuple[int, int] | None:
        if node.op.name == "unslice":
            place = _one_axis(node)
            return None if place is None else (place[0], place[2] - place[1])
        parts = [self._known[v] for v in node.inputs]
        if None in parts or any(v.type != node.out.type for v in node.inputs):
            return None
        axes, counts = zip(*(p for p in parts if p is not None))
        size = (_sizes(node.out) or ())[axes[0]]
        return (axes[0], sum(counts)) if axes[0] == axes[1] and sum(counts) <= size else None


def _pieces(sweep: GraphRewriter, value: Value) -> list[Node] | None:
    """The unslices that are added up, where they take as many places as the axis has; else None."""
    covered = sweep.memory.setdefault(_Coverage, _Coverage())
    found: list[Node] = []
    place = covered(value)
    queue = [value] if place is not None and (_sizes(value) or ())[place[0]] == place[1] else []
    while queue:
        node = op_of(queue.pop(), "add", "unslice")
        assert node is not None
        queue += _summands(node)
        found += [] if _summands(node) else [node]
    return found or None


def _summands(node: Node) -> list[Value]:
    return node.inputs if node.op.name == "add" else []


def _one_axis(node: Node) -> tuple[int, int, int] | None:
    """(axis, begin, end) where a box with step 1 takes a part of one axis alone."""
    taken = []
    sizes = node.attrs["shape"]
    for axis, (b, e, s) in enumerate(zip(node.attrs["begin"], node.attrs["end"], node.attrs["step"])):
        size = sizes[axis]
        if isinstance(size, Dim):
            if (b, e, s) != (None, None, 1):
                return None
            continue
        first, count, stride = sliced_axis(size, (b, e, s))
        if stride != 1:
            return None
        if first != 0 or count != size:
            taken.append((axis, first, first + count))
    return taken[0] if len(taken) == 1 else None


def _side_by_side(sweep: GraphRewriter, node: Node) -> Found:
    pieces = _pieces(sweep, node.out)
    places = [_one_axis(p) for p in pieces or ()]
    if pieces is None or any(p is None for p in places):
        return None
    order = sorted(zip([p for p in places if p is not None], pieces), key=lambda pair: pair[0])
    axis, edge = order[0][0][0], 0
    for (a, first, last), _ in order:
        if a != axis or first != edge:
            return None
        edge = last
    if edge != pieces[0].attrs["shape"][axis]:
        return None
    return sweep.emit("concat", *(p.inputs[0] for _, p in order), axis=axis)


_ROWS = "x: f32[5,2,3], y: f32[5,2,4]"
_ORDER = "in the last digits: libraries add the products in another order"
_USED_TWICE = "x: f32[2,3], y: f32[2,4], u: f32[5,3], v: f32[5,4]"
_HALVES = "x: f32[1,3], y: f32[1,3]"
PRODUCTS: tuple[RewriteRule, ...] = (
    RewriteRule(
        "sum of products", "a sum of products x[b].T @ y[b] is one product of all rows", ("sum_to",), _sum_of_products,
        (case(("%1 = transpose(x, perm=(0, 2, 1)) : f32[5,3,2]", "%2 = matmul(%1, y) : f32[5,3,4]",
               "%3 = sum_to(%2, shape=(3, 4)) : f32[3,4]", "%3"),
              ("%1 = reshape(x, shape=(10, 3)) : f32[10,3]", "%2 = reshape(y, shape=(10, 4)) : f32[10,4]",
               "%3 = transpose(%1, perm=(1, 0)) : f32[3,10]", "%4 = matmul(%3, %2) : f32[3,4]", "%4"), types="f32[3,4]",
              params=_ROWS),),
        exact=False, differs=_ORDER,
    ),
    RewriteRule(
        "transpose of a product", "(a.T @ b).T is b.T @ a, also in a sum: operands are transposed for nothing",
        ("transpose",),
        _transposed_product,
        (case(("%1 = transpose(x, perm=(1, 0)) : f32[3,2]", "%2 = matmul(%1, y) : f32[3,4]",
               "%3 = transpose(%2, perm=(1, 0)) : f32[4,3]", "%3"),
              ("%1 = transpose(y, perm=(1, 0)) : f32[4,2]", "%2 = matmul(%1, x) : f32[4,3]", "%2"), types="f32[4,3]",
              params="x: f32[2,3], y: f32[2,4]"),
         case(("%1 = transpose(x, perm=(1, 0)) : f32[3,2]", "%2 = matmul(%1, y) : f32[3,4]",
               "%3 = transpose(u, perm=(1, 0)) : f32[3,5]", "%4 = matmul(%3, v) : f32[3,4]",
               "%5 = add(%2, %4) : f32[3,4]", "%6 = transpose(%5, perm=(1, 0)) : f32[4,3]", "%6"),
              ("%1 = transpose(y, perm=(1, 0)) : f32[4,2]", "%2 = matmul(%1, x) : f32[4,3]",
               "%3 = transpose(v, perm=(1, 0)) : f32[4,5]", "%4 = matmul(%3, u) : f32[4,3]",
               "%5 = add(%2, %4) : f32[4,3]", "%5"), "the gradient of a weight that was used twice", types="f32[4,3]",
              params=_USED_TWICE),
         unchanged(("%1 = matmul(x, y) : f32[2,4]", "%2 = transpose(%1, perm=(1, 0)) : f32[4,2]", "%2"),
                   "two transposes for one are no gain", types="f32[4,2]", params="x: f32[2,3], y: f32[3,4]")),
        exact=False, differs=_ORDER,
    ),
    RewriteRule(
        "index by numbers", "an index by numbers is a slice without the axes it takes one place of", ("index",),
        _index_is_slice,
        (case(("%1 = index(x, spec=(1,)) : f32[3]", "%1"),
              ("%1 = slice(x, begin=(1,), end=(2,), step=(1,)) : f32[1,3]", "%2 = reshape(%1, shape=(3,)) : f32[3]",
               "%2"), types="f32[3]", params="x: f32[2,3]"),),
    ),
    RewriteRule(
        "put back by numbers", "zeros with a tensor at numbers are the adjoint of a slice", ("unindex",),
        _unindex_is_unslice,
        (case(("%1 = unindex(x, spec=(1,), shape=(2, 3)) : f32[2,3]", "%1"),
              ("%1 = reshape(x, shape=(1, 3)) : f32[1,3]",
               "%2 = unslice(%1, shape=(2, 3), begin=(1,), end=(2,), step=(1,)) : f32[2,3]", "%2"), types="f32[2,3]",
              params="x: f32[3]"),),
    ),
    RewriteRule(
        "side by side", "a sum of parts that fill an axis, each with zeros around it, is the parts side by side",
        ("add",), _side_by_side,
        (case(("%1 = unslice(x, shape=(2, 3), begin=(1,), end=(2,), step=(1,)) : f32[2,3]",
               "%2 = unslice(y, shape=(2, 3), begin=(0,), end=(1,), step=(1,)) : f32[2,3]",
               "%3 = add(%1, %2) : f32[2,3]", "%3"), ("%1 = concat(y, x) : f32[2,3]", "%1"), types="f32[2,3]",
              params=_HALVES),
         unchanged(("%1 = unslice(x, shape=(2, 3), begin=(1,), end=(2,), step=(1,)) : f32[2,3]",
                    "%2 = unslice(y, shape=(2, 3), begin=(1,), end=(2,), step=(1,)) : f32[2,3]",
                    "%3 = add(%1, %2) : f32[2,3]", "%3"), "they overlap", types="f32[2,3]", params=_HALVES)),
        exact=False, differs="in the sign of zero: -0.0 + 0.0 is 0.0",
    ),
)  # fmt: skip
