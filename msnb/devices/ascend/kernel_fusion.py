"""Which operators run as one kernel, and how long each kernel takes.

The vendor's compiler lets vector operators that follow one another stay in the unified buffer, and appends them to the
matrix product or convolution whose result they read. A program of this house is made of small operators (a batch norm
is a dozen), so its kernels are found by the same law:

    conv  mean | x-mean  square  mean | +eps  rsqrt  multiply  add  relu | conv
    [ conv + sums in one sweep      ]   [ one sweep: read x, write y   ]

    joins      an elementwise operator, or a reduction, joins the kernel that made its latest operand,
               if it walks the same elements; small things (per channel, per row) that the unified buffers hold
               beside a tile ride along with the newest kernel
    closes     a reduction over what does not fit into the buffer is known only after the sweep: its reader is the next
    merges     a sweep that only reduces, and reads only what the sweep before it had, joins it: mean and variance at
               once (Welford 1962)
    recomputes a value that another sweep needs and that follows from one large value is not kept: its reader starts
               from that one. What follows from two is written, unless a sweep can merge when its reader reads both
    formats    images are kept as NC1HWC0, matrices of the cube as FRACTAL_NZ, what moves or looks up elements wants
               plain rows; where two meet, a kernel converts, and images from the host come plain. A vector kernel has
               one format for all it reads. Channels are joined in blocks, and cut in blocks if all parts are equal
    biases     the gradient of a convolution's bias is a sum in plain rows, a kernel of its own
    dropout    a mask of random bits is applied by a kernel of its own, which alone may scale what it gives
    casts      convolutions and windows have 16 bits: where values around them have 32, kernels cast
    views      cost nothing; other operators (pooling, sorting, transposing, gathering) are kernels of their own

Acyclic by construction: a kernel reads only what kernels with smaller numbers make.

Sources: which formats and widths a kernel takes, and what joins none (OPAQUE), is written in MindSpore's registry
(mindspore/ops/_op_impl/tbe: concat, slice, bias_add_grad, drop_out_do_mask, max_pool_with_argmax, depthwise_conv2d),
what the gradient of a join is in grad_array_ops.py; casts and conversions are seen in the profiles among MindInsight's
test data.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.core.types import TensorType
from msnb.devices.ascend.chip import CORE, Chip
from msnb.devices.ascend.pooling_cost import BLOCK
from msnb.devices.ascend.roofline import (
    IMAGED,
    IMAGES,
    MATRICES,
    conversion_seconds,
    held_bytes,
    lanes_of,
    memory_part,
    memory_seconds,
    operand_bytes,
    product_of,
    vector_part,
    vector_seconds,
)
from msnb.ops.definition.record import Op

Key = Hashable
CUBE, VECTOR, ALONE, WAIT, CONVERT = "cube", "vector", "alone", "wait", "convert"
PLAIN, ANY = "plain", "any"
_IMAGE_READERS = frozenset({"conv2d", "conv2d_weight_grad", "max_pool2d", "avg_pool2d"})
_VIEWS = frozenset({"reshape", "broadcast", "identity"})  # kinds that move no element
_SOURCES = frozenset({"create", "constant"})
_VECTOR = frozenset({"elementwise", "transcendental", "casting", "compare", "logic", "random", "triangle"})
_ASKING = frozenset({"max_pool2d_grad", "max_pool2d_pick"})  # which elements won
_LONG = frozenset({"transcendental", "random"})
_SMALL = 8  # what is so many times smaller than a kernel's domain, and than the unified buffers, rides along
_WIDE = 4  # bytes of an element in the unified buffer


@dataclass(frozen=True)
class Task:
    """One operator at the types of one device.

    Attributes:
        ins, outs: keys of the values it reads and makes; equal keys are one value.
        types, results: their types.
        where: its name for people.
    """

    op: Op
    attrs: Mapping[str, Any]
    ins: tuple[Key, ...]
    outs: tuple[Key, ...]
    types: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    where: str = ""


@dataclass
class Kernel:
    """Operators that run together.

    Attributes:
        kind: "cube", "vector", "alone" (other operators), "convert" (of a format) or "wait" (something that is no
            kernel: a collective).
        tasks: in order; lead: the one it is named after.
        domain: elements it walks; closed: results that are known after the sweep; host: the kernel that it rides along
            with if it stays small; first: of the kernels that it can join.
        reads, writes: values that pass through memory, with their bytes.
        cube, vector, memory: seconds of each unit; seconds: of the whole, launch included.
    """

    kind: str
    tasks: list[Task] = field(default_factory=list)
    domain: int = 0
    closed: set[Key] = field(default_factory=set)
    host: int = -1
    first: int = 0
    reads: dict[Key, float] = field(default_factory=dict)
    writes: dict[Key, float] = field(default_factory=dict)
    cube: float = 0.0
    vector: float = 0.0
    memory: float = 0.0
    seconds: float = 0.0

    @property
    def where(self) -> str:
        """The operator that it is named after."""
        return max(self.tasks, key=_weight).where if self.tasks else ""

    @property
    def bound(self) -> str:
        """The unit that decides: cube, vector, memory, or launch."""
        units = {"cube": self.cube, "vector": self.vector, "memory": self.memory,
                 "launch": self.seconds - max(self.cube, self.vector, self.memory)}  # fmt: skip
        return max(units, key=lambda u: units[u])


def _weight(task: Task) -> tuple[int, int]:
    return (task.op.family in ("contract", "conv", "einsum"), _domain(task))


def _domain(task: Task) -> int:
    return max((t.size for t in (*task.types, *task.results)), default=0)


def is_reduction(op: Op) -> bool:
    """Sums, maxima and the like."""
    return bool(op.reduction) or op.family == "reduce" or op.name == "class_index"


def _is_vector(op: Op) -> bool:
    """What the vector unit computes as it walks the elements."""
    return op.family in _VECTOR or is_reduction(op)


def is_channel_sum(task: Task) -> bool:
    """Whether it sums images [n, channels, rows, columns] over all but the channels."""
    if task.op.reduction != "sum" or not task.types or task.types[0].ndim != 4:
        return False
    n, channels, *places = task.types[0].ints()
    return math.prod(places) > 1 and task.results[0].size == channels and task.results[0].ndim in (1, 3, 4)


def _convolves(kernel: Kernel) -> bool:
    """Whether a convolution leads it."""
    return kernel.tasks[0].op.family == "conv"


def _sums_behind(kernel: Kernel, task: Task) -> bool:
    """Whether a reduction joins a product: behind a convolution, or the sum over the matrices of a batched product.

    Source: MindSpore 1.x, backend/optimizer/ascend/buffer_fusion: a pass puts reductions behind convolutions
    (conv_bnreduce), the one of matrix products takes elementwise operators alone (matmul_eltwise).
    """
    whole, left = task.types[0].ints(), task.results[0].ints()
    matrix = len(left) > 1 and left[-2:] == whole[-2:] and math.prod(left) == math.prod(whole[-2:])
    return _convolves(kernel) or (matrix and task.op.reduction == "sum")


def _is_free(task: Task) -> bool:
    """Views, and transposed matrices, which the cube reads as they are."""
    if task.op.view in _VIEWS or task.op.name == "next_key" or task.op.family == "control":
        return True
    if task.op.view != "transpose" or not task.types:
        return False
    perm, n = tuple(task.attrs["perm"]), task.types[0].ndim
    return perm[: n - 2] == tuple(range(n - 2))


class Grouping:
    """Puts tasks into kernels, one after the other.

    Args:
        chip: how far the software fuses, how values are held.
    """

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.kernels: list[Kernel] = []
        self.base: dict[Key, tuple[Key, ...]] = {}  # views, and what follows from inputs alone -> what they stand for
        self.made: dict[Key, int] = {}
        self.types: dict[Key, TensorType] = {}
        self.task_of: dict[Key, Task] = {}
        self._newest, self._first = -1, 0
        self._drawn: set[Key] = set()  # masks of random bits
        self._kept: set[Key] = set()
        self._again: set[Key] = set()  # values that follow from two, made again nevertheless
        self._origin: dict[Key, tuple[Key, ...]] = {}
        self._readers: dict[Key, int] = {}
        self._asked: set[Key] = set()  # images whose pooling keeps which elements won

    def roots(self, keys: Sequence[Key]) -> list[Key]:
        """Views followed to what they are views of."""
        out: dict[Key, None] = {}
        for key in keys:
            out.update(dict.fromkeys(self.base.get(key, (key,))))
        return list(out)

    def wait(self, ins: Sequence[Key], outs: Sequence[Key], results: Sequence[TensorType]) -> Kernel:
        """Something that reads and makes values and is no kernel."""
        made = Kernel(WAIT)
        made.reads = dict.fromkeys(self.roots(ins), 0.0)
        self._place(made, outs, results)
        return made

    def begin(self) -> None:
        """What comes now joins no kernel that came before, and rides along with none."""
        self._newest, self._first = -1, len(self.kernels)

    def _place(self, kernel: Kernel, outs: Sequence[Key], results: Sequence[TensorType]) -> None:
        self.kernels.append(kernel)
        for key, t in zip(outs, results):
            self.made[key], self.types[key] = len(self.kernels) - 1, t

    def add(self, task: Task) -> None:
        """The next operator: one that costs nothing stands for its operands, others join a kernel or open one."""
        for key, t in zip(task.ins, task.types):
            self.types.setdefault(key, t)
        if task.op.family in _SOURCES:
            self.base.update((key, ()) for key in task.outs)
            return
        ins = self.roots(task.ins)
        deps = [self.made[k] for k in ins if k in self.made]
        drawn = task.op.family == "random" or not self._drawn.isdisjoint(task.ins)
        if _is_free(task) or (task.op.family in _VECTOR and not deps and not is_reduction(task.op)):
            self.base |= dict.fromkeys(task.outs, tuple(ins))
            self._drawn |= set(task.outs) if drawn and not deps else set()
            return
        for key, t in zip(task.outs, task.results):
            self.types[key], self.task_of[key] = t, task
        at = -1 if drawn else self._home(task, ins, deps)
        self._join(task, at if at >= 0 else self._open(task))

    def _open(self, task: Task) -> int:
        """A new kernel for an operator: it rides along with the newest one, or becomes the newest itself."""
        vector = _is_vector(task.op)
        kind = VECTOR if vector else CUBE if product_of(task.op, task.types, task.results, task.attrs) else ALONE
        domain = _domain(task) if kind == VECTOR else _out_size(task)
        self.kernels.append(Kernel(kind, domain=domain, first=self._first))
        at = len(self.kernels) - 1
        if vector and self._is_small(_domain(task), self._domain_of(self._newest)):
            self.kernels[at].host = self._newest
        elif kind != ALONE:
            self._newest = at
        return at

    def _join(self, task: Task, at: int) -> None:
        kernel = self.kernels[at]
        kernel.tasks.append(task)
        if kernel.kind == VECTOR:
            kernel.domain = max(kernel.domain, _domain(task))
        for key in task.outs:
            self.made[key] = at
            if is_reduction(task.op) and not self._fits(task, kernel):
                kernel.closed.add(key)

    def _home(self, task: Task, ins: Sequence[Key], deps: Sequence[int]) -> int:
        """The kernel that an operator joins; -1: a new one, as for all that are no vector operators."""
        if not self.chip.fuse or not _is_vector(task.op):
            return -1
        latest = max(deps, default=-1)
        return latest if latest >= self._first and self._takes(latest, task, ins) else -1

    def _domain_of(self, at: int) -> int:
        return self.kernels[at].domain if at >= 0 else 0

    def _is_small(self, domain: int, host: int) -> bool:
        """Whether so many elements ride along: few beside the host's, and the cores hold them beside a tile."""
        return domain * _SMALL <= host and domain * _WIDE * _SMALL <= self.chip.cores * CORE.ub

    def _takes(self, at: int, task: Task, ins: Sequence[Key]) -> bool:
        kernel = self.kernels[at]
        if any(k in kernel.closed for k in ins) or (self._drops(kernel) and not self._scales(task)):
            return False
        mine, theirs = _domain(task), kernel.domain
        if kernel.kind == CUBE:
            fits = mine == theirs and (not is_reduction(task.op) or _sums_behind(kernel, task))
            return self.chip.fuse > 1 and fits and self._simple(at, task, ins)
        if kernel.kind != VECTOR:
            return False
        return mine == theirs or mine * _SMALL <= theirs or theirs * _SMALL <= mine

    def _drops(self, kernel: Kernel) -> bool:
        """Whether it applies a mask of random bits."""
        return any(k in self._drawn for k in kernel.tasks[0].ins) if kernel.tasks else False

    def _scales(self, task: Task) -> bool:
        """Whether it is a multiple of one large value."""
        return task.op.name == "multiply" and sum(t.size * _SMALL > _domain(task) for t in task.types) == 1

    def _simple(self, at: int, task: Task, ins: Sequence[Key]) -> bool:
        """Whether an operator can stand behind a product: bias, ReLU, sums; nothing that reads another large value."""
        away = [self.types[k].size for k in ins if self.made.get(k) != at and k in self.types]
        return (task.op.family not in _LONG or task.op.name == "relu") and all(
            n * _SMALL <= _domain(task) for n in away
        )

    def _fits(self, task: Task, kernel: Kernel) -> bool:
        """Whether a reduction is along rows, each of which fits into the unified buffer (several operands, twice)."""
        if kernel.kind == CUBE or not task.types:
            return False
        whole, left = task.types[0], task.results[0]
        if whole.size * _SMALL <= kernel.domain:
            return False
        row = whole.size // max(left.size, 1) * min(whole.dtype.itemsize, 4)
        return row <= CORE.ub // 8 and _leading(whole.ints(), task) == left.size

    # ---- what passes through memory ----------------------------------------------------------------------------------

    def finish(self, keep: Sequence[Key]) -> list[Kernel]:
        """The kernels with their bytes and seconds.

        Args:
            keep: values that are wanted afterwards.
        """
        self._flow(keep)
        if self._merge():
            self._flow(keep)
        walked = self._walked()
        kernels = [k for kernel in self.kernels if kernel.tasks or kernel.kind == WAIT
                   for k in self._sums_apart(kernel, walked)]  # fmt: skip
        self._asked = {r for k in kernels for t in k.tasks if t.op.name in _ASKING for r in self.roots(t.ins[:1])}
        for kernel in kernels:
            if kernel.kind != WAIT and not self._rides(kernel):
                self._time(kernel)
        return self._converted(kernels)

    def _walked(self) -> set[Key]:
        """Values that a kernel reads while it walks through much larger ones."""
        return {k for kernel in self.kernels for k in kernel.reads if not self._is_large(k, kernel)}

    def _sums_apart(self, kernel: Kernel, walked: set[Key]) -> list[Kernel]:
        """The gradient of a bias: a sum of images that no kernel over images waits for is a kernel of its own."""
        sums = [t for t in kernel.tasks if is_channel_sum(t)]
        alone = len(sums) == 1 and not walked & set(sums[0].outs)
        if kernel.kind not in (VECTOR, CUBE) or not alone or not self.chip.fuse:
            return [kernel]
        reads = {k: self._bytes(k) for k in self.roots(sums[0].ins)}
        writes = {k: kernel.writes.pop(k) for k in sums[0].outs if k in kernel.writes}
        kernel.tasks = [t for t in kernel.tasks if t is not sums[0]]
        kernel.writes |= {k: n for k, n in reads.items() if any(k in t.outs for t in kernel.tasks)}
        rest = [kernel] if kernel.tasks else []
        return [*rest, Kernel(ALONE, sums, _domain(sums[0]), reads=reads, writes=writes)]

    def _converted(self, kernels: list[Kernel]) -> list[Kernel]:
        """With a kernel before every reader that wants a value in another format than it has."""
        has: dict[Key, set[str]] = {}
        cast: set[Key] = set()
        out: list[Kernel] = []
        for kernel in kernels:
            large = [k for k in kernel.reads if self._is_large(k, kernel)]
            self._arrived(kernel, large, has)
            known = [has.setdefault(k, set()) for k in large]
            want = self._wanted(kernel, known)
            for key, formats in zip(large, known):
                out += self._conversions(key, formats, want, kernel)
                formats |= {want} - {ANY}
            out += self._casts([k for k in large if k not in cast], kernel, of_16 := self._narrows(kernel))
            cast |= set(large) if of_16 else set()
            has.update((key, {want} - {ANY}) for key in kernel.writes)
            out.append(kernel)
            out += self._casts(list(kernel.writes), kernel, of_16 and kernel.kind == ALONE)
        return out

    def _narrows(self, kernel: Kernel) -> bool:
        """Whether its kernel has 16 bits alone, and values around it have more."""
        return not self.chip.half and bool(kernel.tasks) and kernel.tasks[0].op.family in IMAGED

    def _casts(self, keys: Sequence[Key], kernel: Kernel, needed: bool) -> list[Kernel]:
        """Between 32 and 16 bits, one kernel each."""
        wide = [k for k in keys if needed and (t := self.types.get(k)) and t.dtype.is_float and t.dtype.itemsize == 4]
        return [self._copy(k, 1.5 * self._bytes(k), kernel) for k in wide if self._is_large(k, kernel)]

    def _copy(self, key: Key, nbytes: float, reader: Kernel) -> Kernel:
        seconds = memory_seconds(nbytes, self.chip)
        return Kernel(CONVERT, reader.tasks[:1], reads={key: nbytes}, writes={key: 0.0}, memory=seconds,
                      seconds=seconds + self.chip.launch)  # fmt: skip

    def _arrived(self, kernel: Kernel, large: Sequence[Key], has: dict[Key, set[str]]) -> None:
        """Images come from the host as plain rows; weights are kept as their readers want them."""
        task = kernel.tasks[0] if kernel.tasks else None
        if task is not None and task.op.name in _IMAGE_READERS:
            for key in self.roots(task.ins[:1]):
                if key in large and key not in self.made:
                    has.setdefault(key, {PLAIN})

    def _wanted(self, kernel: Kernel, known: Sequence[set[str]]) -> str:
        """The format in which a kernel reads and writes its large operands; ANY: no one knows better."""
        task = kernel.tasks[0] if kernel.tasks else None
        blocks = next((f for formats in known for f in (IMAGES, MATRICES) if f in formats), ANY)
        if kernel.kind == WAIT or task is None:
            return ANY
        if kernel.kind == VECTOR:
            return blocks if blocks != ANY else PLAIN if any(known) else ANY
        if task.op.family in IMAGED:
            return IMAGES
        if kernel.kind == CUBE:
            return MATRICES
        return IMAGES if blocks == IMAGES and _keeps_blocks(task) else PLAIN

    def _conversions(self, key: Key, formats: set[str], want: str, reader: Kernel) -> list[Kernel]:
        """From blocks to blocks the way leads over plain rows."""
        if not formats or want in {ANY, *formats}:
            return []
        ways = [f for f in (next(iter(sorted(formats))), want) if f != PLAIN]
        if PLAIN in formats:
            ways = [want]
        return [self._conversion(key, form, reader) for form in ways]

    def _conversion(self, key: Key, form: str, reader: Kernel) -> Kernel:
        seconds, nbytes = conversion_seconds(self.types[key], form, self.chip), self._bytes(key)
        return Kernel(CONVERT, reader.tasks[:1], reads={key: nbytes}, writes={key: nbytes}, memory=seconds,
                      seconds=seconds + self.chip.launch)  # fmt: skip

    def _rides(self, kernel: Kernel) -> bool:
        return self.chip.fuse > 0 and self._is_small(kernel.domain, self._domain_of(kernel.host))

    def _flow(self, keep: Sequence[Key]) -> None:
        """Find what each kernel reads and writes."""
        self._count_readers(keep)
        virtual = self._virtual(self._readers)
        wanted = set(self._kept)
        for at, kernel in enumerate(self.kernels):
            if kernel.kind != WAIT:
                kernel.reads = {k: self._bytes(k) for k in self._read(at, virtual)}
            wanted |= set(kernel.reads)
        for kernel in self.kernels:
            kernel.writes = {k: self._bytes(k) for task in kernel.tasks for k in task.outs if k in wanted}

    def _count_readers(self, keep: Sequence[Key]) -> None:
        """Find the values that must be in memory, and how many kernels read each of the others."""
        kept = set(self.roots(keep))
        readers: dict[Key, set[int]] = {}
        for at, kernel in enumerate(self.kernels):
            if kernel.kind == WAIT:
                kept |= set(kernel.reads)
            for task in kernel.tasks:
                away = [k for k in self.roots(task.ins) if self.made.get(k, at) != at]
                for k in away:
                    readers.setdefault(k, set()).add(at)
                if task is kernel.tasks[0] and kernel.kind != VECTOR:
                    kept |= set(away)  # matrices and windows are not made on the way in
        self._kept = kept
        self._readers = {k: len(at) for k, at in readers.items() if k not in kept}

    def _read(self, at: int, virtual: Mapping[Key, tuple[Key, ...]]) -> Iterator[Key]:
        """The values of other kernels that a kernel reads; for one that is made again, those that it follows from."""
        for task in self.kernels[at].tasks:
            for k in self.roots(task.ins):
                if self.made.get(k, -1) != at:
                    yield from (root for root in virtual.get(k, (k,)) if self.made.get(root, -1) != at)

    def _virtual(self, readers: Mapping[Key, int]) -> dict[Key, tuple[Key, ...]]:
        """Values that are made again where they are needed -> what from; ``readers`` counts the kernels that do."""
        virtual: dict[Key, tuple[Key, ...]] = {}
        origin: dict[Key, tuple[Key, ...]] = {}
        for kernel in self.kernels:
            for task in kernel.tasks:
                if kernel.kind == ALONE or is_reduction(task.op) or task.op.family not in _VECTOR:
                    continue
                if self._drops(kernel):
                    continue
                found = dict.fromkeys(r for k in self.roots(task.ins) for r in origin.get(k, (k,)))
                for key in task.outs:
                    large = [r for r in found if self._bytes(r) * _SMALL > self._bytes(key)]
                    n = readers.get(key, 0)
                    if key in self._kept or (len(large) > 1 and key not in self._again):
                        continue
                    origin[key] = tuple(found)
                    if n:
                        virtual[key] = tuple(found)
        self._origin = origin
        return virtual

    def _bytes(self, key: Key) -> float:
        t = self.types.get(key)
        return held_bytes(t, self.chip) if t is not None else 0.0

    def _merge(self) -> bool:
        """Sweeps that only reduce join the sweep before them."""
        done = False
        for at, kernel in enumerate(self.kernels):
            before = self._sweep_before(kernel)
            if before < 0:
                continue
            target = self.kernels[before]
            there = {*target.reads, *(k for task in target.tasks for k in task.outs)}
            again = [k for k in kernel.writes if self._is_large(k, kernel)]
            big = [k for k in kernel.reads if self._is_large(k, kernel)]
            if set(big) <= there and all(self._cheap(k) for k in again):
                self._again |= set(again)
                self._move(at, before)
                done = True
        return done

    def _sweep_before(self, kernel: Kernel) -> int:
        """The latest kernel that a reducing sweep reads from, if a sweep may join it; else -1."""
        before = max((self.made[k] for k in kernel.reads if k in self.made), default=-1)
        if kernel.kind != VECTOR or not kernel.closed or before < kernel.first:
            return -1
        target = self.kernels[before]
        behind = target.kind == CUBE and self.chip.fuse > 1 and _convolves(target)
        return before if target.kind == VECTOR or behind else -1

    def _cheap(self, key: Key) -> bool:
        """Whether the one kernel that reads a value may as well make it, from two others."""
        roots = [r for k in self.roots(self.task_of[key].ins) for r in self._origin.get(k, (k,))]
        large = {r for r in roots if self._bytes(r) * _SMALL > self._bytes(key)}
        return self._readers.get(key, 0) == 1 and len(large) <= 2 and key not in self._kept

    def _is_large(self, key: Key, kernel: Kernel) -> bool:
        t = self.types.get(key)
        return t is not None and t.size * _SMALL > kernel.domain

    def _move(self, at: int, to: int) -> None:
        for task in self.kernels[at].tasks:
            for key in task.outs:
                self.made[key] = to
        self.kernels[to].tasks += self.kernels[at].tasks
        self.kernels[at].tasks = []

    # ---- seconds -----------------------------------------------------------------------------------------------------

    def _time(self, kernel: Kernel) -> None:
        chip = self.chip
        if kernel.kind == ALONE:
            task = kernel.tasks[0]
            what, moved = (task.op, task.types, task.results, task.attrs, chip), image_sizes(task, chip)
            kernel.reads = {k: moved.get(k, n) for k, n in kernel.reads.items()}
            kernel.memory = memory_part(*what)
            kernel.vector = vector_part(*what, kept=bool(self._asked & set(self.roots(task.ins[:1]))))
            if is_channel_sum(task):
                kernel.vector = max(kernel.vector, math.prod(task.types[0].ints()[:2]) * chip.row_sum)
            kernel.seconds = max(kernel.memory, kernel.vector) + chip.launch
            return
        lanes = 0.0
        for task in kernel.tasks:
            product = product_of(task.op, task.types, task.results, task.attrs)
            if product is not None:
                kernel.cube += product.seconds(chip)
                moved = image_sizes(task, chip)
                kernel.reads = {k: moved.get(k, n) for k, n in kernel.reads.items()}
                kernel.writes = {k: moved.get(k, n) for k, n in kernel.writes.items()}
            else:
                lanes += lanes_of(task.op, task.types, task.results, task.attrs)
        kernel.vector = vector_seconds(lanes, chip, not chip.half)
        kernel.memory = memory_seconds(sum(kernel.reads.values()) + sum(kernel.writes.values()), chip)
        kernel.seconds = max(kernel.cube, kernel.vector, kernel.memory) + chip.launch


def _keeps_blocks(task: Task) -> bool:
    """Whether images are joined, or cut, along whole blocks of channels; cut into unequal parts they are plain."""
    if task.op.name not in ("concat", "split") or task.types[0].ndim != 4 or task.attrs["axis"] % 4 != 1:
        return False
    parts = [t.ints()[1] for t in (task.types if task.op.name == "concat" else task.results)]
    return all(n % BLOCK == 0 for n in parts) and (task.op.name == "concat" or len(set(parts)) == 1)


def image_sizes(task: Task, chip: Chip) -> dict[Key, float]:
    """Bytes of the operands of a task, channels padded where they are images."""
    sizes = operand_bytes(task.op, task.types, task.results, task.attrs, chip)
    return dict(zip((*task.ins, *task.outs), sizes))


def _out_size(task: Task) -> int:
    return max((t.size for t in task.results), default=0)


def _leading(shape: Sequence[int], task: Task) -> int:
    """Elements of the axes in front of those that are reduced, if these are the last ones; else 0."""
    result = task.results[0].ints()
    n = 1
    for i, size in enumerate(shape):
        kept = i < len(result) and result[i] == size and size > 1
        if not kept and size > 1:
            return n
        n *= size
    return n
