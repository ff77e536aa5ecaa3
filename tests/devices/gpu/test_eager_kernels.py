"""Single operations on the GPU: one launch on operands as they lie, the values of the reference, no hidden copy."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base import device_registry
from msnb.core.tensor import Tensor, make, type_of_buffer
from tests import fake_cupy


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    fake_cupy.reset()
    ms.set_context(device_target="GPU", mode=ms.PYNATIVE_MODE, jit_level="O1")
    yield fake_cupy
    ms.reset_context()
    fake_cupy.reset()
    device_registry._made.pop("GPU", None)


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    found = np.random.default_rng(seed).uniform(0.5, 3, shape)
    if dtype.startswith(("int", "uint")):
        found = found * 7
    return found.astype(ms.float32.numpy if dtype == "bfloat16" else dtype)


OPS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y,
    "number": lambda x, y: x * 2.5,
    "number first": lambda x, y: 3.0 - x,
    "whole number": lambda x, y: x + 2,
    "power": lambda x, y: x**2,
    "compare": lambda x, y: x > y,
    "compare with a number": lambda x, y: x >= 1,
    "where": lambda x, y: ops.where(x > y, x, y),
    "row": lambda x, y: x - y[0],
    "column": lambda x, y: x * y[:, :1],
    "tanh": lambda x, y: ops.tanh(x),
    "cast": lambda x, y: x.astype(ms.int32),
    "sum": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.sum(1),
    "mean of columns": lambda x, y: x.mean(0),
    "max": lambda x, y: x.max(),
    "argmax": lambda x, y: x.argmax(1),
    "transpose": lambda x, y: x.T + y.T,
    "transpose of one": lambda x, y: x.T * 2 + y.reshape(y.shape[1], y.shape[0]),
    "slice": lambda x, y: x[1:, 1:] * y[1:, :-1],
    "sum of a transpose": lambda x, y: x.T.sum(0),
    "concat": lambda x, y: ops.concat((x, y), 1),
    "stack": lambda x, y: ops.stack((x, y)),
    "pad": lambda x, y: ops.pad(x, (1, 2)),
    "product": lambda x, y: x @ y.T,
    "softmax": lambda x, y: ops.softmax(x, -1),
}


CASES = [(name, dtype) for name in OPS for dtype in ("float16", "bfloat16", "float32", "int32")]
CASES += [(name, dtype) for name in ("add", "number", "whole number", "compare with a number", "cast", "sum")
          for dtype in ("float64", "uint8")]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_are_those_of_the_reference(gpu: Any, name: str, dtype: str) -> None:
    if dtype == "int32" and name in ("tanh", "softmax", "mean of columns"):
        pytest.skip("of floats")
    op = OPS[name]
    x, y = (numbers((6, 10), dtype, seed) for seed in (1, 2))
    ms.set_context(device_target="CPU", jit_level="O0")
    of = ms.bfloat16 if dtype == "bfloat16" else None
    want = op(ms.Tensor(x, of), ms.Tensor(y, of))
    ms.set_context(device_target="GPU", jit_level="O1")
    a, b = ms.Tensor(x, of), ms.Tensor(y, of)
    rough = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-12}.get(dtype, 1e-5)
    for _ in range(3):  # the body, the kernel made, the kernel again
        got = op(a, b)
        assert isinstance(got._data, fake_cupy.ndarray) and got._type is want._type
        np.testing.assert_allclose(
            got.asnumpy().astype(np.float64), want.asnumpy().astype(np.float64), rtol=rough, atol=rough
        )


ONE = ["add", "number", "number first", "whole number", "power", "compare", "row", "tanh", "cast", "sum",
       "sum of rows", "mean of columns", "max", "argmax", "transpose", "sum of a transpose"]  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_an_operation_is_one_launch_and_copies_nothing(gpu: Any, name: str) -> None:
    x, y = (ms.Tensor(numbers((6, 10), "float32", seed)) for seed in (1, 2))
    row = y[0]
    op = (lambda a, b: a - row) if name == "row" else OPS[name]
    for _ in range(3):
        op(x, y)
    gpu.counters.reset()
    op(x, y)
    found = gpu.counters
    assert found.launches == 1
    assert (found.uploads, found.downloads, found.synchronisations) == (0, 0, 0)
    assert name.endswith("transpose") or found.functions == 0  # nothing of CuPy but the allocation


def test_a_kernel_serves_all_sizes(gpu: Any) -> None:
    ms.ops.exp(ms.Tensor(numbers((16,), "float32")))
    made = len(device_registry.current().cache.made)
    for shape in ((32,), (4, 8), (1024,), (3, 16)):
        x = numbers(shape, "float32")
        np.testing.assert_allclose(ms.ops.exp(ms.Tensor(x)).asnumpy(), np.exp(x), rtol=1e-6)
    assert len(device_registry.current().cache.made) == made
    for n in (1, 2, 3, 5, 255, 257, 1030):  # other widths of access, and the last block partly filled
        x = numbers((n,), "float32")
        np.testing.assert_allclose(ms.ops.exp(ms.Tensor(x)).asnumpy(), np.exp(x), rtol=1e-6)


def test_sizes_that_come_once_compile_nothing(gpu: Any) -> None:
    made = device_registry.current().cache.made
    x = ms.Tensor(numbers((6, 10), "float32"))
    row = x[0]
    before = len(made)
    want = (x + row).asnumpy()
    assert len(made) == before
    np.testing.assert_array_equal((x + row).asnumpy(), want)
    assert len(made) == before + 1


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "gaps": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1],
    "shifted": lambda a: a[1:],
    "shifted by one": lambda a: a.reshape(-1)[1:-1],
    "turned": lambda a: a.transpose(1, 0),
    "repeated": lambda a: fake_cupy.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", [*LAYOUTS, "dense"])
def test_operands_are_read_where_they_lie(gpu: Any, layout: str, other: str) -> None:
    first = LAYOUTS[layout](fake_cupy.asarray(numbers((8, 8), "float32")))
    second = LAYOUTS.get(other, lambda a: a + 0)(fake_cupy.asarray(numbers((8, 8), "float32", 1)))
    if first.shape != second.shape:
        second = second.reshape(-1)[: first.size].reshape(first.shape) if second.size >= first.size else first
    x, y = (make(b, type_of_buffer(b)) for b in (first, second))
    p, q = first.get(), second.get()
    for _ in range(2):
        np.testing.assert_array_equal((x + y).asnumpy(), p + q)
        np.testing.assert_array_equal((x * 2.0).asnumpy(), p * 2)
        np.testing.assert_allclose(x.sum(0).asnumpy(), p.sum(0), rtol=1e-6)


def test_python_integers_that_no_dtype_holds(gpu: Any) -> None:
    x, y = ms.Tensor(np.int32([1, 2])), ms.Tensor([1.0, 2.0])
    assert (x + 5).tolist() == [6, 7]
    for much in (2**70, -(2**63) - 1):
        with pytest.raises(OverflowError, match="outside the range of the operation's integer dtype"):
            x + much
        assert (y * much).tolist() == [float(much), 2.0 * much]


def test_threads_have_streams_of_their_own(gpu: Any) -> None:
    x = ms.Tensor(numbers((64,), "float32"))
    want, wrong = (x * 2.0 + x).asnumpy(), []

    def work(stream: Any) -> None:
        with stream:
            for _ in range(20):
                if not np.array_equal((x * 2.0 + x).asnumpy(), want):
                    wrong.append(stream)

    threads = [threading.Thread(target=work, args=(gpu.cuda.Stream(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_gpu_has_kernels_of_its_own(gpu: Any) -> None:
    device = device_registry.current()
    (ms.Tensor([1.0, 2.0]) * 2.0).asnumpy()
    first = device.cache
    ms.set_context(device_id=1)
    assert device.cache is not first and not device.cache.made
    assert (ms.Tensor([1.0, 2.0]) * 2.0).tolist() == [2.0, 4.0]
    seen: list[int] = []

    def work() -> None:
        gpu.Device.current = 0  # CUDA's default in a new thread
        (ms.Tensor([1.0, 2.0]) * 2.0).asnumpy()
        seen.append(gpu.Device.current)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1]


def test_gradients_are_programs_from_the_second_time_on(gpu: Any) -> None:
    x = ms.Tensor(numbers((6, 10), "float32"))
    grad = ms.grad(lambda v: (ops.tanh(v) * v).sum())
    want = [grad(x).asnumpy() for _ in range(3)]
    gpu.counters.reset()
    np.testing.assert_allclose(grad(x).asnumpy(), want[0], rtol=1e-5)
    assert gpu.counters.launches <= 5  # three forward; all of the backward sweep is one or two
    assert gpu.counters.uploads == 0
