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

from msnb.base.source_location import Origin, Where
from msnb.core.types import Type
from msnb.ir import custom_gradient
from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ir.text.lexer import ParseError, TokenReader
from msnb.ir.text.literal_reader import LiteralReader
from msnb.ir.text.literals import write_type
from msnb.ir.text.printer import LABELS, callees
from msnb.ops.definition.record import REGISTRY, REQUIRED, Op
from msnb.ops.elementwise.constant import constant

__all__ = ["ParseError", "parse"]
assert custom_gradient  # its import registers the ops that text may name


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
    try:
        return _Parser(text, constants or {}).module()
    except RecursionError:
        raise ParseError("the text is nested too deeply for the stack that is left.") from None


class _Parser:
    def __init__(self, text: str, constants: Mapping[str, Any]) -> None:
        self.read = TokenReader(text)
        self.literals = LiteralReader(self.read, constants)

    # ---- graphs ----

    def module(self) -> Graph:
        module = Module()
        graphs: list[Graph] = []
        self.read.skip_newlines()
        while not self.read.at_end():
            graphs.append(self._graph(module))
            if graphs[-1].name in {g.name for g in graphs[:-1]}:
                raise self.read.error(f"there are two graphs called {graphs[-1].name!r}")
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
        self._whole(graph, arrow=True, end="return")
        return graph

    def _whole(self, graph: Graph, arrow: bool, end: str) -> None:
        """Params, statements and results, which are what the head says they are."""
        names, results = self._signature(graph, arrow)
        if not arrow:
            self.read.expect(":")
        self._statements(graph, names, end)
        found = [v.type for v in graph.outputs]
        if results is None:
            return
        if len(results) != len(found):
            raise self.read.error(f"{graph.name} has {len(results)} results in its head and gives {len(found)}")
        for said, given in zip(results, found):
            if said != given:
                raise self.read.error(f"{graph.name} gives {write_type(given)} where its head says {write_type(said)}")

    def _signature(self, graph: Graph, arrow: bool) -> tuple[dict[str, Value], list[Type] | None]:
        """The params by the names they are written with, and the types of the results where the head has them."""
        names: dict[str, Value] = {}
        results: list[Type] | None = None
        marked: dict[str, int] = {}
        self.read.expect("(")
        while not self.read.accept(")"):
            written = self.read.peek().text
            name = self.read.name()
            if written in names:
                raise self.read.error(f"two params are called {written}")
            self.read.expect(":")
            names[written] = graph.add_param(self.literals.type(), name)
            if self.read.accept("state"):
                marked[written] = len(graph.params) - 1
            self.read.accept(",")
        if self.read.accept("->"):
            results = self._results(graph, marked)
        elif arrow:
            raise self.read.error("expected '->' and the results")
        if len(graph.state) != len(marked):
            raise self.read.error(f"a state without a new value among the results: {', '.join(marked)}")
        return names, results

    def _results(self, graph: Graph, marked: dict[str, int]) -> list[Type]:
        found: list[Type] = []
        self.read.expect("(")
        while not self.read.accept(")"):
            token = self.read.peek()
            if token.text in marked:
                param = marked[self.read.next().text]
                if param in graph.state:
                    raise self.read.error(f"the state {token.text} has two new values")
                graph.state[param] = len(found)
                found.append(graph.params[param].type)
            else:
                found.append(self.literals.type())
            self.read.accept(",")
        return found

    # ---- statements ----

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
            if name in names:
                raise self.read.error(f"{name} is defined twice in this graph")
            value.name = "" if name[1:].isdigit() else name[1:]
            names[name] = value

    def _constant(self, graph: Graph) -> Node:
        const = self.literals.const()
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
                if key in given:
                    raise self.read.error(f"the attribute {key!r} is given twice")
                given[key] = self.literals.attr()
            else:
                inputs.append(self._operand(graph, names))
            self.read.accept(",")
        types = self._types()
        node = Node(op, inputs, self._complete(op, given), types)
        comment = self.read.line_comment()
        with self.read.deeper("bodies"):
            node.graphs = tuple(self._bodies(op, graph.module))
        self._note(node, comment)
        graph.nodes.append(node)
        return node

    def _op(self) -> Op:
        name = self.read.next().text
        if name not in REGISTRY:
            raise self.read.error(f"there is no op called {name!r}")
        return REGISTRY[name]

    def _complete(self, op: Op, given: dict[str, Any]) -> dict[str, Any]:
        """All attributes, in the order of the record."""
        attrs = {name: given.pop(name, default) for name, default in op.attrs.items()}
        missing = [name for name, value in attrs.items() if value is REQUIRED]
        if missing:
            raise self.read.error(f"{op.name} needs the attribute {missing[0]!r}")
        if op is CALL and not isinstance(attrs["callee"], str):
            raise self.read.error("a call names the graph that it calls")
        return attrs | given

    def _types(self) -> list[Type]:
        out: list[Type] = []
        if self.read.accept(":"):
            out.append(self.literals.type())
            while self.read.accept(","):
                out.append(self.literals.type())
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
            self._whole(body, arrow=False, end="yield")
            out.append(body)
        return out

    def _operand(self, graph: Graph, names: dict[str, Value]) -> Value:
        token = self.read.peek()
        if token.text in names:
            return names[self.read.next().text]
        if token.kind in ("value", "quoted") or (token.kind == "word" and not self.literals.starts_literal()):
            raise self.read.error(f"{token.text} is not defined in this graph")
        const = self.literals.const()
        return graph.add(constant, (), {"value": const}, (const.type,)).out

    # ---- comments ----

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
