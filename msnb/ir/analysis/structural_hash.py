"""The structure of a graph as one key: equal keys, equal programs.

What counts: ops, types, attributes, which value goes where (aliasing), state, bodies and called graphs. What does not:
names, places, scopes, where a constant stands and how often it is written (a constant is its value). A HostFn counts as
a slot: its name and which calls share it, not the callable, so whoever reuses compiled code by this key hands the
callables over anew (``host_functions``).

Graphs are written as one flat list of words, bodies and callees queued up instead of nested, so that depth costs no
Python stack and the work is linear:

    graph f(x) = relu(x)*x     ->    P f32[3]   N relu (v0) ...   N multiply (v1 v0) ...   O v2
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from msnb.core import Dim, DType, HostType, StackType, TensorType, TokenType, trace_of
from msnb.ir.builder import Const
from msnb.ir.control_flow import HostFn
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.literals import strong_array
from msnb.ir.text.printer import called, callees
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.constant import constant

# attributes of foreign classes are numbered by equality for the life of the process: equal objects, equal keys
_foreign: dict[Any, int] = {}
_FOREIGN = "object "
_LEAVES = (DType, TensorType, StackType, TokenType, HostType, Dim)


def structure_key(graph: Graph) -> str:
    """A digest that two graphs share exactly when they are isomorphic.

    Args:
        graph: any graph; it is not changed.

    Returns:
        32 hexadecimal digits, the same in every process unless attributes are objects of foreign classes.
    """
    digest = hashlib.blake2b(digest_size=16)
    for word in words(graph):
        digest.update(word if isinstance(word, bytes) else word.encode())
        digest.update(b"\0")
    return digest.hexdigest()


class Content(NamedTuple):
    """A graph as others can find it again: in another process, made from another text.

    Attributes:
        key: 64 hexadecimal digits, equal for equal programs.
        constants, hosts: the constants and the Python callables in the order in which the key counts them: two graphs
            with one key have the same ones at the same places.
    """

    key: str
    constants: list[Const]
    hosts: list[HostFn]


def content_of(graph: Graph) -> Content | None:
    """What a graph is, by content alone; None where it holds something that only this process knows: an op that msnb
    does not bring along, an attribute of a foreign class."""
    digest, writer = hashlib.sha256(), _HashWriter()
    writer.number(graph)
    for g in writer.queue:
        for word in writer.graph(g):
            digest.update(word if isinstance(word, bytes) else word.encode())
            digest.update(b"\0")
    if writer.foreign or not all(map(_is_ours, writer.ops)):
        return None
    return Content(digest.hexdigest(), list(writer.constants.values()), list(writer.hosts.values()))


def _is_ours(op: Op) -> bool:
    return all(f.__module__.startswith("msnb.") for f in (op.infer, op.body))


def host_functions(graph: Graph) -> list[HostFn]:
    """The Python callables of a program in the order of their first call: the slots that the key leaves open."""
    found: dict[int, HostFn] = {}
    for g in dict.fromkeys([graph, *called(graph)]):
        for _, node in g.walk():
            for value in node.attrs.values():
                if isinstance(value, HostFn):
                    found.setdefault(id(value), value)
    return list(found.values())


def words(graph: Graph) -> Iterator[str | bytes]:
    """The structure of ``graph`` word by word."""
    writer = _HashWriter()
    writer.number(graph)
    for g in writer.queue:
        yield from writer.graph(g)


def isomorphic(a: Graph, b: Graph) -> bool:
    """True when ``a`` and ``b`` are one program up to names, places and the standing of constants.

    Args:
        a, b: graphs; the graphs they call are compared too.

    Returns:
        Whether ops, types, attributes, wiring, state and bodies agree, in program order.
    """
    return difference(a, b) is None


def difference(a: Graph, b: Graph) -> str | None:
    """The first word in which two programs part, for a person; None when they are isomorphic."""
    before = ""
    for x, y in zip_longest(words(a), words(b)):
        if x != y:
            return f"after {before!r}: {x!r} in {a.name}, {y!r} in {b.name}"
        if isinstance(x, str) and x.startswith("N "):
            before = x
    return None


class _HashWriter:
    def __init__(self) -> None:
        self.queue: list[Graph] = []
        self.constants: dict[int, Const] = {}
        self.hosts: dict[int, HostFn] = {}
        self.ops: set[Op] = set()
        self.foreign = False
        self._graphs: dict[int, int] = {}
        self._hosts: dict[int, int] = {}

    def number(self, graph: Graph) -> str:
        """The number of a callee; the same graph has the same number, so recursion ends."""
        if id(graph) not in self._graphs:
            self._graphs[id(graph)] = len(self.queue)
            self.queue.append(graph)
        return f"g{self._graphs[id(graph)]}"

    def body(self, graph: Graph) -> str:
        """A body is a graph of its own every time it is written."""
        self.queue.append(graph)
        return f"g{len(self.queue) - 1}"

    def graph(self, graph: Graph) -> Iterator[str | bytes]:
        names: dict[Value, str] = {}
        yield f"G {len(graph.params)}"
        for p in graph.params:
            names[p] = f"v{len(names)}"
            yield type_word(p.type)
        for node in graph.nodes:
            if node.op is not constant:
                yield from self.node(node, graph, names)
        yield "O"
        for v in graph.outputs:
            yield self._operand(v, names)
        yield f"S {sorted(graph.state.items())}"

    def node(self, node: Node, graph: Graph, names: dict[Value, str]) -> Iterator[str | bytes]:
        self.ops.add(node.op)
        yield f"N {node.op.name} {len(node.inputs)} {len(node.outputs)} {len(node.graphs)}"
        for v in node.inputs:
            yield self._operand(v, names)
        yield from self._attrs(node, graph)
        for body in node.graphs:
            yield self.body(body)
        for v in node.outputs:
            names[v] = f"v{len(names)}"
            yield type_word(v.type)

    def _operand(self, value: Value, names: dict[Value, str]) -> str | bytes:
        if value.node is not None and value.node.op is constant:
            const = value.node.attrs["value"]
            self.constants.setdefault(id(const), const)
            return const_word(const)
        return names[value]

    def _attrs(self, node: Node, graph: Graph) -> Iterator[str | bytes]:
        targets = set(callees(node))
        for name in sorted(node.attrs):
            value = node.attrs[name]
            callee = graph.module.graphs.get(value) if isinstance(value, str) and value in targets else None
            yield f"{name}="
            yield self.number(callee) if callee is not None else self._attr(value)

    def _attr(self, value: Any) -> str | bytes:
        if isinstance(value, HostFn):
            self.hosts.setdefault(id(value), value)
            return f"host {self._hosts.setdefault(id(value), len(self._hosts))} {value.name!r}"
        if isinstance(value, tuple):
            return b"(" + b",".join(_bytes(self._attr(v)) for v in value) + b")"
        word = attr_word(value)
        self.foreign |= isinstance(word, str) and word.startswith(_FOREIGN)
        return word


def type_word(type_: Any) -> str:
    """The text of a type. Raises ConcretizationError for sizes that are written down: the key would be of one size."""
    if (trace := trace_of(type_)) is not None:
        raise trace.refused("a key")
    return repr(type_) if isinstance(type_, TensorType) else str(type_)


def const_word(const: Const) -> bytes:
    """Type and bits of a constant."""
    if const.type.weak:
        return f"~{attr_word(const.data)!r}".encode()
    return type_word(const.type).encode() + np.asarray(strong_array(const), order="C").tobytes()


def attr_word(value: Any) -> str | bytes:
    """An attribute so that 1, 1.0 and True differ, 0.0 and -0.0 differ, and NaN equals NaN."""
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, slice)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, _LEAVES):
        return f"T {type_word(value)}" if not isinstance(value, DType) else f"D {value.short}"
    if isinstance(value, Const):
        return const_word(value)
    if isinstance(value, HostFn):
        return f"host {id(value)}"  # good while the program that holds it lives; ``words`` counts slots instead
    if isinstance(value, tuple):
        return b"(" + b",".join(_bytes(attr_word(v)) for v in value) + b")"
    return f"{_FOREIGN}{_foreign.setdefault(value, len(_foreign))}"


def _bytes(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode()
