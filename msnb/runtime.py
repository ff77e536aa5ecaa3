"""The running device: wait for it.

Ops on an accelerator are launched and run on their own; a clock read without waiting measures the launch.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.runtime.html
"""

from __future__ import annotations

from msnb.base import device_registry


def synchronize() -> None:
    """Wait until everything launched on the current device is done.

    Examples:
        >>> import msnb as ms
        >>> ms.runtime.synchronize()
    """
    device_registry.current().synchronize()
