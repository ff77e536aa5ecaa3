"""Groups that become one kernel side by side: the same work on different tensors, or on single numbers.

    group A   p1 - lr * g1      from its key (moment) on, until its first reader        A   |======>
    group B   p2 - lr * g2                                                              B       |=========>
    both at the later key, which comes before either is read                                    ^

A group may be put off as long as nobody waits for it. If both can run at one moment, neither reads the other: a reader
has a later key. Updates of parameters are read by nobody, so they gather up; a batch is cut when it has grown large,
or all gradients would have to be kept until the end of the step.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import TensorType, size_hint
from msnb.ir import FUSED, Node, Value
from msnb.ir.kernel.iteration_space import Space, kind_of

Key = tuple[int, int]
FREE: Key = (-1, 0)
NEVER: Key = (1 << 60, 0)
MOST_ELEMENTS = 1 << 21
MOST_GROUPS = 256


class Group:
    """Nodes that become one kernel."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, Node]] = []
        self.space: Space = Space()
        self.key: Key = FREE
        self.reader: Key = NEVER
        self.sealed = False


class _Batch:
    """Groups that run at one moment: the latest of their keys, before the first of their bounds."""

    def __init__(self, reads: Callable[[Group], set[Value]], fits: Callable[[list[Group]], bool]) -> None:
        self.groups: list[Group] = []
        self.key, self.bound, self.size = FREE, NEVER, 0
        self.reads, self.fits = reads, fits

    def take(self, group: Group, bound: Key, size: int) -> bool:
        key, bound = max(self.key, group.key), min(self.bound, bound)
        full = self.size + size > MOST_ELEMENTS or len(self.groups) >= MOST_GROUPS
        if self.groups and (full or not key < bound or not self._walks(group)):
            return False
        self.groups.append(group)
        self.key, self.bound, self.size = key, bound, self.size + size
        return True

    def _walks(self, group: Group) -> bool:
        """Whether the groups that one tensor joins to this one find room in one space: they become one loop."""
        joined, read, rest = [group], self.reads(group), [*self.groups]
        while near := [g for g in rest if not read.isdisjoint(self.reads(g))]:
            joined += near
            read = read.union(*map(self.reads, near))
            rest = [g for g in rest if g not in near]
        return len(joined) == 1 or self.fits(joined)


def batched(
    groups: list[Group], outputs: dict[int, list[Value]], bounds: dict[int, Key],
    reads: Callable[[Group], set[Value]], fits: Callable[[list[Group]], bool],
) -> list[list[Group]]:  # fmt: skip
    """Every group once, alike ones together; the keys of groups that were put off are moved.

    Args:
        groups: in any order.
        outputs: by ``id`` of a group, what others read of it.
        bounds: by ``id`` of a group, the moment of its first reader.
        reads: what a group reads that is more than a number.
        fits: whether groups have one space together.
    """
    found: list[_Batch] = []
    current: dict[object, _Batch] = {}
    for group in sorted(groups, key=lambda g: g.key):
        sign = signature(group, outputs[id(group)])
        batch = current.get(sign) if sign is not None else None
        size, bound = _size(group), bounds.get(id(group), NEVER)
        if batch is None or not batch.take(group, bound, size):
            batch = _Batch(reads, fits)
            batch.take(group, bound, size)
            found.append(batch)
            current[sign] = batch
    for batch in found:
        for group in batch.groups:
            group.key = batch.key
    return [b.groups for b in found]


def _size(group: Group) -> int:
    return max((size_hint(n.out.type.size) for _, n in group.nodes if isinstance(n.out.type, TensorType)), default=0)


def signature(group: Group, outs: list[Value]) -> object:
    """Equal for groups that differ in their sizes only; None for what is not a plain chain over one shape.

    Groups of single numbers are all alike.
    """
    types = [v.type for _, n in group.nodes for v in (*n.inputs, n.out)]
    shapes = {t.shape for t in types if isinstance(t, TensorType) and t.size != 1}
    if not shapes:
        return "numbers"
    if len(shapes) > 1 or any(kind_of(n) != "elementwise" or n.op is FUSED for _, n in group.nodes):
        return None
    numbers: dict[Value, int] = {}
    steps = []
    for _, node in group.nodes:
        reads = tuple(_operand(v, numbers) for v in node.inputs)
        numbers[node.out] = len(numbers)
        steps.append((node.op.name, tuple(sorted(node.attrs.items(), key=_name)), reads, _kind(node.out)))
    return (*steps, *(numbers[v] for v in outs))


def _name(item: tuple[str, object]) -> str:
    return item[0]


def _operand(value: Value, numbers: dict[Value, int]) -> object:
    if value.node is not None and value.node.op.name == "constant":
        return ("constant", repr(value.node.attrs["value"].data), _kind(value))
    return (numbers.setdefault(value, len(numbers)), _kind(value))


def _kind(value: Value) -> object:
    t = value.type
    assert isinstance(t, TensorType)
    return (t.dtype.name, t.weak, t.size == 1)
