"""Native kernels behind eager operations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.core.dtypes import as_dtype
from msnb.core.types import WEAK, tensor_type
from msnb.devices.base import body_kernel
from msnb.devices.cpu import threads
from msnb.devices.cpu.onednn import api as c
from msnb.ops.record import find

pytest.importorskip("llvmlite")
from msnb.devices.cpu.builtin.eager import _Prepared, eager_kernel  # noqa: E402

needs = pytest.mark.skipif(c.api() is None, reason="oneDNN is not installed")
draw = np.random.default_rng(5).standard_normal


@pytest.fixture()
def machine_code() -> Iterator[None]:
    before = ms.get_context("jit_level")
    ms.set_context(jit_level="O1")
    yield
    ms.set_context(jit_level=before)


def images(*shape: int) -> Any:
    return draw(shape).astype(np.float32)


def kernels(name: str, *arrays: Any, **attrs: Any) -> tuple[Any, Any]:
    op = find(name)
    full, types = op.bind_attrs(attrs), tuple(tensor_type(a.shape, as_dtype(a.dtype)) for a in arrays)
    body = body_kernel(np, op, types, full)
    return eager_kernel(op, types, full, body), body


@needs
def test_a_convolution_and_its_gradients() -> None:
    x, w = images(3, 5, 9, 8), images(4, 5, 3, 2)
    native, body = kernels("conv2d", x, w, pads=(1, 0, 0, 1))
    y = native(x, w)
    np.testing.assert_allclose(y, body(x, w), rtol=1e-4, atol=1e-4)
    native, body = kernels("conv2d_input_grad", y, w, pads=(1, 0, 0, 1), size=(9, 8))
    np.testing.assert_allclose(native(y, w), body(y, w), rtol=1e-4, atol=1e-4)
    native, body = kernels("conv2d_weight_grad", x, y, pads=(1, 0, 0, 1), kernel=(3, 2))
    np.testing.assert_allclose(native(x, y), body(x, y), rtol=1e-3, atol=1e-3)


def test_a_pooling_takes_any_strides() -> None:
    x = images(8, 9, 2, 3).transpose(2, 3, 0, 1)
    native, body = kernels("max_pool2d", x, kernel=(2, 2), stride=(2, 2))
    np.testing.assert_array_equal(native(x), body(x))


def test_results_are_not_overwritten_while_somebody_holds_them() -> None:
    x = images(4, 16, 64, 64)
    native, body = kernels("max_pool2d", x, kernel=(2, 2), stride=(2, 2))
    first = native(x)
    kept = first.copy()
    view = native(-x)[0]
    want = view.copy()
    for _ in range(4):
        native(x * 2)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(view, want)


@needs
def test_several_threads_use_one_kernel() -> None:
    xs, w = [images(4, 8, 24, 24) for _ in range(4)], images(8, 8, 3, 3)
    native, body = kernels("conv2d", xs[0], w)
    found: dict[int, bool] = {}

    def work(i: int) -> None:
        want = body(xs[i], w)
        found[i] = all(np.allclose(native(xs[i], w), want, rtol=1e-3, atol=1e-3) for _ in range(10))

    started = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in started:
        t.start()
    for t in started:
        t.join(60)
    assert found == dict.fromkeys(range(4), True)


@needs
def test_a_forked_process_runs_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu.onednn import trampoline

    monkeypatch.setattr(threads, "count", lambda: 2)
    x, w = images(8, 16, 32, 32), images(16, 16, 3, 3)
    native, body = kernels("conv2d", x, w)
    trampoline._forked.value = 1
    try:
        np.testing.assert_array_equal(native(x, w), body(x, w))
    finally:
        trampoline._forked.value = 0


def test_no_native_kernel() -> None:
    assert kernels("conv2d", np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))[0] is None
    op = find("max_pool2d")
    assert eager_kernel(find("exp"), (tensor_type((3,), ms.float32),), {}, np.exp) is None
    assert eager_kernel(op, (WEAK[float],), op.bind_attrs({}), np.exp) is None


@needs
def test_the_session_asks_for_it(machine_code: None) -> None:
    from msnb.core import devices

    op, types = find("conv2d"), (tensor_type((1, 1, 4, 4), ms.float32), tensor_type((2, 1, 3, 3), ms.float32))
    cpu, attrs = devices.device("CPU"), op.bind_attrs({})
    assert isinstance(cpu.kernel(op, types, attrs), _Prepared)
    ms.set_context(jit_level="O0")
    assert not isinstance(cpu.kernel(op, types, attrs), _Prepared)


def test_eager_values_follow_a_change_of_the_setting(machine_code: None) -> None:
    x, w = ms.Tensor(images(2, 3, 8, 8)), ms.Tensor(images(4, 3, 3, 3))
    native = ms.ops.conv2d(x, w).asnumpy()
    ms.set_context(jit_level="O0")
    np.testing.assert_allclose(ms.ops.conv2d(x, w).asnumpy(), native, rtol=1e-4, atol=1e-4)
