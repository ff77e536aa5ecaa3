"""Tests that need a GPU: skipped, with the reason, where there is none.

MSNB_TEST_GPU names the device (GPU). With SimulatedGPU the same tests run anywhere, on the simulator.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

import msnb as ms
from msnb.base.errors import DeviceError

DEVICE = os.environ.get("MSNB_TEST_GPU", "GPU")


@cache
def missing() -> str:
    """Why there is no GPU; "" where there is one."""
    try:
        with ms.set_context(device_target=DEVICE):
            return ""
    except DeviceError as error:
        return str(error).splitlines()[0]


@pytest.fixture
def gpu() -> str:
    """The name of a device that is there."""
    if missing():
        pytest.skip(missing())
    return DEVICE
