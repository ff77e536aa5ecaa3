"""Which values can carry a gradient: those that depend on what is differentiated and that the outputs depend on.

    x ---> a ---> b ---> y        wrt = x, outputs = y: x, a, b, y are active
           |      ^
           v      |
           d      c <--- k        c does not vary with x, d is never used by y: no gradient flows there

``Dependence`` tells, for every output of a graph, the set of params it depends on differentiably, as a bit mask. For a
control node the masks of its bodies are combined:

    if      union over both branches
    while   outputs depend on their own initial value (no turn at all) and, transitively, on what the body mixes in
    scan    the same, and the stacked results on what the body's rows depend on
    call    the callee's masks; in recursion the least fixed point, found by iterating from "depends on nothing"

All of it is one sweep per graph, so its cost is linear in the size of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msnb.autodiff.gradient_rules import gradient_type
from msnb.ir import Graph, Node, Value, control_flow

Masks = tuple[int, ...]


class Dependence:
    """Dependence masks of graphs, remembered for the time of one transform."""

    def __init__(self) -> None:
        self._known: dict[Graph, Masks] = {}
        self._assumed: dict[Graph, Masks] = {}
        self._consulted: set[Graph] = set()

    def of_graph(self, graph: Graph) -> Masks:
        """Per output, a bit mask of the params it depends on."""
        found = self._known.get(graph)
        if found is not None:
            return found
        if graph in self._assumed:
            self._consulted.add(graph)
            return self._assumed[graph]
        return self._fixed_point(graph)

    def _fixed_point(self, graph: Graph) -> Masks:
        """Sweep until the assumption about ``graph`` itself holds; what rests on no other assumption is final."""
        outer, self._consulted = self._consulted, set()
        before: Masks = (0,) * len(graph.outputs)
        while True:
            self._assumed[graph] = before
            after = self._sweep(graph)
            if after == before or graph not in self._consulted:
                break
            before = after
        del self._assumed[graph]
        open_ends = self._consulted - {graph}
        if not open_ends:
            self._known[graph] = after
        self._consulted = outer | open_ends
        return after

    def _sweep(self, graph: Graph) -> Masks:
        masks: dict[Value, int] = {p: 1 << i for i, p in enumerate(graph.params) if gradient_type(p.type) is not None}
        for node in graph.nodes:
            ins = [masks.get(v, 0) for v in node.inputs]
            if not any(ins):
                continue
            for value, uses in zip(node.outputs, self.of_node(node, graph)):
                total = 0
                for i, m in enumerate(ins):
                    if uses >> i & 1:
                        total |= m
                if total and gradient_type(value.type) is not None:
                    masks[value] = total
        return tuple(masks.get(v, 0) for v in graph.outputs)

    def of_node(self, node: Node, graph: Graph) -> Masks:
        """Per output of ``node`` (in ``graph``), a bit mask of the inputs it depends on."""
        op = node.op
        if "control" in op.traits:
            return self._of_control(node, graph)
        if op.grad is None:
            return (0,) * len(node.outputs)
        return (_differentiable(node.inputs),) * len(node.outputs)

    def _of_control(self, node: Node, graph: Graph) -> Masks:
        if node.op is control_flow.IF:
            then, other = (self.of_graph(g) for g in node.graphs)
            return tuple((a | b) << 1 for a, b in zip(then, other))
        if node.op is control_flow.WHILE:
            return self.closure(node)
        if node.op is control_flow.SCAN:
            return self._of_scan(node)
        if node.op is control_flow.CALL:
            return self.of_graph(graph.module.graphs[node.attrs["callee"]])
        return (_differentiable(node.inputs),) * len(node.outputs)

    def closure(self, node: Node) -> Masks:
        """Of the carried values of a While or Scan: the params of the body they depend on after any number of turns."""
        n = node.attrs["n_carry"]
        step = self.of_graph(node.graphs[-1])[:n]
        masks = [1 << i if gradient_type(v.type) is not None else 0 for i, v in enumerate(node.inputs[:n])]
        changed = True
        while changed:
            changed = False
            for i, direct in enumerate(step):
                grown = masks[i] | through(direct, masks, n)
                changed |= grown != masks[i]
                masks[i] = grown
        return tuple(masks)

    def _of_scan(self, node: Node) -> Masks:
        n = node.attrs["n_carry"]
        carried = self.closure(node)
        rows = self.of_graph(node.graphs[0])[n:]
        return carried + tuple(through(row, carried, n) for row in rows)


def through(direct: int, carried: Sequence[int], n: int) -> int:
    """A mask over a body's params with each carried param replaced by what it depends on."""
    total = direct >> n << n
    for j in range(n):
        if direct >> j & 1:
            total |= carried[j]
    return total


def _differentiable(values: Iterable[Value]) -> int:
    return sum(1 << i for i, v in enumerate(values) if gradient_type(v.type) is not None)


class Activity:
    """The active values of ``graph`` for given params and outputs (positions).

    Attributes:
        varying: values that depend on the params asked for.
        useful: values that the outputs asked for depend on.
    """

    def __init__(self, graph: Graph, wrt: Sequence[int], outputs: Sequence[int], flow: Dependence) -> None:
        self._graph, self._flow = graph, flow
        self.varying: set[Value] = {graph.params[i] for i in wrt if gradient_type(graph.params[i].type) is not None}
        self._forward()
        self.useful: set[Value] = {graph.outputs[i] for i in outputs} & self.varying
        self._backward()

    def active(self, value: Value) -> bool:
        """True where a gradient can flow."""
        return value in self.useful

    def _forward(self) -> None:
        varying = self.varying
        for node in self._graph.nodes:
            ins = sum(1 << i for i, v in enumerate(node.inputs) if v in varying)
            if not ins:
                continue
            masks = self._flow.of_node(node, self._graph)
            varying.update(v for v, m in zip(node.outputs, masks) if m & ins and gradient_type(v.type) is not None)

    def _backward(self) -> None:
        for node in reversed(self._graph.nodes):
            outs = [i for i, v in enumerate(node.outputs) if v in self.useful]
            if not outs:
                continue
            masks = self._flow.of_node(node, self._graph)
            wanted = 0
            for i in outs:
                wanted |= masks[i]
            self.useful.update(v for i, v in enumerate(node.inputs) if wanted >> i & 1 and v in self.varying)
