"""Splits that people ask for, on their way from ``shard`` into a program.

    ops.MatMul().shard(((2, 1), (1, 4)))(x, w)      the operator's inputs are split so
    net.block.shard(((8, 1, 1, 1),))                the Cell's inputs are; what is inside follows
    Layout((2, 4), ("dp", "mp"))("dp", "None")      instead of split counts: which device axes split which axis

While such an operator or Cell is captured, nodes that read one of its inputs get a mark ({input number: Wish}, results
under ~number). Marks are no attributes: two programs that differ in them are the same program, laid out otherwise. The
parallel planner reads them; everywhere else they have no effect, which is told once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import ArgumentError, events

IGNORED = (
    "shard(): strategies have an effect in compiled programs under parallel_mode='semi_auto_parallel' or "
    "'auto_parallel' (ms.set_auto_parallel_context) and in ms.parallel.plan; here they are ignored."
)
written: list[Callable[[], None]] = []
"""Called when somebody writes a strategy: compiled programs that were planned with another one are stale."""


@dataclass(frozen=True)
class ShardHint:
    """How somebody wants a tensor to be split.

    Attributes:
        split: one split count per axis, or a Layout.
        who: the operator or Cell that it was written for.
        must: whether every reader has to read it like that (an operator's inputs), or only those that can (a Cell's).
    """

    split: Any
    who: str
    must: bool = True


@dataclass(frozen=True)
class ShardRequest:
    """What one call of ``shard`` asks for.

    Attributes:
        who: the operator or Cell.
        inputs, outputs: split counts, a Layout or None per tensor; outputs may be None.
        weights: name of a Parameter -> its split.
        must: see Wish.
    """

    who: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...] | None = None
    weights: tuple[tuple[str, Any], ...] = ()
    must: bool = True

    def wish(self, split: Any) -> ShardHint | None:
        """A split as a wish of this call."""
        return None if split is None else ShardHint(split, self.who, self.must)


def unplaced(device: str, level: int) -> None:
    """Say that the target of a layout is not chosen with it."""
    if device != "Ascend" or level != 0:
        events.ignored("shard(device=, level=)", "a plan knows the devices of its cluster")


def sharding(
    who: str, in_strategy: Any, out_strategy: Any = None, weights: Mapping[str, Any] | None = None, must: bool = True
) -> ShardRequest:
    """What somebody wrote, checked.

    Raises:
        TypeError: no tuple of tuples of ints (or of Layouts, or of None).
        ValueError: a split count below 1.
    """
    given = () if in_strategy is None else checked(who, "in_strategy", in_strategy)
    out = None if out_strategy is None else checked(who, "out_strategy", out_strategy)
    named = tuple(sorted((name, _one(who, "parameter_plan", split)) for name, split in (weights or {}).items()))
    for renew in written:
        renew()
    return ShardRequest(who, given, out, named, must)


def checked(who: str, what: str, given: Any) -> tuple[Any, ...]:
    """What somebody wrote for the tensors of an operator, as tuples.

    Raises:
        TypeError: no tuple of tuples of ints (or of Layouts, or of None).
    """
    if not isinstance(given, (tuple, list)):
        raise ArgumentError(f"{who}: {what} is a tuple with one entry per tensor, got {given!r}.", hint=_HINT)
    return tuple(_one(who, what, split) for split in given)


_HINT = "for instance ((2, 1), (1, 4)): split counts per axis, per tensor; or a Layout; or None for any."


def _one(who: str, what: str, split: Any) -> Any:
    if split is None or hasattr(split, "tensor_map"):
        return split
    if not isinstance(split, (tuple, list)) or not all(type(n) is int and n > 0 for n in split):
        raise ArgumentError(f"{who}: an entry of {what} is a tuple of ints of at least 1, got {split!r}.", hint=_HINT)
    return tuple(split)


class Region:
    """The values of a program that somebody wants split, while the operator or Cell that reads them is captured.

    Args:
        asked: what was asked for.
        values: the values of its tensors, in order.
        outside: the region around it.
    """

    def __init__(self, asked: ShardRequest, values: Sequence[Any], outside: Region | None) -> None:
        inputs = asked.inputs if len(asked.inputs) == len(values) else tuple(s for s in asked.inputs if s != ())
        if asked.inputs and len(inputs) != len(values):
            raise ArgumentError(
                f"{asked.who}: in_strategy has {len(asked.inputs)} entries, the call has {len(values)} tensors.",
                hint=_HINT,
            )
        self.outside: Region | None = outside
        self.asked: ShardRequest = asked
        self.names: dict[str, Any] = dict(asked.weights)
        self.wishes: dict[Any, list[ShardHint | None]] = {}
        for value, split in zip(values, inputs):
            self.wishes.setdefault(value, []).append(asked.wish(split))

    def of(self, value: Any, nth: int = 0) -> ShardHint | None:
        """The wish for a value, which a node reads for the nth time."""
        found = self.wishes.get(value)
        if found:
            return found[min(nth, len(found) - 1)]
        if value.node is None and value.name in self.names:
            return self.asked.wish(self.names[value.name])
        return None if self.outside is None else self.outside.of(value, nth)

    def mark(self, node: Any) -> None:
        """A new node reads its inputs as asked for; a transposed or converted value is split like its source."""
        marks: dict[int, ShardHint] = {}
        for i, value in enumerate(node.inputs):
            wish = self.of(value, node.inputs[:i].count(value))
            if wish is not None:
                marks[i] = wish
        node.marks = marks or None
        if marks and node.op.name in ("transpose", "cast"):
            turned = _turned(marks[0], node.attrs.get("perm"))
            if turned is not None:
                self.wishes[node.outputs[0]] = [turned]

    def conclude(self, values: Sequence[Any]) -> None:
        """The results of the operator or Cell."""
        asked = self.asked.outputs or ()
        if asked and len(asked) != len(values):
            raise ArgumentError(
                f"{self.asked.who}: out_strategy has {len(asked)} entries, the call has {len(values)} results.",
                hint=_HINT,
            )
        for value, split in zip(values, asked):
            if split is not None and value.node is not None:
                value.node.marks = {**(value.node.marks or {}), ~value.index: ShardHint(split, self.asked.who)}


def _turned(wish: ShardHint, perm: Any) -> ShardHint | None:
    if perm is None:
        return wish
    split = wish.split
    if hasattr(split, "transposed"):
        return ShardHint(split.transposed(perm), wish.who, wish.must)
    return ShardHint(tuple(split[p] for p in perm), wish.who, wish.must) if len(split) == len(perm) else None
