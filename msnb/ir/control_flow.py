"""Control flow as data: If, While, Scan, Call, HostCall and the Stack.

    if(pred, args...)                  graphs = (then, else): each takes args, both give the same result types
    while(carry..., inv...)            graphs = (cond, body), attrs n_carry: cond(carry, inv) -> bool[];
                                       body(carry, inv) -> carry; results: the last carry
    scan(carry..., xs..., inv...)      graphs = (body,), attrs n_carry, n_xs, length, reverse: body(carry, x at step,
                                       inv) -> (carry..., y...); results: last carry, then every y stacked along axis 0
    call(args...)                      attrs callee: the name of a graph in the module (recursion is possible), layer,
                                       recompute: its gradient keeps the arguments only and runs it again; block: the
                                       function it stands for: name, names of tensors, settings
    fused(args...)                     graphs = (body,): what a device runs as one kernel, made by the fusion pass
    gradient(args..., douts...)        graphs = (body,), attrs wrt, outputs: the results of body(args) and its gradients
                                       by the params wrt; douts belong to the outputs, absent ones are ones. Noted by
                                       capture; ``autodiff.deferred_gradient`` writes it out before anyone else sees the
                                       graph
    host_call(args...)                 attrs fn (a HostFn), types: calls back into Python at run time
    stack_new(type=) / stack_push(s, x) / stack_pop(s) -> (s, x)     ordinary pure ops (``ir.stack_type``)

Predicates are 0-d (or one-element) bool tensors; other dtypes count as true when not zero. The result types of control
nodes are given by their bodies, so these nodes are made by the functions below, not by calling the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import Tensor, TensorType, Type, slot, tensor_type
from msnb.ir.builder import GraphBuilder
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ir.module_linking import adopt, rehome
from msnb.ir.stack_type import STACK_NEW, STACK_POP, STACK_PUSH
from msnb.ops.definition.record import REQUIRED, Op, define, find
from msnb.ops.elementwise.constant import constant

__all__ = [
    "CALL", "FUSED", "GRADIENT", "HOST_CALL", "IF", "SCAN", "STACK_NEW", "STACK_POP", "STACK_PUSH", "WHILE", "HostFn",
    "call", "engine_constant", "gradient", "host_call", "if_", "replay", "replay_node", "result_types", "run_control",
    "scan", "while_",
]  # fmt: skip


def _structural(*types: Type, **attrs: Any) -> Any:
    raise AssertionError("control nodes take their result types from their bodies; use the functions of ir.control.")


def _no_body(xp: Any, *args: Any, **attrs: Any) -> Any:
    raise AssertionError("control nodes are run by the engine or the executor.")


def _control(name: str, doc: str, attrs: dict[str, Any], family: str = "control") -> Op:
    return define(
        name,
        "*args",
        attrs=attrs,
        infer=_structural,
        body=_no_body,
        doc=doc,
        no_grad="differentiated as a whole by msnb.autodiff",
        axes="control",
        traits=("control",),
        family=family,
    )


IF = _control("if", "Run one of two graphs.", {})
WHILE = _control("while", "Run a body as long as a condition holds.", {"n_carry": REQUIRED})
SCAN = _control(
    "scan",
    "Run a body once per slice, carrying values along.",
    {"n_carry": REQUIRED, "n_xs": REQUIRED, "length": REQUIRED, "reverse": False},
)
CALL = _control(
    "call", "Call a graph of the module by name.", {"callee": REQUIRED, "layer": "", "recompute": False, "block": None}
)
FUSED = _control("fused", "Run a group of nodes as one kernel.", {})
GRADIENT = _control("gradient", "A program and its gradient.", {"wrt": REQUIRED, "outputs": REQUIRED}, "owed")
HOST_CALL = _control("host_call", "Call back into Python.", {"fn": REQUIRED, "effect": False})


class HostFn:
    """A Python callable in a program: ``fn(*tensors) -> tensor or sequence``. Identity of the slot, not of the
    callable, is part of a program's structure: ``fn`` may be exchanged between runs.

    Args:
        fn: the callable.
        name: what people see.
        grad: its gradient, ``grad(*inputs, *douts) -> one gradient per input``, also called at run time.
        error: the ErrorTemplate that it raises, where that can be said in a file.
    """

    def __init__(
        self, fn: Callable[..., Any], name: str = "", grad: Callable[..., Any] | None = None, error: Any = None
    ) -> None:
        self.fn = fn
        self.grad = grad
        self.error = error
        self.name: str = name or getattr(fn, "__qualname__", "host")

    def __repr__(self) -> str:
        return f"HostFn({self.name})"


# ---- making control nodes ----


def result_types(node_op: Op, graphs: Sequence[Graph], attrs: dict[str, Any], module: Any) -> tuple[Type, ...]:
    """The result types of a control node, from its bodies."""
    if node_op is IF:
        return tuple(v.type for v in graphs[0].outputs)
    if node_op is WHILE:
        return tuple(v.type for v in graphs[1].outputs)
    if node_op is FUSED:
        return tuple(v.type for v in graphs[0].outputs)
    if node_op is CALL:
        return tuple(v.type for v in module.graphs[attrs["callee"]].outputs)
    n = attrs["n_carry"]
    outs = [v.type for v in graphs[0].outputs]
    return tuple(outs[:n]) + tuple(_stacked(t, attrs["length"]) for t in outs[n:])


def _stacked(t: Type, length: int) -> Type:
    assert isinstance(t, TensorType)
    return tensor_type((length, *t.shape), t.dtype)


def if_(b: GraphBuilder, pred: Any, then: Graph, otherwise: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
    """Append an ``if`` to ``b``; both graphs take ``args``."""
    return b.add(
        IF, [b.lift(pred), *map(b.lift, args)], {}, result_types(IF, (then, otherwise), {}, None), (then, otherwise)
    )


def while_(b: GraphBuilder, cond: Graph, body: Graph, carry: Sequence[Any], inv: Sequence[Any]) -> tuple[Any, ...]:
    """Append a ``while`` to ``b``."""
    attrs = {"n_carry": len(carry)}
    values = [b.lift(x) for x in (*carry, *inv)]
    return b.add(WHILE, values, attrs, result_types(WHILE, (cond, body), attrs, None), (cond, body))


def scan(
    b: GraphBuilder, body: Graph, carry: Sequence[Any], xs: Sequence[Any], inv: Sequence[Any], length: int,
    reverse: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Append a ``scan`` over axis 0 of ``xs`` to ``b``."""
    attrs = {"n_carry": len(carry), "n_xs": len(xs), "length": length, "reverse": reverse}
    values = [b.lift(x) for x in (*carry, *xs, *inv)]
    return b.add(SCAN, values, attrs, result_types(SCAN, (body,), attrs, None), (body,))


def call(
    b: GraphBuilder, callee: str, args: Sequence[Any], layer: str = "", recompute: bool = False, block: Any = None
) -> tuple[Any, ...]:
    """Append a call of the graph named ``callee`` in ``b``'s module."""
    attrs = {"callee": callee, "layer": layer, "recompute": recompute, "block": block}
    return b.add(CALL, [b.lift(x) for x in args], attrs, result_types(CALL, (), attrs, b.graph.module))


def host_call(
    b: GraphBuilder, fn: HostFn, args: Sequence[Any], types: Sequence[Type], effect: bool = False
) -> tuple[Any, ...]:
    """Append a call back into Python whose results have ``types``."""
    return b.add(HOST_CALL, [b.lift(x) for x in args], {"fn": fn, "effect": effect}, types)


def gradient(
    b: GraphBuilder, body: Graph, wrt: Sequence[int], outputs: Sequence[int], args: Sequence[Any], douts: Sequence[Any],
    types: Sequence[Type],
) -> tuple[Any, ...]:  # fmt: skip
    """Append the results of ``body`` and its gradients, which have ``types``, to ``b``."""
    attrs = {"wrt": tuple(wrt), "outputs": tuple(outputs)}
    values = [b.lift(x) for x in (*args, *douts)]
    return b.add(GRADIENT, values, attrs, [*(v.type for v in body.outputs), *types], (body,))


# ---- replaying ----


def replay(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """Run a graph's nodes through whatever engine sits in the slot: inlining, transforming, eager interpretation.

    Args:
        graph: the graph; control-flow nodes are handed over through ``replay_node``.
        args: one tensor (or Python scalar for weak params) per param.

    Returns:
        One tensor per output.
    """
    env: dict[Value, Any] = dict(zip(graph.params, args))
    for node in graph.nodes:
        replay_node(node, [env[v] for v in node.inputs], env, graph.module)
    return [env[v] for v in graph.outputs]


def replay_node(node: Node, inputs: list[Any], env: dict[Value, Any], module: Module | None = None) -> None:
    """Run one node through the engine in the slot and enter its results into ``env``; calls look into ``module``."""
    engine = slot.engine
    if node.op is constant:
        env[node.out] = engine_constant(node)
        return
    if isinstance(engine, GraphBuilder):
        before = engine.scope, engine.origin, engine.why, engine.primal
        engine.scope, engine.origin = node.scope or engine.scope, node.where or engine.origin
        engine.why = node.why or engine.why
        engine.primal = engine.primal if node.primal is None else engine.twins.get(node.primal, node.primal)
        count = len(engine.graph.nodes)
        try:
            results = _replay(node, inputs, module)
            if len(engine.graph.nodes) > count:
                engine.twins[node] = engine.graph.nodes[-1]
                engine.graph.nodes[-1].marks = node.marks
        finally:
            engine.scope, engine.origin, engine.why, engine.primal = before
    else:
        results = _replay(node, inputs, module)
    for value, result in zip(node.outputs, results):
        env[value] = result


def engine_constant(node: Node) -> Any:
    """What a constant is to the engine in the slot: a Python number when weak, else a tensor."""
    const = node.attrs["value"]
    if const.type.weak:
        return const.data
    if isinstance(slot.engine, GraphBuilder):
        return slot.engine.wrap(slot.engine.constant(const.data, const.type))
    return Tensor(const.data)


def _replay(node: Node, inputs: list[Any], module: Module | None) -> tuple[Any, ...]:
    engine = slot.engine
    if "control" not in node.op.traits:
        result = engine.apply(node.op, tuple(inputs), node.attrs)
        return result if isinstance(result, tuple) else (result,)
    if isinstance(engine, GraphBuilder):
        return _append(engine, node, inputs, module)
    return run_control(node, inputs, module)


def _append(engine: GraphBuilder, node: Node, inputs: list[Any], module: Module | None) -> tuple[Any, ...]:
    target, attrs = engine.graph.module, node.attrs
    source = target if module is None else module
    bodies = [rehome(g.copy(twins=engine.twins), g.module, target) for g in node.graphs]
    if node.op is CALL:
        attrs = {**attrs, "callee": adopt(attrs["callee"], source, target)}
    return engine.add(node.op, [engine.lift(x) for x in inputs], attrs, [v.type for v in node.outputs], bodies)


def run_control(node: Node, inputs: list[Any], module: Module | None = None) -> tuple[Any, ...]:
    """Run a control node on real tensors by replaying its bodies (the eager engine's way)."""
    if node.op is IF:
        return tuple(replay(node.graphs[0 if bool(inputs[0]) else 1], inputs[1:]))
    if node.op is WHILE:
        return _run_while(node, inputs)
    if node.op is SCAN:
        return _run_scan(node, inputs)
    if node.op is CALL:
        assert module is not None, "a call is replayed with the module that holds its callee."
        return tuple(replay(module.graphs[node.attrs["callee"]], inputs))
    if node.op is FUSED:
        return tuple(replay(node.graphs[0], inputs))
    result = node.attrs["fn"].fn(*inputs)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _run_while(node: Node, inputs: list[Any]) -> tuple[Any, ...]:
    cond, body = node.graphs
    n = node.attrs["n_carry"]
    carry, inv = inputs[:n], inputs[n:]
    while bool(replay(cond, [*carry, *inv])[0]):
        carry = replay(body, [*carry, *inv])
    return tuple(carry)


def _run_scan(node: Node, inputs: list[Any]) -> tuple[Any, ...]:
    n, m, length = node.attrs["n_carry"], node.attrs["n_xs"], node.attrs["length"]
    carry, xs, inv = inputs[:n], inputs[n : n + m], inputs[n + m :]
    steps = range(length - 1, -1, -1) if node.attrs["reverse"] else range(length)
    rows: list[list[Any]] = []
    for i in steps:
        outs = replay(node.graphs[0], [*carry, *(x[i] for x in xs), *inv])
        carry, row = outs[:n], outs[n:]
        rows.append(row)
    if node.attrs["reverse"]:
        rows.reverse()
    if not rows:
        zeros = find("zeros")
        ys = [zeros(shape=v.type.shape, dtype=v.type.dtype) for v in node.outputs[n:] if isinstance(v.type, TensorType)]
        return (*carry, *ys)
    stack = find("stack")
    return (*carry, *(stack(*column, axis=0) for column in zip(*rows)))
