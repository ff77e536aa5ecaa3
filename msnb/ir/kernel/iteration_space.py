"""One index space for a group of nodes: which dim each axis of each value runs along.

    x: [32, 1000]                 axes (i0, i1)
    m = max(x, axis=1)            axes (i0)            reduced over {i1}
    e = expand_dims(m, 1)         axes (i0, -)         an axis of size 1 has no dim
    y = x - e                     axes (i0, i1)        operands meet axis by axis, counted from the right

Adding a node succeeds when its operands agree on the dims, or not at all; then the node has no place in this group. A
value made outside the group is flexible: it takes the dims of what it meets, through any strides (see ``views``). The
same procedure serves twice: to decide what is fused, and to lower what was.

Laws of a space: once something is reduced no dim is added. The reductions that are read inside the group all run over
the same dims, the row, and the innermost dim is one of them (or the row would be walked in long strides); any other
reduction takes in the whole row or nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msnb.core import TensorType, dtypes, size_hint, tensor_type
from msnb.ir.graph import Node, Value, sizes_of
from msnb.ir.kernel.scalar_expressions import SINGLE, functions, is_heavy
from msnb.ir.kernel.strided_views import View, apply_view, whole
from msnb.ops.definition.type_inference import normal_axes

MAKERS = frozenset(("zeros", "ones", "full"))
WHOLE_ROW = 16384
FEW_POINTS = 2048
Axes = tuple[int | None, ...]


def kind_of(node: Node) -> str:
    """ "view", "reduce", "elementwise", "constant", or "" for what no kernel is made of. Judged by types and record."""
    types = [v.type for v in (*node.inputs, *node.outputs)]
    if len(node.outputs) != 1 or not all(_plain(t) for t in types):
        return ""
    if node.op.view not in ("", "identity"):
        return "view" if len(node.inputs) == 1 else ""
    if node.op.reduction:
        return "reduce"
    if node.op.scalar is not None and ("elementwise" in node.op.traits or node.op.name in MAKERS):
        single = any(getattr(t, "dtype", None) is dtypes.float64 for t in types) and functions(node.op.scalar) & SINGLE
        return "" if single else "elementwise"
    return ""


def _plain(t: object) -> bool:
    if not isinstance(t, TensorType) or not t.is_static or t.dtype.is_complex:
        return False
    return 0 not in t.shape


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes of its operand over which a node reduces."""
    x, out = node.inputs[0].type, node.out.type
    assert isinstance(x, TensorType) and isinstance(out, TensorType)
    if "axis" in node.attrs:
        return normal_axes(node.op.name, node.attrs["axis"], x.ndim)
    gap = x.ndim - out.ndim
    return tuple(i for i in range(x.ndim) if i < gap or (out.shape[i - gap] == 1 and x.shape[i] != 1))


class Space:
    """The dims of a group and the axes of its values.

    Attributes:
        sizes: of the dims, by number; order: the numbers, outermost first.
        axes: of the values made inside.
        views: of the values that are views of values made outside.
        over: for a value that is a reduction (or a view of one), the dims it reduced.
        operand: for a reducing node, the axes of what it reduces.
        row: the dims of the reductions that are read inside, or None.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.order: list[int] = []
        self.axes: dict[Value, Axes] = {}
        self.views: dict[Value, View] = {}
        self.over: dict[Value, frozenset[int]] = {}
        self.operand: dict[Node, Axes] = {}
        self.row: frozenset[int] | None = None
        self.heavy: bool = False

    # ---- adding a node ----

    def add(self, node: Node, spanned: bool = False) -> bool:
        """Give the node a place; False (and nothing changed) where it has none.

        Args:
            node: the node.
            spanned: only if the space stays ``spanned``.
        """
        before = len(self.sizes), list(self.order), self.row, self.heavy
        done = self._add(node)
        if done and spanned and len(self.sizes) > before[0] and not self.spanned():
            self._forget(node)
            done = False
        if not done:
            del self.sizes[before[0] :]
            self.order, self.row, self.heavy = before[1], before[2], before[3]
        return done

    def spanned(self) -> bool:
        """True where some value changes along every dim. Where none does (a column and a row that nobody brings
        together), everything would be computed again and again; a few points of that cost less than a kernel more."""
        dims = {d for d, size in enumerate(self.sizes) if size > 1}
        walked = (*self.axes.values(), *self.operand.values())
        return size_hint(math.prod(self.sizes)) <= FEW_POINTS or any(dims.issubset(axes) for axes in walked)

    def _forget(self, node: Node) -> None:
        for known in (self.axes, self.views, self.over):
            known.pop(node.out, None)
        self.operand.pop(node, None)

    def _add(self, node: Node) -> bool:
        kind = kind_of(node)
        if kind == "view":
            return self._view(node)
        return self._reduce(node) if kind == "reduce" else kind == "elementwise" and self._elementwise(node)

    def constant(self, value: Value) -> None:
        """A number that is part of the program."""
        assert isinstance(value.type, TensorType)
        self.axes[value] = (None,) * value.type.ndim

    def view(self, value: Value) -> View:
        """A value made outside, as a view of its base."""
        return self.views.get(value) or whole(value)

    def _elementwise(self, node: Node) -> bool:
        axes = self._meet(sizes_of(node.out), node.inputs)
        if axes is None or not all(self._read(v) for v in node.inputs):
            return False
        self.axes[node.out] = axes
        self.heavy = self.heavy or is_heavy(node.op)
        return True

    def _read(self, value: Value) -> bool:
        """A reduction that is read inside makes its dims the row."""
        over = self.over.get(value)
        if not over:
            return True
        if self.row is not None:
            return self.row == over
        rows = math.prod(self.sizes) // math.prod(self.sizes[d] for d in over)
        if rows == 1 and size_hint(math.prod(self.sizes)) > WHOLE_ROW:
            return False
        if not all(over <= other or not over & other for other in self.over.values()) or self.order[-1] not in over:
            return False
        self.row = over
        return True

    def _meet(self, shape: tuple[int, ...], operands: Sequence[Value]) -> Axes | None:
        """The axes on which operands agree; flexible ones take the dims they find."""
        axes: list[int | None] = [None] * len(shape)
        for v in operands:
            for k, d in enumerate(self.axes.get(v, ())):
                at = len(shape) - len(self.axes[v]) + k
                if d is not None and axes[at] not in (None, d):
                    return None
                axes[at] = axes[at] if d is None else d
        named = [d for d in axes if d is not None]
        if len(set(named)) != len(named):
            return None
        for at in reversed(range(len(shape))):
            if axes[at] is None and shape[at] > 1 and any(self._extends(v, at - len(shape)) for v in operands):
                axes[at] = self.dim_for(axes, at, shape[at])
                if axes[at] is None:
                    return None
        return tuple(axes)

    def _extends(self, value: Value, back: int) -> bool:
        """True for a flexible operand with elements of its own along the axis ``back`` from the right."""
        if value in self.axes:
            return False
        view = self.view(value)
        return -back <= len(view.shape) and view.strides[back] != 0 and view.shape[back] > 1

    def dim_for(self, axes: Sequence[int | None], at: int, size: int) -> int | None:
        """A dim for an axis that has none: the innermost that fits between its neighbours, or a new one."""
        place = {d: i for i, d in enumerate(self.order)}
        low = max((place[d] for d in axes[:at] if d is not None), default=-1)
        high = min((place[d] for d in axes[at + 1 :] if d is not None), default=len(self.order))
        for i in range(high - 1, low, -1):
            d = self.order[i]
            if self.sizes[d] == size and d not in axes:
                return d
        if self.over or (self.heavy and self.sizes) or low >= high:
            return None
        self.sizes.append(size)
        self.order.insert(high, len(self.sizes) - 1)
        return len(self.sizes) - 1

    # ---- views and reductions ----

    def _view(self, node: Node) -> bool:
        x = node.inputs[0]
        if x not in self.axes:
            view = apply_view(node, self.view(x))
            if view is not None:
                self.views[node.out] = view
            return view is not None
        axes = _moved(node, self.axes[x], sizes_of(x), sizes_of(node.out))
        if axes is None:
            return False
        self.axes[node.out] = axes
        if x in self.over:
            self.over[node.out] = self.over[x]
        return True

    def _reduce(self, node: Node) -> bool:
        x = node.inputs[0]
        shape = sizes_of(x)
        axes = self._meet(shape, (x,))
        gone = reduced_axes(node)
        if axes is None or any(axes[a] is None and shape[a] > 1 for a in gone) or not self._read(x):
            return False
        over = frozenset(d for d in (axes[a] for a in gone) if d is not None)
        if self.row is not None and not (self.row <= over or not self.row & over):
            return False
        if node.op.reduction == "var" and over and not self._as_row(over):
            return False
        self.axes[node.out], self.operand[node] = _axes_left(node, axes), axes
        if over:
            self.over[node.out] = over
        return True

    def _as_row(self, over: frozenset[int]) -> bool:
        marker = Value(tensor_type((), dtypes.bool_))
        self.over[marker] = over
        fits = self._read(marker)
        del self.over[marker]
        return fits

    # ---- results ----

    def stored(self, value: Value) -> Axes | None:
        """The axes along which a value is stored: every axis above size 1 needs a dim. None where it finds none."""
        axes = list(self.axes[value])
        for at, size in reversed(list(enumerate(sizes_of(value)))):
            if axes[at] is None and size > 1:
                axes[at] = self.dim_for(axes, at, size)
                if axes[at] is None or (value in self.over):
                    return None
        return tuple(axes)


def _axes_left(node: Node, axes: Axes) -> Axes:
    """The axes after a reduction, which may keep those that it reduces as axes of size 1."""
    gone, ndim, kept = reduced_axes(node), len(axes), len(sizes_of(node.out))
    left = tuple(None if a in gone else d for a, d in enumerate(axes))
    if kept == ndim:
        return left
    drop = range(ndim - kept) if "shape" in node.attrs else gone
    return tuple(d for a, d in enumerate(left) if a not in drop)


def _moved(node: Node, axes: Axes, old: tuple[int, ...], new: tuple[int, ...]) -> Axes | None:
    """The axes after a view op that leaves every element at its point of the space."""
    if node.op.view == "transpose":
        return tuple(axes[p] for p in node.attrs["perm"])
    if node.op.view == "broadcast":
        return (None,) * (len(new) - len(old)) + axes
    if node.op.view in ("slice", "index") or [d for d in old if d != 1] != [d for d in new if d != 1]:
        return None
    left = iter([a for a, d in zip(axes, old) if d != 1])
    return tuple(None if d == 1 else next(left) for d in new)
