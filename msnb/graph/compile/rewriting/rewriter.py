"""One walk over a program that may answer something else for any node: the way most passes work.

    old graph    a --> b --> c            the walk goes in program order and maps old values to new ones, so a rule
                 |     |     |            sees operands that are already rewritten: x + 0 inside (x + 0) * 1 is gone
    new graph    a --> -     c'           when the rule looks at the product. One walk, linear, no fix-point.

A rule gets a candidate node (new operands, new bodies, not yet in the graph) and says None (keep it) or gives one value
per result. Whatever a rule answers must have the types of the results it replaces, weak scalars included: that one
check keeps promotion right for every law. Graphs are never changed in place: a stage can be kept for nothing.

Nodes are never changed either, so what no rule touches is shared: a node whose operands, bodies and primal are the same
in the new graph stands in both graphs. A pass that finds little to do costs little more than looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import TensorType, Type
from msnb.graph.compile.rewriting.pass_record import Case, Pass, register_pass
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir import CALL, Const, Graph, Module, Node, Value
from msnb.ir.text.printer import called
from msnb.ops.definition.record import Op, find
from msnb.ops.elementwise.constant import constant

MAX_DEPTH = 8

Answer = Sequence[Value] | None
Rule = Callable[["GraphRewriter", Node], Answer]


class GraphRewriter:
    """Rewrites one graph.

    Args:
        graph: the graph; it is not changed.
        module: the module of the new graph.
        pass_name: for notes.
        make_rule: gives a rule for a graph (some rules remember what they have seen in it).
        log: takes notes.

    Attributes:
        out: the new graph.
        source: the old one.
        memory: what rules remember about the new graph.
    """

    def __init__(
        self, graph: Graph, module: Module, pass_name: str, make_rule: Callable[[], Rule], log: Log,
        primals: dict[Node, Node] | None = None,
    ) -> None:  # fmt: skip
        self.source = graph
        self.out: Graph = Graph(graph.name, module)
        self.pass_name: str = pass_name
        self.make_rule: Callable[..., Any] = make_rule
        self.log: Log = log
        self.memory: dict[Any, Any] = {}
        self._rule = make_rule()
        self._primals: dict[Node, Node] = {} if primals is None else primals
        self._depth = 0
        self._candidate: Node | None = None

    def run(self) -> Graph:
        """The new graph."""
        env: dict[Value, Value] = {}
        self.out.params = list(self.source.params)
        for node in self.source.nodes:
            candidate = self._renewed(node, env)
            answer = self._settle(candidate)
            if answer is not node.outputs:
                env.update(zip(node.outputs, answer))
            if candidate is not node and candidate.outputs:
                self._primals[node] = candidate
        self.out.outputs = [env.get(v, v) for v in self.source.outputs]
        self.out.state = dict(self.source.state)
        return self.out

    def _renewed(self, node: Node, env: dict[Value, Value]) -> Node:
        """The node as it reads in the new graph: itself where nothing of it has changed."""
        inputs = [env.get(v, v) for v in node.inputs] if env else node.inputs
        bodies = tuple(self.body(g) for g in node.graphs) if node.graphs else node.graphs
        moved = node.primal is not None and node.primal in self._primals
        same = bodies == node.graphs and not moved and (inputs is node.inputs or inputs == node.inputs)
        return node if same else self._new(node, inputs, bodies)

    def _walk(self, graph: Graph, env: dict[Value, Value], scope: str = "") -> None:
        """Nodes of another graph, here: always new ones, for they may be asked for again."""
        for node in graph.nodes:
            candidate = self._new(node, [env[v] for v in node.inputs], [self.body(g) for g in node.graphs])
            if scope:
                candidate.scope = join_scopes(scope, node.scope)
            for old, new in zip(node.outputs, self._settle(candidate)):
                env[old] = new
            if candidate.outputs:
                self._primals[node] = candidate

    def _new(self, node: Node, inputs: Sequence[Value], bodies: Sequence[Graph]) -> Node:
        new = Node(node.op, inputs, node.attrs, [o.type for o in node.outputs], bodies)
        new.where, new.scope, new.why = node.where, node.scope, node.why
        if node.primal is not None:
            new.primal = self._primals.get(node.primal, node.primal)
        for old, fresh in zip(node.outputs, new.outputs):
            fresh.name = old.name
        return new

    def body(self, graph: Graph) -> Graph:
        """A rewritten body; the same one where nothing changed and nothing in it refers to the module by name."""
        new = type(self)(graph, self.out.module, self.pass_name, self.make_rule, self.log, self._primals).run()
        same = new.nodes == graph.nodes and new.outputs == graph.outputs
        return graph if same and not any(node.op is CALL for _, node in graph.walk()) else new

    def _settle(self, candidate: Node) -> Sequence[Value]:
        """The values that stand for the candidate's results."""
        if self._depth > MAX_DEPTH:
            return self._append(candidate)
        before, self._candidate = self._candidate, candidate
        self._depth += 1
        answer = self._rule(self, candidate)
        self._depth -= 1
        self._candidate = before
        return self._append(candidate) if answer is None else answer

    def _append(self, node: Node) -> Sequence[Value]:
        self.out.nodes.append(node)
        return node.outputs

    # ---- what rules use ----

    def accept(self, node: Node, values: Sequence[Value], law: str, reason: str = "") -> Answer:
        """``values`` as the answer for ``node`` if they have its types (else None); the change is noted."""
        if len(values) != len(node.outputs) or any(v.type != o.type for v, o in zip(values, node.outputs)):
            return None
        self.log.note(self.pass_name, law, self.source, node, values, reason)
        return values

    def emit(self, op: Op | str, *inputs: Value, **attrs: Any) -> Value:
        """A new node with the places of the one that is being rewritten; its own rules apply to it in turn."""
        record = find(op) if isinstance(op, str) else op
        full = record.bind_attrs(attrs)
        node = Node(record, inputs, full, record.result_types(tuple(v.type for v in inputs), full))
        self._inherit(node)
        return self._settle(node)[0]

    @property
    def primals(self) -> dict[Node, Node]:
        """Old nodes -> the nodes they became: a rule that copies a body reads and extends it."""
        return self._primals

    def again(self, node: Node, inputs: Sequence[Value], types: Sequence[Type], bodies: Sequence[Graph]) -> list[Value]:
        """A control node like ``node`` with other operands, results and bodies; its own rules apply to it in turn."""
        new = Node(node.op, inputs, node.attrs, types, bodies)
        self._inherit(new)
        return list(self._settle(new))

    def constant(self, data: Any, type_: TensorType) -> Value:
        """A new constant."""
        node = Node(constant, (), {"value": Const(data, type_)}, (type_,))
        self._inherit(node)
        return self._append(node)[0]

    def _inherit(self, node: Node) -> None:
        base = self._candidate
        if base is not None:
            node.where, node.scope, node.why, node.primal = base.where, base.scope, base.why, base.primal

    def splice(self, graph: Graph, args: Sequence[Value], scope: str = "") -> list[Value]:
        """The nodes of ``graph`` here, its params standing for ``args``: the values of its outputs."""
        env = dict(zip(graph.params, args))
        self._walk(graph, env, scope)
        return [env[v] for v in graph.outputs]


def join_scopes(outer: str, inner: str) -> str:
    """The path of a node that moved into another graph."""
    if not outer or inner == outer or inner.startswith(outer + "/"):
        return inner or outer
    return f"{outer}/{inner}" if inner else outer


def sweep_module(graph: Graph, pass_name: str, make_rule: Callable[[], Rule], log: Log) -> Graph:
    """Rewrite a graph and every graph it calls; the new ones share a new module."""
    return map_module(graph, lambda g, module: GraphRewriter(g, module, pass_name, make_rule, log).run())


def sweep_pass(name: str, law: str, cases: tuple[Case, ...], make_rule: Callable[[], Rule]) -> Pass:
    """Register the pass of one rule, which goes once through a captured graph and every graph it calls."""

    def run(graph: Graph, log: Log) -> Graph:
        return sweep_module(graph, name, make_rule, log)

    return register_pass(Pass(name, law, "captured", "captured", cases, run))


def map_module(graph: Graph, rewrite: Callable[[Graph, Module], Graph]) -> Graph:
    """Apply ``rewrite(graph, new module)`` to a graph and every graph it calls."""
    module = Module()
    out = rewrite(graph, module)
    if graph.module.graphs.get(graph.name) is graph:
        module.graphs[graph.name] = out
    for other in called(graph):
        if other is not graph:
            module.graphs[other.name] = rewrite(other, module)
    return out
