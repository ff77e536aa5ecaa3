"""Micro-batches and pipeline stages in the paths of Cells.

    PipelineCell/micro[2]/Net/layers/0           part 2 of the batch in Net/layers/0
    PipelineCell/micro[2]/Net/stage[1]/head      the same part in Net/head, which says that it is in stage 1

The parallel planner reads this to tell the passes of a network over the parts of one batch from each other. Brackets
stand in no attribute's name, so no Cell is mistaken for a part. All parts take the same way, so the planner looks at
the first of them alone (``first_parts``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msnb.core.engine import slot

_PART = re.compile(r"(?:.*/)?micro\[(\d+)\](?:/|\Z)")
_STAGE = re.compile(r"stage\[(.*?)\]/")
_first: ContextVar[tuple[int, set[int]] | None] = ContextVar("first parts", default=None)


def parts_of(n: int) -> range:
    """The parts of a batch in ``n`` parts that a program goes through: all of them, but for ``first_parts``."""
    asked, parts = _first.get(), range(n)  # a plain number from here on, whatever a capture makes of n
    if asked is None:
        return parts
    most, numbers = asked
    numbers.add(len(parts))
    return parts[:most]


@contextmanager
def first_parts(most: int) -> Iterator[set[int]]:
    """Within this block programs go through the first parts of a batch alone. Gives the numbers of parts that batches
    were to be cut into, as they are met.

    Examples:
        >>> with first_parts(2) as numbers:
        ...     list(parts_of(16)), numbers
        ([0, 1], {16})
    """
    numbers: set[int] = set()
    before = _first.set((most, numbers))
    try:
        yield numbers
    finally:
        _first.reset(before)


def in_micro(i: int, network: Callable[..., Any], *inputs: Any) -> Any:
    """``network(*inputs)``, a Cell, its operations under part ``i``."""
    with slot.engine.scoped(f"micro[{i}]"):
        return network(*inputs)


def stage_scope(stage: Any) -> str:
    """The step of a path for what is in a pipeline stage."""
    return f"stage[{stage}]"


def micro_of(scope: str) -> int | None:
    """The part that a path belongs to; None outside of parts.

    Examples:
        >>> micro_of("PipelineCell/micro[2]/Net/fc"), micro_of("Net/fc")
        (2, None)
    """
    found = _PART.match(scope)
    return int(found[1]) if found else None


def stage_of(scope: str) -> int | str | None:
    """The stage that the innermost Cell of a path said (as text, where it is no number); None where nobody said one.

    Examples:
        >>> stage_of("micro[2]/Net/stage[1]/head"), stage_of("micro[2]/Net/head")
        (1, None)
    """
    found = _STAGE.findall(scope)
    return None if not found else int(found[-1]) if found[-1].isdigit() else str(found[-1])


def steps_to_stage(scope: str) -> int:
    """How many steps of ``within_micro(scope)`` stand before the innermost Cell that said its stage; 0 if none did.

    Examples:
        >>> steps_to_stage("PipelineCell/micro[2]/Net/body/stage[1]/head/fc"), steps_to_stage("Net/body/head/fc")
        (2, 0)
    """
    found = [m.start() for m in _STAGE.finditer(scope)]
    return within_micro(scope[: found[-1]]).count("/") if found else 0


def within_micro(scope: str) -> str:
    """The path of Cells alone, from the network in a part of the batch on.

    Examples:
        >>> within_micro("PipelineCell/micro[2]/Net/stage[1]/fc"), within_micro("Net/fc")
        ('Net/fc', 'Net/fc')
    """
    found = _PART.match(scope)
    return _STAGE.sub("", scope[found.end() :] if found else scope)
