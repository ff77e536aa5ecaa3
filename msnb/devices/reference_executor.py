"""The reference executor: a graph as a list of kernel calls in program order.

Each value has a slot in a list; a step reads slots, calls its kernel, writes slots, and clears those whose last reader
it was (early release). Control nodes run their bodies' own programs. It runs on every device that has kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any

import numpy as np

from msnb.base import MsnbError, device_registry, reraise_interrupt
from msnb.base.source_location import here, raised_at, users_frame
from msnb.core import TensorType, make, type_of_buffer
from msnb.devices.result_memory import careful, overflowed, refused, told
from msnb.ir import Graph, Module, Node, Value, control_flow
from msnb.ops.elementwise.constant import constant, is_constant

_FRAMES = 40  # of Python, for one turn of a recursion with its branches

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]


class ReferenceProgram:
    """Runs ``graph`` on ``device``.

    Args:
        device: anything with ``kernel(op, types, attrs)`` and ``xp``.
        graph: a verified graph.
    """

    def __init__(self, device: Any, graph: Graph, shared: dict[int, ReferenceProgram] | None = None) -> None:
        self.device = device
        self.graph = graph
        self._module: Module = graph.module
        self._shared: dict[int, ReferenceProgram] = {} if shared is None else shared
        self._shared[id(graph)] = self
        self._slots: dict[Value, int] = {}
        self._fixed: list[tuple[int, Any]] = []
        for p in graph.params:
            self._slot(p)
        last = self._last_uses()
        self._nodes = [n for n in graph.nodes if n.op is not constant]
        self._steps: list[Step] = [s for s in (self._step(n, last) for n in graph.nodes) if s is not None]
        self._outputs = [self._slots[v] for v in graph.outputs]

    def _slot(self, value: Value) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def _last_uses(self) -> dict[Value, Node]:
        keep = set(self.graph.outputs)
        last: dict[Value, Node] = {}
        for node in self.graph.nodes:
            for v in node.inputs:
                last[v] = node
            for v in node.outputs:
                last[v] = node
        return {v: n for v, n in last.items() if v not in keep and not is_constant(v)}

    def _step(self, node: Node, last: dict[Value, Node]) -> Step | None:
        outs = tuple(self._slot(v) for v in node.outputs)
        if node.op is constant:
            self._fixed.append((outs[0], self._constant(node)))
            return None
        ins = tuple(self._slots[v] for v in node.inputs)
        dead = tuple({self._slots[v] for v in (*node.inputs, *node.outputs) if last.get(v) is node})
        run, many = self._runner(node)
        return run, ins, outs, dead, many

    def _constant(self, node: Node) -> Any:
        const = node.attrs["value"]
        return const.data if const.type.weak else self.device.from_host(np.asarray(const.data))

    def _runner(self, node: Node) -> tuple[Callable[..., Any], bool]:
        if "control" in node.op.traits:
            return self._control(node), True
        types = tuple(v.type for v in node.inputs)
        results = [v.type for v in node.outputs]
        return careful(self.device, node.op, types, node.attrs, results), len(results) != 1

    def _program(self, graph: Graph) -> ReferenceProgram:
        found = self._shared.get(id(graph))
        return type(self)(self.device, graph, self._shared) if found is None else found

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on buffers, one per param."""
        env: list[Any] = [None] * len(self._slots)
        env[: len(args)] = args
        for i, data in self._fixed:
            env[i] = data
        try:
            for run, ins, outs, dead, many in self._steps:
                result = run(*[env[i] for i in ins])
                if many:
                    for i, r in zip(outs, result):
                        env[i] = r
                else:
                    env[outs[0]] = result
                for i in dead:
                    env[i] = None
        except Exception as error:
            reraise_interrupt(error)
            found = self._explained(error, run, [env[i] for i in ins])
            raise found from found.__cause__
        return [env[i] for i in self._outputs]

    def _explained(self, error: Exception, run: Any, buffers: Sequence[Any]) -> Exception:
        """The error of a step."""
        node = next(n for n, step in zip(self._nodes, self._steps) if step[0] is run)
        return explained(node, error, buffers)

    # ---- control flow ----

    def _control(self, node: Node) -> Callable[..., Any]:
        if node.op is control_flow.IF:
            return self._if(node)
        if node.op is control_flow.WHILE:
            return self._while(node)
        if node.op is control_flow.SCAN:
            return self._scan(node)
        if node.op is control_flow.CALL:
            return self._call(node)
        return self._fused(node) if node.op is control_flow.FUSED else self._host_call(node)

    def _fused(self, node: Node) -> Callable[..., Any]:
        """Without kernels, a group is the program it was made of."""
        body = self._program(node.graphs[0])
        return lambda *args: body(args)

    def _true(self, buffer: Any) -> bool:
        return bool(self.device.to_host(buffer)) if not isinstance(buffer, (bool, int, float)) else bool(buffer)

    def _if(self, node: Node) -> Callable[..., Any]:
        then, otherwise = (self._program(g) for g in node.graphs)
        return lambda pred, *args: (then if self._true(pred) else otherwise)(args)

    def _while(self, node: Node) -> Callable[..., Any]:
        cond, body = (self._program(g) for g in node.graphs)
        n = node.attrs["n_carry"]

        def run(*args: Any) -> list[Any]:
            carry, inv = list(args[:n]), list(args[n:])
            while self._true(cond([*carry, *inv])[0]):
                carry = body([*carry, *inv])
            return carry

        return run

    def _scan(self, node: Node) -> Callable[..., Any]:
        body = self._program(node.graphs[0])
        n, m, length = (node.attrs[k] for k in ("n_carry", "n_xs", "length"))
        order = range(length - 1, -1, -1) if node.attrs["reverse"] else range(length)
        ys = [v.type for v in node.outputs[n:]]
        xp = self.device.xp

        def run(*args: Any) -> list[Any]:
            carry, xs, inv = list(args[:n]), args[n : n + m], list(args[n + m :])
            stacked = [_empty(xp, t) for t in ys]
            for i in order:
                outs = body([*carry, *(x[i] if x.ndim > 1 else xp.asarray(x[i]) for x in xs), *inv])
                carry = outs[:n]
                for y, row in zip(stacked, outs[n:]):
                    y[i] = row
            return [*carry, *stacked]

        return run

    def _call(self, node: Node) -> Callable[..., Any]:
        name = node.attrs["callee"]

        running = 0

        def run(*args: Any) -> list[Any]:
            nonlocal running
            running += 1
            try:
                with _more_frames() if running > 1 else nullcontext():
                    return self._program(self._module.graphs[name])(args)
            finally:
                running -= 1

        return run

    def _host_call(self, node: Node) -> Callable[..., Any]:
        host = node.attrs["fn"]

        def run(*args: Any) -> list[Any]:
            tensors = [a if isinstance(a, (bool, int, float, complex)) else make(a, type_of_buffer(a)) for a in args]
            result = host.fn(*tensors)
            results = result if isinstance(result, (tuple, list)) else (result,)
            return [] if not node.outputs else [r._data for r in results]

        return run


@contextmanager
def _more_frames() -> Iterator[None]:
    """A call inside of itself: Python's limit of frames, which is for endless recursion, moves along."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _has_place(error: Exception) -> bool:
    """Whether what a body raised says already where it was."""
    return isinstance(error, MsnbError) or users_frame(_below(error)) is not None


def explained(node: Node, error: Exception, buffers: Sequence[Any]) -> Exception:
    """An error of a node, at the user's line; operands of another device have the sentence that eager mode gives.

    A control node passes on what its body raised, a host call what the user's Python code raised.
    """
    place = (node.where.where if node.where is not None else None) or here().where
    if "control" in node.op.traits:
        return error if place is None or _has_place(error) else raised_at(error, place)
    types = [v.type for v in node.inputs]
    error = told(node.op, types, [v.type for v in node.outputs], error) or error
    if isinstance(error, MemoryError) and not isinstance(error, MsnbError):
        error = refused(node.op, types, [v.type for v in node.outputs])
    error = overflowed(node.op, types, error)
    found: Exception | None = error if isinstance(error, MsnbError) else None
    found = found or device_registry.misplaced(node.op.name, types, buffers) or _misfit(node, types, buffers) or error
    if isinstance(found, MsnbError):
        found.where = place
    return found


def _misfit(node: Node, types: Sequence[Any], buffers: Sequence[Any]) -> MsnbError | None:
    """What inference says to the sizes that only the data told."""
    if all(not isinstance(t, TensorType) or t.is_static for t in types):
        return None
    known = tuple(type_of_buffer(b) if isinstance(t, TensorType) and not t.weak else t for t, b in zip(types, buffers))
    try:
        node.op.result_types(known, node.attrs)
    except MsnbError as told:
        return told
    return None


def _below(error: BaseException) -> TracebackType | None:
    """What the executor called: the traceback without its own frame."""
    return error.__traceback__.tb_next if error.__traceback__ is not None else None


def _empty(xp: Any, t: Any) -> Any:
    assert isinstance(t, TensorType)
    return xp.empty(t.ints(), t.dtype.numpy)


def alone(node: Node, name: str, module: Module | None) -> Graph:
    """A graph of one node, with one param per operand."""
    graph = Graph(name, module)
    params = [graph.add_param(v.type, f"p{i}") for i, v in enumerate(node.inputs)]
    made = graph.add(node.op, params, node.attrs, [v.type for v in node.outputs], node.graphs)
    made.where, made.scope = node.where, node.scope
    graph.outputs = list(made.outputs)
    return graph
