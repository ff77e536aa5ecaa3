"""Plans by problem, bounded: the one that was not asked for the longest is dropped, and frees what it holds.

That a library has no code for a problem is remembered as well.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Plan = TypeVar("Plan")


class PlanCache(Generic[Plan]):
    """At most ``bound`` plans.

    Args:
        bound: how many are kept.
    """

    def __init__(self, bound: int = 1024) -> None:
        self.bound = bound
        self._plans: OrderedDict[Hashable, Plan | None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, problem: Hashable, make: Callable[[], Plan | None]) -> Plan | None:
        """The plan of a problem, made if it is new.

        Args:
            problem: what the plan is for.
            make: makes it; None means that there is none.

        Returns:
            The plan, or None.

        Raises:
            RuntimeError: whatever ``make`` raises; nothing is kept then.
        """
        with self._lock:
            if problem in self._plans:
                self._plans.move_to_end(problem)
                return self._plans[problem]
            plan = self._plans[problem] = make()
            dropped = self._plans.popitem(last=False) if len(self._plans) > self.bound else None
        del dropped  # outside of the lock: it frees its descriptors
        return plan

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._plans.clear()
