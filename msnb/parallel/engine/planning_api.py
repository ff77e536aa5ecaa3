"""``ms.parallel.plan``: capture a program, plan it under the context or the keywords, and run the plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msnb.base import events
from msnb.base.gc_pause import at_rest
from msnb.core import TensorType
from msnb.ir.graph import Value
from msnb.parallel import context
from msnb.parallel.engine.executable_plan import RunnablePlan
from msnb.parallel.engine.manual_plan import ManualPlan
from msnb.parallel.engine.microbatch_replication import MicrobatchReplication
from msnb.parallel.engine.pipeline_plan import PipelinePlan, Planner, plan_pipeline
from msnb.parallel.engine.plan_options import PipelineRequest, PlanRequest
from msnb.parallel.engine.program_source import CapturedSource, FunctionSource, ProgramSource, optimizer_states_of
from msnb.parallel.pipeline.options import PipelineOptions, settings
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder, names_of
from msnb.parallel.planner.cost_model import BUCKET, MemoryRule, model_named
from msnb.parallel.planner.input_layout import fed
from msnb.parallel.planner.pareto_front import Point, asked, layers, point, with_said, within
from msnb.parallel.planner.strategy_prices import PriceCache
from msnb.parallel.plans.plan import NO_ORIGIN, Plan, PlanOrigin, batch_split, no_room, search
from msnb.parallel.program.optimizer_sharding import OptimizerSharding, from_context
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.sharding.device_mesh import Cluster, Mesh


def plan(
    program: Any, *inputs: Any, device_num: int | None = None, cluster: Cluster | None = None,
    parallel_mode: str | None = None, search_mode: str | None = None, strategies: Mapping[str, Any] | None = None,
    training: bool | None = None, cost_model: str = "time", memory_limit: float | None = None,
    optimizer_states: int | None = None, max_split: int | None = None, overlap: float = 0.0,
    optimizer_level: int | None = None, recompute: Any = None, pipeline_stages: int | None = None,
    pipeline_scheduler: str | None = None, stage_devices: Sequence[int] | str | None = None,
) -> Any:  # fmt: skip
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
    return make_plan(
        PlanRequest(device_num, cluster, parallel_mode or _mode(device_num), search_mode, strategies, training,
                    cost_model, memory_limit, optimizer_states, max_split, overlap, optimizer_level, recompute,
                    PipelineRequest(pipeline_stages, pipeline_scheduler, stage_devices)),
        FunctionSource(program, inputs),
    )  # fmt: skip


def plan_captured(captured: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunnablePlan | PipelinePlan:
    """The plan of a program that is captured already, as the context says; in pipeline stages if it trains."""
    request = PlanRequest(parallel_mode=context.get_auto_parallel_context("parallel_mode"))
    made: RunnablePlan | PipelinePlan = make_plan(request, CapturedSource(captured, args, kwargs))
    return made


def make_plan(request: PlanRequest, source: ProgramSource) -> Any:
    """The plan of a program.

    Args:
        request: what is asked for; source: the program.

    Raises:
        ValueError: a keyword or a strategy that is wrong, or no plan that fits into memory.
    """
    request.check()
    if request.parallel_mode == context.HYBRID_PARALLEL and isinstance(source, FunctionSource):
        return ManualPlan(source.program, source.args, Mesh.over(request.devices, request.cluster))
    with at_rest():
        return _Planning(request, source).plan()


class _Planning:
    """One request at work.

    Args:
        request: what is asked for; source: the program.
    """

    def __init__(self, request: PlanRequest, source: ProgramSource) -> None:
        self.request, self.source, self.mode, self.devices = request, source, request.parallel_mode, request.devices
        level = request.optimizer_level
        self.sharding = from_context() if level is None else OptimizerSharding(level)
        memory = request.memory_limit
        self.limit = (request.cluster or Cluster()).chip.memory if memory is None else memory
        self.caches: dict[tuple[int, bool], PriceCache] = {}
        self.states = 1

    def plan(self) -> RunnablePlan | PipelinePlan:
        """In pipeline stages where that is asked for, else as a whole."""
        pipeline = self.request.pipeline
        how = settings(pipeline.stages, pipeline.scheduler, pipeline.devices)
        step = self.source.microbatched() if how.stages > 1 else None
        return self._whole() if step is None else self._pipelined(step, how)

    def _pipelined(self, step: MicrobatchReplication, how: PipelineOptions) -> PipelinePlan:
        self._count_states(step.joint)
        planner = Planner(self._problem, self._searched, self.request.strategies or {})
        piped = plan_pipeline(step, planner, how, self.devices, self.limit, self.request.recompute)
        return _with_files(piped, self.source.compiled)

    def _whole(self) -> RunnablePlan:
        request = self.request
        captured, joint = self.source.whole(request.training)
        self._count_states(joint)
        lays_data = self.mode in context.PLANNED and (joint.trains or not self.source.compiled)
        joint.fed = fed(joint, Mesh.over(self.devices, request.cluster)) if lays_data else {}
        # nothing is searched in data_parallel mode: it is shown as it is
        bound = request.memory_limit if self.mode == context.DATA_PARALLEL else self.limit
        problem = self._problem(joint, self.devices)
        args = () if self.source.compiled else self.source.args  # a compiled program is run with those of its call
        origin = PlanOrigin(captured, args, self._replica(problem), *_buckets())
        bound = None if request.recompute or joint.rematerialized else bound
        made = self._searched(problem, request.strategies or {}, bound, origin)
        _tell_whole(joint)
        return _with_recompute(_with_files(made, self.source.compiled), request.recompute, self.limit)

    def _replica(self, problem: CostGraphBuilder) -> Callable[[], Plan | None]:
        return lambda: self.source.replica(self.devices, self.request.cluster, problem)

    def _count_states(self, joint: TrainingGraph) -> None:
        wanted = self.request.optimizer_states
        self.states = optimizer_states_of(joint) if wanted is None else wanted

    def _problem(self, joint: TrainingGraph, devices: int) -> CostGraphBuilder:
        request, cache = self.request, self.caches.setdefault((devices, joint.trains), PriceCache())
        model = model_named(request.cost_model, Mesh.over(devices, request.cluster), joint.trains, request.overlap)
        return CostGraphBuilder(joint, model, MemoryRule(self.states, joint.trains), request.max_split, self.sharding,
                                context.wide_sums(self.mode), cache)  # fmt: skip

    def _searched(self, problem: CostGraphBuilder, wanted: Mapping[str, Any], limit: float | None = None,
                  origin: PlanOrigin = NO_ORIGIN) -> RunnablePlan:  # fmt: skip
        """The plan of a problem as the mode finds it."""
        if self.mode == context.DATA_PARALLEL:
            return _data_parallel(problem, limit, origin)
        chosen = self.request.search_mode or context.set_value("search_mode")
        mode = "sharding_propagation" if self.mode == context.SEMI_AUTO_PARALLEL else chosen or context.SEARCHES[0]
        choices = search(problem, mode, wanted, limit, insists=chosen is not None)
        return RunnablePlan(problem, choices, f"{self.mode}, {problem.searched}", origin=origin)


def _data_parallel(problem: CostGraphBuilder, limit: float | None, origin: PlanOrigin) -> RunnablePlan:
    split = batch_split(problem)
    _tell_uneven(problem)
    first = RunnablePlan(problem, [0] * len(problem.strategies), context.DATA_PARALLEL, origin=origin)
    made = first.with_strategies(split, {}, context.DATA_PARALLEL)
    if limit is not None and problem.total(made.choices)[1] > limit:
        raise no_room(problem, limit, "data_parallel copies every weight and does not fit")
    return made


def _with_recompute(made: RunnablePlan, recompute: Any, limit: float) -> RunnablePlan:
    """The plan with layers computed twice, as asked for or as the limit needs."""
    problem = made.problem
    every = layers(problem, made.choices)
    wanted = with_said(every, problem.joint.rematerialized, recompute)
    if not wanted:
        return made
    if wanted != "auto":
        found: Point | None = point(problem, made.choices, asked(every, wanted))
    else:
        searched = "dynamic_programming" in made.mode and problem.costs.bytes(made.choices) > limit
        found = within(problem, limit, None if searched else made.choices)
    if found is None or found.nbytes > limit:
        raise no_room(problem, limit, "no plan fits, layers computed twice,")
    if list(found.choices) != made.choices:
        made = made.changed(choices=list(found.choices))
    return made.computing_twice(found.rematerialized)


def _mode(device_num: Any) -> str:
    """The context's mode; who names devices there is no mode for wants a plan."""
    mode = str(context.get_auto_parallel_context("parallel_mode"))
    return context.AUTO_PARALLEL if mode == context.STAND_ALONE and device_num not in (None, 1) else mode


def _tell_whole(joint: TrainingGraph) -> None:
    """Loops and branches are not split."""
    kinds = sorted({node.op.name for node in joint.inside if "control" in node.op.traits})
    if kinds:
        events.notice(f"the plan does not split loops and branches ({', '.join(kinds)}): every device runs them whole.",
                      key="parallel plan of control flow")  # fmt: skip


def _buckets() -> tuple[tuple[int, ...], float]:
    """Gradients behind which a bucket ends, and bytes that fill one, by the context."""
    cuts = tuple(context.get_auto_parallel_context("all_reduce_fusion_config"))
    told = context.get_auto_parallel_context("comm_fusion") or {}
    if not told.get("openstate", True):
        return (), 0.0
    said = told.get("allreduce", {"mode": "", "config": None})
    if said["mode"] == "index":
        return tuple(said["config"]), math.inf
    return cuts, {"auto": BUCKET, "size": 1e6 * (said["config"] or 0.0)}.get(said["mode"], math.inf)


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
    config = context.get_auto_parallel_context("strategy_ckpt_config") or {}
    return str(context.get_auto_parallel_context(f"strategy_ckpt_{what}_file") or config.get(f"{what}_file", ""))
