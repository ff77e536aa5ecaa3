"""What a strategy costs: simulated seconds of compute and communication, forward and backward, and bytes of memory.

    forward    roofline of the rank's part + the collective that closes an open sum
               + the rows of neighbours that the windows on a piece of an image see
    backward   about one op of the same size per input with a gradient (matrix unit), one pass (vector unit)
               + such rows for every gradient that reads the image, and back for the gradient of the image
               + for every input with a gradient: the mesh axes that split the op but not this input hold terms of
                 its gradient, so one all-reduce of its part       (data parallel: the gradient sync of the weights)
    edge       the reshard sequence between producer and reader, and its adjoint for the gradient
    roofline   t = max(cube flops / peak, vector flops / peak, bytes / bandwidth) + launch    (devices.ascend.roofline)

``TimeModel`` counts seconds. ``ByteModel`` is MindSpore's: bytes touched and bytes moved with weights alpha and beta,
no flops (costmodel.cc; alpha 1, beta 400, gamma 0.001, threshold 2048 bytes). Contractions in float32 are taken to run
on the 16-bit matrix unit with wide accumulation, as MindSpore's kernels for Ascend do. Efficiencies: fitted to two
published ResNet-50 rows (batch 32 and 256 on one Ascend 910), see ``mesh.Chip``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msnb.base import AttributeValueError
from msnb.core import TensorType
from msnb.devices.ascend.chip import Chip
from msnb.devices.ascend.roofline import op_seconds, work_of
from msnb.parallel.context import EVERY_SUM, GRADIENT_SUMS
from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, REDUCE, SCATTER, Mesh
from msnb.parallel.sharding.halo import exchanges
from msnb.parallel.sharding.layout import Axes, TensorLayout
from msnb.parallel.sharding.local_op import local_type, widened
from msnb.parallel.sharding.reshard import SLICE, Resharder, resharder
from msnb.parallel.sharding.strategies import OpSignature, Strategy

BUCKET = 64e6  # bytes of gradients that are reduced together
NONE, ACTIVATION, WEIGHT = "none", "activation", "weight"  # what an input's gradient is


def local_types(call: OpSignature, strategy: Strategy, mesh: Mesh) -> tuple[list[TensorType], list[TensorType]]:
    """Types of a rank's operands and of its local results."""
    ins = [local_type(t, s.local_shape(mesh, t.ints())) for t, s in zip(call.types, strategy.inputs)]
    outs = [local_type(t, s.local_shape(mesh, t.ints())) for t, s in zip(call.outs, strategy.open_outputs())]
    return ins, outs


def is_free(call: OpSignature) -> bool:
    """Views cost nothing: they are folded into the kernels that read them."""
    return "view" in call.op.traits or not call.types or call.op.name in ("transpose", "stop_gradient")


def missing(strategy: Strategy, i: int) -> Axes:
    """The mesh axes that split the op, but not input ``i``: along them its gradient comes in terms of a sum."""
    used = set(strategy.inputs[i].used)
    return tuple(a for _, run in strategy.blocks for a in run if a not in used)


@dataclass
class TimeModel:
    """Simulated seconds.

    Args:
        mesh: the devices.
        training: whether gradients are computed.
        overlap: share of the gradient sync of weights that is hidden behind the backward pass, for the search only
            (the plan's step time is simulated step by step).
        wide: which sums of 16-bit terms are taken, and paid, in float32 (``context.wide_sums``).
        bucket: gradients of weights are summed together in buckets of so many bytes (MindSpore's comm_fusion: 64 MB),
            so a small weight pays its share of the latency.
        parts: gradients of weights are summed over devices once for so many parts of a batch, of which one is priced.
    """

    mesh: Mesh
    training: bool = True
    overlap: float = 0.0
    bucket: float = BUCKET
    wide: str = GRADIENT_SUMS
    parts: int = 1
    name: str = "time"
    resharder: Resharder = field(init=False)
    literal: Chip = field(init=False)

    def __post_init__(self) -> None:
        self.resharder = resharder(self.mesh)
        self.literal = replace(self.mesh.cluster.chip, half=False)  # dtypes as written, as its collectives move them

    def compute(self, call: OpSignature, strategy: Strategy) -> float:
        """Seconds of the rank's part of one op."""
        if is_free(call) or not call.plain:
            return 0.0
        chip = self.literal
        ins, outs = local_types(call, strategy, self.mesh)
        return op_seconds(call.op, ins, outs, call.attrs, chip) + chip.launch

    def close(self, call: OpSignature, strategy: Strategy) -> float:
        """Seconds of the collective behind the op."""
        if not strategy.partial:
            return 0.0
        _, outs = local_types(call, strategy, self.mesh)
        kind = REDUCE if strategy.scatter < 0 else SCATTER
        if self.wide == EVERY_SUM:
            outs = list(map(widened, outs))
        return sum(self.mesh.seconds(kind, strategy.partial, t.nbytes) for t in outs)

    def rims(self, call: OpSignature, strategy: Strategy, tensors: Iterable[int]) -> float:
        """Seconds of bringing the rows that a rank's windows see of some tensors (inputs, then outputs), or of bringing
        terms of such rows back: the same messages the other way."""
        if not any(call.axes.rims) or not strategy.blocks:
            return 0.0
        blocks, types = dict(strategy.blocks), (*call.types, *call.outs)
        layouts = (*strategy.inputs, *strategy.open_outputs())
        moves = (exchanges(self.mesh, call.axes, i, blocks, layouts[i], types[i]) for i in tensors)
        return sum(move.seconds for row in moves for move in row)

    def node(self, call: OpSignature, strategy: Strategy, roles: Sequence[str]) -> float:
        """Seconds of an op forward and, when training, backward.

        Args:
            roles: per input "none" (no gradient), "activation" or "weight".
        """
        seconds = self.compute(call, strategy) + self.close(call, strategy)
        seconds += self.rims(call, strategy, range(len(call.types) + len(call.outs)))
        return seconds + (self._backward(call, strategy, roles) if self.training else 0.0)

    def _backward(self, call: OpSignature, strategy: Strategy, roles: Sequence[str]) -> float:
        asked = [i for i, role in enumerate(roles) if role != NONE]
        if not asked or not call.plain:
            return 0.0
        ins, outs = local_types(call, strategy, self.mesh)
        times = len(asked) if work_of(call.op, ins, outs, call.attrs).cube else 1
        seconds = self.compute(call, strategy) * times
        if call.op.name == "gather":  # the gradient of a table is as large as the table
            seconds += (ins[0].nbytes - outs[0].nbytes) / (self.mesh.cluster.chip.hbm * self.mesh.cluster.chip.e_hbm)
        if strategy.scatter >= 0:
            share = outs[0].nbytes / self.mesh.count(strategy.partial)
            seconds += self.mesh.seconds(GATHER, strategy.partial, share)
        names = call.op.inputs
        read = [i for i, _ in enumerate(ins) if names[min(i, len(names) - 1)] in call.op.wanted_by_grad]
        seconds += self.rims(call, strategy, asked) + self.rims(call, strategy, read)
        for i in asked:
            wide = self.wide == EVERY_SUM or (self.wide == GRADIENT_SUMS and roles[i] == WEIGHT)
            term = widened(ins[i]) if wide else ins[i]
            seconds += self._gradient(missing(strategy, i), term.nbytes, roles[i])
        return seconds

    def _gradient(self, axes: Axes, nbytes: int, role: str) -> float:
        """Seconds of summing the terms of an operand's gradient; those of weights share buckets."""
        if role != WEIGHT:
            return self.mesh.seconds(REDUCE, axes, nbytes)
        together = max(float(nbytes), self.bucket)
        return self.mesh.seconds(REDUCE, axes, together) * (nbytes / together) * (1.0 - self.overlap) / self.parts

    def update(self, nbytes: float, states: int) -> float:
        """Seconds of the optimizer, one kernel, for a rank's ``nbytes`` of a weight.

        It reads and writes weight, gradient and its states: 24 bytes per float32 weight with momentum, 28 with Adam; in
        mixed precision also 12 for the casts of the gradient and of the new weight.
        """
        chip = self.mesh.cluster.chip
        times = 5 + states + (3 if chip.half else 0)
        return nbytes * times / (chip.hbm * chip.e_hbm) + chip.launch if self.training and nbytes else 0.0

    def edge(self, source: TensorLayout, target: TensorLayout, t: TensorType, gradient: bool) -> float:
        """Seconds to bring a value from one layout to another, and its gradient back."""
        if source == target:
            return 0.0
        shape, size = t.ints(), t.dtype.itemsize
        seconds = self.resharder.cost(source, target, shape, size)
        if gradient and self.training:
            seconds += self.resharder.backward(source, target, shape, size)
        return seconds


@dataclass
class ByteModel:
    """MindSpore's cost: alpha * bytes touched + beta * bytes moved, gradient sync of weights at gamma.

    Source: mindspore/ccsrc/frontend/parallel/auto_parallel/{operator_costmodel,edge_costmodel,costmodel}.cc
    """

    mesh: Mesh
    training: bool = True
    alpha: float = 1.0
    beta: float = 400.0
    gamma: float = 0.001
    threshold: float = 2048.0
    name: str = "bytes"
    resharder: Resharder = field(init=False)

    def __post_init__(self) -> None:
        self.resharder = resharder(self.mesh)

    def practical(self, nbytes: float) -> float:
        """Small messages cost as much as 3072 bytes, others 1024 bytes more than they have."""
        if nbytes <= 0:
            return 0.0
        return 3072.0 if nbytes <= self.threshold else nbytes + 1024.0

    def node(self, call: OpSignature, strategy: Strategy, roles: Sequence[str]) -> float:
        """Bytes of the parts an op reads (and of an open sum), weighted."""
        if is_free(call) or not call.plain:
            return 0.0
        ins, outs = local_types(call, strategy, self.mesh)
        opened = sum(t.nbytes for t in outs) if strategy.partial else 0
        touched = sum(t.nbytes for t in ins) + opened
        sync = 0.0
        for i, role in enumerate(roles):
            if self.training and role == WEIGHT and self.mesh.count(strategy.inputs[i].used) < self.mesh.size:
                sync += ins[i].nbytes
        return self.alpha * touched + self.beta * (self.practical(opened) + self.gamma * self.practical(sync))

    def update(self, nbytes: float, states: int) -> float:
        """MindSpore does not count the optimizer."""
        return 0.0

    def edge(self, source: TensorLayout, target: TensorLayout, t: TensorType, gradient: bool) -> float:
        """Bytes of a redistribution, forward and backward."""
        total = 0.0
        for move in self.resharder.moves(source, target, t.ints(), t.dtype.itemsize):
            p = self.mesh.count(move.axes)
            if move.kind == SLICE:
                total += self.alpha * move.after.local_bytes(self.mesh, t.nbytes)
            elif move.kind == EXCHANGE:
                total += self.beta * self.practical(2.0 * move.nbytes * (2 if gradient else 1))
            elif move.kind == GATHER:
                total += self.beta * self.practical(0.5 * move.nbytes * (p + (1 if gradient else 0)))
        return total


Model = TimeModel | ByteModel


def model_named(name: str, mesh: Mesh, training: bool, overlap: float = 0.0) -> Model:
    """The cost model "time" or "bytes". Raises ValueError for another name."""
    if name == "time":
        return TimeModel(mesh, training, overlap)
    if name == "bytes":
        return ByteModel(mesh, training)
    raise AttributeValueError(f"no cost model is called {name!r}; legal: 'time', 'bytes'.")


@dataclass(frozen=True)
class MemoryRule:
    """Bytes per byte of a weight: the weight itself, its gradient, and what the optimizer keeps.

    Momentum keeps one more copy, Adam two (Rajbhandari et al., "ZeRO", 2020).
    """

    optimizer_states: int = 1
    training: bool = True

    @property
    def factor(self) -> float:
        """Bytes held per byte of weight."""
        return 2.0 + self.optimizer_states if self.training else 1.0


def part_bytes(mesh: Mesh, layout: TensorLayout, t: Any) -> float:
    """Bytes of a rank's part of a value."""
    return layout.local_bytes(mesh, t.nbytes) if isinstance(t, TensorType) and t.is_static else 0.0
