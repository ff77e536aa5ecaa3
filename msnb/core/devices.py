"""The registry of devices, as much of it as a Tensor needs to know.

A Tensor holds a buffer of some array library. Which device a buffer lives on follows from its type; how to move it is
asked of the device. Devices register a factory under their name; it runs when the device is first used, so that
``import msnb`` touches no accelerator library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from msnb.core.errors import ContextError


class BufferDevice(Protocol):
    """What a Tensor asks of a device; the full protocol is ``msnb.devices.base.Device``."""

    name: str

    def from_host(self, array: NDArray[Any]) -> Any:
        """A buffer of this device with the values of a NumPy array."""
        ...

    def to_host(self, buffer: Any) -> NDArray[Any]:
        """A NumPy array with the values of a buffer."""
        ...

    def owns(self, buffer: Any) -> bool:
        """True when the buffer lives here."""
        ...

    def synchronize(self) -> None:
        """Wait until everything launched on this device is done."""
        ...


_factories: dict[str, Callable[[], BufferDevice]] = {}
_made: dict[str, Any] = {}
_current: list[Any] = []


def register_device(name: str, factory: Callable[[], BufferDevice]) -> None:
    """Make ``set_context(device_target=name)`` possible. ``factory`` may raise DeviceError with the way out."""
    _factories[name] = factory
    _made.pop(name, None)


def names() -> tuple[str, ...]:
    """The registered device names."""
    return tuple(_factories)


def device(name: str) -> Any:
    """The device called ``name``, made on first use."""
    if name not in _made:
        if name not in _factories:
            raise ContextError(f"device_target={name!r} is not known; legal: {', '.join(sorted(_factories))}.")
        _made[name] = _factories[name]()
    return _made[name]


def set_current(name: str) -> None:
    """Make ``name`` the device on which tensors are made and ops run."""
    _current[:] = [device(name)]


def current() -> Any:
    """The device on which tensors are made and ops run."""
    if not _current:
        set_current("CPU")
    return _current[0]


def device_of(buffer: Any) -> Any:
    """The device a buffer lives on."""
    if isinstance(buffer, (np.ndarray, np.generic)):
        cur = _current[0] if _current else None
        return cur if cur is not None and cur.owns(buffer) else device("CPU")
    for made in _made.values():
        if made.owns(buffer):
            return made
    raise TypeError(f"a buffer of type {type(buffer).__name__} belongs to no device of msnb.")
