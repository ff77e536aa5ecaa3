"""The running device: wait for it, and what memory it has taken.

Ops on an accelerator are launched and run on their own; a clock read without waiting measures the launch. Memory is
that of the device: on a GPU of the pool from which buffers come; the host's belongs to the system, so a CPU has 0
everywhere, as in MindSpore (``ms.show.memory`` shows a program's).
Source: `mindspore.runtime`
"""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np

from msnb.api.streams import (
    Event,
    Stream,
    StreamCtx,
    communication_stream,
    current_stream,
    default_stream,
    set_cur_stream,
)
from msnb.base import DeviceError, device_registry, events, get_context, missing_names, set_context
from msnb.core import Tensor

__all__ = [
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream",
    "dispatch_threads_num", "empty_cache", "launch_blocking", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated",
    "reset_max_memory_reserved", "reset_peak_memory_stats", "run_check", "set_cur_stream", "set_memory", "synchronize",
]  # fmt: skip
missing_names.answer_for(__name__)

_peak = [0, 0]


def synchronize() -> None:
    """Wait until everything launched on the current device is done.

    Examples:
        >>> import msnb as ms
        >>> ms.runtime.synchronize()
    """
    device_registry.current().synchronize()


def set_memory(*sizes: Any, **settings: Any) -> None:
    """Memory of a device as MindSpore sets it up: kept for programs that call it, buffers are made as needed here.

    Examples:
        >>> import msnb as ms
        >>> ms.runtime.set_memory(max_size="8GB")
    """
    events.notice("runtime.set_memory() changes nothing: memory is taken as programs need it.", "set_memory")


def launch_blocking() -> None:
    """Wait after every operation of eager mode: ``set_context(pynative_synchronize=True)``.

    Examples:
        >>> import msnb as ms
        >>> ms.runtime.launch_blocking()
        >>> ms.get_context("pynative_synchronize")
        True
    """
    set_context(pynative_synchronize=True)


def dispatch_threads_num(threads_num: int) -> None:
    """How many threads kernels use: ``set_context(runtime_num_threads=threads_num)``."""
    set_context(runtime_num_threads=threads_num)


def _use() -> tuple[int, int]:
    """Bytes allocated and reserved now; the largest so far are noted. Memory is looked at when somebody asks: what
    came and went between two questions is in the pool's size, which is what ``max_memory_reserved`` tells."""
    found: tuple[int, int] = device_registry.current().memory_use()
    _peak[:] = map(max, _peak, found)
    return found


def memory_allocated() -> int:
    """Bytes that tensors and programs take of the device's memory now.

    Examples:
        >>> import msnb as ms
        >>> ms.runtime.memory_allocated()  # on a CPU
        0
    """
    return _use()[0]


def memory_reserved() -> int:
    """Bytes that the device's pool holds now, free blocks counted."""
    return _use()[1]


def max_memory_allocated() -> int:
    """The most bytes that a question of this module has met allocated since the start or the last reset."""
    _use()
    return _peak[0]


def max_memory_reserved() -> int:
    """The most bytes that the pool has held: blocks stay in it, so this bounds what was ever allocated."""
    _use()
    return _peak[1]


def reset_peak_memory_stats() -> None:
    """The largest figures begin anew at what there is now."""
    _peak[:] = 0, 0
    _use()


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def memory_stats() -> dict[str, Any]:
    """The figures in one dict, by MindSpore's names; of blocks nothing is known."""
    allocated, reserved = _use()
    nothing = {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}
    return {
        "total_reserved_memory": reserved, "total_allocated_memory": allocated,
        "total_idle_memory": reserved - allocated, "total_eager_free_memory": 0,
        "max_reserved_memory": _peak[1], "max_allocated_memory": _peak[0],
        "common_mem_pool_stats": dict(nothing), "persistent_mem_pool_stats": dict(nothing),
    }  # fmt: skip


def memory_summary() -> str:
    """The figures as a table."""
    rows = [(name.replace("_", " ").removeprefix("total ").capitalize(), f"{size:,} B")
            for name, size in memory_stats().items() if isinstance(size, int)]  # fmt: skip
    lines = [f"| {name:<22}| {size:>20} |" for name, size in [("Metric", "Data"), *rows]]
    rule = "-" * len(lines[0])
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def empty_cache() -> None:
    """Give memory that nothing uses back: what Python has not collected yet, and free blocks of the device's pool."""
    gc.collect()
    device_registry.current().release_memory()


def run_check() -> None:
    """Compute a product on the current device, in eager mode and compiled, and say whether it is right.

    Raises:
        RuntimeError: DeviceError: the device is missing, or computes something else.

    Source: `mindspore.run_check`

    Examples:
        >>> import msnb as ms
        >>> ms.run_check()
        msnb version: 0.1.0
        The product of two matrices is right on CPU, in eager mode and compiled: msnb works here.
    """
    package = sys.modules["msnb"]  # its compiler is loaded when it is first asked for
    a, device = np.arange(12.0, dtype=np.float32).reshape(3, 4), get_context("device_target")
    for way in (_product, package.jit(_product)):
        found = way(Tensor(a), Tensor(a.T.copy())).asnumpy()
        if not np.array_equal(found, a @ a.T + 1):
            raise DeviceError(f"run_check: a product of two matrices is wrong on {device}: {found.tolist()}.")
    print(f"msnb version: {package.__version__}")
    print(f"The product of two matrices is right on {device}, in eager mode and compiled: msnb works here.")


def _product(a: Tensor, b: Tensor) -> Tensor:
    return a @ b + 1
