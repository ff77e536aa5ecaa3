"""Which operators run as one kernel, and how long each kernel takes.

The vendor's compiler lets vector operators that follow one another stay in the unified buffer, and appends them to the
matrix product or convolution whose result they read. A program of this house is made of small operators (a batch norm
is a dozen), so its kernels are found by the same law:

    conv  mean | x-mean  square  mean | +eps  rsqrt  multiply  add  relu | conv
    [ conv + sums in one sweep      ]   [ one sweep: read x, write y   ]

    joins      an elementwise operator, or a reduction, joins the kernel that made its latest operand,
               if it walks the same elements; small things (per channel) ride along with the newest kernel
    closes     a reduction over what does not fit into the buffer is known only after the sweep: its reader is the next
    merges     a sweep that only reduces, and reads only what the sweep before it had, joins it: mean and variance at
               once (Welford 1962)
    recomputes a value that another sweep needs and that follows from one large value is not kept: its reader starts
               from that one. What follows from two is written, unless a sweep can merge when its reader reads both
    formats    the cube reads and writes blocks of 16x16 (NC1HWC0, FRACTAL_NZ), what moves or looks up elements wants
               plain rows; where the two meet, a kernel converts. Vector operators take either; weights and data come as
               their first reader wants them
    views      cost nothing; other operators (pooling, sorting, transposing, gathering) are kernels of their own

Acyclic by construction: a kernel reads only what kernels with smaller numbers make.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.core.types import TensorType
from msnb.devices.ascend.chip import CORE, Chip
from msnb.devices.ascend.roofline import (
    held_bytes,
    image_bytes,
    lanes_of,
    memory_seconds,
    op_seconds,
    product_of,
    rows_of,
    vector_seconds,
)
from msnb.ops.record import Op

Key = Hashable
CUBE, VECTOR, ALONE, WAIT, CONVERT = "cube", "vector", "alone", "wait", "convert"
BLOCKS, PLAIN, ANY = "blocks", "plain", "any"
_VIEWS = frozenset({"reshape", "broadcast_to", "expand_dims", "squeeze", "stop_gradient", "identity", "next_key"})
_SOURCES = frozenset({"create", "constant"})
_VECTOR = frozenset({"elementwise", "transcendental", "casting", "compare", "logic", "random", "triangle"})
_LONG = frozenset({"transcendental", "random"})
_SMALL = 8  # what is so many times smaller than a kernel's domain rides along


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
            with if it stays small.
        reads, writes: values that pass through memory, with their bytes.
        cube, vector, memory: seconds of each unit; seconds: of the whole, launch included.
    """

    kind: str
    tasks: list[Task] = field(default_factory=list)
    domain: int = 0
    closed: set[Key] = field(default_factory=set)
    host: int = -1
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
    return op.family == "reduce" or op.name in ("sum_to", "class_index")


def _is_free(task: Task) -> bool:
    """Views, and transposed matrices, which the cube reads as they are."""
    if task.op.name in _VIEWS or task.op.family == "control":
        return True
    if task.op.name != "transpose" or not task.types:
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
        self._newest = -1
        self._kept: set[Key] = set()
        self._again: set[Key] = set()  # values that follow from two, made again nevertheless
        self._origin: dict[Key, tuple[Key, ...]] = {}
        self._readers: dict[Key, int] = {}

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
        vector = task.op.family in _VECTOR or is_reduction(task.op)
        if _is_free(task) or (vector and not deps and not is_reduction(task.op)):
            self.base.update((key, tuple(ins)) for key in task.outs)
            return
        for key, t in zip(task.outs, task.results):
            self.types[key], self.task_of[key] = t, task
        at = self._home(task, ins, deps) if vector and self.chip.fuse else -1
        if at < 0:
            kind = VECTOR if vector else CUBE if product_of(task.op, task.types, task.results, task.attrs) else ALONE
            self.kernels.append(Kernel(kind, domain=_domain(task) if kind == VECTOR else _out_size(task)))
            at = len(self.kernels) - 1
            small = _domain(task) * _SMALL <= self._domain_of(self._newest)
            if vector and small:
                self.kernels[at].host = self._newest
            elif kind != ALONE:
                self._newest = at
        self._join(task, at)

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
        """The kernel a vector operator joins; -1: a new one."""
        latest = max(deps, default=-1)
        return latest if latest >= 0 and self._takes(latest, task, ins) else -1

    def _domain_of(self, at: int) -> int:
        return self.kernels[at].domain if at >= 0 else 0

    def _takes(self, at: int, task: Task, ins: Sequence[Key]) -> bool:
        kernel = self.kernels[at]
        if any(k in kernel.closed for k in ins):
            return False
        mine, theirs = _domain(task), kernel.domain
        if kernel.kind == CUBE:
            return self.chip.fuse > 1 and mine == theirs and self._simple(at, task, ins)
        if kernel.kind != VECTOR:
            return False
        return mine == theirs or mine * _SMALL <= theirs or theirs * _SMALL <= mine

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
        kernels = [k for k in self.kernels if k.tasks or k.kind == WAIT]
        for kernel in kernels:
            if kernel.kind != WAIT and not self._rides(kernel):
                self._time(kernel)
        return self._converted(kernels)

    def _converted(self, kernels: list[Kernel]) -> list[Kernel]:
        """With a kernel before every first reader that wants a value in another format than it has."""
        has: dict[Key, set[str]] = {}
        out: list[Kernel] = []
        for kernel in kernels:
            want = _wanted(kernel)
            for key, nbytes in kernel.reads.items():
                known = has.setdefault(key, {ANY})
                if want != ANY and not known & {want, ANY} and self._is_large(key, kernel):
                    out.append(self._conversion(key, nbytes, kernel))
                if want != ANY and self._is_large(key, kernel):
                    has[key] = (known - {ANY}) | {want}
            made = want
            if kernel.kind == VECTOR:
                blocks = any(BLOCKS in has[k] for k in kernel.reads if self._is_large(k, kernel))
                made = BLOCKS if blocks else ANY
            has.update((key, {made}) for key in kernel.writes)
            out.append(kernel)
        return out

    def _conversion(self, key: Key, nbytes: float, reader: Kernel) -> Kernel:
        seconds = memory_seconds(2 * nbytes, self.chip)
        return Kernel(CONVERT, reader.tasks[:1], reads={key: nbytes}, writes={key: nbytes}, memory=seconds,
                      seconds=seconds + self.chip.launch)  # fmt: skip

    def _rides(self, kernel: Kernel) -> bool:
        return self.chip.fuse > 0 and kernel.domain * _SMALL <= self._domain_of(kernel.host)

    def _flow(self, keep: Sequence[Key]) -> None:
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
        virtual = self._virtual(self._readers)
        wanted = set(kept)
        for at, kernel in enumerate(self.kernels):
            if kernel.kind != WAIT:
                kernel.reads = {}
                for task in kernel.tasks:
                    for k in self.roots(task.ins):
                        if self.made.get(k, -1) != at:
                            for root in virtual.get(k, (k,)):
                                if self.made.get(root, -1) != at:
                                    kernel.reads[root] = self._bytes(root)
            wanted |= set(kernel.reads)
        for kernel in self.kernels:
            kernel.writes = {k: self._bytes(k) for task in kernel.tasks for k in task.outs if k in wanted}

    def _virtual(self, readers: Mapping[Key, int]) -> dict[Key, tuple[Key, ...]]:
        """Values that are made again where they are needed -> what from; ``readers`` counts the kernels that do."""
        virtual: dict[Key, tuple[Key, ...]] = {}
        origin: dict[Key, tuple[Key, ...]] = {}
        for kernel in self.kernels:
            for task in kernel.tasks:
                if kernel.kind == ALONE or is_reduction(task.op) or task.op.family not in _VECTOR:
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
            homes = {self.made[k] for k in kernel.reads if k in self.made}
            before = max(homes, default=-1)
            if kernel.kind != VECTOR or not kernel.closed or before < 0:
                continue
            target = self.kernels[before]
            if target.kind not in (VECTOR, CUBE) or (target.kind == CUBE and self.chip.fuse < 2):
                continue
            there = {*target.reads, *(k for task in target.tasks for k in task.outs)}
            again = [k for k in kernel.writes if self._is_large(k, kernel)]
            big = [k for k in kernel.reads if self._is_large(k, kernel)]
            if set(big) <= there and all(self._cheap(k) for k in again):
                self._again |= set(again)
                self._move(at, before)
                done = True
        return done

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
            rows = rows_of(task.op, task.types, task.results)
            moved = image_sizes(task, chip)
            kernel.reads = {k: moved.get(k, n) for k, n in kernel.reads.items()}
            kernel.memory = op_seconds(task.op, task.types, task.results, task.attrs, chip)
            kernel.vector = (
                0.0
                if rows
                else vector_seconds(lanes_of(task.op, task.types, task.results, task.attrs), chip, not chip.half)
            )
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


def _wanted(kernel: Kernel) -> str:
    """The format in which a kernel reads and writes its large operands."""
    if kernel.kind in (VECTOR, WAIT):
        return ANY
    return BLOCKS if kernel.kind == CUBE or kernel.tasks[0].op.family == "pool" else PLAIN


def image_sizes(task: Task, chip: Chip) -> dict[Key, float]:
    """Bytes of the operands of a task, channels padded where they are images."""
    pairs = zip((*task.ins, *task.outs), (*task.types, *task.results))
    return {k: image_bytes(task.op, t, task.attrs, chip) for k, t in pairs}


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
