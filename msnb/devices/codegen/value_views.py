"""How the values of a graph lie in others: views cost nothing where their base lies dense.

%1 = transpose(x)        a view of x with other strides: whoever reads strides reads x
%2 = reshape(x)          lies densely in x: nothing to compute for anybody
"""

from __future__ import annotations

from msnb.core import TensorType, Type
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, apply_view, dense_strides, whole


class Views:
    """How values lie in others."""

    def __init__(self) -> None:
        self._known: dict[Value, View] = {}

    def of(self, value: Value) -> View:
        """The value as a view of what must be computed."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._find(value)
        return found

    def _find(self, value: Value) -> View:
        node = value.node
        if node is None or not _looks_through(node):
            return whole(value)
        source = node.inputs[0]
        if node.op.view == "identity":
            return self.of(source)
        return apply_view(node, self.of(source)) or apply_view(node, whole(source)) or whole(value)

    def base(self, value: Value) -> Value:
        """What must be computed so that ``value`` lies somewhere densely: another value, or itself."""
        if not _is_plain(value.type):
            return value
        view = self.of(value)
        return view.base if _is_dense(view) else value

    def offset(self, value: Value) -> int:
        """Where it lies in its base, in bytes."""
        assert isinstance(value.type, TensorType)
        return self.of(value).offset * value.type.dtype.itemsize


def _looks_through(node: Node) -> bool:
    if not node.op.view:
        return False
    source, out = node.inputs[0].type, node.out.type
    return _is_plain(source) and _is_plain(out) and source.dtype is out.dtype  # type: ignore[union-attr]


def _is_plain(t: Type) -> bool:
    return isinstance(t, TensorType) and not t.weak and 0 not in t.shape


def _is_dense(view: View) -> bool:
    want = dense_strides(view.shape)
    return all(d == 1 or s == w for d, s, w in zip(view.shape, view.strides, want))
