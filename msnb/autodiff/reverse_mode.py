"""Reverse mode: from a graph to the pair (forward, backward).

A program is a chain of maps, y = f3(f2(f1(x))). Its derivative is a chain of linear maps, J3 J2 J1. Applying the
adjoint from the left costs about as much as the program itself, whatever the size of x, so the gradient of dy is

    dx = J1* ( J2* ( J3* dy ) )          nodes in reverse order, each by its own rule

where a value read in several places adds up what its readers send back.

    graph f(x, w):   a = x @ w          forward(x, w):  a = x @ w              backward(x, w, a, dy):
                     y = tanh(a)                        y = tanh(a)              da = tanh's rule(dy, y)
                     return y                           return y, x, w, y        dx, dw = matmul's rule(da, x, w)
                                                                  `-- residuals --> return dx, dw

Only values between ``wrt`` and ``outputs`` get an adjoint (``activity``). The backward graph is closed: each forward
value that a rule reads becomes a param, a *residual*; what turns out to be unused is pruned first, and constants are
made anew instead of being kept. Control nodes are differentiated as such in ``reverse_control``. Both graphs consist of
ordinary nodes, so the transform applies to its own results: that is how higher derivatives come about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msnb.autodiff.activity_analysis import Activity, Dependence
from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.gradient_rules import add_up, ask_rule, fit, gradient_type, need_gradient_type, zeros_like
from msnb.autodiff.subgraphs import reindex
from msnb.base import GradientError, timed
from msnb.core import Tensor
from msnb.ir import Graph, GraphBuilder, Module, Node, SymbolicTensor, Value, copy_node
from msnb.ops.definition.record import Op

Pull = Callable[[list[Any]], list[Any]]
_MAKE_ANEW_DEPTH = 6
CONTROL_RULES: dict[Op, Callable[[Pullback, Node], tuple[Sequence[Any], Pull]]] = {}
"""How control nodes are differentiated, filled by ``reverse_control_flow``: each appends the forward form of a node to
``forward`` and gives its results and its pull."""


@dataclass
class VJP:
    """A graph that keeps what its gradient needs, and the gradient.

    Attributes:
        forward: the params of the graph -> its outputs, then the residuals.
        backward: residuals, then one dout per differentiated output -> one gradient per param asked for.
        residuals: how many residuals there are.
        residual_values: each residual as a value of the given graph (of ``forward`` where control flow made it).
        residual_list: each residual as a value of ``forward``.
        wrt: the params (positions) that have a gradient, in the order of ``backward``'s outputs.
        outputs: the outputs (positions) that have a dout, in the order of ``backward``'s params.
    """

    forward: Graph
    backward: Graph
    residuals: int
    residual_values: list[Value] = field(default_factory=list)
    wrt: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    residual_list: list[Value] = field(default_factory=list)


@timed("autodiff")
def vjp(graph: Graph, wrt: Sequence[int], outputs: Sequence[int] | None = None) -> VJP:
    """Reverse-mode derivative of a graph.

    Args:
        graph: the program; it is not changed.
        wrt: positions of the params to differentiate by; floats, complex numbers or stacks of them.
        outputs: positions of the outputs that will be given a dout; all that can have one by default.

    Returns:
        The pair of graphs as a ``VJP``. Gradients are zeros where nothing flows.

    Raises:
        GradientError: an int or bool is differentiated, or the program calls Python without a gradient.

    Examples:
        >>> from msnb.core.types import tensor_type
        >>> from msnb.core.dtypes import float32
        >>> from msnb.ir.builder import build
        >>> square = build("square", [tensor_type((3,), float32)], lambda x: x * x)
        >>> pair = vjp(square, [0])
        >>> len(pair.backward.params)
        2
    """
    check_differentiable(graph, wrt, "params", "with respect to")
    if outputs is None:
        outputs = [i for i, v in enumerate(graph.outputs) if gradient_type(v.type) is not None]
    check_differentiable(graph, outputs, "outputs", "of")
    return Reverse().pullback(graph, tuple(wrt), tuple(outputs))


def check_differentiable(graph: Graph, positions: Sequence[int], kind: str, word: str) -> None:
    """Raise GradientError unless these params or outputs can have gradients."""
    for i in positions:
        value = getattr(graph, kind)[i]
        if gradient_type(value.type) is None:
            raise GradientError(
                f"no gradient {word} {value.name or f'output {i}'} of type {value.type}: only floats have gradients.",
                hint="convert it with astype(ms.float32), or leave it out.",
            )


class Reverse:
    """One run of the transform: shared knowledge about nested and called graphs."""

    def __init__(self) -> None:
        self.flow: Dependence = Dependence()
        self.twins: dict[Node, Node] = {}

    def builder(self, name: str, module: Module) -> GraphBuilder:
        """A builder for a body: gradient nodes still find the forward nodes that move into one."""
        b = GraphBuilder(name, module)
        b.twins = self.twins
        return b

    def pullback(self, graph: Graph, wrt: tuple[int, ...], outputs: tuple[int, ...]) -> VJP:
        """The pair for a graph (a program, a body, a callee)."""
        return Pullback(self, graph, wrt, outputs).result()


class BackwardBuilder(GraphBuilder):
    """Builds the backward graph: values of the forward graph become residuals, constants are made anew."""

    def __init__(self, name: str, forward: GraphBuilder) -> None:
        super().__init__(name, forward.graph.module, forward)
        self.why = "gradient"
        self._anew: dict[Value, Value] = {}

    def lift_outer(self, x: SymbolicTensor) -> Value:
        """A forward value in this graph."""
        assert self.parent is not None
        outer = self.parent.lift(x)
        return self._make_anew(outer) if self._is_cheap(outer, _MAKE_ANEW_DEPTH) else super().lift_outer(x)

    def _is_cheap(self, value: Value, depth: int) -> bool:
        node = value.node
        if node is None or depth == 0 or "control" in node.op.traits:
            return False
        if not node.inputs:
            return not node.op.traits & {"random", "effect"}
        moves = node.op.view in ("reshape", "broadcast", "transpose")
        return moves and all(self._is_cheap(v, depth - 1) for v in node.inputs)

    def _make_anew(self, value: Value) -> Value:
        if value not in self._anew:
            assert value.node is not None
            for v in value.node.inputs:
                self._make_anew(v)
            copy_node(value.node, self.graph, self._anew)
        return self._anew[value]


@contextmanager
def stamped(builder: GraphBuilder, node: Node, primal: Node | None = None) -> Iterator[None]:
    """New nodes come from where ``node`` came from, and belong to ``primal``."""
    before = builder.scope, builder.origin, builder.primal
    builder.scope, builder.origin, builder.primal = node.scope, node.where, primal
    try:
        yield
    finally:
        builder.scope, builder.origin, builder.primal = before


class Pullback:
    """The transform of one graph.

    Attributes:
        forward, backward: builders of the two graphs.
        env: values of the given graph -> values of the forward graph.
    """

    def __init__(self, reverse: Reverse, graph: Graph, wrt: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        self.reverse: Reverse = reverse
        self.graph: Graph = graph
        self.wrt: tuple[int, ...] = wrt
        self.outputs: tuple[int, ...] = outputs
        self.activity: Activity = Activity(graph, wrt, outputs, reverse.flow)
        self.forward: GraphBuilder = GraphBuilder(f"{graph.name}_forward", graph.module)
        self.backward: BackwardBuilder = BackwardBuilder(f"{graph.name}_backward", self.forward)
        self.env: dict[Value, Value] = {}
        self._pulls: dict[Node, Pull] = {}
        self._copies: dict[Node, Node] = {}
        self._adjoints: dict[Value, Any] = {}

    def result(self) -> VJP:
        """Build both graphs."""
        self._run_forward()
        with self.backward:
            self._run_backward()
        residuals = self._close()
        names = {new: old for old, new in self.env.items()}
        found = [names.get(v, v) for v in residuals]
        return VJP(self.forward.graph, self.backward.graph, len(residuals), found, self.wrt, self.outputs, residuals)

    def active(self, value: Value) -> bool:
        """True where a gradient flows through a value of the given graph."""
        return self.activity.active(value)

    def there(self, value: Value) -> SymbolicTensor:
        """A value of the given graph, for use in either new graph."""
        return self.forward.wrap(self.env[value])

    def zeros(self, value: Value) -> Any:
        """The zero of the gradients of a value of the given graph."""
        return zeros_like(self.there(value), value.type)

    def filled(self, values: Sequence[Value], douts: Sequence[Any]) -> list[Any]:
        """Zeros in place of absent douts; None where there can be no gradient."""
        out = []
        for value, dout in zip(values, douts):
            possible = dout is None and gradient_type(value.type) is not None
            out.append(self.zeros(value) if possible else dout)
        return out

    # ---- forward ----

    def _run_forward(self) -> None:
        for p in self.graph.params:
            self.env[p] = self.forward.graph.add_param(p.type, p.name)
        for node in self.graph.nodes:
            if "control" in node.op.traits and any(self.active(v) for v in node.outputs):
                self._forward_control(node)
            else:
                self._copies[node] = copy_node(node, self.forward.graph, self.env)
        self.forward.graph.outputs = [self.env[v] for v in self.graph.outputs]
        self.forward.graph.state = dict(self.graph.state)

    def _forward_control(self, node: Node) -> None:
        with self.forward, stamped(self.forward, node):
            outs, self._pulls[node] = CONTROL_RULES[node.op](self, node)
        for old, new in zip(node.outputs, outs):
            self.env[old] = new._value
            new._value.name = old.name
            self._copies[node] = new._value.node

    # ---- backward ----

    def _run_backward(self) -> None:
        douts = [self._dout(i) for i in self.outputs]
        for i, dout in zip(self.outputs, douts):
            self._accumulate(self.graph.outputs[i], dout)
        for node in reversed(self.graph.nodes):
            found = [self._adjoints.pop(v, None) for v in node.outputs]
            if any(d is not None for d in found):
                with stamped(self.backward, node, self._copies[node]):
                    self._pull(node, found)
        results = [self._gradient(self.graph.params[i]) for i in self.wrt]
        self.backward.output(*results)

    def _dout(self, i: int) -> SymbolicTensor:
        value = self.graph.outputs[i]
        return self.backward.param(need_gradient_type(value.type), f"d{value.name or i}")

    def _gradient(self, param: Value) -> Any:
        found = self._adjoints.get(param)
        return self.zeros(param) if found is None else found

    def _pull(self, node: Node, douts: list[Any]) -> None:
        if node in self._pulls:
            grads = self._pulls[node](douts)
        else:
            ins, outs = [self.there(v) for v in node.inputs], [self.there(v) for v in node.outputs]
            grads = ask_rule(node, ins, outs, self.filled(node.outputs, douts))
        for value, g in zip(node.inputs, grads):
            self._accumulate(value, g)

    def _accumulate(self, value: Value, g: Any) -> None:
        if g is None or not self.active(value):
            return
        if not isinstance(g, Tensor):
            g = self.backward.wrap(self.backward.lift(g))
        g = fit(g, value.type)
        before = self._adjoints.get(value)
        self._adjoints[value] = g if before is None else add_up(before, g)

    # ---- what is kept ----

    def _close(self) -> list[Value]:
        graph = self.backward.graph
        needed = prune(graph)
        kept = [(outer, own) for outer, own in self.backward.captured if own in needed]
        captured = {own for _, own in self.backward.captured}
        graph.params[:] = [own for _, own in kept] + [p for p in graph.params if p not in captured]
        reindex(graph)
        residuals = [outer._value for outer, _ in kept]
        self.forward.graph.outputs += residuals
        return residuals
