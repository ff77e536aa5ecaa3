"""The step of a plan over time (simulated): a device's kernels, its network, the buckets of gradients, the optimizer.

    compute  |fwd k0|k1| ... |bwd k9|k8| ... |            |optimizer|
    network                        |bucket 1| |bucket 2   |
                                                ^ tail: what the device waits for

Operators become kernels as on the device (``devices.ascend.kernel_fusion``). A reshard that something reads makes the
device wait; the sum of a weight's gradient does not: it goes into a bucket, and a bucket starts when its last gradient
is ready and the network is free. Then the optimizer runs.

Buckets: one of all gradients, as MindSpore does without being told otherwise; or of so many megabytes in the order in
which gradients get ready (``comm_fusion``), or cut where ``all_reduce_fusion_config`` says: [85, 160] ends a bucket
behind gradient 85 and behind gradient 160. Gradients are
summed in the dtype of their weights: in data parallel mode MindSpore casts them to float32 before the all-reduce
(mindspore/nn/wrap/grad_reducer.py).

Layers that are computed twice (``again``) are steps like any others, so their second run becomes the kernels that the
first one became. It begins with what is in memory: none of its kernels joins one that came before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msnb.core import TensorType
from msnb.devices.ascend.chrome_trace import write_trace
from msnb.devices.ascend.device_kernel import Kernel, Task
from msnb.devices.ascend.kernel_fusion import Grouping
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.partition.remat_insertion import makes
from msnb.parallel.planner.cost_model import local_types
from msnb.parallel.program.spmd_program import (
    UPDATE,
    Buffer,
    Collective,
    Local,
    MoveStep,
    RunStep,
    SpmdProgram,
    closing,
    opening,
    static_type,
)
from msnb.parallel.sharding.device_mesh import REDUCE, RING, SCATTER, Mesh
from msnb.parallel.sharding.layout import whole
from msnb.parallel.sharding.local_op import widened
from msnb.parallel.sharding.reshard import Move

Lane = tuple[str, float, float, str]


@dataclass(repr=False)
class Timeline:
    """What a device does when (simulated): compute and network are two streams.

    Attributes:
        events: (stream, start, end, what), in seconds.
        kernels: those of the device, in the order of their events.
        gradients: (ready, bytes, mesh axes, value, kind) of every sum of a weight's gradient, as they get ready.
        computed: when the last kernel of the gradient ends.
        tail: seconds between the last kernel of the gradient and the end of the step, optimizer included.
        seconds: when the step ends.
    """

    events: list[Lane] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    gradients: list[tuple[float, float, tuple[int, ...], Value, str]] = field(default_factory=list)
    computed: float = 0.0
    tail: float = 0.0
    seconds: float = 0.0

    def __repr__(self) -> str:
        sums = f", {len(self.gradients)} sums of gradients, a tail of {_us(self.tail)}" if self.gradients else ""
        return f"<Timeline: {len(self.kernels)} kernels{sums}; a step of {_us(self.seconds)} (simulated)>"

    def __str__(self) -> str:
        """A table: when, how long, on which stream, what."""
        rows = [f"{a * 1e6:12.1f} {(b - a) * 1e6:10.1f}  {stream:<8} {what}" for stream, a, b, what in self.events]
        return "\n".join([f"{self!r}", f"{'start us':>12} {'us':>10}  stream   what", *rows])

    def trace(self, path: str | Path) -> None:
        """Write the events as a Chrome trace file, for ui.perfetto.dev."""
        write_trace(path, "a device, simulated", self.events)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} us"


def simulate(program: SpmdProgram, update: float, cuts: Sequence[int] = (), bucket: float = math.inf,
             apart: bool = False, over: Mesh | None = None,
             learned: Sequence[tuple[Value, Value]] = ()) -> Timeline:  # fmt: skip
    """Walk the steps.

    Args:
        program: the steps of every rank.
        update: seconds of the optimizer.
        cuts: positions of gradients behind which a bucket ends; bucket: bytes of gradients that fill one.
        apart: replicas run on their own and sum gradients only, as in MindSpore's data_parallel mode: batch norm takes
            the statistics of its own part, the loss is the mean of its own part.
        over: the devices of such replicas, where the program is that of one of them.
        learned: weights and their gradients, which such replicas sum.
    """
    plan = _kernels(program, apart, over, learned)
    return _Walk(over or program.mesh, cuts, bucket).run(plan, update if program.trains else 0.0)


def simulate_by_hand(graph: Graph, mesh: Mesh, collectives: Mapping[Node, Collective]) -> Timeline:
    """The timeline of a rank whose program places its own collectives: the device waits for each of them.

    Args:
        graph: the rank's program, without calls; collectives: what its nodes that talk are, in seconds and bytes.
    """
    group = Grouping(mesh.cluster.chip)
    waits: dict[int, list[tuple[Wait, str]]] = {}
    for node in graph.nodes:
        ins, types = ([t for v in side if isinstance(t := v.type, TensorType)] for side in (node.inputs, node.outputs))
        if node in collectives:
            made = group.wait(node.inputs, node.outputs, types)
            waits[id(made)] = [(collectives[node], collectives[node].where)]
        elif len(types) == len(node.outputs) and len(ins) == len(node.inputs):
            group.add(Task(node.op, node.attrs, tuple(node.inputs), tuple(node.outputs), tuple(ins), tuple(types),
                           node.scope or node.op.name))  # fmt: skip
        else:
            group.base.update((v, ()) for v in node.outputs)
    kernels = group.finish(list(graph.outputs))
    order = {id(k): i for i, k in enumerate(kernels)}
    return _Walk(mesh).run(_Device(kernels, {order[i]: w for i, w in waits.items() if i in order}, []), 0.0)


Wait = Move | Collective  # what a device waits for: both have a kind and seconds
Waits = dict[int, list[tuple[Move, str]]]  # by the identity of the kernel that stands for the wait
Late = tuple[int, Move, str, Value]  # the kernel that it waits for, the collective, where, of what


@dataclass
class _Device:
    """Kernels and waits in order, the moves of each wait, and the sums of gradients."""

    kernels: list[Kernel]
    waits: Mapping[int, Sequence[tuple[Wait, str]]]
    late: list[Late]


class _Names:
    """What buffers are called among kernels. What is made twice has two names, and its readers mean the latest."""

    def __init__(self, program: SpmdProgram, group: Grouping) -> None:
        self.anywhere, self.group = program.anywhere, group
        self.made: set[Any] = set()
        self.latest: dict[Any, Any] = {}
        self.again = False  # in a second run

    def begin(self, step: Local) -> None:
        """The next step."""
        made = {self._plain(b) for b in makes(step)}
        twice = made & self.made
        if isinstance(step, RunStep):  # a move that is made twice is no run: weights that are gathered for every use
            if twice and not self.again:
                self.group.begin()
            self.again = bool(twice)
        self.latest.update((name, (name, "again")) for name in twice)
        self.made |= made

    def __call__(self, buffer: Buffer) -> Any:
        name = self._plain(buffer)
        return self.latest.get(name, name)

    def _plain(self, buffer: Buffer) -> Any:
        value, layout = buffer
        return value if value in self.anywhere else (value, layout)


class _KernelBuilder:
    """The kernels of a rank, step by step: what computes joins the grouping, what moves is a wait or can be late.

    Args:
        program: the steps; apart: whether replicas sum gradients only, so that no step waits for the others.
    """

    def __init__(self, program: SpmdProgram, apart: bool) -> None:
        self.program, self.apart = program, apart
        self.group = Grouping(program.mesh.cluster.chip)
        self.key = _Names(program, self.group)
        self.waits: Waits = {}
        self.late: list[Late] = []

    def add(self, step: Local) -> None:
        """The next step."""
        self.key.begin(step)
        if isinstance(step, MoveStep):
            self._move(step)
        else:
            self._run(step)

    def _move(self, step: MoveStep) -> None:
        source, target = self.key((step.value, step.source)), self.key((step.value, step.target))
        if step.late and step.moves:
            self._defer([source], step.moves, step.where, step.value)
            self.group.base[target] = tuple(self.group.roots([source]))
        else:
            t = static_type(step.value)
            made = self.group.wait([source], [target], [] if t is None else [t])
            self.waits[id(made)] = [(m, step.where) for m in step.moves]

    def _run(self, step: RunStep) -> None:
        self._compute(step)
        moves = [m for row in closing(self.program.mesh, step) for m in row]
        made = [self.key(b) for b in step.results]
        if step.late and moves:
            self._defer(made, moves, step.where, step.results[0][0])
        elif moves and not self.apart:
            self.waits[id(self.group.wait(made, (), []))] = [(m, step.where) for m in moves]
            self.group.made.update((k, len(self.group.kernels) - 1) for k in made)  # who reads the sum waits for it

    def _defer(self, keys: Sequence[Any], moves: Sequence[Move], where: str, value: Value) -> None:
        self.late += [(_maker(self.group, keys), m, where, value) for m in moves]

    def _compute(self, step: RunStep) -> None:
        """The step's task, and what it waits for: rows of images that its windows see of other ranks. What has sizes
        that only the data tell takes no time, as in the search."""
        call, mesh = step.call, self.program.mesh
        if not call.plain:
            self.group.base.update((self.key(b), ()) for b in step.results)
            return
        ins, outs = local_types(call, step.strategy, mesh)
        read = list(map(self.key, step.operands))
        for i, moves in enumerate(opening(mesh, step)):
            if not all(m.silent for m in moves):
                own, read[i] = read[i], (read[i], moves)
                self.waits[id(self.group.wait([own], [read[i]], [ins[i]]))] = [(m, step.where) for m in moves]
        made = tuple(map(self.key, step.results))
        self.group.add(Task(call.op, call.attrs, tuple(read), made, tuple(ins), tuple(outs), step.where))


def _kernels(program: SpmdProgram, apart: bool, over: Mesh | None, learned: Sequence[tuple[Value, Value]]) -> _Device:
    """The kernels of a rank."""
    made = _KernelBuilder(program, apart)
    for step in program.steps:
        if isinstance(step, Local) and step.phase != UPDATE:
            made.add(step)
    group, key, late = made.group, made.key, made.late
    kernels = group.finish([key(b) for b in (*program.outputs, *program.gradients, *_for_update(program))])
    order = {id(k): i for i, k in enumerate(kernels)}
    places = [order.get(id(k), 0) for k in group.kernels]
    if over is not None:
        late = sorted(_summed(program, over, group, key, learned), key=lambda item: item[0])
    waits = {order[i]: m for i, m in made.waits.items()}
    return _Device(kernels, waits, [(places[at], m, w, v) for at, m, w, v in late])


def _summed(program: SpmdProgram, over: Mesh, group: Grouping, key: _Names,
            learned: Sequence[tuple[Value, Value]]) -> list[Late]:  # fmt: skip
    """The sum of every gradient of a replica, in float32 as MindSpore takes it."""
    axes, out = tuple(range(len(over.factors))), []
    where = {b[0]: b for s in program.steps if isinstance(s, RunStep) for b in s.results}
    for weight, gradient in learned:
        t, buffer = static_type(gradient), where.get(gradient, (gradient, whole(getattr(gradient.type, "ndim", 0))))
        n = widened(t).nbytes if t else 0
        move = Move(RING, axes, -1, -1, buffer[1], buffer[1], n, over.seconds(RING, axes, n))
        out.append((_maker(group, [key(buffer)]), move, weight.name, buffer[0]))
    return out


def _for_update(program: SpmdProgram) -> list[Buffer]:
    """What the optimizer of a step reads."""
    return [b for s in program.steps if isinstance(s, RunStep) and s.phase == UPDATE for b in s.operands]


def _maker(group: Grouping, keys: Sequence[Any]) -> int:
    return max((group.made[k] for k in group.roots(keys) if k in group.made), default=0)


class _Walk:
    """Two clocks, compute and network, and the gradients that wait for their bucket to fill."""

    def __init__(self, mesh: Mesh, cuts: Sequence[int] = (), bucket: float = math.inf) -> None:
        self.mesh, self.cuts, self.bucket = mesh, set(cuts), bucket
        self.line, self.now, self.network = Timeline(), mesh.cluster.chip.step, 0.0
        self.waiting: dict[tuple[str, tuple[int, ...]], float] = {}

    def run(self, device: _Device, update: float) -> Timeline:
        """All kernels, then what is left of the gradients, then the optimizer."""
        late: dict[int, list[Late]] = {}
        for item in device.late:
            late.setdefault(item[0], []).append(item)
        for at, kernel in enumerate(device.kernels):
            for move, where in device.waits.get(at, ()):
                self._wait(move, where)
            if kernel.seconds:
                self.line.events.append(("compute", self.now, self.now + kernel.seconds, kernel.where))
                self.line.kernels.append(kernel)
                self.now += kernel.seconds
            for _, move, where, value in late.get(at, ()):
                self._gradient(move, where, value)
        return self._end(update)

    def _wait(self, move: Wait, where: str) -> None:
        if move.seconds:
            self._send(move.seconds, f"{move.kind} {where}", self.now)
            self.now = self.network

    def _gradient(self, move: Move, where: str, value: Value) -> None:
        if move.kind not in (REDUCE, RING, SCATTER):
            if move.seconds:
                self._send(move.seconds, f"{move.kind} {where}", self.now)
            return
        key = move.kind, move.axes
        self.line.gradients.append((self.now, move.nbytes, move.axes, value, move.kind))
        self.waiting[key] = self.waiting.get(key, 0.0) + move.nbytes
        if len(self.line.gradients) - 1 in self.cuts if self.cuts else self.waiting[key] >= self.bucket:
            self._flush(key)

    def _flush(self, key: tuple[str, tuple[int, ...]]) -> None:
        """Send a bucket."""
        nbytes, kind = self.waiting.pop(key), REDUCE if key[0] == RING else key[0]
        self._send(self.mesh.seconds(*key, nbytes), f"{kind} gradients ({nbytes / 1e6:.3g} MB)", self.now)

    def _send(self, seconds: float, what: str, ready: float) -> None:
        start = max(ready, self.network)
        self.network = start + seconds
        self.line.events.append(("network", start, self.network, what))

    def _end(self, update: float) -> Timeline:
        for key in list(self.waiting):
            self._flush(key)
        last = max(self.now, self.network)
        self.line.computed = self.now
        self.line.seconds = last + update
        self.line.tail = self.line.seconds - self.now
        return self.line
