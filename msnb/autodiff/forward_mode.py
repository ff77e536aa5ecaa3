"""Forward mode: from a graph to the graph that also carries tangents along.

    graph f(x):  a = sin(x)              jvp(x, dx):  a = sin(x)      da = cos(x) * dx
                 y = a * a                            y = a * a       dy = 2 * a * da
                 return y                             return y, dy

An op's record holds one derivative rule only, the reverse one: dout -> dx = J* dout. It is linear in dout, and the
adjoint of J* is J. So the forward rule is found by building the rule as a small graph R(inputs, outs, dout) and putting
R itself through reverse mode with respect to dout, where the "gradient" that comes in is the tangent:

    R:          dx   = J* dout           the record's rule, with the engine's un-broadcasting
    R's pair:   dout_bar = J  dx_bar     its backward graph, fed with tangents

Nothing of R's forward part survives (being linear, its adjoint never reads dout), so the tangent program is as if
somebody had written it: no double reverse of the whole graph. The transposed rule is kept per op, types and attributes.

Control nodes carry tangents next to values: an If gives both, loops carry both, a callee has a twin with tangents. The
tangent of a stack is a stack of tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.autodiff.activity_analysis import Dependence
from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.gradient_rules import ask_rule, fit, gradient_type, need_gradient_type, zeros_like
from msnb.autodiff.reverse_mode import Reverse, check_differentiable, stamped
from msnb.autodiff.subgraphs import inline, params, reindex, types_of
from msnb.base import GradientError, timed
from msnb.core import EngineRestore, Tensor
from msnb.ir import Graph, GraphBuilder, Node, Value, control_flow, copy_node

CACHE_SIZE = 4096


@timed("autodiff")
def jvp(graph: Graph, wrt: Sequence[int]) -> Graph:
    """Forward-mode derivative of a graph.

    Args:
        graph: the program; it is not changed.
        wrt: positions of the params that get a tangent: floats, complex numbers or stacks of them.

    Returns:
        A graph from the params, then one tangent per position in ``wrt``, to the outputs, then one tangent per output
        that can have one (floats, complex numbers).

    Raises:
        GradientError: an int or bool gets a tangent, or the tangent meets a Python function.

    Examples:
        >>> from msnb.core.types import tensor_type
        >>> from msnb.core.dtypes import float32
        >>> from msnb.ir.builder import build
        >>> square = build("square", [tensor_type((3,), float32)], lambda x: x * x)
        >>> len(jvp(square, [0]).outputs)
        2
    """
    check_differentiable(graph, wrt, "params", "with respect to")
    outs = tuple(i for i, v in enumerate(graph.outputs) if gradient_type(v.type) is not None)
    found = Forward().pushforward(graph, tuple(wrt), outs)
    prune(found)
    return found


class Forward:
    """One run of the transform: shared knowledge about nested and called graphs."""

    def __init__(self) -> None:
        self.flow: Dependence = Dependence()

    def pushforward(self, graph: Graph, wrt: tuple[int, ...], outs: tuple[int, ...]) -> Graph:
        """(params, tangents of ``wrt``) -> (outputs, tangents of ``outs``)."""
        b = GraphBuilder(f"{graph.name}_jvp", graph.module)
        return self.into(b, graph, wrt, outs)

    def into(self, b: GraphBuilder, graph: Graph, wrt: tuple[int, ...], outs: tuple[int, ...]) -> Graph:
        """The same, appended to a builder whose graph may be known by name already."""
        b.why = "tangent"
        push = Pushforward(self, b, graph, wrt)
        with b:
            push.run(wrt, outs)
        b.graph.state = dict(graph.state)
        return b.graph

    def varying_outputs(self, node: Node, graph: Graph, ins: Sequence[int]) -> list[int]:
        """The results of a node that depend on the given inputs."""
        bits = sum(1 << i for i in ins)
        masks = self.flow.of_node(node, graph)
        return [j for j, v in enumerate(node.outputs) if masks[j] & bits and gradient_type(v.type) is not None]


class Pushforward:
    """The transform of one graph: ``env`` maps its values to new ones, ``tangents`` to their tangents."""

    def __init__(self, forward: Forward, b: GraphBuilder, graph: Graph, wrt: tuple[int, ...]) -> None:
        self.forward: Forward = forward
        self.b: GraphBuilder = b
        self.graph: Graph = graph
        self.env: dict[Value, Value] = {}
        self.tangents: dict[Value, Any] = {}

    def run(self, wrt: tuple[int, ...], outs: tuple[int, ...]) -> None:
        """Append everything to the builder."""
        for p in self.graph.params:
            self.env[p] = self.b.graph.add_param(p.type, p.name)
        for i in wrt:
            p = self.graph.params[i]
            self.tangents[p] = self.b.param(need_gradient_type(p.type), f"d{p.name}")
        for node in self.graph.nodes:
            self._node(node)
        self.b.graph.outputs.extend(self.env[v] for v in self.graph.outputs)
        self.b.output(*(self.tangent(self.graph.outputs[i]) for i in outs))

    def there(self, value: Value) -> Any:
        """A value of the given graph in the new one."""
        return self.b.wrap(self.env[value])

    def tangent(self, value: Value) -> Any:
        """The tangent of a value, zeros where it does not vary."""
        found = self.tangents.get(value)
        return zeros_like(self.there(value), value.type) if found is None else found

    def varying(self, node: Node) -> list[int]:
        """The inputs of a node that have a tangent."""
        return [i for i, v in enumerate(node.inputs) if v in self.tangents]

    def _node(self, node: Node) -> None:
        ins = self.varying(node)
        outs = self.forward.varying_outputs(node, self.graph, ins) if ins else []
        if outs and "control" in node.op.traits:
            with stamped(self.b, node):
                self._control(node, ins, outs)
            return
        copy = copy_node(node, self.b.graph, self.env)
        if outs:
            with stamped(self.b, node, copy):
                self._ordinary(node, ins, outs)

    def _ordinary(self, node: Node, ins: list[int], outs: list[int]) -> None:
        rule = transposed_rule(node, tuple(ins))
        given = [*map(self.there, node.inputs), *map(self.there, node.outputs)]
        given += [self.tangents[node.inputs[i]] for i in ins]
        found = inline(self.b, rule, given)
        differentiable = [v for v in node.outputs if gradient_type(v.type) is not None]
        self.tangents.update(zip(differentiable, found))

    # ---- control ----

    def _control(self, node: Node, ins: list[int], outs: list[int]) -> None:
        rules: dict[Any, Callable[[Node, list[int], list[int]], Sequence[Any]]] = {
            control_flow.IF: self._if,
            control_flow.WHILE: self._while,
            control_flow.SCAN: self._scan,
            control_flow.CALL: self._call,
            control_flow.HOST_CALL: _host_call,
        }
        results = rules[node.op](node, ins, outs)
        n = len(node.outputs)
        for value, new in zip(node.outputs, results):
            self.env[value] = new._value
            new._value.name = value.name
        self.tangents.update(zip([node.outputs[j] for j in outs], results[n:]))

    def _with_tangents(self, node: Node, ins: Sequence[int]) -> list[Any]:
        return [*map(self.there, node.inputs), *(self.tangent(node.inputs[i]) for i in ins)]

    def _if(self, node: Node, ins: list[int], outs: list[int]) -> Sequence[Any]:
        wrt = tuple(i - 1 for i in ins)
        then, other = (self.forward.pushforward(g, wrt, tuple(outs)) for g in node.graphs)
        pred, *args = self._with_tangents(node, ins)
        return control_flow.if_(self.b, pred, then, other, args)

    def _call(self, node: Node, ins: list[int], outs: list[int]) -> Sequence[Any]:
        graph = self.graph.module.graphs[node.attrs["callee"]]
        name = self._callee(graph, tuple(ins), tuple(outs))
        types = types_of(node.outputs) + [need_gradient_type(node.outputs[j].type) for j in outs]
        values = [self.b.lift(x) for x in self._with_tangents(node, ins)]
        return self.b.add(control_flow.CALL, values, {**node.attrs, "callee": name, "block": None}, types)

    def _callee(self, graph: Graph, ins: tuple[int, ...], outs: tuple[int, ...]) -> str:
        known: dict[Any, str] = graph.module.memo.setdefault("jvp", {})
        if (graph, ins, outs) not in known:
            b = GraphBuilder(f"{graph.name}_jvp", graph.module)
            known[graph, ins, outs] = graph.module.add(b.graph)
            prune(self.forward.into(b, graph, ins, outs))
        return known[graph, ins, outs]

    def _loop(self, node: Node, ins: list[int], m: int) -> tuple[list[int], list[int], list[int]]:
        """Inputs that have a tangent in some turn: carried, sliced, unchanged."""
        n, bits = node.attrs["n_carry"], sum(1 << i for i in ins)
        closure = self.forward.flow.closure(node)
        carries = [j for j in range(n) if closure[j] & bits]
        return carries, [i for i in ins if n <= i < n + m], [i for i in ins if i >= n + m]

    def _while(self, node: Node, ins: list[int], outs: list[int]) -> Sequence[Any]:
        n, (cond, body) = node.attrs["n_carry"], node.graphs
        carries, _, same = self._loop(node, ins, 0)
        pushed = self.forward.pushforward(body, (*carries, *same), tuple(carries))
        prune(pushed)
        _regroup(pushed, [n, len(body.params) - n], [len(carries), len(same)])
        values, tangents = list(map(self.there, node.inputs)), [self.tangent(node.inputs[i]) for i in (*carries, *same)]
        carry = [*values[:n], *tangents[: len(carries)]]
        inv = [*values[n:], *tangents[len(carries) :]]
        results = control_flow.while_(self.b, _widened(cond, pushed, n, len(carries)), pushed, carry, inv)
        by_carry = dict(zip(carries, results[n:]))
        return [*results[:n], *(by_carry[j] for j in outs)]

    def _scan(self, node: Node, ins: list[int], outs: list[int]) -> Sequence[Any]:
        n, m, body = node.attrs["n_carry"], node.attrs["n_xs"], node.graphs[0]
        carries, sliced, same = self._loop(node, ins, m)
        rows = [j for j in outs if j >= n]
        pushed = self.forward.pushforward(body, (*carries, *sliced, *same), (*carries, *rows))
        _regroup(pushed, [n, m, len(body.params) - n - m], [len(carries), len(sliced), len(same)])
        k, n_out = len(carries), len(body.outputs)
        o = pushed.outputs
        pushed.outputs[:] = [*o[:n], *o[n_out : n_out + k], *o[n:n_out], *o[n_out + k :]]
        values = list(map(self.there, node.inputs))
        of = [[self.tangent(node.inputs[i]) for i in group] for group in (carries, sliced, same)]
        found = control_flow.scan(
            self.b, pushed, [*values[:n], *of[0]], [*values[n : n + m], *of[1]], [*values[n + m :], *of[2]],
            node.attrs["length"], node.attrs["reverse"],
        )  # fmt: skip
        ys = found[n + k : k + n_out]
        by_result = {**dict(zip(carries, found[n : n + k])), **dict(zip(rows, found[k + n_out :]))}
        return [*found[:n], *ys, *(by_result[j] for j in outs)]


def _regroup(graph: Graph, sizes: Sequence[int], tangent_sizes: Sequence[int]) -> None:
    """Params (a..., b..., da..., db...) become (a..., da..., b..., db...)."""
    at, dt, order = 0, sum(sizes), []
    for size, tangents in zip(sizes, tangent_sizes):
        order += [*graph.params[at : at + size], *graph.params[dt : dt + tangents]]
        at, dt = at + size, dt + tangents
    graph.params[:] = order
    reindex(graph)


def _widened(cond: Graph, body: Graph, n: int, extra: int) -> Graph:
    """The condition with the params of the body, tangents ignored."""
    b = GraphBuilder(cond.name, cond.module)
    with b:
        given = params(b, types_of(body.params), "c")
        b.output(*inline(b, cond, [*given[:n], *given[n + extra : n + extra + len(cond.params) - n]]))
    return b.graph


def _host_call(node: Node, ins: list[int], outs: list[int]) -> Sequence[Any]:
    error = GradientError(
        f"forward mode meets the Python function {node.attrs['fn'].name}, which has no tangent.",
        hint="use reverse mode (grad, vjp), or cut the tangent off with stop_gradient.",
    )
    error.where = node.where.where if node.where is not None else None
    raise error


# ---- the transposed rule of an op ----

_rules: dict[Any, Graph] = {}


def transposed_rule(node: Node, ins: tuple[int, ...]) -> Graph:
    """(inputs, outs, tangents of the inputs ``ins``) -> tangents of the differentiable outs."""
    if any(isinstance(a, control_flow.HostFn) for a in node.attrs.values()):  # its callable may be exchanged
        return _transpose(node, ins)
    types = tuple(v.type for v in node.inputs)
    key = (node.op, types, tuple(node.attrs.items()), ins)
    found = _rules.get(key)
    if found is None:
        if len(_rules) >= CACHE_SIZE:
            _rules.clear()
        found = _rules[key] = _transpose(node, ins)
    return found


def _transpose(node: Node, ins: tuple[int, ...]) -> Graph:
    rule, present = _rule_graph(node, ins)
    first = len(node.inputs) + len(node.outputs)
    douts = tuple(range(first, len(rule.params)))
    pair = Reverse().pullback(rule, douts, tuple(range(len(present))))
    _keep_residuals_only(pair.forward, pair.residual_list, first, node)
    with EngineRestore(), GraphBuilder(f"{node.op.name}_tangent") as b:
        given = params(b, types_of(rule.params[:first]), "x")
        tangents = [b.param(need_gradient_type(node.inputs[i].type), f"d{i}") for i in ins]
        chosen = [t for i, t in zip(ins, tangents) if i in present]
        residuals = inline(b, pair.forward, given)
        b.output(*inline(b, pair.backward, [*residuals, *chosen]))
    prune(b.graph)
    return b.graph


def _rule_graph(node: Node, ins: tuple[int, ...]) -> tuple[Graph, list[int]]:
    """R(inputs, outs, douts) -> fitted gradients, and which of ``ins`` have one."""
    with EngineRestore(), GraphBuilder(f"{node.op.name}_rule") as b:
        given, outs = params(b, types_of(node.inputs), "x"), params(b, types_of(node.outputs), "y")
        douts = [None if t is None else b.param(t, "dy") for t in (gradient_type(v.type) for v in node.outputs)]
        grads = ask_rule(node, given, outs, douts)
        present = [i for i in ins if grads[i] is not None]
        for i in present:
            g = grads[i] if isinstance(grads[i], Tensor) else b.wrap(b.lift(grads[i]))
            b.output(fit(g, node.inputs[i].type))
    return b.graph, present


def _keep_residuals_only(forward: Graph, residuals: Sequence[Value], first: int, node: Node) -> None:
    forward.outputs[:] = residuals
    needed = prune(forward, waived="collective")  # of the rule only its transpose runs: no rank waits here
    if any(p in needed for p in forward.params[first:]):
        raise GradientError(f"the gradient rule of {node.op.name} is not linear in dout: it has no forward mode.")
    del forward.params[first:]
