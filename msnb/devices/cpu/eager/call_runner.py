"""The table of native calls of one eager kernel, and the few instructions that run it.

    state:  number of calls   slots   env   [address, words] per call          made once per signature and layout
    run(state, x, y, out)     puts the data pointers of array objects into the first slots, then calls one by one

Array objects are passed as they are: where they keep their data pointer is found by a probe.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.devices.cpu.llvm.jit import Library
from msnb.devices.cpu.native_kernel import KernelCall

MOST_OBJECTS = 5


@functools.lru_cache(maxsize=1)
def data_offset() -> int:
    """Where an array object keeps its data pointer; 0 where it cannot be told."""
    samples = [np.zeros(n) for n in (1, 2, 3)]
    for offset in range(8, 64, 8):
        if all(ctypes.c_void_p.from_address(id(a) + offset).value == a.ctypes.data for a in samples):
            return offset
    return 0


class CallTable:
    """Calls in memory, as ``run`` reads them.

    Attributes:
        state: the address to hand to ``run``.
    """

    def __init__(self, calls: Sequence[KernelCall], slots: Any, env: Any) -> None:
        resolved = [call.resolved() for call in calls]
        words = [np.array(w, np.int64) for _, w in resolved]
        rows = [w for (address, _), a in zip(resolved, words) for w in (address, a.ctypes.data)]
        head = [len(calls), slots.ctypes.data, env.ctypes.data]
        self._held = calls, words, slots, env, np.array([*head, *rows], np.int64)
        self.state: int = self._held[-1].ctypes.data


@functools.lru_cache(maxsize=MOST_OBJECTS)
def runner(objects: int) -> Any:
    """``i32 run(state, objects...)`` as a Python function that releases the GIL."""
    library = Library(_text(objects))
    kinds = [ctypes.c_void_p] * (1 + objects)
    found: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(library.address("msnb_eager"))
    found.library = library
    return found


def _text(objects: int) -> str:
    """State: number of calls, slots, env, then address and words of each call."""
    fills = "".join(
        f"""
  %o{i} = getelementptr i8, ptr %a{i}, i64 {data_offset()}
  %d{i} = load ptr, ptr %o{i}
  %s{i} = getelementptr ptr, ptr %slots, i64 {i}
  store ptr %d{i}, ptr %s{i}"""
        for i in range(objects)
    )
    return f"""
define i32 @msnb_eager(ptr %state, {", ".join(f"ptr %a{i}" for i in range(objects))}) nounwind {{
  %n = load i64, ptr %state
  %q1 = getelementptr i64, ptr %state, i64 1
  %slots = load ptr, ptr %q1
  %q2 = getelementptr i64, ptr %state, i64 2
  %env = load ptr, ptr %q2{fills}
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %i1, %good ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %twice = mul i64 %i, 2
  %at = add i64 %twice, 3
  %p = getelementptr i64, ptr %state, i64 %at
  %f = load ptr, ptr %p
  %pw = getelementptr i64, ptr %p, i64 1
  %words = load ptr, ptr %pw
  %code = call i32 %f(ptr %slots, ptr %words, ptr %env)
  %i1 = add i64 %i, 1
  %ok = icmp eq i32 %code, 0
  br i1 %ok, label %good, label %bad
good:
  br label %next
bad:
  ret i32 %code
done:
  ret i32 0
}}
"""
