"""The running device: wait for it.

Ops on an accelerator are launched and run on their own; a clock read without waiting measures the launch.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.runtime.html
"""

from __future__ import annotations

from typing import Any

from msnb.base import device_registry, events
from msnb.base.settings import set_context


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
