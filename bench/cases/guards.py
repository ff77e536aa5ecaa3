"""Guards: what it costs per call to make sure that a compiled program is not stale.

The functions read a thousand attributes of an object; ask which members a network has; look into containers of
Python's own classes; divide by numbers that only the run knows. All of it is asked again, or checked, at each call;
nobody else has such guards in graph mode, so msnb's eager mode is the only company.
"""

from __future__ import annotations

import array
import collections
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


def _members(side: Any) -> Any:
    layers = side.nn.CellList([side.nn.Dense(2, 2) for _ in range(10)])

    def asking(x: Any) -> Any:
        found = [layer for layer in layers if hasattr(layer, "bias") and not hasattr(layer, "gain")]
        return x * len(found) * len(layers.trainable_params())

    return side.forward(asking)


def _contents(side: Any) -> Any:
    table = collections.UserDict({f"k{i}": i for i in range(100)})
    layered, numbers = collections.ChainMap({"a": 1}, table), array.array("d", range(1000))

    def looking(x: Any) -> Any:
        return x * (sum(table.values()) + len(layered) + sum(numbers))

    return side.forward(looking)


def _divisions(side: Any) -> Any:
    def dividing(x: Any) -> Any:
        n = int(abs(x[0])) + 1
        for i in range(1, 21):
            x = x + (100 * i) // n
        return x

    return side.forward(dividing)


CASES = [
    Case("guards", "a call under 1,000 attribute guards", {"msnb": _msnb}, several(_short), share=0.5),
    Case("guards_members", "a call that asks for members of 10 layers", {"msnb": _members}, several(_short), share=0.5),
    Case("guards_contents", "a call that looks into 3 containers", {"msnb": _contents}, several(_short), share=0.5),
    Case("guards_divisions", "a call with 20 checked divisions", {"msnb": _divisions}, several(_short), share=0.5),
]
