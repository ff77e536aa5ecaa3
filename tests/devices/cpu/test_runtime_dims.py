"""Products whose sizes change: one primitive for all of them, and memory that does not grow with every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.devices.cpu.eager.result_pool import RESULTS, Results
from msnb.devices.cpu.onednn import c_api, primitives
from msnb.devices.cpu.onednn.primitives import Layout, RuntimePrimitive
from msnb.ir.kernel.strided_views import dense_strides

pytest.importorskip("llvmlite")
needs = pytest.mark.skipif(c_api.api() is None, reason="without oneDNN there are no primitives")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No size was met."""
    monkeypatch.setattr(primitives, "_sizes", type(primitives._sizes)())
    monkeypatch.setattr(primitives, "_made", type(primitives._made)())


def product(m: int, k: int, n: int, bias: bool = False) -> Any:
    x, y, out = (Layout(dims, dense_strides(dims)) for dims in ((m, k), (k, n), (m, n)))
    return primitives.matmul(x, y, out, Layout((1, n), (n, 1)) if bias else None, work=2.0 * m * k * n)


@needs
def test_a_size_that_changes_shares_one_primitive() -> None:
    made = [product(rows, 64, 128) for rows in range(40, 60)]
    kinds = [type(p) is RuntimePrimitive for p in made]
    assert kinds == [False] * primitives._OFTEN + [True] * (20 - primitives._OFTEN)
    assert len({p.address for p, shared in zip(made, kinds) if shared}) == 1
    inner = [product(64, k, 64) for k in range(40, 60)]
    assert inner[-1].address == made[-1].address, "rows or inner: the same code"


@needs
def test_layers_of_one_network_have_primitives_of_their_own() -> None:
    made = [product(32, k, n) for k in (64, 96, 128) for n in (48, 80, 112)]
    assert not any(isinstance(p, RuntimePrimitive) for p in made)


@needs
def test_half_precision_has_one_for_each_size() -> None:
    def half(m: int) -> Any:
        layouts = [Layout(dims, dense_strides(dims), c_api.BF16) for dims in ((m, 64), (64, 64), (m, 64))]
        return primitives.matmul(*layouts)

    assert not any(isinstance(half(m), RuntimePrimitive) for m in range(32, 44))


def test_random_products_equal_numpy(rng: np.random.Generator, mode: Any) -> None:
    """Stacks, transposed and cut operands, sizes of 1, biases: beyond the sizes that have a primitive of their own."""

    def turned(a: np.ndarray[Any, Any]) -> ms.Tensor:
        way = rng.integers(3)
        if way == 0:
            return ms.Tensor(np.ascontiguousarray(a.swapaxes(-1, -2))).swapaxes(-1, -2)
        return ops.concat([ms.Tensor(a), ms.Tensor(a)], -1)[..., : a.shape[-1]] if way == 1 else ms.Tensor(a)

    for lead in ((), (3,)) * 4:
        k, n = (int(rng.choice((1, 33, 64, 130))) for _ in range(2))
        bias = rng.standard_normal(n, np.float32)
        for m in rng.choice(200, 7, replace=False) + 1:
            x, y = rng.standard_normal((*lead, m, k), np.float32), rng.standard_normal((k, n), np.float32)
            stack = y if rng.integers(2) else rng.standard_normal((*lead, k, n), np.float32)
            found = ops.matmul(turned(x), turned(stack))
            np.testing.assert_allclose(found.asnumpy(), x @ stack, rtol=1e-3, atol=1e-3, err_msg=str((lead, m, k, n)))
            found = ops.dense(ms.Tensor(x), turned(y.T.copy()), ms.Tensor(bias))
            np.testing.assert_allclose(found.asnumpy(), x @ y + bias, rtol=1e-3, atol=1e-3, err_msg=str((m, k, n)))


def test_results_of_many_sizes_lie_in_the_same_memory() -> None:
    net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 64))
    gradient = ms.value_and_grad(lambda x: net(x).square().mean(), None, net.trainable_params())
    with ms.set_context(mode=ms.PYNATIVE_MODE):
        gradient(ms.ops.ones((1000, 64)))
        before = RESULTS._bytes
        for n in range(600, 1000, 7):
            gradient(ms.ops.ones((n, 64)))
    assert RESULTS._bytes - before <= 4 << 20


def test_a_buffer_serves_what_fills_half_of_it() -> None:
    pool = Results(1 << 20)
    place = pool.take((60, 100), np.float32).ctypes.data
    assert pool.take((6000,), np.int32).ctypes.data == place
    assert pool.take((3500,), np.float32).ctypes.data == place
    assert pool.take((700,), np.float32).ctypes.data != place, "it would waste too much"
    whole, scalar = pool.take((7, 5), np.float64), pool.take((), np.bool_)
    assert whole.shape == (7, 5) and whole.dtype == np.float64 and scalar.shape == ()
    assert whole.ctypes.data % 64 == scalar.ctypes.data % 64 == 0
    assert pool.take((0, 3), np.float32).size == 0
