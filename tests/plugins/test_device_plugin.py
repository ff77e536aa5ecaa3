"""A device from another package: selected by set_context, used by both modes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import msnb as ms
from msnb.base import device_registry
from msnb.base.errors import ContextError, DeviceError


def test_it_counts_the_kernels_of_eager_mode(install: Callable[..., None]) -> None:
    install("device_example")
    assert "Counting" in device_registry.names() and "msnb_device_example" not in sys.modules
    with ms.set_context(device_target="Counting"):
        x = ms.Tensor([1.0, 2.0])
        assert ((x * x + x) * 2).tolist() == [4.0, 12.0]
        assert x.device == "Counting"
        assert dict(device_registry.current().counts) == {"multiply": 2, "add": 1}
    counts = dict(device_registry.device("Counting").counts)
    ms.Tensor([1.0]) + 1
    assert dict(device_registry.device("Counting").counts) == counts  # back on the CPU nothing is counted


def test_it_counts_the_kernels_of_graph_mode(install: Callable[..., None]) -> None:
    install("device_example")

    @ms.jit
    def program(x: ms.Tensor) -> ms.Tensor:
        return (x * x + x) * 2

    assert program(ms.Tensor([1.0, 2.0])).tolist() == [4.0, 12.0]  # compiled for the CPU first
    ms.set_context(device_target="Counting")
    counts = device_registry.current().counts
    for run in (1, 2):
        assert program(ms.Tensor([1.0, 2.0])).tolist() == [4.0, 12.0]
        assert sum(counts.values()) == 3 * run


def test_an_unknown_device_lists_it_among_the_legal_ones(install: Callable[..., None]) -> None:
    install("device_example")
    with pytest.raises(ContextError, match=r"legal: Ascend, CPU, Counting, GPU"):
        ms.set_context(device_target="Abacus")


def test_a_broken_one_leaves_the_context_alone(install: Callable[..., None], notices: list[str]) -> None:
    install("broken_plug", "raise OSError('no such board')", "[msnb.devices]\nBoard = broken_plug:make\n")
    with pytest.raises(
        DeviceError, match=r"the device Board of broken_plug 1.5 could not be loaded: OSError: no such board"
    ):
        ms.set_context(device_target="Board", mode=ms.GRAPH_MODE)
    assert (ms.get_context("device_target"), ms.get_context("mode")) == ("CPU", ms.PYNATIVE_MODE)
    assert device_registry.current().name == "CPU" and len(notices) == 1


def test_one_whose_factory_fails_raises_its_own_error(install: Callable[..., None]) -> None:
    code = (
        "from msnb.base.errors import DeviceError\n"
        "def make():\n    raise DeviceError('the board is not plugged in.', hint='plug it in.')\n"
    )
    install("absent_plug", code, "[msnb.devices]\nBoard = absent_plug:make\n")
    with pytest.raises(DeviceError, match=r"not plugged in[\s\S]*hint: plug it in"):
        ms.set_context(device_target="Board")
    assert ms.get_context("device_target") == "CPU"
