"""One kernel of the device: the operators in it, what it reads and writes, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msnb.core import TensorType
from msnb.devices.ascend import roofline
from msnb.devices.ascend.chip import Chip
from msnb.ops.definition.record import Op

Key = Hashable
CUBE, VECTOR, ALONE, WAIT, CONVERT = "cube", "vector", "alone", "wait", "convert"


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
    return (task.op.family in ("contract", "conv", "einsum"), domain_of(task))


def domain_of(task: Task) -> int:
    """Elements of the largest value that a task reads or makes."""
    return max((t.size for t in (*task.types, *task.results)), default=0)


def is_reduction(op: Op) -> bool:
    """Sums, maxima and the like."""
    return bool(op.reduction) or op.family == "reduce" or op.name == "class_index"


def is_channel_sum(task: Task) -> bool:
    """Whether it sums images [n, channels, rows, columns] over all but the channels."""
    if task.op.reduction != "sum" or not task.types or task.types[0].ndim != 4:
        return False
    n, channels, *places = task.types[0].ints()
    return math.prod(places) > 1 and task.results[0].size == channels and task.results[0].ndim in (1, 3, 4)


def image_sizes(task: Task, chip: Chip) -> dict[Key, float]:
    """Bytes of the operands of a task, channels padded where they are images."""
    sizes = roofline.operand_bytes(task.op, task.types, task.results, task.attrs, chip)
    return dict(zip((*task.ins, *task.outs), sizes))


def time_kernel(kernel: Kernel, chip: Chip, picked: bool) -> None:
    """Set the seconds of a kernel; ``picked``: whether a reader wants to know which elements of its pooling won."""
    if kernel.kind == ALONE:
        task = kernel.tasks[0]
        what, moved = (task.op, task.types, task.results, task.attrs, chip), image_sizes(task, chip)
        kernel.reads = {k: moved.get(k, n) for k, n in kernel.reads.items()}
        kernel.memory = roofline.memory_part(*what)
        kernel.vector = roofline.vector_part(*what, kept=picked)
        if is_channel_sum(task):
            kernel.vector = max(kernel.vector, math.prod(task.types[0].ints()[:2]) * chip.row_sum)
        kernel.seconds = max(kernel.memory, kernel.vector) + chip.launch
        return
    lanes = 0.0
    for task in kernel.tasks:
        product = roofline.product_of(task.op, task.types, task.results, task.attrs)
        if product is not None:
            kernel.cube += product.seconds(chip)
            moved = image_sizes(task, chip)
            kernel.reads = {k: moved.get(k, n) for k, n in kernel.reads.items()}
            kernel.writes = {k: moved.get(k, n) for k, n in kernel.writes.items()}
        else:
            lanes += roofline.lanes_of(task.op, task.types, task.results, task.attrs)
    kernel.vector = roofline.vector_seconds(lanes, chip, not chip.half)
    kernel.memory = roofline.memory_seconds(sum(kernel.reads.values()) + sum(kernel.writes.values()), chip)
    kernel.seconds = max(kernel.cube, kernel.vector, kernel.memory) + chip.launch
