"""``range(n)`` where the program computes n."""

from __future__ import annotations

from typing import Any

from msnb.graph.capture.values.lazy_values import needs_value


class SymbolicRange:
    """``range`` with a tensor among its arguments: a loop over it becomes a While."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        low, high, step = {1: (0, args[0], 1), 2: (*args, 1)}.get(len(args), args)
        self.low, self.high, self.step = low, high, step

    def __iter__(self) -> Any:
        raise needs_value("going through a range whose bound is a tensor outside of a for statement")
