"""A machine on which ``import cupy`` gives the fake: every test of this folder can ask for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

import msnb as ms
from msnb.base import device_registry
from tests import fake_cupy


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The fake CuPy as the GPU, in graph mode at O1, with counts at 0."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    fake_cupy.reset()
    ms.set_context(device_target="GPU", mode="graph", jit_level="O1")
    yield fake_cupy
    ms.reset_context()
    device_registry._made.pop("GPU", None)
    fake_cupy.reset()
