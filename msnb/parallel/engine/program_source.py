"""What a plan is made of: a Cell or function with its inputs, or a program that ``jit`` has captured already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from msnb.autodiff.deferred_gradient import written_out
from msnb.base import ArgumentError, AttributeValueError, MsnbError, events
from msnb.core import Parameter, Tensor, TensorType
from msnb.core.microbatch_scope import first_parts
from msnb.core.pytree import flatten, unflatten
from msnb.core.tensor import blank
from msnb.graph.capture import trace
from msnb.ir.graph import Graph, Value
from msnb.parallel.engine.microbatch_replication import MicrobatchReplication
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder, inlined
from msnb.parallel.planner.cost_model import TimeModel
from msnb.parallel.planner.rematerialization import layers_said
from msnb.parallel.plans.plan import Plan
from msnb.parallel.program.training_graph import TrainingGraph, with_gradient
from msnb.parallel.sharding.device_mesh import Cluster, Mesh


class ProgramSource(ABC):
    """A program that is planned.

    Attributes:
        args: what it is called with.
        compiled: whether it is one of the programs that run under the context.
    """

    args: tuple[Any, ...]
    compiled: bool

    @abstractmethod
    def microbatched(self) -> MicrobatchReplication | None:
        """The program as a training step on the parts of a batch; None where it does not train."""

    @abstractmethod
    def whole(self, training: bool | None) -> tuple[Any, TrainingGraph]:
        """The captured program, and its graph with a gradient; ``training``: as ``joint_of`` takes it."""

    def replica(self, devices: int, cluster: Cluster | None, problem: CostGraphBuilder) -> Plan | None:
        """The plan of one device with its part of the batch; None where there is none."""
        return None


@dataclass(frozen=True)
class FunctionSource(ProgramSource):
    """A Cell or a function, and what it is called with."""

    program: Any
    args: tuple[Any, ...]
    compiled = False

    def microbatched(self) -> MicrobatchReplication:
        """Captured with the first two parts, which show what all do."""
        return repeated(self.program, self.args)

    def whole(self, training: bool | None) -> tuple[Any, TrainingGraph]:
        """Captured for this plan."""
        captured = captured_of(self.program, self.args)
        return captured, joint_of(captured, self.args, {}, training)

    def replica(self, devices: int, cluster: Cluster | None, problem: CostGraphBuilder) -> Plan | None:
        """Captured anew: where the program reshapes the batch, or looks things up in it, it is the device's own."""
        return plan_replica(self.program, self.args, devices, cluster, problem)


@dataclass(frozen=True)
class CapturedSource(ProgramSource):
    """A program that is captured already, and what it was captured with."""

    captured: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    compiled = True

    def microbatched(self) -> MicrobatchReplication | None:
        """All parts are in the program."""
        joint = self.whole(False)[1]
        return MicrobatchReplication(joint, None, lambda: (self.captured, joint)) if joint.trains else None

    def whole(self, training: bool | None) -> tuple[Any, TrainingGraph]:
        """It has the gradients that it was captured with, and no others."""
        return self.captured, joint_of(self.captured, self.args, self.kwargs, training=False)


def plan_replica(
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
    return Plan(problem, [0] * len(problem.strategies), "stand_alone")


def parts_of(inputs: tuple[Any, ...], devices: int) -> tuple[Any, ...]:
    """A device's part of a batch, as types without values: axis 0 divided, where it divides."""
    leaves, shape = flatten(inputs)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and not isinstance(leaf, Parameter) and leaf.ndim:
            rows, *rest = leaf._type.ints()
            leaves[i] = blank((rows if rows % devices else rows // devices, *rest), leaf.dtype)
    made: tuple[Any, ...] = unflatten(shape, leaves)
    return made


def optimizer_states_of(joint: TrainingGraph) -> int:
    """How many copies of the weights the optimizer of a step keeps."""
    count: dict[Value, int] = {}
    for weight in joint.companions.values():
        count[weight] = count.get(weight, 0) + 1
    return max(count.values(), default=1)


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
    joint.rematerialized = layers_said(captured.noted)
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
