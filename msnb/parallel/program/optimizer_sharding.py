"""Optimizer sharding (ZeRO): copies of a weight share the work and the memory of its update.

    level   weights   gradients   optimizer     per step and weight of n bytes over d copies
    0       n         n           s n           all-reduce                            2 n (d-1)/d
    1       n         n           s n/d         reduce-scatter, all-gather            2 n (d-1)/d
    2       n         n/d         s n/d         reduce-scatter, all-gather            2 n (d-1)/d
    3       n/d       n/d         s n/d         all-gather twice, reduce-scatter      3 n (d-1)/d

In layouts: the mesh axes that hold copies of a weight split one of its tensor axes more. The optimizer lives in that
*spread* layout. A gradient's open sum is closed by a reduce-scatter into it, the new weight is gathered from it; at
level 3 the weight itself lives there and is gathered before its layer, forward and again backward. Levels 1 and 2 send
the same; level 1 keeps the whole gradient until the step ends.

With mixed precision and Adam, 2 + 2 + 12 bytes per weight become 4 + 12/d, 2 + 14/d and 16/d.
Source: Rajbhandari et al., "ZeRO", 2020; MindSpore's parallel_optimizer_config (a threshold below which weights stay
whole, a size of the groups that share).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from msnb.base import AttributeValueError
from msnb.core import TensorType
from msnb.ir.graph import Node, Value
from msnb.parallel.context import get_auto_parallel_context
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.strategies import Strategy, call_of, place

LEVELS = (0, 1, 2, 3)
_PASSING = frozenset({"cast", "transpose", "add", "unindex"})  # what stands between a gradient's sum and the gradient


@dataclass(frozen=True)
class OptimizerSharding:
    """How optimizers are sharded.

    Args:
        level: 0 (not), 1 (optimizer), 2 (and gradients), 3 (and weights).
        threshold: weights with fewer bytes stay whole.
        most: at most so many devices share a weight; -1: as many as hold copies.

    Raises:
        ValueError: another level.

    Examples:
        >>> from msnb.parallel.sharding.layout import whole
        >>> from msnb.core.types import tensor_type
        >>> import msnb as ms
        >>> OptimizerSharding(1).spread(Mesh.over(8), whole(2), tensor_type((16, 4), ms.float32)).splits(Mesh.over(8))
        (8, 1)
    """

    level: int = 0
    threshold: float = 0.0
    most: int = -1

    def __post_init__(self) -> None:
        if self.level not in LEVELS or isinstance(self.level, bool):
            raise AttributeValueError(f"optimizer_level={self.level!r} is not legal; legal: 0 (nothing is shared), 1 "
                                      "(optimizer state), 2 (and gradients), 3 (and weights).")  # fmt: skip

    def spread(self, mesh: Mesh, layout: TensorLayout, t: Any) -> TensorLayout:
        """The layout in which copies share a weight: one tensor axis is split more, by as many devices as divide it."""
        if not self.level or not isinstance(t, TensorType) or not t.is_static or t.nbytes < self.threshold:
            return layout
        best, found = 1, layout
        for dim, (size, axes) in enumerate(zip(t.ints(), layout.dims)):
            more = self._fitting(mesh, layout, size // mesh.count(axes))
            if mesh.count(more) > best:
                best = mesh.count(more)
                dims = tuple((*a, *more) if i == dim else a for i, a in enumerate(layout.dims))
                found = TensorLayout(dims, layout.partial)
        return found

    def _fitting(self, mesh: Mesh, layout: TensorLayout, size: int) -> tuple[int, ...]:
        """Free mesh axes that a tensor axis divides by, the inner (fast) ones first."""
        out: list[int] = []
        for a in reversed(range(len(mesh.factors))):
            count = mesh.count([*out, a])
            if a not in layout.used and size % count == 0 and (self.most < 0 or count <= self.most):
                out.append(a)
        return tuple(sorted(out))


def from_context() -> OptimizerSharding:
    """What ``enable_parallel_optimizer`` and ``parallel_optimizer_config`` say."""
    if not get_auto_parallel_context("enable_parallel_optimizer"):
        return OptimizerSharding()
    config = get_auto_parallel_context("parallel_optimizer_config") or {}
    level, threshold = config.get("optimizer_level", "level1"), config.get("parallel_optimizer_threshold", 64)
    most = config.get("optimizer_weight_shard_size", get_auto_parallel_context("optimizer_weight_shard_size"))
    return OptimizerSharding(int(level[-1]), threshold * 1024.0, most)


def passes(node: Node) -> bool:
    """Whether a node only hands a gradient on: a view, a cast, a sum of two."""
    return "view" in node.op.traits or node.op.name in _PASSING


def gradients_of(joint: TrainingGraph) -> list[tuple[Value, Value]]:
    """(weight, its gradient): of a loss, or what the update of a captured step reads."""
    if joint.gradients:
        return list(zip((p for p in joint.graph.params if p in joint.weights), joint.gradients))
    out = []
    order = {v: i for i, node in enumerate(joint.graph.nodes) for v in node.outputs if node not in joint.updates}
    for at, new in joint.graph.state.items():
        weight = joint.graph.params[at]
        if weight in joint.weights and isinstance(weight.type, TensorType):
            found = joint.behind(joint.graph.outputs[new], weight.type.shape) & order.keys()
            out += [(weight, v) for v in sorted(found, key=order.__getitem__)]
    return out


class GradientSpreading:
    """Where every gradient on its way should lie, so that it arrives spread.

    Args:
        mesh, joint: devices and program; late: the gradients that only updates wait for.
        targets: the spread layout of every weight that is shared.
    """

    def __init__(
        self, mesh: Mesh, joint: TrainingGraph, late: set[Value], targets: Mapping[Value, TensorLayout]
    ) -> None:
        self.mesh: Mesh = mesh
        self.wanted: dict[Value, TensorLayout] = dict[Value, TensorLayout]()
        todo = [(g, targets[w]) for w, g in gradients_of(joint) if w in targets]
        while todo:
            value, layout = todo.pop()
            if value in late and value not in self.wanted:
                self.wanted[value] = layout
                made = None if value.node is None or not passes(value.node) else self._passing(value.node, layout)
                todo += [] if made is None else [(v, t) for v, t in zip(value.node.inputs, made.inputs)]  # type: ignore[union-attr]

    def _passing(self, node: Node, target: TensorLayout) -> Strategy | None:
        """How a view, cast or sum runs so that its result has this layout; None where it cannot."""
        call = call_of(node)
        blocks = {name: axes for name, axes in zip(call.axes.outputs[0], target.dims) if axes}
        fine = {label.name for label in call.axes.splittable()}
        named = {name: axes for name, axes in blocks.items() if name in fine and name is not None}
        made = place(call, named, self.mesh) if len(named) == len(blocks) else None
        return made if made is not None and not made.partial and made.outputs[0] == target else None

    def strategy(self, node: Node, strategy: Strategy) -> Strategy:
        """The strategy by which a node's result arrives spread, if it can: reduce-scatter instead of all-reduce."""
        target = self.wanted.get(node.outputs[0]) if len(node.outputs) == 1 else None
        if target is None:
            return strategy
        if not strategy.partial:
            return (self._passing(node, target) if passes(node) else None) or strategy
        for dim, axes in enumerate(strategy.outputs[0].dims):
            dims = strategy.outputs[0].dims
            spread = tuple((*axes, *strategy.partial) if i == dim else a for i, a in enumerate(dims))
            if spread == target.dims and strategy.reducer == "sum":
                return replace(strategy, outputs=(target,), scatter=dim)
        return strategy
