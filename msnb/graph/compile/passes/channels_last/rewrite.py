"""Layouts: convolutions and poolings work on images whose channels are last.

    %1 = conv2d(x, w)                           %a = transpose(x, perm=(0, 2, 3, 1))
    %2 = relu(%1)                               %1 = conv2d(%a, w, data_format="NHWC")
    %3 = conv2d(%2, v)               -->        %2 = relu(%1)
    %4 = reshape(%3, shape=(8, 90))             %3 = conv2d(%2, v, data_format="NHWC")
                                                %b = transpose(%3, perm=(0, 3, 1, 2))
                                                %4 = reshape(%b, shape=(8, 90))

A layout is a permutation of axes, so it is said in the graph itself: ``layout_choice`` decides which values are turned,
``layout_axes`` knows how each operation reads on turned images, and here the graph is written anew in one walk. Every
value has up to two forms, plain and turned; the other form is made where it is first asked for, and once. Where no
element moves ([n,1,h,w], [n,c,1,1], a bias [c,1,1]) it is made by a reshape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core import Shape, TensorType, tensor_type
from msnb.graph.compile.passes.channels_last.axis_rules import four, is_free, is_image, is_seed, shape_of, small, turned
from msnb.graph.compile.passes.channels_last.value_choice import Choice
from msnb.graph.compile.rewriting import Case, Log, Pass, map_module, register_pass
from msnb.ir import Const, Graph, Module, Node, Value
from msnb.ir.text.printer import called
from msnb.ops.definition import TO_LAST, find, has_sizes
from msnb.ops.definition.data_format import TO_FIRST
from msnb.ops.elementwise.constant import constant

LAW_SEED = "a convolution or pooling works on channels-last images"
LAW_FOLLOW = "what stands between channels-last images works on them"
LAW_BORDER = "a transpose stands where channels-last and plain meet"


class _Turner:
    """Writes one graph anew.

    Attributes:
        plain, last: the two forms of each old value, as far as they were made.
    """

    def __init__(
        self, graph: Graph, module: Module, choice: Choice, log: Log, primals: dict[Node, Node] | None = None
    ) -> None:
        self.source, self.choice, self.log = graph, choice, log
        self.out = Graph(graph.name, module)
        self.plain: dict[Value, Value] = {p: self.out.add_param(p.type, p.name) for p in graph.params}
        self.last: dict[Value, Value] = {}
        self._low: dict[Value, Value] = {}
        self._made: dict[tuple[Value, Any], Value] = {}
        self._primals: dict[Node, Node] = {} if primals is None else primals
        self._at: Node | None = None

    def run(self) -> Graph:
        """The new graph."""
        for node in self.source.nodes:
            self._at = node
            self._visit(node)
        self._at = None
        self.out.outputs = [self._plain(v) for v in self.source.outputs]
        self.out.state = dict(self.source.state)
        _drop_dead_views(self.out)
        return self.out

    def _visit(self, node: Node) -> None:
        if node.op.name == "transpose" and any(map(is_image, node.inputs)):
            self._transpose(node)
        elif node.op.view == "reshape" and has_sizes(node.inputs[0].type) and has_sizes(node.out.type):
            self._move(node)
        elif node.op is not constant and self._is_turned(node):
            self._turn(node)
        else:
            new = self._append(node, [self._plain(v) for v in node.inputs], node.attrs, [v.type for v in node.outputs])
            self.plain.update(zip(node.outputs, new.outputs))

    def _is_turned(self, node: Node) -> bool:
        decided = self.choice.turned(node)
        if decided is not None:
            return decided
        images = [node.inputs[i] for i in node.op.images if i >= 0] if is_seed(node) else node.inputs
        follows = any(is_image(v) and v not in self.plain for v in images)
        return follows and node in self.choice.attrs

    def _turn(self, node: Node) -> None:
        attrs = self.choice.attrs[node]
        images = node.op.images if is_seed(node) else range(len(node.inputs))
        inputs = [self._operand(v) if i in images else self._plain(v) for i, v in enumerate(node.inputs)]
        types = node.op.result_types(tuple(v.type for v in inputs), attrs)
        new = self._append(node, inputs, attrs, types)
        weight = bool(node.op.images) and -1 not in node.op.images
        for old, made in zip(node.outputs, new.outputs):
            if is_image(old) and not weight:
                assert shape_of(made) == turned(shape_of(old)), f"{node.op.name} does not turn"
                self.last[old] = made
            else:
                self.plain[old] = self._reshaped(made, shape_of(old))
        self.log.note("layout", LAW_SEED if is_seed(node) else LAW_FOLLOW, self.source, node, new.outputs)

    def _transpose(self, node: Node) -> None:
        """A transpose reads the form that is there; the other form of its result is one more permutation."""
        x, perm = node.inputs[0], node.attrs["perm"]
        if x in self.plain or x not in self.last:
            source = self._plain(x)
        else:
            source, perm = self.last[x], tuple(TO_LAST.index(p) for p in perm)
        self.plain[node.out] = self._transposed(source, perm, node)

    def _move(self, node: Node) -> None:
        """Another shape for the same elements in the same order; a form that is there will do where that is so."""
        x = node.inputs[0]
        free = x not in self.plain and is_free(shape_of(x))
        self.plain[node.out] = self._reshaped(self.last[x] if free else self._plain(x), shape_of(node.out))

    # ---- forms ----

    def _plain(self, value: Value) -> Value:
        found = self.plain.get(value)
        if found is None:
            found = self.plain[value] = self._crossed(value, self.last[value], TO_FIRST)
        return found

    def _operand(self, value: Value) -> Value:
        """The form of ``value`` that goes with turned images."""
        if is_image(value):
            return self._turned(value)
        if not isinstance(value.type, TensorType) or not value.type.shape:
            return self._plain(value)
        if value not in self._low:
            self._low[value] = self._low_form(value)
        return self._low[value]

    def _turned(self, value: Value) -> Value:
        found = self.last.get(value)
        if found is None:
            found = self.last[value] = self._turned_constant(value) or self._crossed(value, self.plain[value], TO_LAST)
        return found

    def _low_form(self, value: Value) -> Value:
        """An operand of one to three axes, turned as if it had four; axes of size 1 in front are left out."""
        shape, plain = shape_of(value), self._plain(value)
        if is_free(shape):
            return self._reshaped(plain, small(shape))
        whole = self._reshaped(plain, four(shape))
        return self._reshaped(self._transposed(whole, TO_LAST), small(shape))

    def _crossed(self, value: Value, form: Value, perm: tuple[int, ...]) -> Value:
        if is_free(shape_of(value)):
            shape = shape_of(form)
            return self._reshaped(form, tuple(shape[p] for p in perm))
        new = self._transposed(form, perm)
        if self._at is not None and new.node is not form.node:
            self.log.note("layout", LAW_BORDER, self.source, self._at, [new])
        return new

    def _turned_constant(self, value: Value) -> Value | None:
        node = value.node
        if node is None or node.op is not constant:
            return None
        data = np.asarray(np.transpose(node.attrs["value"].data, TO_LAST), order="C")
        assert isinstance(value.type, TensorType)
        type_ = tensor_type(turned(shape_of(value)), value.type.dtype)
        return self._append(node, (), {"value": Const(data, type_)}, (type_,)).out

    def _transposed(self, value: Value, perm: tuple[int, ...], like: Node | None = None) -> Value:
        """``value`` under other axes; a transpose of a transpose is one."""
        if value.node is not None and value.node.op.name == "transpose":
            perm = tuple(value.node.attrs["perm"][p] for p in perm)
            value = value.node.inputs[0]
        if perm == tuple(range(len(perm))):
            return value
        return self._view("transpose", value, {"perm": perm}, like)

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        """``value`` under another shape; of two reshapes the last one counts."""
        node = value.node
        if node is not None and node.op.view == "reshape" and has_sizes(node.inputs[0].type):
            value = node.inputs[0]
        return value if shape_of(value) == tuple(shape) else self._view("reshape", value, {"shape": tuple(shape)})

    def _view(self, name: str, value: Value, attrs: dict[str, Any], like: Node | None = None) -> Value:
        key = value, tuple(attrs.values())
        if key not in self._made:
            op = find(name)
            node = like or self._at
            new = Node(op, (value,), attrs, op.result_types((value.type,), attrs))
            if node is not None:
                new.where, new.scope, new.why, new.primal = node.where, node.scope, node.why, self._primal(node)
            self.out.nodes.append(new)
            self._made[key] = new.out
        return self._made[key]

    # ---- nodes ----

    def _append(self, node: Node, inputs: Sequence[Value], attrs: dict[str, Any], types: Sequence[Any]) -> Node:
        bodies = [_turn_graph(g, self.out.module, self.log, self._primals) for g in node.graphs]
        new = self.out.add(node.op, inputs, attrs, types, bodies)
        new.where, new.scope, new.why, new.primal = node.where, node.scope, node.why, self._primal(node)
        for old, fresh in zip(node.outputs, new.outputs):
            fresh.name = old.name
        self._primals.setdefault(node, new)
        return new

    def _primal(self, node: Node) -> Node | None:
        return None if node.primal is None else self._primals.get(node.primal, node.primal)


def _drop_dead_views(graph: Graph) -> None:
    """Views and constants that were looked through."""
    read = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        droppable = node.op is constant or "view" in node.op.traits
        if droppable and not any(v in read for v in node.outputs):
            continue
        kept.append(node)
        read.update(node.inputs)
    graph.nodes[:] = reversed(kept)


def _turn_graph(graph: Graph, module: Module, log: Log, primals: dict[Node, Node] | None = None) -> Graph:
    return _Turner(graph, module, Choice(graph), log, primals).run()


def _run(graph: Graph, log: Log) -> Graph:
    if not any(is_seed(node) for g in (graph, *called(graph)) for _, node in g.walk()):
        return graph
    return map_module(graph, lambda g, module: _turn_graph(g, module, log))


_CHAIN = """\
graph f(x: f32[1,2,6,6], w: f32[16,2,3,3], b: f32[16], v: f32[2,16,3,3]) -> (f32[1,8])
  %1 = conv2d(x, w) : f32[1,16,4,4]
  %2 = reshape(b, shape=(16, 1, 1)) : f32[16,1,1]
  %3 = add(%1, %2) : f32[1,16,4,4]
  %4 = relu(%3) : f32[1,16,4,4]
  %5 = conv2d(%4, v) : f32[1,2,2,2]
  %6 = reshape(%5, shape=(1, 8)) : f32[1,8]
  return %6"""
_CHAIN_LAST = """\
graph f(x: f32[1,2,6,6], w: f32[16,2,3,3], b: f32[16], v: f32[2,16,3,3]) -> (f32[1,8])
  %1 = transpose(x, perm=(0, 2, 3, 1)) : f32[1,6,6,2]
  %2 = conv2d(%1, w, data_format="NHWC") : f32[1,4,4,16]
  %3 = add(%2, b) : f32[1,4,4,16]
  %4 = relu(%3) : f32[1,4,4,16]
  %5 = conv2d(%4, v, data_format="NHWC") : f32[1,2,2,2]
  %6 = transpose(%5, perm=(0, 3, 1, 2)) : f32[1,2,2,2]
  %7 = reshape(%6, shape=(1, 8)) : f32[1,8]
  return %7"""
_LONE = """\
graph f(x: f32[1,2,6,6], w: f32[16,2,3,3]) -> (f32[1,16,4,4])
  %1 = conv2d(x, w) : f32[1,16,4,4]
  %2 = relu(%1) : f32[1,16,4,4]
  return %2"""
_NORM = """\
graph f(x: f32[2,1,6,6], w: f32[16,1,3,3]) -> (f32[2,16])
  %1 = conv2d(x, w) : f32[2,16,4,4]
  %2 = mean(%1, axis=(0, 2, 3), keepdims=True) : f32[1,16,1,1]
  %3 = subtract(%1, %2) : f32[2,16,4,4]
  %4 = max_pool2d(%3, kernel=(2, 2), stride=(2, 2)) : f32[2,16,2,2]
  %5 = mean(%4, axis=(2, 3)) : f32[2,16]
  return %5"""
_NORM_LAST = """\
graph f(x: f32[2,1,6,6], w: f32[16,1,3,3]) -> (f32[2,16])
  %1 = reshape(x, shape=(2, 6, 6, 1)) : f32[2,6,6,1]
  %2 = conv2d(%1, w, data_format="NHWC") : f32[2,4,4,16]
  %3 = mean(%2, axis=(0, 1, 2), keepdims=True) : f32[1,1,1,16]
  %4 = subtract(%2, %3) : f32[2,4,4,16]
  %5 = max_pool2d(%4, kernel=(2, 2), stride=(2, 2), data_format="NHWC") : f32[2,2,2,16]
  %6 = mean(%5, axis=(1, 2)) : f32[2,16]
  return %6"""
_TURNED_BY_HAND = """\
graph f(x: f32[1,6,6,2], w: f32[16,2,3,3]) -> (f32[1,4,4,16])
  %1 = transpose(x, perm=(0, 3, 1, 2)) : f32[1,2,6,6]
  %2 = conv2d(%1, w) : f32[1,16,4,4]
  %3 = transpose(%2, perm=(0, 2, 3, 1)) : f32[1,4,4,16]
  return %3"""
_TURNED_BACK = """\
graph f(x: f32[1,6,6,2], w: f32[16,2,3,3]) -> (f32[1,4,4,16])
  %1 = conv2d(x, w, data_format="NHWC") : f32[1,4,4,16]
  return %1"""
LAYOUT = register_pass(
    Pass(
        name="layout",
        law="Convolutions and pools run on channels-last tensors; transposes are pushed to where they cost least.",
        needs="hardware_independent",
        gives="hardware_dependent",
        cases=(
            Case(_CHAIN, _CHAIN_LAST, "a chain pays for a transpose at each end"),
            Case(_LONE, _LONE, "a lone convolution stays: two transposes would win nothing"),
            Case(_NORM, _NORM_LAST, "axes get new names; one channel, and one place, are turned by a reshape"),
            Case(_TURNED_BY_HAND, _TURNED_BACK, "transposes that stand there already fall away"),
        ),
        run=_run,
    )
)
