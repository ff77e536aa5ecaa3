"""``ms.parallel.plan``: capture a program, plan it under the context or the keywords, and run the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from msnb.core.errors import ArgumentError, AttributeValueError
from msnb.core.parameter import Parameter
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.ir.graph import Graph, Value
from msnb.parallel.context import MODES, get_auto_parallel_context
from msnb.parallel.cost import MemoryRule, model_named
from msnb.parallel.engine.inproc import Ranks
from msnb.parallel.mesh import Cluster, Mesh
from msnb.parallel.planning import Problem, inlined
from msnb.parallel.plans import Plan, batch_split, search


class RunnablePlan(Plan):
    """A plan that knows the program's inputs, so that it can be run."""

    captured: Any = None
    args: tuple[Any, ...] = ()

    def run(self, *inputs: Any, engine: str = "inproc") -> Any:
        """Run the plan on simulated ranks.

        Args:
            inputs: as the program takes them (those it was planned with by default), of the same shapes.
            engine: "inproc", all ranks in this process (up to 64).

        Returns:
            Without training the results as NumPy arrays (one, or a tuple). With training (loss, {weight: gradient}).

        Raises:
            ValueError: another engine, or inputs of other shapes.
        """
        if engine != "inproc":
            raise AttributeValueError(f"no engine is called {engine!r}; legal: 'inproc'.")
        ranks = Ranks(self.program)
        values = ranks.run(self._values(inputs or self.args))
        self.sent = dict(ranks.sent)
        n = len(self.program.graph.outputs)
        state = set(self.program.graph.state.values())
        results = [v for i, v in enumerate(values[:n]) if i not in state]
        if not self.problem.rule.training:
            return results[0] if len(results) == 1 else tuple(results)
        names = [w.name for w in self.program.weights]
        return results[0], dict(zip(names, values[n:]))

    def _values(self, inputs: tuple[Any, ...]) -> list[Any]:
        owners = self.captured.owners(inputs, {})
        out = []
        for p, owner in zip(self.program.graph.params, owners):
            value = owner.asnumpy() if isinstance(owner, Tensor) else owner
            if isinstance(p.type, TensorType) and not p.type.weak and np.shape(value) != p.type.shape:
                raise AttributeValueError(f"{p.name} has shape {list(np.shape(value))}, the plan is for {p.type!r}.")
            out.append(value)
        return out

    @classmethod
    def _again(cls, plan: Plan, choices: list[int]) -> Plan:
        made = super()._again(plan, choices)
        assert isinstance(made, RunnablePlan) and isinstance(plan, RunnablePlan)
        made.captured, made.args = plan.captured, plan.args
        return made


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
    optimizer_states: int = 1,
    max_split: int | None = None,
    overlap: float = 0.0,
) -> RunnablePlan:
    """Plan a Cell or a function over devices.

    Args:
        program: a Cell or function of tensors. With a scalar result and weights it is planned as a training step.
        inputs: what it is called with.
        device_num: how many devices; by default the context's.
        cluster: their links; by default servers of eight Ascend 910.
        parallel_mode: "data_parallel", "semi_auto_parallel" (needs strategies), "auto_parallel" or "stand_alone"; by
            default the context's ("auto_parallel" where the context says stand_alone and device_num is given).
        search_mode: "dynamic_programming" (exact), "recursive_programming", "sharding_propagation"; "brute_force" and
            "linear_program" (SciPy) are checks for small programs.
        strategies: operator, or kind of operator -> split counts per input, taken as given.
        training: whether gradients are planned too.
        cost_model: "time" (simulated seconds) or "bytes" (MindSpore's weights of bytes).
        memory_limit: bytes per device; by default the device's memory.
        optimizer_states: copies of the weights that the optimizer keeps (momentum 1, Adam 2).
        max_split: at most so many axes of one operator are split.
        overlap: share of the weights' gradient sync that the search takes as hidden.

    Returns:
        Plan: strategies, layouts, collectives, simulated step_time, memory, explain(op), save, load, run.

    Raises:
        ValueError: a wrong strategy or keyword, or no plan that fits into memory.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(64, 64)
        >>> plan = ms.parallel.plan(net, ms.ops.ones((512, 64)), device_num=4)
        >>> plan.strategies["Dense/matmul"]
        ((4, 1), (1, 1))
    """
    if parallel_mode is None:
        parallel_mode = get_auto_parallel_context("parallel_mode")
        if parallel_mode == "stand_alone" and (device_num or 1) > 1:
            parallel_mode = "auto_parallel"
    _check_mode(parallel_mode, strategies)
    devices = (get_auto_parallel_context("device_num") if device_num is None else device_num)
    mesh = Mesh.over(1 if parallel_mode == "stand_alone" else devices, cluster)
    captured = _captured(program, inputs)
    graph, weights = _program(captured, inputs)
    train = _is_step(graph, weights) if training is None else training
    problem = Problem(graph, weights, model_named(cost_model, mesh, train, overlap), MemoryRule(optimizer_states, train),
                      max_split)  # fmt: skip
    limit = mesh.cluster.chip.memory if memory_limit is None else memory_limit
    made = _made(problem, parallel_mode, search_mode, strategies or {}, limit)
    made.captured, made.args = captured, inputs
    return _with_files(made)


def _check_mode(mode: str, strategies: Mapping[str, Any] | None) -> None:
    if mode not in MODES:
        raise AttributeValueError(f"parallel_mode={mode!r} is not legal; legal: {', '.join(map(repr, MODES))}.")
    if mode == "hybrid_parallel":
        raise AttributeValueError("hybrid_parallel programs place their collectives themselves: there is nothing to plan.",
                                  hint="use semi_auto_parallel or auto_parallel.")  # fmt: skip
    if strategies and mode in ("stand_alone", "data_parallel"):
        raise AttributeValueError(f"strategies= conflicts with parallel_mode={mode!r}, which has its own.",
                                  hint="use semi_auto_parallel or auto_parallel.")  # fmt: skip


def _captured(program: Any, inputs: tuple[Any, ...]) -> Any:
    from msnb.graph.capture import trace

    if not callable(program):
        raise ArgumentError(f"plan takes a Cell or a function, not {type(program).__name__}.")
    return trace(program, inputs, {})


def _program(captured: Any, inputs: tuple[Any, ...]) -> tuple[Graph, set[Value]]:
    """The graph without calls, and its trained params."""
    graph = inlined(captured.graph)
    owners = captured.owners(inputs, {})
    return graph, {
        p
        for p, owner in zip(graph.params, owners)
        if isinstance(owner, Parameter) and owner.requires_grad and owner.dtype.differentiable
    }


def _is_step(graph: Graph, weights: set[Value]) -> bool:
    state = set(graph.state.values())
    results = [v.type for i, v in enumerate(graph.outputs) if i not in state]
    first = results[0] if results else None
    return bool(weights) and isinstance(first, TensorType) and first.is_static and first.size == 1


def _made(problem: Problem, parallel_mode: str, search_mode: str | None, strategies: Mapping[str, Any],
          limit: float) -> RunnablePlan:  # fmt: skip
    if parallel_mode == "data_parallel":
        given = batch_split(problem)
        choices = [0] * problem.costs.size
        plan_ = RunnablePlan(problem, choices, parallel_mode)._with(given, {})
        assert isinstance(plan_, RunnablePlan)
        plan_.mode = parallel_mode
        return plan_
    if parallel_mode == "semi_auto_parallel":
        mode = "sharding_propagation"
    else:
        mode = search_mode or get_auto_parallel_context("search_mode")
    return RunnablePlan(problem, search(problem, mode, strategies, limit), f"{parallel_mode}, {mode}")


def _with_files(made: RunnablePlan) -> RunnablePlan:
    """The strategy files of the context."""
    load, save = (get_auto_parallel_context(f"strategy_ckpt_{what}_file") for what in ("load", "save"))
    if load:
        again = made.load(load)
        assert isinstance(again, RunnablePlan)
        again.captured, again.args = made.captured, made.args
        made = again
    if save:
        made.save(save)
    return made
