"""A network cut into stages: runs of layers, each a training program of its own with values that come in and go out.

    graph     embed  layer0  layer1 | layer2  layer3  head  loss          cut between layers
    stage 0   ids, weights            -> h          seed(h)  -> gradients of its weights
    stage 1   h, labels, weights      -> loss                -> gradients of its weights, and of h = the seed of stage 0

A layer is a run of nodes of one Cell of a list (``recompute.layer_name``). ``Cell.pipeline_stage`` says where a Cell
goes; what nobody says follows its neighbours, and where nothing is said the longest stage is as short as it can be.
Constants are made where they are read; a value that a later stage reads is sent to it from the stage that made it.
Source: Zheng et al., Alpa, OSDI 2022 (stages of contiguous layers, the longest bounds the step).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msnb.autodiff import vjp
from msnb.core.errors import AttributeValueError
from msnb.core.types import TensorType
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.parallel.joint import Joint, ones_like, scalar_loss
from msnb.parallel.pipeline import cut
from msnb.parallel.planning import Problem
from msnb.parallel.program import static_type
from msnb.parallel.recompute import layer_name


@dataclass
class Stage:
    """A stage as a program.

    Attributes:
        layers: names of what it holds; joint: its program, planned like any other.
        given: params of the whole program -> its own; reads: values of earlier stages -> its params.
        makes: values that later stages read (and the loss) -> number of its output.
        seeds: values of ``makes`` with a gradient -> its params that take it.
        back: values of ``reads`` with a gradient -> number of the output that is their gradient.
    """

    layers: tuple[str, ...]
    joint: Joint
    given: dict[Value, Value] = field(default_factory=dict)
    reads: dict[Value, Value] = field(default_factory=dict)
    makes: dict[Value, int] = field(default_factory=dict)
    seeds: dict[Value, Value] = field(default_factory=dict)
    back: dict[Value, int] = field(default_factory=dict)


def layers_in_order(graph: Graph) -> list[tuple[str, list[Node]]]:
    """Runs of nodes of one layer; what stands between two runs of one layer belongs to it."""
    runs: list[tuple[str, list[Node]]] = []
    for node in graph.nodes:
        name = layer_name(node.scope)
        at = next((i for i in range(len(runs) - 1, -1, -1) if runs[i][0] == name and "/" in name), None)
        if at is not None:
            for _, nodes in runs[at + 1 :]:
                runs[at][1].extend(nodes)
            del runs[at + 1 :]
        elif not runs or runs[-1][0] != name:
            runs.append((name, []))
        runs[-1][1].append(node)
    return runs


def placed(runs: Sequence[tuple[str, list[Node]]], said: Mapping[str, int], stages: int) -> list[int] | None:
    """The stage of every run, from what Cells say; None where nobody says anything.

    Raises:
        ValueError: a stage that does not exist, or that goes back.
    """
    found: list[int | None] = [next((s for path, s in said.items() if f"{n.scope}/".startswith(f"{path}/")), None)
                               for _, nodes in runs for n in nodes[:1]]  # fmt: skip
    if all(s is None for s in found):
        return None
    out, now = [], 0
    for (name, _), s in zip(runs, found):
        if s is not None and (isinstance(s, bool) or not isinstance(s, int) or not 0 <= s < stages):
            raise AttributeValueError(f"{name}.pipeline_stage={s!r} is not legal; legal: 0 to {stages - 1}.")
        if s is not None and s < now:
            raise AttributeValueError(f"{name} is in pipeline stage {s}, but what comes before it is in stage {now}: "
                                      "stages rise in the order in which Cells run.")  # fmt: skip
        now = now if s is None else s
        out.append(now)
    missing = sorted(set(range(stages)) - set(out))
    if missing:
        raise AttributeValueError(f"no Cell is in pipeline stage {missing[0]}; legal: every stage from 0 to "
                                  f"{stages - 1} holds a Cell.")  # fmt: skip
    return out


Runs = Sequence[tuple[str, list[Node]]]


def balanced(problem: Problem, choices: Sequence[int], runs: Runs, stages: int, micro: int,
             limit: float | None) -> list[int]:  # fmt: skip
    """The stage of every run so that the longest stage is short and every stage fits.

    Raises:
        ValueError: there are fewer layers than stages, or no cut fits.
    """
    costs, at = problem.costs, {n: i for i, (_, nodes) in enumerate(runs) for n in nodes}
    seconds = [0.0] * len(runs)
    nbytes = [(0.0, 0.0)] * len(runs)
    place = {v: at[n] for n, v in problem.place.items() if n in at}
    for v, i in place.items():
        seconds[i] += float(costs.time[v][choices[v]])
        once = problem.held(v, choices[v])
        nbytes[i] = nbytes[i][0] + once, nbytes[i][1] + float(costs.memory[v][choices[v]]) - once
    for u, v, m in costs.edges:
        if u in place and v in place:
            seconds[max(place[u], place[v])] += float(m[choices[u], choices[v]])
    found = cut(seconds, stages, nbytes, micro, limit)
    if found is None:
        why = "fits into memory" if len(runs) >= stages else f"is there: the network has {len(runs)} layers"
        raise AttributeValueError(f"no cut into {stages} pipeline stages {why}.",
                                  hint="use fewer stages, more devices or smaller micro-batches.")  # fmt: skip
    return [sum(i >= c for c in found) for i in range(len(runs))]


def programs(problem: Problem, runs: Runs, where: Sequence[int], stages: int) -> list[Stage]:
    """The program of every stage.

    Raises:
        ValueError: the loss is not in the last stage, or the forward pass writes state.
    """
    graph = problem.graph
    at = {n: s for (_, nodes), s in zip(runs, where) for n in nodes}
    loss = graph.outputs[scalar_loss(graph)]
    if problem.joint.graph.state:
        raise AttributeValueError("a pipelined program cannot write state in its forward pass (running statistics, "
                                  "random draws).",
                                  hint="use LayerNorm, or set_train(False) on such Cells.")  # fmt: skip
    if loss.node is None or at[loss.node] != stages - 1:
        raise AttributeValueError("the loss must be computed in the last pipeline stage.")
    read: dict[Value, set[int]] = {loss: {stages - 1}}
    for node in graph.nodes:
        for v in node.inputs:
            read.setdefault(v, set()).add(at[node])
    return [_stage(problem, runs, where, s, at, read, loss) for s in range(stages)]


def _stage(problem: Problem, runs: Runs, where: Sequence[int], s: int, at: Mapping[Node, int],
           read: Mapping[Value, set[int]], loss: Value) -> Stage:  # fmt: skip
    flow, graph = problem.flow, problem.graph
    names = tuple(dict.fromkeys(name for (name, _), stage in zip(runs, where) if stage == s))
    mine = [n for n in graph.nodes if at[n] == s]
    own = Graph(f"{graph.name}_stage{s}", graph.module)
    seen: dict[Value, Value] = {}
    stage = Stage(names, Joint(own, set()))
    for p in graph.params:
        if s in read.get(p, ()):
            stage.given[p] = seen[p] = own.add_param(p.type, p.name)
    for v in dict.fromkeys(v for n in mine for v in n.inputs if v.node is not None and at[v.node] != s):
        if v not in flow.static:
            name = problem.names[v.node].replace("/", "_")  # type: ignore[index]
            stage.reads[v] = seen[v] = own.add_param(v.type, f"from_{name}")
    for node in mine:
        for v in node.inputs:
            _made_here(v, own, seen)
        if not all(v in seen for v in node.outputs):
            copy_node(node, own, seen)
    later = {v for v, stages in read.items() if v not in flow.static and max(stages) > s}
    makes = [v for n in mine for v in n.outputs if v is loss or v in later]
    own.outputs = [seen[v] for v in makes]
    stage.makes = {v: i for i, v in enumerate(makes)}
    weights = [p for p in stage.given if p in flow.weights]
    reads = [v for v in stage.reads if v in flow.gradient]
    _differentiate(stage, own, weights, reads, [v for v in makes if v in flow.gradient], loss)
    return stage


def _made_here(v: Value, own: Graph, seen: dict[Value, Value]) -> None:
    """A constant of another stage, made again."""
    if v not in seen and v.node is not None:
        for u in v.node.inputs:
            _made_here(u, own, seen)
        copy_node(v.node, own, seen)


def _differentiate(stage: Stage, fwd: Graph, weights: Sequence[Value], reads: Sequence[Value], makes: Sequence[Value],
                   loss: Value) -> None:  # fmt: skip
    """The stage's program with the gradient of what it makes by its weights and by what it reads."""
    asked = [*(stage.given[w] for w in weights), *(stage.reads[v] for v in reads)]
    pair = vjp(fwd, [fwd.params.index(p) for p in asked], [stage.makes[v] for v in makes])
    out, twins = Graph(fwd.name, fwd.module), dict[Node, Node]()
    seen = {p: out.add_param(p.type, p.name) for p in pair.forward.params}
    renamed = dict(zip(fwd.params, out.params))
    for node in pair.forward.nodes:
        copy_node(node, out, seen, twins)
    for v in makes:
        if v is not loss:
            stage.seeds[v] = out.add_param(v.type, f"gradient_{stage.makes[v]}")
    seeds = [ones_like(out, v.type) if v is loss else stage.seeds[v] for v in makes]
    below = dict(zip(pair.backward.params, [*(seen[v] for v in pair.residual_list), *seeds]))
    for node in pair.backward.nodes:
        copy_node(node, out, below, twins)
    gradients = [below[v] for v in pair.backward.outputs]
    out.outputs = [*(seen[v] for v in pair.forward.outputs[: len(fwd.outputs)]), *gradients[len(weights) :]]
    stage.given = {p: renamed[v] for p, v in stage.given.items()}
    stage.reads = {v: renamed[p] for v, p in stage.reads.items()}
    stage.back = {v: len(fwd.outputs) + i for i, v in enumerate(reads)}
    stage.joint = Joint(out, {stage.given[w] for w in weights}, gradients[: len(weights)])
    stage.joint.held, stage.joint.urgent = set(stage.joint.weights), set(gradients[len(weights) :])


def sent_values(stage: Stage) -> list[tuple[Value, TensorType]]:
    """What a stage takes from earlier ones, and the gradients that it takes from later ones."""
    return [(p, t) for p in (*stage.reads.values(), *stage.seeds.values()) if (t := static_type(p)) is not None]
