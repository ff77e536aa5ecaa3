"""``ms.parallel.plan``: capture a program, plan it under the context or the keywords, and run the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msnb.autodiff.deferred_gradient import written_out
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError, MsnbError
from msnb.base.gc_pause import at_rest
from msnb.core.microbatch_scope import first_parts
from msnb.core.parameter import Parameter
from msnb.core.pytree import flatten, unflatten
from msnb.core.tensor import Tensor, blank
from msnb.core.types import TensorType
from msnb.graph.capture import trace
from msnb.ir.graph import Graph, Value
from msnb.parallel.context import (
    AUTO_PARALLEL,
    DATA_PARALLEL,
    HYBRID_PARALLEL,
    PLANNED,
    SEARCHES,
    STAND_ALONE,
    get_auto_parallel_context,
    set_value,
    wide_sums,
)
from msnb.parallel.engine.executable_plan import RunnablePlan
from msnb.parallel.engine.manual_plan import ManualPlan
from msnb.parallel.engine.microbatch_replication import MicrobatchReplication
from msnb.parallel.engine.pipeline_plan import PipelinePlan, Planner, plan_pipeline
from msnb.parallel.engine.plan_options import check_keywords
from msnb.parallel.pipeline.options import settings
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder, inlined, names_of
from msnb.parallel.planner.cost_model import BUCKET, MemoryRule, TimeModel, model_named
from msnb.parallel.planner.input_layout import fed
from msnb.parallel.planner.pareto_front import Point, asked, layers, point, with_said, within
from msnb.parallel.planner.rematerialization import layers_said
from msnb.parallel.planner.strategy_prices import PriceCache
from msnb.parallel.plans.plan import Plan, batch_split, no_room, search
from msnb.parallel.program.optimizer_sharding import OptimizerSharding, from_context
from msnb.parallel.program.training_graph import TrainingGraph, with_gradient
from msnb.parallel.sharding.device_mesh import Cluster, Mesh


def plan(
    program: Any,
    *inputs: Any,
    device_num: int | None = None,
    cluster: Cluster | None = None,
    parallel_mode: str | None = None,
    search_mode: str | None = None,
    strategies: Mapping[str, Any] | None = None,
    training: bool | None = None,
    cost_model: str = "time",
    memory_limit: float | None = None,
    optimizer_states: int | None = None,
    max_split: int | None = None,
    overlap: float = 0.0,
    optimizer_level: int | None = None,
    recompute: Any = None,
    pipeline_stages: int | None = None,
    pipeline_scheduler: str | None = None,
    stage_devices: Sequence[int] | str | None = None,
) -> Any:
    """Plan a Cell or a function over devices.

    Args:
        program: a Cell or function of tensors. With a scalar result and weights it is planned as a training step.
        inputs: what it is called with.
        device_num: how many devices; by default the context's.
        cluster: their links; by default servers of eight Ascend 910.
        parallel_mode: "data_parallel", "semi_auto_parallel" (needs strategies), "auto_parallel", "stand_alone", or
            "hybrid_parallel" (the program places its own collectives, inputs are what one rank has); by default the
            context's ("auto_parallel" where the context says stand_alone and device_num is given).
        search_mode: "dynamic_programming" (exact), "recursive_programming", "sharding_propagation"; "brute_force" and
            "linear_program" (SciPy) are checks for small programs.
        strategies: operator, or kind of operator -> split counts per input, taken as given.
        training: whether gradients are planned too.
        cost_model: "time" (simulated seconds) or "bytes" (MindSpore's weights of bytes).
        memory_limit: bytes per device; by default the device's memory.
        optimizer_states: copies of the weights that the optimizer keeps (momentum 1, Adam 2); by default those that a
            step with its optimizer has, 1 of a loss.
        max_split: at most so many axes of one operator are split.
        optimizer_level: 0 to 3: what copies of a weight share (1 optimizer state, 2 gradients too, 3 weights too); by
            default what the context's enable_parallel_optimizer says.
        recompute: layers that run forward again for their gradient: None (those whose Cells say so by
            ``cell.recompute()``), True (all), names of more, or "auto" (strategies and layers that fit into the memory
            limit in the least time).
        pipeline_stages: runs of layers on devices of their own, of a program with a ``nn.PipelineCell`` in it; by
            default the context's.
        pipeline_scheduler: "gpipe", "1f1b" or "interleaved"; by default what the context's pipeline_config says.
        stage_devices: devices of every stage, or "auto" (the planner cuts layers and devices together so that the step
            is short); by default what the context's pipeline_config says, else all have the same number.
        overlap: share of the weights' gradient sync that the search takes as hidden.

    Returns:
        Plan: strategies, layouts, collectives, simulated step_time, memory, explain(op), save, load, run. Of a
        PipelineCell a PipelinePlan: the same per stage, and the timeline of all stages. In hybrid_parallel a HandPlan:
        collectives, simulated step_time, and run, which gives one result per rank.

    Raises:
        ValueError: a wrong strategy or keyword, or no plan that fits into memory.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(64, 64)
        >>> plan = ms.parallel.plan(net, ms.ops.ones((512, 64)), device_num=4)
        >>> plan.strategies["Dense/matmul"]
        ((4, 1), (1, 1))
    """
    parallel_mode = parallel_mode or _mode(device_num)
    check_keywords(parallel_mode, {
        "device_num": device_num, "cluster": cluster, "strategies": strategies, "search_mode": search_mode,
        "training": training, "memory_limit": memory_limit, "max_split": max_split, "overlap": overlap,
        "optimizer_states": optimizer_states, "optimizer_level": optimizer_level, "recompute": recompute,
        "pipeline_stages": pipeline_stages, "pipeline_scheduler": pipeline_scheduler, "stage_devices": stage_devices,
    })  # fmt: skip
    devices = get_auto_parallel_context("device_num") if device_num is None else device_num
    devices = 1 if parallel_mode == STAND_ALONE else devices
    if parallel_mode == HYBRID_PARALLEL:
        return ManualPlan(program, inputs, Mesh.over(devices, cluster))
    sharding = from_context() if optimizer_level is None else OptimizerSharding(optimizer_level)
    limit = (cluster or Cluster()).chip.memory if memory_limit is None else memory_limit
    known: dict[tuple[int, bool], PriceCache] = {}

    def problem(joint: TrainingGraph, devices: int) -> CostGraphBuilder:
        model = model_named(cost_model, Mesh.over(devices, cluster), joint.trains, overlap)
        return CostGraphBuilder(joint, model, MemoryRule(states, joint.trains), max_split, sharding,
                       wide_sums(parallel_mode), known.setdefault((devices, joint.trains), PriceCache()))  # fmt: skip

    def searched(made: CostGraphBuilder, wanted: Mapping[str, Any], limit: float | None = None) -> RunnablePlan:
        return _made(made, parallel_mode, search_mode, wanted, limit)

    with at_rest():
        how = settings(pipeline_stages, pipeline_scheduler, stage_devices)
        if how.stages > 1:
            step = repeated(program, inputs)
            states = optimizer_states_of(step.joint) if optimizer_states is None else optimizer_states
            piped = plan_pipeline(step, Planner(problem, searched, strategies or {}), how, devices, limit, recompute)
            return _with_files(piped)
        joint = joint_of(captured := captured_of(program, inputs), inputs, {}, training)
        states = optimizer_states_of(joint) if optimizer_states is None else optimizer_states
        joint.fed = fed(joint, Mesh.over(devices, cluster)) if parallel_mode in PLANNED else {}
        bound = memory_limit if parallel_mode == DATA_PARALLEL else limit  # nothing is searched: it is shown as it is
        made = searched(problem(joint, devices), strategies or {}, None if recompute or joint.again else bound)
        made.captured, made.args = captured, inputs
        made.alone = lambda: _alone(program, inputs, devices, cluster, made.problem)
        made.cuts, made.bucket = _buckets()
        _tell_whole(joint)
        return _with_recompute(_with_files(made), recompute, limit)


def _mode(device_num: Any) -> str:
    """The context's mode; who names devices there is no mode for wants a plan."""
    mode = str(get_auto_parallel_context("parallel_mode"))
    return AUTO_PARALLEL if mode == STAND_ALONE and device_num not in (None, 1) else mode


def _alone(
    program: Any, inputs: tuple[Any, ...], devices: int, cluster: Cluster | None, whole: CostGraphBuilder
) -> Plan | None:
    """The plan of one device with its part of the batch; None where a part is no batch of the program (a graph's
    adjacency, say), so that devices cannot do without each other."""
    parts = parts_of(inputs, devices)
    try:
        captured = captured_of(program, parts)
    except MsnbError as error:
        events.notice(f"data_parallel: a device's part of the batch is none of its own ({error.sentence}) The step is "
                      "timed with everything that the plan exchanges.", key=f"no part {error.sentence}")  # fmt: skip
        return None
    joint = joint_of(captured, parts, {}, training=True)
    problem = CostGraphBuilder(joint, TimeModel(Mesh.over(1, cluster)), whole.prices.rule, wide=whole.wide)
    return Plan(problem, [0] * problem.costs.size, "stand_alone")


def parts_of(inputs: tuple[Any, ...], devices: int) -> tuple[Any, ...]:
    """A device's part of a batch, as types without values: axis 0 divided, where it divides."""
    leaves, shape = flatten(inputs)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and not isinstance(leaf, Parameter) and leaf.ndim:
            rows, *rest = leaf._type.ints()
            leaves[i] = blank((rows if rows % devices else rows // devices, *rest), leaf.dtype)
    made: tuple[Any, ...] = unflatten(shape, leaves)
    return made


def _with_recompute(made: RunnablePlan, recompute: Any, limit: float) -> RunnablePlan:
    """The plan with layers computed twice, as asked for or as the limit needs."""
    problem = made.problem
    every = layers(problem, made.choices)
    wanted = with_said(every, problem.joint.again, recompute)
    if not wanted:
        return made
    if wanted != "auto":
        made.again = asked(every, wanted)
        found: Point | None = point(problem, made.choices, made.again)
    else:
        searched = "dynamic_programming" in made.mode and problem.costs.bytes(made.choices) > limit
        found = within(problem, limit, None if searched else made.choices)
    if found is None or found.nbytes > limit:
        raise no_room(problem, limit, "no plan fits, layers computed twice,")
    if list(found.choices) != made.choices:
        other = made.with_choices(found.choices)
        other.mode, made = made.mode, other
    made.again = found.again
    return made


def plan_captured(captured: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunnablePlan | PipelinePlan:
    """The plan of a program that is captured already, as the context says; in pipeline stages if it trains."""
    mode = get_auto_parallel_context("parallel_mode")
    mesh = Mesh.over(get_auto_parallel_context("device_num"))
    joint = joint_of(captured, args, kwargs, training=False)
    states, limit = optimizer_states_of(joint), mesh.cluster.chip.memory

    known: dict[tuple[int, bool], PriceCache] = {}

    def problem(joint: TrainingGraph, devices: int) -> CostGraphBuilder:
        model = model_named("time", Mesh.over(devices), joint.trains, 0.0)
        return CostGraphBuilder(joint, model, MemoryRule(states, joint.trains), sharding=from_context(),
        wide=wide_sums(mode),
                       priced=known.setdefault((devices, joint.trains), PriceCache()))  # fmt: skip

    def searched(made: CostGraphBuilder, wanted: Mapping[str, Any], limit: float | None = None) -> RunnablePlan:
        return _made(made, mode, None, wanted, limit)

    with at_rest():
        how = settings()
        if how.stages > 1 and joint.trains:
            step = MicrobatchReplication(joint, None, lambda: (captured, joint))
            piped = plan_pipeline(step, Planner(problem, searched), how, mesh.size, limit)
            return _with_files(piped, compiled=True)
        joint.fed = fed(joint, mesh) if mode in PLANNED and joint.trains else {}
        bound = None if joint.again or mode == DATA_PARALLEL else limit
        made = searched(problem(joint, mesh.size), {}, bound)
        made.captured = captured
        made.cuts, made.bucket = _buckets()
        _tell_whole(joint)
        return _with_recompute(_with_files(made, compiled=True), None, limit)


def optimizer_states_of(joint: TrainingGraph) -> int:
    """How many copies of the weights the optimizer of a step keeps."""
    count: dict[Value, int] = {}
    for weight in joint.companions.values():
        count[weight] = count.get(weight, 0) + 1
    return max(count.values(), default=1)


def _tell_whole(joint: TrainingGraph) -> None:
    """Loops and branches are not split."""
    kinds = sorted({node.op.name for node in joint.inside if "control" in node.op.traits})
    if kinds:
        events.notice(f"the plan does not split loops and branches ({', '.join(kinds)}): every device runs them whole.",
                      key="parallel plan of control flow")  # fmt: skip


def _buckets() -> tuple[tuple[int, ...], float]:
    """Gradients behind which a bucket ends, and bytes that fill one, by the context."""
    cuts = tuple(get_auto_parallel_context("all_reduce_fusion_config"))
    told = get_auto_parallel_context("comm_fusion") or {}
    if not told.get("openstate", True):
        return (), 0.0
    said = told.get("allreduce", {"mode": "", "config": None})
    if said["mode"] == "index":
        return tuple(said["config"]), math.inf
    return cuts, {"auto": BUCKET, "size": 1e6 * (said["config"] or 0.0)}.get(said["mode"], math.inf)


def captured_of(program: Any, inputs: tuple[Any, ...]) -> Any:
    """A Cell or function of tensors as a graph."""
    if not callable(program):
        raise ArgumentError(f"plan takes a Cell or a function, not {type(program).__name__}.")
    return trace(program, inputs, {})


def repeated(program: Any, inputs: tuple[Any, ...]) -> MicrobatchReplication:
    """A training step on the parts of a batch, captured with the first two of them, which show what all do."""

    def whole() -> tuple[Any, TrainingGraph]:
        captured = captured_of(program, inputs)
        return captured, joint_of(captured, inputs, {}, training=True)

    with first_parts(2) as numbers:
        joint = whole()[1]
    if len(numbers) > 1:  # several networks on parts, in different numbers: they must be seen to be refused
        return MicrobatchReplication(whole()[1], None, whole, inputs)
    return MicrobatchReplication(joint, next(iter(numbers), None), whole, inputs)


def joint_of(
    captured: Any, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None = None
) -> TrainingGraph:
    """The graph without calls, with a gradient: its own, or that of its loss by the trained weights.

    Args:
        captured: the program; args, kwargs: what it was captured with.
        training: whether a program without a gradient gets one; None: when it gives a scalar and has weights.
    """
    graph = inlined(written_out(captured.noted, inlined))  # so no gradient has a second run of a layer in it
    need_no_collectives(graph)
    owners = captured.owners(args, kwargs)
    weights = {
        p
        for p, owner in zip(graph.params, owners)
        if isinstance(owner, Parameter) and owner.requires_grad and owner.dtype.differentiable
    }
    joint = TrainingGraph(graph, weights)
    if not _trained(joint) and (_is_step(graph, weights) if training is None else training):
        joint = with_gradient(graph, weights)
    data = [given and not isinstance(owner, Parameter) for given, owner in zip(captured.of_call(), owners)]
    joint.held = {p for p, is_data in zip(joint.graph.params, data) if not is_data}
    joint.again = layers_said(captured.noted)
    return joint


def need_no_collectives(graph: Graph) -> None:
    """Raise ValueError for a program with collectives of its own: a plan computes what it says for the whole batch."""
    placed = sorted({node.op.name for _, node in graph.walk() if "collective" in node.op.traits})
    if placed:
        raise AttributeValueError(
            f"the program places collectives itself ({', '.join(placed)}); a plan is made of programs as one device "
            "would run them, and places its own.",
            hint="leave them out, or use parallel_mode='hybrid_parallel'.",
        )


def _trained(joint: TrainingGraph) -> bool:
    """Whether the program is a training step already: it has gradients that reach a weight or a result of their own.

    A loss with a derivative inside (of a physical law, say) is none.
    """
    graph, state = joint.graph, set(joint.graph.state.values())
    updated = any(graph.params[i] in joint.weights for i in graph.state)
    return joint.trains and (updated or len(graph.outputs) - len(state) > 1)


def _is_step(graph: Graph, weights: set[Value]) -> bool:
    state = set(graph.state.values())
    results = [v.type for i, v in enumerate(graph.outputs) if i not in state]
    first = results[0] if results else None
    return bool(weights) and isinstance(first, TensorType) and first.is_static and first.size == 1


def _made(problem: CostGraphBuilder, parallel_mode: str, search_mode: str | None, strategies: Mapping[str, Any],
          limit: float | None) -> RunnablePlan:  # fmt: skip
    if parallel_mode == DATA_PARALLEL:
        given = batch_split(problem)
        _tell_uneven(problem)
        choices = [0] * problem.costs.size
        plan_ = RunnablePlan(problem, choices, parallel_mode)._with(given, {})
        plan_.mode = parallel_mode
        if limit is not None and problem.costs.bytes(plan_.choices) > limit:
            raise no_room(problem, limit, "data_parallel copies every weight and does not fit")
        return plan_
    chosen = search_mode or set_value("search_mode")
    mode = "sharding_propagation" if parallel_mode == "semi_auto_parallel" else chosen or SEARCHES[0]
    choices = search(problem, mode, strategies, limit, insists=chosen is not None)
    return RunnablePlan(problem, choices, f"{parallel_mode}, {problem.searched}")


def _tell_uneven(problem: CostGraphBuilder) -> None:
    """A batch that does not divide is not split. Gradients that go into an optimizer are no batch."""
    graph = problem.joint.graph
    if not problem.joint.trains and any(graph.params[at] in problem.joint.weights for at in graph.state):
        return
    data = [p for p in problem.graph.params if p not in problem.joint.held and problem.flow.readers.get(p)]
    types = {_told(p): t for p in data if isinstance(t := p.type, TensorType) and t.is_static and t.ndim}
    uneven = [f"{name} of shape {list(t.shape)}" for name, t in types.items() if t.ints()[0] % problem.mesh.size]
    if uneven:
        events.notice(
            f"data_parallel: axis 0 of {', '.join(uneven)} does not divide over {problem.mesh.size} devices, so every "
            "device has the whole of it. Choose a batch that divides (drop_remainder=True in a data set).",
            key=f"uneven batch {uneven}",
        )


def _told(data: Value) -> str:
    """The argument, or of what another stage sends the operator that made it."""
    return data.name if data.node is None else f"the output of {names_of([data.node])[data.node]}"


Made = TypeVar("Made", RunnablePlan, PipelinePlan)


def _with_files(made: Made, compiled: bool = False) -> Made:
    """The strategy files of the context.

    Args:
        compiled: one of the programs that run under the context. The file is of the training step, so only that is
            written, and another program takes from it what it has.
    """
    load, save = (_file(what) for what in ("load", "save"))
    trains = isinstance(made, PipelinePlan) or made.problem.joint.trains
    if load:
        made = made.load(load, every=trains or not compiled)
    if save and (trains or not compiled):
        made.save(save)
    return made


def _file(what: str) -> str:
    config = get_auto_parallel_context("strategy_ckpt_config") or {}
    return str(get_auto_parallel_context(f"strategy_ckpt_{what}_file") or config.get(f"{what}_file", ""))
