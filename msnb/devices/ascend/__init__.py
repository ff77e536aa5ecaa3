"""The simulated Ascend: real values, modelled clock. So far only its name is here."""

from __future__ import annotations

from msnb.core.devices import BufferDevice, register_device
from msnb.core.errors import DeviceError


def make_ascend() -> BufferDevice:
    """Raises DeviceError: the model of the Da Vinci core is not part of this version."""
    raise DeviceError(
        "the simulated Ascend is not part of this version of msnb yet.",
        hint='device_target="CPU" runs the same program.',
    )


register_device("Ascend", make_ascend)
