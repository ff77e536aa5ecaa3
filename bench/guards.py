"""Guards: what it costs per call to make sure that a compiled program is not stale.

`plain` is a compiled function that reads nothing from outside; `1,000 attributes` reads a thousand attributes of an
object, each of them a guard; the difference is the price of the check. `eager` is the same function uncompiled.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness import per_call, run_case

COUNT = 1000


def _functions() -> tuple[Any, Any, Any]:
    import msnb as ms

    flags = SimpleNamespace(**{f"flag{i}": i % 2 == 0 for i in range(COUNT)})
    names = [f"flag{i}" for i in range(COUNT)]

    def plain(x: Any) -> Any:
        return x * 2

    def guarded(x: Any) -> Any:
        on = 0
        for name in names:
            if getattr(flags, name):
                on += 1
        return x * on

    x = ms.Tensor([1.0, 2.0])
    assert guarded(x).tolist() == ms.jit(guarded)(x).tolist()
    return plain, guarded, x


def eager() -> dict[str, float]:
    plain, guarded, x = _functions()
    return {"plain": per_call(lambda: plain(x)), "1,000 attributes": per_call(lambda: guarded(x))}


def compiled() -> dict[str, float]:
    import msnb as ms

    plain, guarded, x = _functions()
    fast, checked = ms.jit(plain), ms.jit(guarded)
    return {"plain": per_call(lambda: fast(x)), "1,000 attributes": per_call(lambda: checked(x))}


if __name__ == "__main__":
    run_case("Guards of a compiled function", {"eager": eager, "graph": compiled}, baseline="eager")
