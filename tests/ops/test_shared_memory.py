"""``asnumpy`` and ``from_numpy`` share memory with the tensor and with nothing else: no program, no tape, no tensor."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.storage.packed_storage import take


def row() -> Any:
    return np.array([1.0, 2.0, 3.0], np.float32)


def from_tensor() -> tuple[ms.Tensor, Any]:
    t = ms.Tensor(row())
    return t, t.asnumpy()


def from_array() -> tuple[ms.Tensor, Any]:
    n = row()
    return ms.from_numpy(n), n


def from_parameter() -> tuple[ms.Tensor, Any]:
    p = ms.Parameter(ms.Tensor(row()), name="p")
    return p, p.numpy()


def from_view() -> tuple[ms.Tensor, Any]:
    n = np.zeros((3, 2), np.float32)
    n[:, 1] = row()
    return ms.Tensor.from_numpy(n[:, 1]), n[:, 1]


WAYS: list[Callable[[], tuple[ms.Tensor, Any]]] = [from_tensor, from_array, from_parameter, from_view]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def pair(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_writes_are_seen_by_all_that_looks_later(pair: Any, mode: Any) -> None:
    t, a = pair
    double = ms.jit(lambda x: x * 2)
    assert double(t).tolist() == [2, 4, 6]
    for value in (11.0, 12.0):
        a[0] = value
        assert t.tolist() == t.asnumpy().tolist() == [value, 2, 3]
        assert (t + 0).tolist() == [value, 2, 3] and double(t)[0].item() == 2 * value
        assert float(t[0]) == value and str(value).rstrip("0") in repr(t)
    a *= 2
    assert t.tolist() == [24, 4, 6]


def test_other_tensors_keep_their_values(pair: Any, mode: Any) -> None:
    t, a = pair
    others = [t.reshape(3, 1), t[0:2], t + 0, ms.Tensor(t), t.copy(), copy.copy(t), copy.deepcopy(t), ops.stack([t]),
              ms.Parameter(ms.Tensor(t), name="q"), pickle.loads(pickle.dumps(ms.Tensor(t)))]  # fmt: skip
    before = [other.asnumpy().copy() for other in others]
    a[:] = -1
    for other, value in zip(others, before, strict=True):
        np.testing.assert_array_equal(other.asnumpy(), value)


def test_a_tensor_made_before_is_not_touched(mode: Any) -> None:
    t = ms.Tensor(row())
    views = [t.reshape(3, 1), t[0:2], ms.Tensor(t)]
    t.asnumpy()[:] = -1
    assert [v.asnumpy().reshape(-1)[0] for v in views] == [1, 1, 1] and t.tolist() == [-1, -1, -1]


def test_a_new_value_ends_the_sharing(pair: Any, mode: Any) -> None:
    t, a = pair
    t[0] = 7.0
    assert a[0] == 1 and t.tolist() == [7, 2, 3]
    a[1] = -5
    assert t.tolist() == [7, 2, 3]


@pytest.mark.long
def test_no_copy_once_the_array_is_gone() -> None:
    t, a = from_tensor()
    place = a.ctypes.data
    del a
    gc.collect()
    (t + 1).asnumpy()
    assert t._data.ctypes.data == place
    b = t.asnumpy()
    b[0] = 4
    assert t.tolist() == [4, 2, 3] and t.asnumpy() is b


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_gradients_use_the_values_of_their_time(level: str, mode: Any) -> None:
    ms.set_context(jit_level=level)
    t, a = from_tensor()
    seen: list[Any] = []

    def loss(x: Any) -> Any:
        y = x * x
        if not seen and ms.get_context("mode") == ms.PYNATIVE_MODE:
            seen.append(None)
            a[:] = 100  # after the tape kept what it needs
        return y.sum()

    assert ms.grad(loss)(t).tolist() == [2, 4, 6]


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_training_never_writes_the_users_array(level: str, mode: Any) -> None:
    ms.set_context(jit_level=level)
    net = nn.Dense(3, 2)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    x, y = ops.ones((4, 3)), ops.zeros((4, 2))
    twin = nn.Dense(3, 2)
    for p, q in zip(net.get_parameters(), twin.get_parameters(), strict=True):
        q.set_data(ms.Tensor(p))
    other = nn.TrainOneStepCell(nn.WithLossCell(twin, nn.MSELoss()), nn.Momentum(twin.trainable_params(), 0.1, 0.9))
    for _ in range(4):
        held = net.weight.asnumpy()
        before = held.copy()
        step(x, y), other(x, y)
        np.testing.assert_array_equal(held, before)
    np.testing.assert_allclose(net.weight.asnumpy(), twin.weight.asnumpy(), rtol=1e-6)
    net.weight.asnumpy()[:] = 0
    assert net(x)[0].tolist() == pytest.approx(net.bias.tolist())


def test_constants_of_programs_stay() -> None:
    n = row()
    t = ms.from_numpy(n)
    f = ms.jit(lambda x: x + t)
    assert f(ops.zeros(3)).tolist() == [1, 2, 3]
    n[0] = 9  # a tensor from outside is an input of the program: its present value counts, as in eager mode
    assert f(ops.zeros(3)).tolist() == [9, 2, 3]


def test_what_is_done_to_the_array_does_not_make_the_tensor_lie() -> None:
    t, a = from_tensor()
    a.shape = (3, 1)
    assert t.shape == (3,) and t.tolist() == [1, 2, 3] and t.asnumpy().shape == (3,)
    a[0, 0] = 6
    assert t.tolist() == [6, 2, 3]
    del a
    assert (t * 1).shape == (3,)


def test_what_cannot_be_shared_is_copied() -> None:
    odd = row().astype(">f4")
    t = ms.from_numpy(odd)
    odd[0] = 5
    assert t.tolist() == [1, 2, 3]
    locked = row()
    locked.flags.writeable = False
    assert (ms.from_numpy(locked) + 1).tolist() == [2, 3, 4]
    with pytest.raises(TypeError, match="has no tensor dtype"):
        ms.from_numpy(np.array(["a"]))
    scalar = ms.Tensor(3.0)
    scalar.asnumpy()[...] = 4
    assert scalar.item() == 4.0
    assert ms.Tensor(row()).asnumpy().flags.writeable


def test_no_value_while_a_program_is_built() -> None:
    with pytest.raises(TypeError):
        ms.jit(lambda x: ms.Tensor(x.asnumpy()), fullgraph=True)(ops.ones(2))


def test_a_value_in_blocks_is_shared_too() -> None:
    blocks = BlockedFormat((0, 1, 2, 3), ((1, 4), (0, 2)))
    value = np.arange(2.0 * 8 * 3 * 2, dtype=np.float32).reshape(2, 8, 3, 2)
    p = ms.Parameter(ms.Tensor(value), name="w")
    take(p, blocks)
    a = p.asnumpy()
    a[0] = -1
    np.testing.assert_array_equal(blocks.unblock(np, take(p, blocks)), a)
    np.testing.assert_array_equal(p.asnumpy()[1], value[1])


def test_tensor_copies() -> None:
    n = row()
    t = ms.Tensor(n)
    n[0] = 9
    np.asarray(t)[1] = 9
    assert t.tolist() == [1, 2, 3]
