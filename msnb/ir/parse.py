"""Reading IR text back: ``parse(print_graph(g), constants_of(g))`` is isomorphic to ``g``.

    module  := graph+                                   the first graph is the one that is returned
    graph   := "graph" name "(" params ")" "->" "(" results ")"  statement*  "return" operands
    statement := [values "="] op "(" operands, attributes ")" [":" types]  body*        one per line, or between ";"
    body    := label "(" params ")" ["->" "(" results ")"] ":" statement* "yield" operands
    operand := %name | param | number | ~number | dtype "(" number ")" | type "{" ["all"] numbers "}"
             | "const" type "{" digest "}"

A recursive-descent parser over one regular expression. Errors name the line. Indentation is for people: the ends of
bodies are marked by ``yield``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msnb.core.types import Type
from msnb.core.where import Origin, Where
from msnb.ir import custom
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ir.read import ParseError, Reader
from msnb.ir.text import LABELS, callees
from msnb.ops.constant import constant
from msnb.ops.record import REGISTRY, REQUIRED, Op

__all__ = ["ParseError", "parse"]
assert custom  # its import registers the ops that text may name


def parse(text: str, constants: Mapping[str, Any] | None = None) -> Graph:
    """The graph that ``text`` shows.

    Args:
        text: one graph, followed by the graphs it calls.
        constants: what the text names only: arrays by digest, HostFns and objects by name (``constants_of``).

    Returns:
        The first graph; the others are in its module.

    Raises:
        ParseError: with the line that is wrong.

    Examples:
        >>> g = parse("graph twice(x: f32[3]) -> (f32[3])\\n  %1 = add(x, x) : f32[3]\\n  return %1")
        >>> len(g.nodes)
        1
    """
    return _Parser(text, constants or {}).module()


class _Parser:
    def __init__(self, text: str, constants: Mapping[str, Any]) -> None:
        self.read = Reader(text, constants)

    # ---- graphs --------------------------------------------------------------------------------------------------

    def module(self) -> Graph:
        module = Module()
        graphs: list[Graph] = []
        self.read.skip_newlines()
        while not self.read.at_end():
            graphs.append(self._graph(module))
            self.read.skip_newlines()
        if not graphs:
            raise ParseError("a text of a graph starts with 'graph name(params) -> (results)'.")
        wanted = {name for g in graphs for _, node in g.walk() for name in callees(node)}
        for i, g in enumerate(graphs):
            if i or g.name in wanted:
                module.graphs[g.name] = g
        self._fill_in(graphs[0])
        return graphs[0]

    def _fill_in(self, graph: Graph) -> None:
        """A call may stand before the graph it calls: its name is checked when all are read."""
        for g in [graph, *graph.module.graphs.values()]:
            for _, node in g.walk():
                missing = [c for c in callees(node)[:1] if c not in graph.module.graphs]
                if missing:
                    raise ParseError(f"{g.name} calls the graph {missing[0]!r}, which the text does not show.")

    def _graph(self, module: Module) -> Graph:
        self.read.expect("graph")
        graph = Graph(self.read.name(), module)
        names = self._signature(graph, arrow=True)
        self._statements(graph, names, "return")
        return graph

    def _signature(self, graph: Graph, arrow: bool) -> dict[str, Value]:
        names: dict[str, Value] = {}
        marked: dict[str, int] = {}
        self.read.expect("(")
        while not self.read.accept(")"):
            written = self.read.peek().text
            name = self.read.name()
            self.read.expect(":")
            names[written] = graph.add_param(self.read.type(), name)
            if self.read.accept("state"):
                marked[written] = len(graph.params) - 1
            self.read.accept(",")
        if self.read.accept("->"):
            self._result_states(graph, marked)
        elif arrow:
            raise self.read.error("expected '->' and the results")
        if len(graph.state) != len(marked):
            raise self.read.error(f"a state without a new value among the results: {', '.join(marked)}")
        return names

    def _result_states(self, graph: Graph, marked: dict[str, int]) -> None:
        self.read.expect("(")
        position = 0
        while not self.read.accept(")"):
            token = self.read.peek()
            if token.text in marked:
                graph.state[marked[self.read.next().text]] = position
            else:
                self.read.type()
            position += 1
            self.read.accept(",")

    # ---- statements ----------------------------------------------------------------------------------------------

    def _statements(self, graph: Graph, names: dict[str, Value], end: str) -> None:
        self.read.skip_newlines()
        while not self.read.accept(end):
            self._statement(graph, names)
            self.read.skip_newlines()
        while not self.read.line_ends():
            graph.outputs.append(self._operand(graph, names))
            if not self.read.accept(","):
                break

    def _statement(self, graph: Graph, names: dict[str, Value]) -> None:
        results: list[str] = []
        while self.read.peek().kind == "value":
            results.append(self.read.next().text)
            self.read.accept(",")
        if results:
            self.read.expect("=")
        node = self._constant(graph) if self.read.peek().value == "const" else self._node(graph, names)
        if len(results) != len(node.outputs):
            raise self.read.error(f"{node.op.name} has {len(node.outputs)} result types, {len(results)} names")
        for name, value in zip(results, node.outputs):
            value.name = "" if name[1:].isdigit() else name[1:]
            names[name] = value

    def _constant(self, graph: Graph) -> Node:
        const = self.read.const()
        node = graph.add(constant, (), {"value": const}, (const.type,))
        self._note(node)
        return node

    def _node(self, graph: Graph, names: dict[str, Value]) -> Node:
        op = self._op()
        inputs: list[Value] = []
        given: dict[str, Any] = {}
        self.read.expect("(")
        while not self.read.accept(")"):
            if self.read.peek(1).text == "=" and self.read.peek().kind == "word":
                key = self.read.next().text
                self.read.expect("=")
                given[key] = self.read.attr()
            else:
                inputs.append(self._operand(graph, names))
            self.read.accept(",")
        types = self._types()
        node = Node(op, inputs, _complete(op, given), types)
        comment = self.read.line_comment()
        node.graphs = tuple(self._bodies(op, graph.module))
        self._note(node, comment)
        graph.nodes.append(node)
        return node

    def _op(self) -> Op:
        name = self.read.next().text
        if name not in REGISTRY:
            raise self.read.error(f"there is no op called {name!r}")
        return REGISTRY[name]

    def _types(self) -> list[Type]:
        out: list[Type] = []
        if self.read.accept(":"):
            out.append(self.read.type())
            while self.read.accept(","):
                out.append(self.read.type())
        return out

    def _bodies(self, op: Op, module: Module) -> list[Graph]:
        out: list[Graph] = []
        labels = LABELS.get(op.name) or tuple(f"body{i}" for i in range(64))
        for label in labels:
            self.read.skip_newlines()
            if self.read.peek().value != label or self.read.peek(1).text != "(":
                break
            self.read.next()
            body = Graph(label, module)
            names = self._signature(body, arrow=False)
            self.read.expect(":")
            self._statements(body, names, "yield")
            out.append(body)
        return out

    def _operand(self, graph: Graph, names: dict[str, Value]) -> Value:
        token = self.read.peek()
        if token.text in names:
            return names[self.read.next().text]
        if token.kind in ("value", "quoted") or (token.kind == "word" and not self.read.starts_literal()):
            raise self.read.error(f"{token.text} is not defined in this graph")
        const = self.read.const()
        return graph.add(constant, (), {"value": const}, (const.type,)).out

    # ---- comments ------------------------------------------------------------------------------------------------

    def _note(self, node: Node, comment: str | None = None) -> None:
        text = self.read.line_comment() if comment is None else comment
        for part in text.split("   "):
            file, _, line = part.strip().rpartition(" line ")
            if part.startswith("by "):
                node.why = part[3:]
            elif file and line.isdigit():
                node.where = Origin.of((Where(file, int(line), -1, -1, ""),))
            elif part.strip():
                node.scope = part.strip()


def _complete(op: Op, given: dict[str, Any]) -> dict[str, Any]:
    attrs = {name: given.pop(name, default) for name, default in op.attrs.items()}
    missing = [name for name, value in attrs.items() if value is REQUIRED]
    if missing:
        raise ParseError(f"{op.name} needs the attribute {missing[0]!r}.")
    return attrs | given
