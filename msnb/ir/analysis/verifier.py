"""The laws of the IR, checked between stages.

    a value is made before it is read, and in the same graph (SSA, closedness)         always checked, linear, cheap
    result types are what the op's inference gives; bodies fit their node;             checked by ``deep=True``
    state maps params to outputs of their type; attributes are complete and hashable;  (tests, verify_graphs=True)
    effects have an order: those that carry a token follow one another on one chain
    what may stand in a graph at this stage (the table STAGES)

A broken law is a defect of a transform, never of the user: VerifyError says which node of which graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msnb.base import MsnbError, VerifyError, reraise_interrupt
from msnb.core.types import TOKEN, Dim, TensorType, Type
from msnb.ir.control_flow import CALL, FUSED, HOST_CALL, IF, SCAN, WHILE
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.literals import write_type
from msnb.ir.text.printer import called, node_text
from msnb.ops.definition.attribute_checks import misfit
from msnb.ops.definition.record import REQUIRED
from msnb.ops.elementwise.constant import constant


@dataclass(frozen=True)
class Stage:
    """What may stand in a graph at one point of its way.

    Attributes:
        name: how passes refer to it.
        doc: the stage in one line.
        refused: op families that may not be there.
        no_dead_code: every node's result is read or the node has an effect.
    """

    name: str
    doc: str
    refused: frozenset[str] = frozenset()
    no_dead_code: bool = False


_OWED = frozenset({"owed"})
_TARGET = frozenset({"layout", "fused", "memory"}) | _OWED
STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("captured", "As captured, differentiated or recorded: any op of the library.", _TARGET),
        Stage("hardware_independent", "Simplified; nothing of a device in it.", _TARGET, no_dead_code=True),
        Stage("planned", "As before, split over a mesh: collectives are in place.", _TARGET, no_dead_code=True),
        Stage("hardware_dependent", "For one device: layouts, fused groups and memory plans too.", _OWED, True),
    )
}


def verify(graph: Graph, stage: str = "captured", deep: bool = True) -> None:
    """Check a graph, its bodies and the graphs it calls.

    Args:
        graph: the graph.
        stage: a key of STAGES.
        deep: False checks only that values are made before they are read, in their own graph.

    Raises:
        VerifyError: a law is broken.
        ValueError: there is no such stage.

    Examples:
        >>> from msnb.ir.text.parser import parse
        >>> verify(parse("graph f(x: f32[3]) -> (f32[3])\\n  %1 = add(x, x) : f32[3]\\n  return %1"))
    """
    if stage not in STAGES:
        raise ValueError(f"there is no stage {stage!r}; legal: {', '.join(STAGES)}.")
    queue = list(dict.fromkeys([graph, *called(graph)]))
    for g in queue:
        _ordered(g)
        if deep:
            _deep(g, STAGES[stage])
        queue += [body for node in g.nodes for body in node.graphs]


def _broken(graph: Graph, law: str, node: Node | None = None) -> VerifyError:
    at = "" if node is None else f" at {node_text(node)}"
    error = VerifyError(f"graph {graph.name}{at}: {law}.", hint="a transform has made a wrong graph; please report it.")
    error.where = node.where.where if node is not None and node.where is not None else None
    return error


# ---- always ----


def _ordered(graph: Graph) -> None:
    known: set[Value] = set(graph.params)
    if len(known) != len(graph.params):
        raise _broken(graph, "a param stands there twice")
    for node in graph.nodes:
        for v in node.inputs:
            if v not in known:
                raise _broken(graph, f"it reads {_name(v)}, which is not made before it in this graph", node)
        for v in node.outputs:
            if v.node is not node or v in known:
                raise _broken(graph, f"its result {_name(v)} belongs to another node", node)
        known.update(node.outputs)
    for v in graph.outputs:
        if v not in known:
            raise _broken(graph, f"the result {_name(v)} is not made in this graph")


def _name(value: Value) -> str:
    return value.name or (f"a result of {value.node.op.name}" if value.node is not None else "a param")


# ---- deep ----


def _deep(graph: Graph, stage: Stage) -> None:
    _state(graph)
    for node in graph.nodes:
        if node.op.family in stage.refused:
            raise _broken(graph, f"an op of the family {node.op.family} may not stand in a {stage.name} graph", node)
        _attrs(graph, node)
        _types(graph, node)
    _effects(graph)
    if stage.no_dead_code:
        _no_dead_code(graph)


def _state(graph: Graph) -> None:
    for i, j in graph.state.items():
        if not (0 <= i < len(graph.params) and 0 <= j < len(graph.outputs)):
            raise _broken(graph, f"the state map {graph.state} points outside params or results")
        if graph.params[i].type != graph.outputs[j].type:
            old, new = write_type(graph.params[i].type), write_type(graph.outputs[j].type)
            raise _broken(graph, f"the state {graph.params[i].name} of type {old} is given a value of type {new}")
    if len(set(graph.state.values())) != len(graph.state):
        raise _broken(graph, f"two states share one new value in {graph.state}")


def _attrs(graph: Graph, node: Node) -> None:
    missing = [name for name in node.op.attrs if name not in node.attrs or node.attrs[name] is REQUIRED]
    if missing:
        raise _broken(graph, f"the attribute {missing[0]!r} is missing", node)
    wrong = next(filter(None, (misfit(node.op, name, value) for name, value in node.attrs.items())), "")
    try:
        hash(tuple(node.attrs.values()))
    except TypeError:
        # slices are hashable from Python 3.12 on only
        if not any(isinstance(v, slice) for v in node.attrs.values()):
            raise _broken(graph, f"the attributes {list(node.attrs)} are not all hashable", node) from None
    if wrong:
        raise _broken(graph, wrong, node)


def _types(graph: Graph, node: Node) -> None:
    if "control" in node.op.traits:
        _control(graph, node)
        return
    if node.graphs:
        raise _broken(graph, "only control flow has bodies", node)
    try:
        node.op.bind_inputs(tuple(node.inputs))
        expected = node.op.result_types(tuple(v.type for v in node.inputs), node.attrs)
    except MsnbError as error:
        raise _broken(graph, f"its types are refused: {error.sentence}", node) from error
    except Exception as error:  # whatever a rule stumbles over that was written for the operands of right programs
        reraise_interrupt(error)
        said = f"{type(error).__name__}: {error}"
        raise _broken(graph, f"its types are refused: inference ends with {said}", node) from error
    if not _agree(expected, [v.type for v in node.outputs]):
        raise _broken(graph, f"its result types should be {_list(expected)}", node)


def _agree(expected: Iterable[Type], found: Iterable[Type]) -> bool:
    """Equal types; a Dim that inference mints anew stands for any Dim."""
    pairs = list(zip(list(expected), list(found)))
    lengths = len(list(expected)) == len(list(found))
    return lengths and all(a == b or _like(a, b) for a, b in pairs)


def _like(a: Type, b: Type) -> bool:
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)) or a.dtype is not b.dtype or a.ndim != b.ndim:
        return False
    return all(p == q or (isinstance(p, Dim) and isinstance(q, Dim)) for p, q in zip(a.shape, b.shape))


def _list(types: Iterable[Type]) -> str:
    return ", ".join(map(write_type, types)) or "none"


# ---- control flow ----


def _control(graph: Graph, node: Node) -> None:
    if node.op is CALL:
        _call(graph, node)
    elif node.op is not HOST_CALL:
        check = {IF: _if, WHILE: _while, SCAN: _scan, FUSED: _fused}.get(node.op)
        if check is not None:
            check(graph, node)


def _fits(graph: Graph, node: Node, what: str, body: Graph, params: list[Type], results: list[Type] | None) -> None:
    found = [p.type for p in body.params]
    if found != params:
        raise _broken(graph, f"its {what} takes {_list(found)} but is given {_list(params)}", node)
    outs = [v.type for v in body.outputs]
    if results is not None and not _agree(results, outs):
        raise _broken(graph, f"its {what} gives {_list(outs)} where {_list(results)} is needed", node)


def _bodies(graph: Graph, node: Node, n: int) -> None:
    if len(node.graphs) != n:
        raise _broken(graph, f"it needs {n} bodies and has {len(node.graphs)}", node)


def _if(graph: Graph, node: Node) -> None:
    _bodies(graph, node, 2)
    if not node.inputs:
        raise _broken(graph, "it has no test", node)
    _test(graph, node, node.inputs[0].type)
    args = [v.type for v in node.inputs[1:]]
    for what, body in zip(("then branch", "else branch"), node.graphs):
        _fits(graph, node, what, body, args, [v.type for v in node.outputs])


def _while(graph: Graph, node: Node) -> None:
    _bodies(graph, node, 2)
    args, n = [v.type for v in node.inputs], node.attrs["n_carry"]
    cond, body = node.graphs
    _fits(graph, node, "condition", cond, args, None)
    if len(cond.outputs) != 1 or not isinstance(cond.outputs[0].type, TensorType):
        raise _broken(graph, "its condition must give one tensor", node)
    _test(graph, node, cond.outputs[0].type)
    if n > len(args):
        raise _broken(graph, f"it carries {n} of {len(args)} values", node)
    _fits(graph, node, "body", body, args, args[:n])
    if not _agree(args[:n], [v.type for v in node.outputs]):
        raise _broken(graph, f"its results should be what it carries, {_list(args[:n])}", node)


def _scan(graph: Graph, node: Node) -> None:
    _bodies(graph, node, 1)
    n, m, length = (node.attrs[k] for k in ("n_carry", "n_xs", "length"))
    args = [v.type for v in node.inputs]
    if n + m > len(args):
        raise _broken(graph, f"it carries {n} and scans {m} of {len(args)} values", node)
    rows = [_row(graph, node, t, length) for t in args[n : n + m]]
    body = node.graphs[0]
    _fits(graph, node, "body", body, [*args[:n], *rows, *args[n + m :]], None)
    outs = [v.type for v in body.outputs]
    if not _agree(args[:n], outs[:n]):
        raise _broken(graph, f"its body should give on what it carries, {_list(args[:n])}", node)
    found = [_row(graph, node, v.type, length) for v in node.outputs[n:]]
    if [v.type for v in node.outputs[:n]] != args[:n] or not _agree(outs[n:], found):
        raise _broken(graph, f"its results should be {_list(args[:n])} and rows of {_list(outs[n:])}", node)


def _row(graph: Graph, node: Node, type_: Type, length: int) -> Type:
    if not isinstance(type_, TensorType) or not type_.shape or type_.shape[0] != length:
        raise _broken(graph, f"{write_type(type_)} has not {length} rows", node)
    return type_.with_shape(type_.shape[1:])


def _test(graph: Graph, node: Node, type_: Type) -> None:
    """What decides is one number."""
    if not isinstance(type_, TensorType) or (type_.is_static and type_.size != 1):
        raise _broken(graph, f"what it tests is {write_type(type_)}, not one number", node)


def _fused(graph: Graph, node: Node) -> None:
    _bodies(graph, node, 1)
    _fits(graph, node, "body", node.graphs[0], [v.type for v in node.inputs], [v.type for v in node.outputs])


def _call(graph: Graph, node: Node) -> None:
    callee = graph.module.graphs.get(node.attrs["callee"])
    if callee is None:
        raise _broken(graph, f"there is no graph {node.attrs['callee']!r} in the module", node)
    _fits(graph, node, "callee", callee, [v.type for v in node.inputs], [v.type for v in node.outputs])


# ---- order and life ----


def _effects(graph: Graph) -> None:
    """Tokens make one chain: each is read once, so no two effects can change places."""
    read: set[Value] = set()
    for node in graph.nodes:
        tokens = [v for v in node.inputs if v.type is TOKEN or v.type == TOKEN]
        for v in tokens:
            if v in read:
                raise _broken(graph, "its token has been read before: two effects without an order", node)
            read.add(v)
        makes = sum(v.type == TOKEN for v in node.outputs)
        if tokens and not makes:
            raise _broken(graph, "it takes a token and does not give one on", node)


def _no_dead_code(graph: Graph) -> None:
    used = graph.uses()
    for node in graph.nodes:
        alive = node.op is constant or "effect" in node.op.traits or "control" in node.op.traits
        if not alive and not any(v in used for v in node.outputs):
            raise _broken(graph, "nobody reads its results", node)
