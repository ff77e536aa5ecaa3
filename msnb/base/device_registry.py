"""The registry of devices, as much of it as a Tensor needs to know.

A Tensor holds a buffer of some array library. Which device a buffer lives on follows from its type; how to move it is
asked of the device. Devices register a factory under their name; it runs when the device is first used, so that
``import msnb`` touches no accelerator library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from msnb.base import plugins
from msnb.base.errors import ContextError, DeviceError


class BufferDevice(Protocol):
    """What a Tensor asks of a device; the full protocol is ``msnb.devices.device.Device``."""

    name: str

    def from_host(self, array: NDArray[Any]) -> Any:
        """A buffer of this device with the values of a NumPy array."""
        ...

    def to_host(self, buffer: Any, check: bool = True) -> NDArray[Any]:
        """A NumPy array with the values of a buffer; ``check``: raise what kernels have met before."""
        ...

    def owns(self, buffer: Any) -> bool:
        """True when the buffer lives here."""
        ...

    def synchronize(self) -> None:
        """Wait until everything launched on this device is done."""
        ...

    def memory_use(self) -> tuple[int, int]:
        """Bytes that buffers take of the device's own memory, and bytes that its pool holds."""
        ...

    def release_memory(self) -> None:
        """Give free blocks of the pool back."""
        ...


_factories: dict[str, Callable[[], BufferDevice]] = {}
_made: dict[str, Any] = {}
_current: list[Any] = []


def register_device(name: str, factory: Callable[[], BufferDevice]) -> None:
    """Make ``set_context(device_target=name)`` possible. ``factory`` may raise DeviceError with the way out."""
    _factories[name] = factory
    _made.pop(name, None)


def names() -> tuple[str, ...]:
    """The names of the registered devices and of those that installed packages offer."""
    return (*_factories, *(p.name for p in plugins.found(plugins.DEVICES) if p.name not in _factories))


def is_known(name: str) -> bool:
    """True when a device goes by this name; packages are only looked through for names not known before."""
    return name in _factories or plugins.get(plugins.DEVICES, name) is not None


def device(name: str) -> Any:
    """The device called ``name``, made on first use."""
    if name not in _made:
        if not is_known(name):
            raise ContextError(f"device_target={name!r} is not known; legal: {', '.join(sorted(names()))}.")
        _made[name] = _factories[name]() if name in _factories else _from_plugin(name)
    return _made[name]


def _from_plugin(name: str) -> BufferDevice:
    plugin = plugins.get(plugins.DEVICES, name)
    assert plugin is not None
    factory = plugin.load()
    if factory is None:
        raise DeviceError(
            f"the device {name} of {plugin.package} could not be loaded: {plugin.error}.",
            hint="repair or update that package, or choose another device_target.",
        )
    made: BufferDevice = factory()
    return made


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


def misplaced(name: str, types: Sequence[Any], buffers: Sequence[Any]) -> DeviceError | None:
    """The error for operands that do not all live where operations run, or None.

    Args:
        name: the operation, for the sentence.
        types, buffers: of its operands; Python scalars live anywhere.
    """
    here = str(current().name)
    homes = [home_of(b) for b in buffers]
    away = sorted({home for home in homes if home not in ("", here)})
    if not away:
        return None
    return DeviceError(
        f"{name}: operations run on {here}, and an operand lives on {' and '.join(away)}.",
        operands=[f"operand {i + 1}: {t!r} on {home}" for i, (t, home) in enumerate(zip(types, homes)) if home],
        hint=f'move it with x.to("{here}"), or run there with set_context(device_target="{away[0]}").',
    )


def home_of(buffer: Any) -> str:
    """The name of the device a buffer lives on; '' for what can be anywhere."""
    if not hasattr(buffer, "dtype"):
        return ""
    try:
        return str(device_of(buffer).name)
    except TypeError:
        return f"an unknown device ({type(buffer).__name__})"
