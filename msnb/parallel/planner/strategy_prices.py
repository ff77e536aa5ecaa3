"""What strategies cost: seconds and bytes of every node under every strategy, and of the reshards between two nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.core import TensorType
from msnb.ir.graph import Node
from msnb.parallel.planner.cost_model import BUCKET, MemoryRule, Model, TimeModel, is_free, part_bytes
from msnb.parallel.planner.value_flow import ValueFlow
from msnb.parallel.program.optimizer_sharding import OptimizerSharding
from msnb.parallel.program.spmd_program import moves_opening
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.search.cost_graph import Floats
from msnb.parallel.sharding.device_mesh import GATHER, Mesh
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.strategies import OpSignature, Strategy, call_of, candidates

_SMALL = 40  # nodes of a program up to which three axes of an operator may be split at once


@dataclass
class PriceCache:
    """What was priced for one program holds for every other on the same mesh, with the same model and rule: layers are
    alike, and so are the stages of a pipeline. Keys say all that a price depends on.

    Attributes:
        calls: (op, types, attributes) -> the call; strategies: (signature, most labels) -> its strategies.
        nodes: (signature, circumstances, what a step shares) -> seconds and bytes of every choice.
        edges: keys of both ends -> the matrix between them; reshards: layouts of both ends -> theirs.
        inherited: (signature, mesh axes of labels) -> the strategy that splits them so; None where none does.
    """

    calls: dict[Any, OpSignature] = field(default_factory=dict)
    strategies: dict[Any, list[Strategy]] = field(default_factory=dict)
    nodes: dict[Any, tuple[Floats, Floats]] = field(default_factory=dict)
    edges: dict[Any, Floats] = field(default_factory=dict)
    reshards: dict[Any, Floats] = field(default_factory=dict)
    inherited: dict[Any, Strategy | None] = field(default_factory=dict)


class StrategyPrices:
    """What a node costs under a strategy, by a model of time and a rule of memory.

    Args:
        joint: the program; flow: what is known of its values.
        model: what things cost in seconds; rule: bytes per byte of weight.
        most: at most so many labels of an op are split at once; None: as many as the size of the program allows.
        sharding: how copies of weights share their update.
        wide: which sums over devices of 16-bit terms are taken in float32.
        cache: what is known from other programs on the same devices, planned with the same settings.
    """

    def __init__(self, joint: TrainingGraph, flow: ValueFlow, model: Model, rule: MemoryRule, most: int | None,
                 sharding: OptimizerSharding, wide: str, cache: PriceCache) -> None:  # fmt: skip
        self.flow: ValueFlow = flow
        self.model = model
        self.mesh: Mesh = model.mesh
        self.rule: MemoryRule = rule
        self.sharding: OptimizerSharding = sharding
        self.cache: PriceCache = cache
        self.parts: int = joint.parts
        few = most is None and self.mesh.size <= 8 and len(joint.forward.nodes) <= _SMALL
        self.most: int | None = 3 if few else most
        if isinstance(model, TimeModel):
            nbytes = sum(t.nbytes for w in joint.weights if isinstance(t := w.type, TensorType))
            model.wide, model.parts, model.bucket = wide, joint.parts, max(1.0, min(BUCKET, nbytes))
        # what prices depend on besides the call and its circumstances, of all that differs between programs
        self._shared = self.most, model.bucket if isinstance(model, TimeModel) else 0.0, joint.parts

    def call(self, node: Node) -> OpSignature:
        """A node as strategies see it; alike nodes share their call."""
        known = self.cache.calls
        types = (tuple(v.type for v in side) for side in (node.inputs, node.outputs))
        key = (node.op, *types, tuple(node.attrs.items()))
        return known[key] if key in known else known.setdefault(key, call_of(node))

    def candidates(self, call: OpSignature) -> list[Strategy]:
        """The strategies of a call, found once per signature."""
        key = call.key, self.most
        found = self.cache.strategies.get(key)
        if found is None:
            found = candidates(call, self.mesh, self.most)
            if self.model.name == "bytes" and not is_free(call):  # MindSpore's fully_use_devices, and no split pixels
                found = [s for s in found if not any(moves_opening(self.mesh, call, s))]
                found = [s for s in found if self.mesh.count(s.used) == self.mesh.size] or found
            self.cache.strategies[key] = found
        return found

    def node(self, node: Node, call: OpSignature, choices: Sequence[Strategy]) -> tuple[Floats, Floats]:
        """Seconds and bytes of every choice of a node."""
        roles, own, kept = self.circumstances(node)
        return (np.array([self._time(call, s, roles, own) for s in choices], np.float64),
                np.array([self._memory(call, s, own, kept) for s in choices], np.float64))  # fmt: skip

    def key(self, node: Node, call: OpSignature) -> Any:
        """All that the prices of a node's candidates depend on."""
        return (call.key, *self.circumstances(node), self._shared)

    def circumstances(self, node: Node) -> tuple[tuple[str, ...], tuple[bool, ...], tuple[bool, ...]]:
        """Roles of the inputs; which of them are weights that only this node reads; which results are kept, and are no
        views of weights."""
        flow = self.flow
        return (
            tuple(flow.role(v) for v in node.inputs),
            tuple(v in flow.weights and flow.readers[v] == 1 for v in node.inputs),
            tuple(v in flow.gradient and v not in flow.derived and flow.kept(v) for v in node.outputs),
        )

    def _time(self, call: OpSignature, s: Strategy, roles: Sequence[str], own: Sequence[bool]) -> float:
        """The op forward and backward, and the optimizer's work on the weights that only it reads."""
        weights = [(layout, t) for layout, t, mine in zip(s.inputs, call.types, own) if mine]
        return self.model.node(call, s, roles) + sum(self.update(layout, t) for layout, t in weights)

    def _memory(self, call: OpSignature, s: Strategy, own: Sequence[bool], kept: Sequence[bool]) -> float:
        held = sum(sum(self.holdings(layout, t)) for layout, t, mine in zip(s.inputs, call.types, own) if mine)
        saved = sum(part_bytes(self.mesh, layout, t) for layout, t, keep in zip(s.outputs, call.outs, kept) if keep)
        return held + (saved if self.rule.training else 0.0)

    def holdings(self, layout: TensorLayout, t: Any) -> tuple[float, float, float]:
        """Bytes of a weight, of its gradient and of its optimizer state on a device, in the layout of its readers."""
        own, level = part_bytes(self.mesh, layout, t), self.sharding.level
        if not self.rule.training:
            return own, 0.0, 0.0
        share = part_bytes(self.mesh, self.sharding.spread(self.mesh, layout, t), t)
        return (share if level == 3 else own), (share if level > 1 else own), self.rule.optimizer_states * share

    def update(self, layout: TensorLayout, t: Any) -> float:
        """Seconds of the optimizer; what is gathered for every use is gathered once more than it is reduced."""
        spread = self.sharding.spread(self.mesh, layout, t)
        share = part_bytes(self.mesh, spread, t)
        seconds = self.model.update(share, self.rule.optimizer_states)
        if self.sharding.level == 3 and spread != layout and isinstance(self.model, TimeModel):
            more = tuple(a for a in spread.used if a not in layout.used)
            seconds += self.mesh.seconds(GATHER, more, share)
        return seconds / self.parts

    def edge(self, sources: Sequence[TensorLayout], targets: Sequence[TensorLayout], t: Any, gradient: bool) -> Floats:
        """Reshard costs between the layouts of both ends of a value; equal layouts are priced once.

        Args:
            t: the value's type; gradient: whether its gradient goes back.
        """
        if not isinstance(t, TensorType) or not t.is_static:
            return np.zeros((len(sources), len(targets)))
        rows = {layout: k for k, layout in enumerate(dict.fromkeys(sources))}
        columns = {layout: k for k, layout in enumerate(dict.fromkeys(targets))}
        key = (tuple(rows), tuple(columns), t, gradient)
        small = self.cache.reshards.get(key)
        if small is None:
            small = np.array([[self.model.edge(a, b, t, gradient) for b in columns] for a in rows])
            self.cache.reshards[key] = small
        return small[np.ix_([rows[a] for a in sources], [columns[b] for b in targets])]
