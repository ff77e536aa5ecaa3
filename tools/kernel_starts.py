"""A pytest plugin: a kernel that dies before its first word is started again.

    python -m pytest -p tools.kernel_starts --nbval notebooks/

jupyter_client looks for five free ports, lets them go, and hands their numbers to the kernel. Whoever takes one of them
in between, another worker's kernel or the ranks of a notebook, makes the kernel die at its start: rare, and no fault of
any notebook. What happens after the start is nobody's to repeat: ``persistent`` knows the one from the other by the
error's words, "Kernel died before replying to kernel_info".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

STARTS = 4


def persistent(start: Callable[..., Any]) -> Callable[..., Any]:
    """``start``, tried again when the kernel dies on the way; the last failure is told."""

    @functools.wraps(start)
    def call(*args: Any, **kwargs: Any) -> Any:
        for _ in range(STARTS - 1):
            try:
                return start(*args, **kwargs)
            except RuntimeError as error:
                if "died before" not in str(error):
                    raise
        return start(*args, **kwargs)

    return call


def pytest_configure() -> None:
    from nbval import kernel

    kernel.start_new_kernel = persistent(kernel.start_new_kernel)
