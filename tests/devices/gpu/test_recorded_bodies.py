"""What a program has no kernels for stands in its CUDA graph too; and what programs leave behind when they are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import msnb as ms
from msnb import ops
from msnb.base.errors import IndexOutOfRange

TURNS = 3  # the body or steps, then what was made or recorded for the second call, then that again


@pytest.fixture
def simulated(mode: int) -> Iterator[int]:
    with ms.set_context(device_target="SimulatedGPU", jit_level="O1"):
        yield mode


def on_both(run: Callable[..., ms.Tensor], *args: np.ndarray) -> None:
    """The same values on the simulated GPU, call after call, as on the CPU."""
    with ms.set_context(device_target="CPU", jit_level="O0"):
        want = run(*map(ms.Tensor, args)).asnumpy()
    call = ms.jit(run) if ms.get_context("mode") == ms.GRAPH_MODE else run
    for _ in range(TURNS):
        np.testing.assert_allclose(call(*map(ms.Tensor, args)).asnumpy(), want, rtol=1e-6, strict=True)


def test_a_python_number_beside_a_complex_tensor(simulated: int, notices: list[str]) -> None:
    x = np.array([1 + 2j, -0.5j, 3.0], np.complex64)
    on_both(lambda x: ops.exp((x + 2) * 0.5) / (1 - x), x)
    assert not [text for text in notices if "not as one CUDA graph" in text]


def test_a_group_without_kernels(simulated: int, notices: list[str]) -> None:
    on_both(lambda x: ops.logcumsumexp(x, 0) + 1, np.linspace(-2, 2, 12).reshape(3, 4))
    assert not [text for text in notices if "not as one CUDA graph" in text or ",." in text]


@pytest.mark.parametrize("key", [slice(None, 0), slice(3, 3), slice(2, 1, 2)])
@pytest.mark.parametrize("value", [np.zeros(1, np.float32), np.zeros((), np.float32), np.zeros(0, np.float32)])
def test_nothing_is_written(simulated: int, key: slice, value: np.ndarray) -> None:
    def written(x: Any, value: Any) -> Any:
        x[key] = value
        return x

    on_both(written, np.arange(4, dtype=np.float32), value)


@pytest.mark.parametrize("name", ["maximum", "less", "floor_divide"])
def test_a_negative_number_beside_uint64(simulated: int, name: str) -> None:
    """No integer dtype holds both: it is told, and never read as 2**64 - 1."""
    x, call = ms.Tensor(np.array([1, 2], np.uint64)), getattr(ops, name)
    for _ in range(TURNS):
        with pytest.raises(OverflowError, match="outside the range"):
            (ms.jit(call) if simulated == ms.GRAPH_MODE else call)(x, -1)


WRONG: dict[str, Callable[[ms.Tensor, ms.Tensor], ms.Tensor]] = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "gather": lambda x, i: ops.gather(x, i, 0),
    "gather_nd": lambda x, i: ops.gather_nd(x, i.reshape(2, 1)),
    "gather_elements": lambda x, i: ops.gather_elements(x, 0, i.reshape(2, 1)),
}


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_index_is_told_and_does_not_hold_the_session(mode: int, name: str, dtype: Any, level: str) -> None:
    """CuPy takes indices modulo the size, so its bodies would say nothing."""
    with ms.set_context(device_target="SimulatedGPU", jit_level=level):
        ops.rand(2)  # the stream of draws lives on the device, and leaves it with the session
        call = ms.jit(WRONG[name]) if mode == ms.GRAPH_MODE else WRONG[name]
        x, i = ms.Tensor(np.ones((3, 3), dtype)), ms.Tensor([1, 7])
        found = [call(x, i) for _ in range(TURNS)]
    assert ms.get_context("device_target") == "CPU"
    with pytest.raises(IndexOutOfRange, match="index 7"):
        found[-1].asnumpy()
