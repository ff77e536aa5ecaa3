"""The step of a pipeline on all parts of a batch, of which planning looks at the first two.

    planned    part 0 | part 1 | loss, update                    what a part does, and what it hands on to the next
    run        part 0 | part 1 | ... | part m - 1 | loss, update

Every part takes the same way through the network, so a plan of one holds for all, and what planning takes does not grow
with their number. The whole step is captured when its steps are asked for: to run it, or to count what is sent. It is
the step that was planned if its first part is the same, node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msnb.base import AttributeValueError
from msnb.base.gc_pause import at_rest
from msnb.ir.graph import Node, Value
from msnb.parallel.pipeline.microbatches import MicrobatchedProgram, copied
from msnb.parallel.pipeline.task_placement import Placement
from msnb.parallel.program.training_graph import TrainingGraph


@dataclass
class MicrobatchReplication:
    """A step that goes through a network with one part of a batch after the other.

    Attributes:
        joint: the step, on the first parts at least; micro: how many parts there are (None: those in ``joint``).
        make: captures the step on all parts: the captured program, and its graph with gradients.
        args: what it is planned with.
    """

    joint: TrainingGraph
    micro: int | None
    make: Callable[[], tuple[Any, TrainingGraph]]
    args: tuple[Any, ...] = ()

    def first(self) -> MicrobatchedProgram:
        """The first parts, in a graph of their own."""
        return MicrobatchedProgram(copied(self.joint), self.micro)

    @cached_property
    def _made(self) -> tuple[Any, TrainingGraph]:
        with at_rest():
            return self.make()

    @property
    def captured(self) -> Any:
        """The captured program of all parts."""
        return self._made[0]

    def placed(self, planned: Placement) -> tuple[Placement, dict[Node, Node], dict[Value, Value]]:
        """All parts as the first ones were placed.

        Returns:
            Who does what; nodes of part 0 and params as planned -> those of the whole step.

        Raises:
            ValueError: the program is not the one that was planned any more.
        """
        with at_rest():
            first, whole = planned.batched, MicrobatchedProgram(copied(self._made[1]))
            same = whole.micro == first.micro and _alike(first.parts[0], whole.parts[0])
            if not same or _types(first.graph.params) != _types(whole.graph.params):
                raise AttributeValueError(
                    "the program is not the one that was planned: a network, its settings or what it reads of Python "
                    "has changed since.", hint="plan it again.")  # fmt: skip
            nodes = dict(zip(first.parts[0], whole.parts[0]))
            piece_of = {nodes[n]: piece for n, piece in planned.piece_of.items()}
            made = Placement(whole, piece_of, planned.scheduler, planned.pipes, planned.pieces)
        return made, nodes, dict(zip(first.graph.params, whole.graph.params))


def _alike(some: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether nodes are the same operators of the same Cells on the same values."""
    if len(some) != len(others):
        return False
    number = {v: i for nodes in (some, others) for i, v in enumerate(v for n in nodes for v in n.outputs)}
    return all(_looks(a, number) == _looks(b, number) for a, b in zip(some, others))


def _looks(node: Node, number: dict[Value, int]) -> tuple[Any, ...]:
    read = tuple(number.get(v, v.name if v.is_param else "") for v in node.inputs)
    attrs = "" if "control" in node.op.traits else repr(node.attrs)  # calls of Python are made anew by every capture
    return node.op.name, node.scope, attrs, read, _types(node.outputs)


def _types(values: Sequence[Value]) -> tuple[Any, ...]:
    return tuple((repr(v.type), v.name if v.is_param else "") for v in values)
