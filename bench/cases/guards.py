"""Guards: what it costs per call to make sure that a compiled program is not stale.

The function reads a thousand attributes of an object, each of them a guard of the compiled program; nobody else has
such guards in graph mode, so msnb's eager mode is the only company.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bench.case import Case, Seeded, several

COUNT = 1000


def _short(seeded: Seeded) -> tuple[Any, ...]:
    return (seeded.normal(2),)


def _msnb(side: Any) -> Any:
    flags = SimpleNamespace(**{f"flag{i}": i % 2 == 0 for i in range(COUNT)})
    names = [f"flag{i}" for i in range(COUNT)]

    def guarded(x: Any) -> Any:
        on = 0
        for name in names:
            if getattr(flags, name):
                on += 1
        return x * on

    return side.forward(guarded)


CASES = [Case("guards", "a call under 1,000 attribute guards", {"msnb": _msnb}, several(_short), share=0.5)]
