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
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import find

pytest.importorskip("llvmlite")
from msnb.devices.cpu.eager.kernel_cache import EagerKernel, eager_kernel

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


LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "part of a larger one": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "rows apart": lambda a: np.repeat(a, 3, -2)[..., ::3, :],
    "backwards": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
}


@needs
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("sizes", [((96, 70), (70, 65)), ((3, 70, 70), (3, 70, 60)), ((2, 64, 80), (80, 50))])
def test_a_product_takes_its_operands_as_they_lie(sizes: Any, left: str, right: str) -> None:
    x, y = images(*sizes[0]), images(*sizes[1])
    native, body = kernels("matmul", x, y)
    for a, b in ((x, y), (LAYOUTS[left](x), LAYOUTS[right](y)), (x, LAYOUTS[right](y))):
        np.testing.assert_allclose(native(a, b), body(a, b), rtol=1e-4, atol=1e-4)


def test_products_that_numpy_runs_on_one_thread_or_has_better_code_for() -> None:
    for x, y in (((8, 8), (8, 8)), ((1, 90), (90, 90)), ((90, 90), (90,)), ((99, 0), (0, 99))):
        assert kernels("matmul", images(*x), images(*y))[0] is None
    assert kernels("matmul", np.ones((99, 99)), np.ones((99, 99)))[0] is None


CHAINS = {
    "add": (2, {}), "multiply": (2, {}), "divide": (2, {}), "exp": (1, {}), "tanh": (1, {}), "relu": (1, {}),
    "greater": (2, {}), "sqrt": (1, {}), "maximum": (2, {}), "power": (2, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_elementwise_operations_on_many_elements(name: str) -> None:
    count, attrs = CHAINS[name]
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, 3.4e38], np.float32)
    xs = [np.concatenate([images(70_001), roll]) for roll in (odd, odd[::-1])][:count]
    native, body = kernels(name, *xs, **attrs)
    assert native is not None
    with np.errstate(all="ignore"):
        want = body(*xs)
    np.testing.assert_allclose(native(*xs), want, rtol=2e-6)
    apart = [np.repeat(x, 2)[::2] for x in xs]
    np.testing.assert_allclose(native(*apart), want, rtol=2e-6)


def test_a_chain_is_compiled_once_for_all_shapes() -> None:
    from msnb.devices.cpu.eager import elementwise

    kernels("sinh", images(300, 300))
    before = len(elementwise._made)
    for shape in ((70_000,), (2, 3, 40_000), (1, 80_000)):
        x = images(*shape)
        native, body = kernels("sinh", x)
        np.testing.assert_allclose(native(x), body(x), rtol=2e-6)
    assert len(elementwise._made) == before


def test_numbers_meet_large_tensors(machine_code: None) -> None:
    x = ms.Tensor(images(300, 300))
    for number in (2, 0.5, True, -1e300):
        with np.errstate(over="ignore"):
            near = np.float32(number)
        np.testing.assert_array_equal((x * number).asnumpy(), x.asnumpy() * near)
        np.testing.assert_array_equal((number - x).asnumpy(), near - x.asnumpy())


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


def test_memory_of_results_is_used_again_and_bounded() -> None:
    from msnb.devices.cpu.eager.result_pool import Results

    shelf, shape = Results(10_000), (1000,)
    first = shelf.take(shape, np.float32)
    view, place = first[3:], first.ctypes.data
    del first
    second = shelf.take(shape, np.float32)
    assert second.ctypes.data != place
    del view
    assert shelf.take(shape, np.float32).ctypes.data == place
    held = [shelf.take(shape, np.float32) for _ in range(9)]
    assert len({a.ctypes.data for a in (*held, second)}) == 10
    assert shelf._bytes <= 10_000
    assert shelf.take((3000,), np.float64) is not shelf.take((3000,), np.float64)


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
def test_a_kernel_first_used_by_another_thread_has_all_cores_in_the_main_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "cores", lambda: 2)
    x, y = images(200, 200), images(200, 200)
    made: list[Any] = []

    def work() -> None:
        made.append(kernels("matmul", x, y))
        made[0][0](x, y)

    other = threading.Thread(target=work)
    other.start()
    other.join(60)
    native, body = made[0]
    np.testing.assert_allclose(native(x, y), body(x, y), rtol=1e-4, atol=1e-4)
    assert sorted(key[0] for key in native._layouts) == [1, 2]


@needs
def test_a_forked_process_runs_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu.onednn import trampoline

    monkeypatch.setattr(thread_pool, "count", lambda: 2)
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
    from msnb.base import device_registry

    op, types = find("conv2d"), (tensor_type((1, 1, 4, 4), ms.float32), tensor_type((2, 1, 3, 3), ms.float32))
    cpu, attrs = device_registry.device("CPU"), op.bind_attrs({})
    assert isinstance(cpu.kernel(op, types, attrs), EagerKernel)
    ms.set_context(jit_level="O0")
    assert not isinstance(cpu.kernel(op, types, attrs), EagerKernel)


def test_eager_values_follow_a_change_of_the_setting(machine_code: None) -> None:
    x, w = ms.Tensor(images(2, 3, 8, 8)), ms.Tensor(images(4, 3, 3, 3))
    native = ms.ops.conv2d(x, w).asnumpy()
    ms.set_context(jit_level="O0")
    np.testing.assert_allclose(ms.ops.conv2d(x, w).asnumpy(), native, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_are_added_at_an_index(index: Any, dtype: Any, rng: np.random.Generator) -> None:
    y, at = (rng.standard_normal((300, 33)) * 9).astype(dtype), rng.integers(-40, 40, 300).astype(index)
    if dtype is not np.int64:
        y[3, 1], y[5, 2] = np.nan, np.inf
    native, body = kernels("unindex", y, at, spec=("t",), shape=(40, 33))
    assert isinstance(native, EagerKernel)
    for a in (y, np.asfortranarray(y), y[::-1]):
        np.testing.assert_allclose(native(a, at), body(a, at), rtol=1e-5, atol=1e-4)


def test_an_index_outside_is_told_as_ever(machine_code: None, rng: np.random.Generator) -> None:
    y = ms.Tensor(rng.standard_normal((200, 40)).astype(np.float32))
    at = ms.Tensor(np.full(200, 30, np.int32))
    with pytest.raises(Exception, match="30 is outside|out of bounds"):
        ms.ops.unsorted_segment_sum(y, at, 30)
    assert np.isclose(ms.ops.unsorted_segment_sum(y, at, 31).asnumpy().sum(), y.asnumpy().sum(), rtol=1e-3, atol=1e-2)


def test_indices_of_several_axes_are_added_natively(rng: np.random.Generator) -> None:
    y, i, j = rng.standard_normal((90, 60)), rng.integers(0, 9, (90, 60)), rng.integers(0, 8, (90, 60))
    native, body = kernels("unindex", y, i, j, spec=("t", "t"), shape=(9, 8))
    assert native is not None
    np.testing.assert_allclose(native(y, i, j), body(y, i, j), rtol=1e-12)


@pytest.mark.parametrize(
    "equation", ["bhte,bhse->bhts", "btd,dhe->bhte", "bthe,hed->btd", "ij,jk,kl->il", "ij->ji", "ij->ij"]
)
def test_einsum_runs_step_by_step(equation: str, machine_code: None, rng: np.random.Generator) -> None:
    sizes = dict(zip("btsdehijkl", (2, 9, 7, 24, 16, 3, 40, 50, 60, 20)))
    terms = equation.split("->")[0].split(",")
    arrays = [rng.standard_normal([sizes[c] for c in term]) for term in terms]
    want = np.einsum(equation, *arrays)
    for dtype, bound in ((np.float64, 1e-10), (np.float32, 1e-3)):
        tensors = [ms.Tensor(a.astype(dtype)) for a in arrays]
        found = ms.ops.einsum(equation, *tensors)
        assert found.asnumpy().dtype == dtype
        np.testing.assert_allclose(found.asnumpy(), want, rtol=0, atol=bound * max(1.0, float(np.abs(want).max())))
