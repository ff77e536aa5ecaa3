"""The IR as text that a student can read and ``msnb.ir.text.parser`` reads back.

    graph step(x: f32[3], w: f32[3] state) -> (f32[], w)      params with types; a result that is a param's new state
      %1 = multiply(x, w) : f32[3]            # Net/scale   cell [3] line 7      is shown by the param's name
      %2 = if(%c, %1) : f32[3]                # cell [3] line 8
        then (a: f32[3]): %1 = exp(a) : f32[3] ; yield %1
        else (a: f32[3]): yield a
      return %2, w

A body is a graph of its own: its numbers start anew and it sees its own params only. Small constants stand where they
are used: a constant is its value, whoever else uses it. Attributes are shown where they differ from the op's default.
Called graphs follow the graph that was asked for. The text depends on nothing but the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph, Node, Value, register_printer
from msnb.ir.text.literals import LiteralTable, is_inline, write_attr, write_name, write_type
from msnb.ops.elementwise.constant import constant

LABELS: dict[str, tuple[str, ...]] = {"if": ("then", "else"), "while": ("cond", "body"), "scan": ("body",)}
COMMENT_COLUMN = 72


def print_graph(graph: Graph, where: bool = True) -> str:
    """The text of a graph and of the graphs it calls.

    Args:
        graph: the graph.
        where: add a comment to each node: its scope, the line of the user's text, the transform that made it.

    Returns:
        Lines without trailing spaces or a final newline.

    Examples:
        >>> from msnb.core.types import tensor_type
        >>> from msnb.core import dtypes
        >>> from msnb.ir.builder import build
        >>> print(print_graph(build("double", [tensor_type((3,), dtypes.float32)], lambda x: x + x)))
        graph double(x0: f32[3]) -> (f32[3])
          %1 = add(x0, x0) : f32[3]
          return %1
    """
    return "\n".join(_Printer(where).module(graph))


def constants_of(graph: Graph) -> dict[str, Any]:
    """What the text of ``graph`` names but does not hold: ``parse(str(graph), constants_of(graph))`` is the graph."""
    printer = _Printer(False)
    printer.module(graph)
    return printer.table.entries


def body_labels(node: Node) -> tuple[str, ...]:
    """What the bodies of a control node are called."""
    return LABELS.get(node.op.name) or tuple(f"body{i}" for i in range(len(node.graphs)))


def called(graph: Graph) -> list[Graph]:
    """The graphs that ``graph`` calls, directly or not, in the order of their first call (itself too, if it does)."""
    found: dict[str, Graph] = {}
    queue = [graph]
    for g in queue:
        for node in _calls(g):
            for name in callees(node):
                if name in g.module.graphs and name not in found:
                    found[name] = g.module.graphs[name]
                    queue.append(found[name])
    return list(found.values())


def _calls(graph: Graph) -> list[Node]:
    """The calls in a graph and its bodies."""
    found = [node for node in graph.nodes if node.op is CALL]
    for node in graph.nodes:
        if node.graphs:
            found += [call for body in node.graphs for call in _calls(body)]
    return found


def callees(node: Node) -> list[str]:
    """The names of the graphs that a call refers to."""
    return [node.attrs["callee"]] if node.op is CALL else []


def differing_attrs(node: Node) -> list[tuple[str, Any]]:
    """The attributes that text must show: those without a default, or with another value than it."""
    default = node.op.attrs
    return [(k, v) for k, v in node.attrs.items() if k not in default or not _same(v, default[k])]


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or isinstance(a, (float, complex)):
        return a is b or (type(a) is type(b) and repr(a) == repr(b))
    return len(a) == len(b) and all(map(_same, a, b)) if isinstance(a, tuple) else bool(a == b)


class Names:
    """The names of the values of one graph, without repetition."""

    def __init__(self, graph: Graph) -> None:
        self.of: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._count = 0
        for i, p in enumerate(graph.params):
            self.of[p] = write_name(self._free(p.name or f"p{i}"))

    def _free(self, name: str) -> str:
        found, n = name, 1
        while found in self._taken:
            n += 1
            found = f"{name}_{n}"
        self._taken.add(found)
        return found

    def add(self, values: Iterable[Value]) -> list[str]:
        """Name the results of a node: their own name, or the next number."""
        out = []
        for v in values:
            self._count += 1
            word = v.name if v.name and write_name(v.name) == v.name else str(self._count)
            self.of[v] = self._free(f"%{word}")
            out.append(self.of[v])
        return out


class _Printer:
    def __init__(self, where: bool) -> None:
        self.where = where
        self.table = LiteralTable()

    def module(self, graph: Graph) -> list[str]:
        lines = self._graph(graph)
        for other in called(graph):
            if other is not graph:
                lines += ["", *self._graph(other)]
        return lines

    def _graph(self, graph: Graph) -> list[str]:
        names = Names(graph)
        head = f"graph {write_name(graph.name)}({self._params(graph, names)}) -> ({self._results(graph, names)})"
        return [head, *self._nodes(graph, names, "  "), f"  {self._end('return', graph, names)}"]

    def _params(self, graph: Graph, names: Names) -> str:
        return ", ".join(
            f"{names.of[p]}: {write_type(p.type)}{' state' if i in graph.state else ''}"
            for i, p in enumerate(graph.params)
        )

    def _results(self, graph: Graph, names: Names) -> str:
        new_state = {j: names.of[graph.params[i]] for i, j in graph.state.items()}
        return ", ".join(new_state.get(j) or write_type(v.type) for j, v in enumerate(graph.outputs))

    def _end(self, word: str, graph: Graph, names: Names) -> str:
        return f"{word} {', '.join(self._operand(v, names) for v in graph.outputs)}".rstrip()

    def _operand(self, value: Value, names: Names) -> str:
        node = value.node
        if node is not None and node.op is constant and is_inline(node.attrs["value"]):
            return self.table.const(node.attrs["value"])
        return names.of[value]

    # ---- nodes ----

    def _nodes(self, graph: Graph, names: Names, indent: str) -> list[str]:
        lines: list[str] = []
        for node in graph.nodes:
            if node.op is constant and is_inline(node.attrs["value"]):
                continue
            lines.append(self._commented(indent + self._node(node, names), node))
            for label, body in zip(body_labels(node), node.graphs):
                lines += self._body(label, body, indent + "  ")
        return lines

    def _node(self, node: Node, names: Names) -> str:
        if node.op is constant:
            text = self.table.const(node.attrs["value"])
        else:
            parts = [self._operand(v, names) for v in node.inputs]
            parts += [f"{k}={write_attr(v, self.table)}" for k, v in differing_attrs(node)]
            text = f"{node.op.name}({', '.join(parts)})"
        if not node.outputs:
            return text
        results = ", ".join(names.add(node.outputs))
        types = ", ".join(write_type(v.type) for v in node.outputs)
        return f"{results} = {text}" if node.op is constant else f"{results} = {text} : {types}"

    def _commented(self, line: str, node: Node) -> str:
        note = comment(node) if self.where else ""
        return f"{line.ljust(COMMENT_COLUMN)}  # {note}" if note else line

    def _body(self, label: str, body: Graph, indent: str) -> list[str]:
        names = Names(body)
        results = f" -> ({self._results(body, names)})" if body.state else ""
        head = f"{indent}{label} ({self._params(body, names)}){results}:"
        lines = self._nodes(body, names, indent + "  ")
        end = self._end("yield", body, names)
        if len(lines) <= 1 and not any("  # " in line for line in lines):
            return [" ".join([head, *(f"{line.strip()} ;" for line in lines), end])]
        return [head, *lines, f"{indent}  {end}"]


def node_text(node: Node) -> str:
    """One node on its own, for notes and tooltips: its operands by name where they have one, else by their op."""
    table = LiteralTable()
    parts = [_operand_text(v, table) for v in node.inputs]
    parts += [f"{k}={write_attr(v, table)}" for k, v in differing_attrs(node)]
    types = ", ".join(write_type(v.type) for v in node.outputs)
    return f"{node.op.name}({', '.join(parts)})" + (f" : {types}" if types else "")


def _operand_text(value: Value, table: LiteralTable) -> str:
    if value.node is None:
        return write_name(value.name or f"p{value.index}")
    if value.node.op is constant:
        return table.const(value.node.attrs["value"])
    return f"%{value.name}" if value.name else f"%{value.node.op.name}"


def comment(node: Node) -> str:
    """``LeNet5/conv1   cell [3] line 7   vjp``: the scope, the place, the transform; whatever is known."""
    place = node.where.where if node.where is not None else None
    parts = [node.scope, "" if place is None else str(place), f"by {node.why}" if node.why else ""]
    return "   ".join(part.replace("\n", " ") for part in parts if part)


register_printer(print_graph)
