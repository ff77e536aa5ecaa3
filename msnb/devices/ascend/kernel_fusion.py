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
from collections.abc import Iterator, Mapping, Sequence

from msnb.core import TensorType
from msnb.devices.ascend import roofline
from msnb.devices.ascend.chip import CORE, Chip
from msnb.devices.ascend.device_kernel import (
    ALONE,
    CONVERT,
    CUBE,
    VECTOR,
    WAIT,
    Kernel,
    Key,
    Task,
    domain_of,
    is_channel_sum,
    is_reduction,
    time_kernel,
)
from msnb.devices.ascend.pooling_cost import BLOCK

PLAIN, ANY = "plain", "any"
_IMAGE_READERS = frozenset({"conv2d", "conv2d_weight_grad", "max_pool2d", "avg_pool2d"})
_VIEWS = frozenset({"reshape", "broadcast", "identity"})  # kinds that move no element
_SOURCES = frozenset({"create", "constant"})
_VECTOR = frozenset({"elementwise", "transcendental", "casting", "compare", "logic", "random", "triangle"})
_PICKING = frozenset({"max_pool2d_grad", "max_pool2d_pick"})  # they want to know which elements won
_LONG = frozenset({"transcendental", "random"})
_SMALL = 8  # what is so many times smaller than a kernel's domain, and than the unified buffers, rides along
_WIDE = 4  # bytes of an element in the unified buffer


def _is_vector(task: Task) -> bool:
    return task.op.family in _VECTOR or is_reduction(task.op)


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
        """The next operator."""
        for key, t in zip(task.ins, task.types):
            self.types.setdefault(key, t)
        if task.op.family in _SOURCES:
            self.base.update((key, ()) for key in task.outs)
            return
        ins = self.roots(task.ins)
        deps = [self.made[k] for k in ins if k in self.made]
        drawn = task.op.family == "random" or any(k in self._drawn for k in task.ins)
        if _is_free(task) or (_is_vector(task) and not deps and not is_reduction(task.op)):
            self.base.update((key, tuple(ins)) for key in task.outs)
            self._drawn |= set(task.outs) if drawn and not deps else set()
            return
        for key, t in zip(task.outs, task.results):
            self.types[key], self.task_of[key] = t, task
        at = self._home(task, ins, deps) if _is_vector(task) and self.chip.fuse and not drawn else -1
        self._join(task, at if at >= 0 else self._new_kernel(task))

    def _new_kernel(self, task: Task) -> int:
        """The number of a kernel that begins with a task."""
        vector = _is_vector(task)
        kind = (
            VECTOR if vector else CUBE if roofline.product_of(task.op, task.types, task.results, task.attrs) else ALONE
        )
        made = Kernel(kind, domain=domain_of(task) if vector else _out_size(task), first=self._first)
        self.kernels.append(made)
        if vector and self._is_small(domain_of(task), self._domain_of(self._newest)):
            made.host = self._newest
        elif kind != ALONE:
            self._newest = len(self.kernels) - 1
        return len(self.kernels) - 1

    def _join(self, task: Task, at: int) -> None:
        kernel = self.kernels[at]
        kernel.tasks.append(task)
        if kernel.kind == VECTOR:
            kernel.domain = max(kernel.domain, domain_of(task))
        for key in task.outs:
            self.made[key] = at
            if is_reduction(task.op) and not self._fits(task, kernel):
                kernel.closed.add(key)

    def _home(self, task: Task, ins: Sequence[Key], deps: Sequence[int]) -> int:
        """The kernel a vector operator joins; -1: a new one."""
        latest = max(deps, default=-1)
        return latest if latest >= self._first and self._takes(latest, task, ins) else -1

    def _domain_of(self, at: int) -> int:
        return self.kernels[at].domain if at >= 0 else 0

    def _is_small(self, domain: int, host: int) -> bool:
        """Whether so many elements ride along: few beside the host's, and the cores hold them beside a tile."""
        return domain * _SMALL <= host and domain * _WIDE * _SMALL <= self.chip.cores * CORE.ub

    def _takes(self, at: int, task: Task, ins: Sequence[Key]) -> bool:
        kernel = self.kernels[at]
        if any(k in kernel.closed for k in ins) or (self.drops(kernel) and not self._scales(task)):
            return False
        mine, theirs = domain_of(task), kernel.domain
        if kernel.kind == CUBE:
            fits = mine == theirs and (not is_reduction(task.op) or _sums_behind(kernel, task))
            return self.chip.fuse > 1 and fits and self._simple(at, task, ins)
        if kernel.kind != VECTOR:
            return False
        return mine == theirs or mine * _SMALL <= theirs or theirs * _SMALL <= mine

    def drops(self, kernel: Kernel) -> bool:
        """Whether it applies a mask of random bits."""
        return any(k in self._drawn for k in kernel.tasks[0].ins) if kernel.tasks else False

    def _scales(self, task: Task) -> bool:
        """Whether it is a multiple of one large value."""
        return task.op.name == "multiply" and sum(t.size * _SMALL > domain_of(task) for t in task.types) == 1

    def _simple(self, at: int, task: Task, ins: Sequence[Key]) -> bool:
        """Whether an operator can stand behind a product: bias, ReLU, sums; nothing that reads another large value."""
        away = [self.types[k].size for k in ins if self.made.get(k) != at and k in self.types]
        return (task.op.family not in _LONG or task.op.name == "relu") and all(
            n * _SMALL <= domain_of(task) for n in away
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

    # ---- what passes through memory ----

    def finish(self, keep: Sequence[Key]) -> list[Kernel]:
        """The kernels with their bytes and seconds.

        Args:
            keep: values that are wanted afterwards.
        """
        traffic = _MemoryTraffic(self)
        traffic.flow(keep)
        if traffic.merge():
            traffic.flow(keep)
        walked = self._walked()
        kernels = [k for kernel in self.kernels if kernel.tasks or kernel.kind == WAIT
                   for k in self._sums_apart(kernel, walked)]  # fmt: skip
        picked = {r for k in kernels for t in k.tasks if t.op.name in _PICKING for r in self.roots(t.ins[:1])}
        for kernel in kernels:
            if kernel.kind != WAIT and not self._rides(kernel):
                time_kernel(kernel, self.chip, bool(picked & set(self.roots(kernel.tasks[0].ins[:1]))))
        return _FormatConversions(self).added(kernels)

    def _rides(self, kernel: Kernel) -> bool:
        return self.chip.fuse > 0 and self._is_small(kernel.domain, self._domain_of(kernel.host))

    def nbytes(self, key: Key) -> float:
        """How much memory a value takes."""
        t = self.types.get(key)
        return roofline.held_bytes(t, self.chip) if t is not None else 0.0

    def is_large(self, key: Key, kernel: Kernel) -> bool:
        """Whether a value is not small beside what a kernel walks."""
        t = self.types.get(key)
        return t is not None and t.size * _SMALL > kernel.domain

    def _walked(self) -> set[Key]:
        """Values that a kernel reads while it walks through much larger ones."""
        return {k for kernel in self.kernels for k in kernel.reads if not self.is_large(k, kernel)}

    def _sums_apart(self, kernel: Kernel, walked: set[Key]) -> list[Kernel]:
        """The gradient of a bias: a sum of images that no kernel over images waits for is a kernel of its own."""
        sums = [t for t in kernel.tasks if is_channel_sum(t)]
        alone = len(sums) == 1 and not walked & set(sums[0].outs)
        if kernel.kind not in (VECTOR, CUBE) or not alone or not self.chip.fuse:
            return [kernel]
        reads = {k: self.nbytes(k) for k in self.roots(sums[0].ins)}
        writes = {k: kernel.writes.pop(k) for k in sums[0].outs if k in kernel.writes}
        kernel.tasks = [t for t in kernel.tasks if t is not sums[0]]
        kernel.writes |= {k: n for k, n in reads.items() if any(k in t.outs for t in kernel.tasks)}
        rest = [kernel] if kernel.tasks else []
        return [*rest, Kernel(ALONE, sums, domain_of(sums[0]), reads=reads, writes=writes)]


class _MemoryTraffic:
    """Which values of a grouping pass through memory, and the sweeps that are merged so that fewer do.

    Attributes:
        kept: values that must be written; remade: those that follow from two, computed again nevertheless.
        origin: values that can be computed again -> what from; readers: how many kernels read a value.
    """

    def __init__(self, group: Grouping) -> None:
        self.group, self.kernels = group, group.kernels
        self.kept: set[Key] = set()
        self.remade: set[Key] = set()
        self.origin: dict[Key, tuple[Key, ...]] = {}
        self.readers: dict[Key, int] = {}

    def flow(self, keep: Sequence[Key]) -> None:
        """What every kernel reads and writes, in bytes; ``keep``: values that are wanted afterwards."""
        group = self.group
        self._find_readers(keep)
        virtual = self._virtual()
        wanted = set(self.kept)
        for at, kernel in enumerate(self.kernels):
            if kernel.kind != WAIT:
                kernel.reads = {k: group.nbytes(k) for k in self._reads(at, virtual)}
            wanted |= set(kernel.reads)
        for kernel in self.kernels:
            kernel.writes = {k: group.nbytes(k) for task in kernel.tasks for k in task.outs if k in wanted}

    def _find_readers(self, keep: Sequence[Key]) -> None:
        kept, readers = set(self.group.roots(keep)), dict[Key, set[int]]()
        for at, kernel in enumerate(self.kernels):
            if kernel.kind == WAIT:
                kept |= set(kernel.reads)
            for task in kernel.tasks:
                away = [k for k in self.group.roots(task.ins) if self.group.made.get(k, at) != at]
                for k in away:
                    readers.setdefault(k, set()).add(at)
                if task is kernel.tasks[0] and kernel.kind != VECTOR:
                    kept |= set(away)  # matrices and windows are not made on the way in
        self.kept, self.readers = kept, {k: len(at) for k, at in readers.items() if k not in kept}

    def _reads(self, at: int, virtual: Mapping[Key, tuple[Key, ...]]) -> Iterator[Key]:
        """What kernel ``at`` reads of others: their values, or where those are virtual what they follow from."""
        made = self.group.made
        for task in self.kernels[at].tasks:
            for k in self.group.roots(task.ins):
                if made.get(k, -1) != at:
                    yield from (root for root in virtual.get(k, (k,)) if made.get(root, -1) != at)

    def _virtual(self) -> dict[Key, tuple[Key, ...]]:
        """Values that are computed again where they are needed -> what from."""
        self.origin, virtual = {}, dict[Key, tuple[Key, ...]]()
        for kernel in self.kernels:
            if kernel.kind == ALONE or self.group.drops(kernel):
                continue
            for task in kernel.tasks:
                if task.op.family in _VECTOR and not is_reduction(task.op):
                    found = self._roots(task)
                    keys = [k for k in task.outs if k not in self.kept and self._is_cheap(k, found)]
                    self.origin.update((k, found) for k in keys)
                    virtual.update((k, found) for k in keys if self.readers.get(k, 0))
        return virtual

    def _is_cheap(self, key: Key, found: Sequence[Key]) -> bool:
        return key in self.remade or len(self._large(key, found)) <= 1

    def _roots(self, task: Task) -> tuple[Key, ...]:
        """What a task's operands follow from."""
        return tuple(dict.fromkeys(r for k in self.group.roots(task.ins) for r in self.origin.get(k, (k,))))

    def _large(self, key: Key, found: Sequence[Key]) -> list[Key]:
        """Those that are not small beside a value."""
        return [r for r in found if self.group.nbytes(r) * _SMALL > self.group.nbytes(key)]

    def merge(self) -> bool:
        """Sweeps that only reduce join the sweep before them; whether any did."""
        done = False
        for at, kernel in enumerate(self.kernels):
            before = self._before(kernel)
            if before < 0:
                continue
            target = self.kernels[before]
            there = {*target.reads, *(k for task in target.tasks for k in task.outs)}
            written = [k for k in kernel.writes if self.group.is_large(k, kernel)]
            read = {k for k in kernel.reads if self.group.is_large(k, kernel)}
            if read <= there and all(map(self._can_remake, written)):
                self.remade |= set(written)
                self._move(at, before)
                done = True
        return done

    def _before(self, kernel: Kernel) -> int:
        """The last sweep, or convolution, that a reducing sweep reads from; -1 where there is none it could join."""
        before = max({self.group.made[k] for k in kernel.reads if k in self.group.made}, default=-1)
        if kernel.kind != VECTOR or not kernel.closed or before < kernel.first:
            return -1
        target = self.kernels[before]
        behind = target.kind == CUBE and self.group.chip.fuse > 1 and _convolves(target)
        return before if target.kind == VECTOR or behind else -1

    def _can_remake(self, key: Key) -> bool:
        """Whether the one kernel that reads a value may as well make it, from two others."""
        roots = self._roots(self.group.task_of[key])
        return self.readers.get(key, 0) == 1 and len(self._large(key, roots)) <= 2 and key not in self.kept

    def _move(self, at: int, to: int) -> None:
        for task in self.kernels[at].tasks:
            for key in task.outs:
                self.group.made[key] = to
        self.kernels[to].tasks += self.kernels[at].tasks
        self.kernels[at].tasks = []


class _FormatConversions:
    """The kernels that convert and cast, between those of a grouping.

    Attributes:
        has: large values -> the formats in which they are in memory.
    """

    def __init__(self, group: Grouping) -> None:
        self.group, self.chip = group, group.chip
        self.has: dict[Key, set[str]] = {}

    def added(self, kernels: list[Kernel]) -> list[Kernel]:
        """With a kernel before every reader that wants a value in another format than it has."""
        cast: set[Key] = set()
        out: list[Kernel] = []
        for kernel in kernels:
            large = [k for k in kernel.reads if self.group.is_large(k, kernel)]
            self._arrived(kernel, large)
            known = [self.has.setdefault(k, set()) for k in large]
            want = self._wanted(kernel, known)
            for key, formats in zip(large, known):
                out += self._conversions(key, formats, want, kernel)
                formats |= {want} - {ANY}
            out += self._casts([k for k in large if k not in cast], kernel, of_16 := self._narrows(kernel))
            cast |= set(large) if of_16 else set()
            self.has.update((key, {want} - {ANY}) for key in kernel.writes)
            out.append(kernel)
            out += self._casts(list(kernel.writes), kernel, of_16 and kernel.kind == ALONE)
        return out

    def _narrows(self, kernel: Kernel) -> bool:
        """Whether its kernel has 16 bits alone, and values around it have more."""
        return not self.chip.half and bool(kernel.tasks) and kernel.tasks[0].op.family in roofline.IMAGED

    def _casts(self, keys: Sequence[Key], kernel: Kernel, needed: bool) -> list[Kernel]:
        """Between 32 and 16 bits, one kernel each."""
        wide = [
            k for k in keys if needed and (t := self.group.types.get(k)) and t.dtype.is_float and t.dtype.itemsize == 4
        ]
        return [self._copy(k, 1.5 * self.group.nbytes(k), kernel) for k in wide if self.group.is_large(k, kernel)]

    def _copy(self, key: Key, nbytes: float, reader: Kernel) -> Kernel:
        seconds = roofline.memory_seconds(nbytes, self.chip)
        return Kernel(CONVERT, reader.tasks[:1], reads={key: nbytes}, writes={key: 0.0}, memory=seconds,
                      seconds=seconds + self.chip.launch)  # fmt: skip

    def _arrived(self, kernel: Kernel, large: Sequence[Key]) -> None:
        """Images come from the host as plain rows; weights are kept as their readers want them."""
        task = kernel.tasks[0] if kernel.tasks else None
        if task is not None and task.op.name in _IMAGE_READERS:
            for key in self.group.roots(task.ins[:1]):
                if key in large and key not in self.group.made:
                    self.has.setdefault(key, {PLAIN})

    def _wanted(self, kernel: Kernel, known: Sequence[set[str]]) -> str:
        """The format in which a kernel reads and writes its large operands; ANY: no one knows better."""
        task = kernel.tasks[0] if kernel.tasks else None
        blocks = next((f for formats in known for f in (roofline.IMAGES, roofline.MATRICES) if f in formats), ANY)
        if kernel.kind == WAIT or task is None:
            return ANY
        if kernel.kind == VECTOR:
            return blocks if blocks != ANY else PLAIN if any(known) else ANY
        if task.op.family in roofline.IMAGED:
            return roofline.IMAGES
        if kernel.kind == CUBE:
            return roofline.MATRICES
        return roofline.IMAGES if blocks == roofline.IMAGES and _keeps_blocks(task) else PLAIN

    def _conversions(self, key: Key, formats: set[str], want: str, reader: Kernel) -> list[Kernel]:
        """From blocks to blocks the way leads over plain rows."""
        if not formats or want in {ANY, *formats}:
            return []
        ways = [f for f in (next(iter(sorted(formats))), want) if f != PLAIN]
        if PLAIN in formats:
            ways = [want]
        return [self._conversion(key, form, reader) for form in ways]

    def _conversion(self, key: Key, form: str, reader: Kernel) -> Kernel:
        seconds, nbytes = roofline.conversion_seconds(self.group.types[key], form, self.chip), self.group.nbytes(key)
        return Kernel(CONVERT, reader.tasks[:1], reads={key: nbytes}, writes={key: nbytes}, memory=seconds,
                      seconds=seconds + self.chip.launch)  # fmt: skip


def _keeps_blocks(task: Task) -> bool:
    """Whether images are joined, or cut, along whole blocks of channels; cut into unequal parts they are plain."""
    if task.op.name not in ("concat", "split") or task.types[0].ndim != 4 or task.attrs["axis"] % 4 != 1:
        return False
    parts = [t.ints()[1] for t in (task.types if task.op.name == "concat" else task.results)]
    return all(n % BLOCK == 0 for n in parts) and (task.op.name == "concat" or len(set(parts)) == 1)


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
