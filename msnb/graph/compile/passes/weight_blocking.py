"""Blocking: the weights of convolutions, and what is kept beside them, stay in the library's layout between steps.

    graph step(x, w, m) -> (w, m)                       graph step(x, w in blocks, m in blocks) -> (w, m)
      %1 = conv2d(x, w)                                   %u = unblock(w) ; %1 = conv2d(x, %u)      read as it lies
      %2 = conv2d_weight_grad(x, dy)                      %2 = conv2d_weight_grad(x, dy)
                                              -->         %b = block(%2)                            made as it lies
      %3 = add(multiply(m, 0.9), %2)                      %3 = add(multiply(m, 0.9), %b)
      %4 = subtract(w, multiply(%3, lr))                  %4 = subtract(w, multiply(%3, lr))
      return %4, %3                                       return %4, %3

A library makes the gradient of a weight in blocks, and reads weights in blocks; plain weights are brought into them at
every step and their gradients back. An update works element by element, so it does as well on blocks.

A *region* is what elementwise operations tie to a weight: the weight, its moments, its gradient, their new values. It
is blocked as a whole, in the blocks in which the device makes the gradient, or not at all:

    enters       state of the program, gradients of convolutions, operands of one element
    leaves       as new state, or into convolutions as their weight

Anything else (a norm of all gradients, a branch, a loop, a weight that is a result too) would need plain values in
every step, so there the region stays plain. What outlives a step lies in blocks then: the blocked params are told in
``forms``, and whoever calls the program hands them over so (``core.storage.packed_storage``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msnb.core import TensorType, tensor_type
from msnb.core.storage.memory_format import BlockedFormat
from msnb.graph.compile.rewriting import Log, Pass
from msnb.ir.graph import Graph, Node, Value
from msnb.ops.definition.record import Op
from msnb.ops.shape.blocked_layout import BLOCK, UNBLOCK

LAW = "Weights of convolutions and their moments stay in the library's blocks between steps."
WORTH = 1 << 16
"""Bytes of a weight: less is brought into blocks in a few microseconds."""
_GRADIENT = "conv2d_weight_grad"
_READS_WEIGHT = ("conv2d", "conv2d_input_grad")

BlocksOf = Callable[[Node], "BlockedFormat | None"]
"""The blocks in which a device makes the result of a conv2d_weight_grad; None where it lies plain."""


class BlockingResult(NamedTuple):
    """What became of a graph.

    Attributes:
        graph: the new graph, or the old one.
        forms: the blocks of params that lie in blocks, by position; their new values lie likewise.
    """

    graph: Graph
    forms: dict[int, BlockedFormat]


def blocked(graph: Graph, blocks_of: BlocksOf, log: Log) -> BlockingResult:
    """The graph with state in blocks where that saves copies.

    Args:
        graph: a program; it is not changed.
        blocks_of: asks the device.
        log: notes the rewrites.
    """
    if not any(node.op.name == _GRADIENT for node in graph.nodes):
        return BlockingResult(graph, {})
    twins: dict[Node, Node] = {}
    copy = graph.copy(twins=twins)
    forms = _Regions(copy, blocks_of).forms()
    if not forms:
        return BlockingResult(graph, {})
    _BlockWriter(copy, forms, log).run()
    return BlockingResult(copy, {i: forms[p] for i, p in enumerate(copy.params) if p in forms})


def block_pass(blocks_of: BlocksOf, forms: dict[int, BlockedFormat]) -> Pass:
    """Blocking for a device, as a pass; it leaves a stage where something lies in blocks.

    Args:
        blocks_of: asks the device.
        forms: where it enters the blocks of params that lie in blocks, by position.
    """

    def run(graph: Graph, log: Log) -> Graph:
        result = blocked(graph, blocks_of, log)
        forms.update(result.forms)
        return result.graph

    stage = "hardware_dependent"
    return Pass("block", LAW, stage, stage, (), run, count=lambda graph: len(forms), optional=True)


def _is_tied(node: Node, value: Value) -> bool:
    """Does the node work element by element on tensors of the sizes of ``value``?"""
    if "elementwise" not in node.op.traits or node.graphs or len(node.outputs) != 1:
        return False
    same = [_same_sizes(v, value) for v in node.inputs]
    return _same_sizes(node.out, value) and any(same) and all(s or _is_one(v) for s, v in zip(same, node.inputs))


def _same_sizes(a: Value, b: Value) -> bool:
    return isinstance(a.type, TensorType) and isinstance(b.type, TensorType) and a.type.shape == b.type.shape


def _is_one(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static and value.type.size == 1


class _Regions:
    """Which values of a graph lie in blocks, and in which."""

    def __init__(self, graph: Graph, blocks_of: BlocksOf) -> None:
        self.graph, self._blocks_of = graph, blocks_of
        self._state = {graph.params[p]: graph.outputs[j] for p, j in graph.state.items()}
        self._given: dict[Value, int] = {}
        for value in graph.outputs:
            self._given[value] = self._given.get(value, 0) + 1
        self._readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in dict.fromkeys(node.inputs):
                self._readers.setdefault(value, []).append(node)

    def forms(self) -> dict[Value, BlockedFormat]:
        """The blocks of every value that lies in blocks."""
        found: dict[Value, BlockedFormat] = {}
        seen: set[Value] = set()
        for node in self.graph.nodes:
            if node.op.name != _GRADIENT or node.out in seen or not _is_worth(node.out):
                continue
            region = self._region(node.out)
            seen.update(region)
            form = self._blocks_of(node) if self._closed(region) else None
            found.update(dict.fromkeys(region, form) if form is not None else {})
        return found

    def _region(self, start: Value) -> dict[Value, None]:
        region: dict[Value, None] = {}
        waiting = [start]
        while waiting:
            value = waiting.pop()
            if value in region:
                continue
            region[value] = None
            makers = [value.node] if value.node is not None else []
            tied = [n for n in (*makers, *self._readers.get(value, ())) if _is_tied(n, value)]
            waiting += [v for n in tied for v in (*n.inputs, n.out) if _same_sizes(v, value)]
            if value in self._state:
                waiting.append(self._state[value])
        return region

    def _closed(self, region: dict[Value, None]) -> bool:
        """True when nothing outside needs it plain, and nothing plain comes in."""
        return all(self._enters(v, region) and self._leaves(v, region) for v in region)

    def _enters(self, value: Value, region: dict[Value, None]) -> bool:
        node = value.node
        if node is None:
            return value in self._state and self._state[value] in region
        return node.op.name == _GRADIENT or _is_tied(node, value)

    def _leaves(self, value: Value, region: dict[Value, None]) -> bool:
        states = sum(new is value and old in region for old, new in self._state.items())
        if self._given.get(value, 0) != states:
            return False
        return all(_is_tied(n, value) or _reads_weight(n, value) for n in self._readers.get(value, ()))


def _is_worth(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static and value.type.nbytes >= WORTH


def _reads_weight(node: Node, value: Value) -> bool:
    return node.op.name in _READS_WEIGHT and node.inputs[0] is not value and node.inputs[1] is value


class _BlockWriter:
    """Gives the values of a graph their blocks."""

    def __init__(self, graph: Graph, forms: dict[Value, BlockedFormat], log: Log) -> None:
        self.graph, self.forms, self.log = graph, forms, log
        self._plain: dict[Value, Value] = {}
        self._blocked: dict[Value, Value] = {}

    def run(self) -> None:
        """Change the graph."""
        nodes, self.graph.nodes = self.graph.nodes, []
        for param in self.graph.params:
            self._retype(param)
        for node in nodes:
            if node.op.name in _READS_WEIGHT and node.inputs[1] in self.forms:
                node.inputs[1] = self._unblocked(node.inputs[1], node)
            elif node.op.name != _GRADIENT:
                node.inputs = [self._blocked.get(v, v) for v in node.inputs]
            self.graph.nodes.append(node)
            if node.outputs and node.out in self.forms:
                self._made(node)
        self.graph.outputs = [self._blocked.get(v, v) for v in self.graph.outputs]

    def _made(self, node: Node) -> None:
        if node.op.name == _GRADIENT:
            self._blocked[node.out] = self._node(BLOCK, node.out, node, self.forms[node.out])
            self.log.note("block", LAW, self.graph, node, [self._blocked[node.out]])
        else:
            self._retype(node.out)

    def _retype(self, value: Value) -> None:
        form, t = self.forms.get(value), value.type
        if form is not None:
            assert isinstance(t, TensorType)
            value.type = tensor_type(form.shape(t.ints()), t.dtype)

    def _unblocked(self, value: Value, like: Node) -> Value:
        if value not in self._plain:
            self._plain[value] = self._node(UNBLOCK, self._blocked.get(value, value), like, self.forms[value])
        return self._plain[value]

    def _node(self, op: Op, value: Value, like: Node, form: BlockedFormat) -> Value:
        attrs = form._asdict()
        made = self.graph.add(op, [value], attrs, op.result_types((value.type,), attrs))
        made.where, made.scope, made.why, made.primal = like.where, like.scope, like.why, like.primal
        return made.out
