"""How many threads NumPy's matrix products may use: ``set_context(runtime_num_threads=...)``.

NumPy's BLAS has a thread pool of its own, whose waiting threads spin: on a busy machine one thread is often faster than
two. threadpoolctl (it comes with scikit-learn) can tell the pool its size; without it the setting cannot be honoured,
and that is said once.

A fork in the middle of such a product leaves the library's locks taken in the child, and its threads stopped in the
parent: forks wait for them (``base.threads.fork_locks.finished``).
"""

from __future__ import annotations

import math
from typing import Any

from msnb.base import events
from msnb.core import TensorType, Type
from msnb.ops.definition.record import Op

_LAPACK = ("linalg", "factors")  # families whose bodies call it
_SMALL = 1 << 12  # elements of operands: OpenBLAS has no lock around products of so few


def shares(op: Op, types: tuple[Type, ...]) -> bool:
    """True for operations that NumPy's BLAS may share out among its threads."""
    if "contraction" not in op.traits and op.family not in _LAPACK:
        return False
    static = [t for t in types if isinstance(t, TensorType) and t.is_static]
    return len(static) < len(types) or sum(math.prod(t.ints()) for t in static) > _SMALL


class Limit:
    """The limit in force: threadpoolctl's object that can take it back, and the number it stands for (0: none)."""

    count = 0
    limiter: Any = None


def limit_threads(changes: dict[str, Any]) -> None:
    """Listener of the event ``context``: 0 gives BLAS back the size it had."""
    count = changes.get("runtime_num_threads", Limit.count)
    if count == Limit.count:
        return
    Limit.count = count
    if Limit.limiter is not None:
        Limit.limiter.restore_original_limits()
        Limit.limiter = None
    controller = _controller() if count else None
    if controller is not None:
        Limit.limiter = controller.limit(limits=count, user_api="blas")
    elif count:
        events.notice(
            "runtime_num_threads has no effect on NumPy's matrix products: threadpoolctl is not installed "
            "(pip install threadpoolctl, or set OPENBLAS_NUM_THREADS before Python starts).",
            key="threadpoolctl",
        )


_controllers: list[Any] = []


def _controller() -> Any:
    """threadpoolctl's view of the BLAS that NumPy loaded, made once; None without the package."""
    if not _controllers:
        try:
            from threadpoolctl import ThreadpoolController
        except ImportError:
            return None
        _controllers.append(ThreadpoolController())
    return _controllers[0]


events.subscribe("context", limit_threads)
