"""What a device offers is one record; a device that says nothing offers nothing, and everything still runs on it."""

from __future__ import annotations

import numpy as np

import msnb as ms
from msnb.base import device_registry
from msnb.devices.ascend.device import Ascend
from msnb.devices.cpu import CPU
from msnb.devices.device import ArrayDevice, DeviceFeatures
from msnb.graph.compile import compile_graph
from msnb.ir.text.parser import parse

TEXT = "graph f(x: f32[8]) -> (f32[8])\n %1 = exp(x) : f32[8]\n %2 = add(%1, x) : f32[8]\n return %2"
FEATURES = ("fuses", "prefers_channels_last", "remembers")


def test_a_plain_device_offers_nothing() -> None:
    for device in (ArrayDevice("Plain", np), Ascend()):
        assert [getattr(device.features, name) for name in FEATURES] == [False] * len(FEATURES)
        assert device.code_on_disk() is None


def test_the_cpu_offers_what_its_record_says() -> None:
    cpu = CPU()
    assert isinstance(cpu.features, DeviceFeatures) and cpu.features.fuses is True
    assert all(isinstance(getattr(cpu.features, name), bool) for name in FEATURES)


def test_a_device_of_ones_own_says_what_it_offers(monkeypatch) -> None:
    class Fusing(DeviceFeatures):
        fuses = True

    class Own(ArrayDevice):
        features = Fusing()

    x = np.arange(8, dtype=np.float32)
    for kind, last in ((ArrayDevice, "dce"), (Own, "fuse")):
        monkeypatch.setattr(device_registry, "_current", [kind("Own", np)])
        with ms.set_context(jit_level="O1"):
            program = compile_graph(parse(TEXT), keep_stages=True)
            assert program.stages[-1].name == last
            np.testing.assert_allclose(program([x])[0], np.exp(x) + x, rtol=1e-6)
