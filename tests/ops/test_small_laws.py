"""Small questions of meaning, each decided once: gradients at NaN, scalars of prelu, padding of CTC, bools in a key."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.types import result_dtype

NAN = float("nan")
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_gradients_of_extremes(name: str, level: str, mode: Any) -> None:
    ms.set_context(jit_level=level)
    x = ms.Tensor([1.0, 2.0, 2.0, NAN, 1.0, NAN, np.inf, np.inf])
    y = ms.Tensor([2.0, 1.0, 2.0, 1.0, NAN, NAN, np.inf, 0.0])
    dx, dy = ms.grad(lambda x, y: getattr(ops, name)(x, y).sum(), (0, 1))(x, y)
    first = {"minimum": [1, 0, 0.5, 1, 1, 1, 0.5, 0], "maximum": [0, 1, 0.5, 1, 1, 1, 0.5, 1]}[name]
    second = {"minimum": [0, 1, 0.5, 1, 1, 1, 0.5, 1], "maximum": [1, 0, 0.5, 1, 1, 1, 0.5, 0]}[name]
    assert dx.tolist() == first and dy.tolist() == second


def test_prelu_keeps_the_shape(mode: Any) -> None:
    weight = ms.Tensor([0.25])
    for x in (ms.Tensor(-2.0), ms.Tensor([-2.0]), ms.Tensor([[-2.0, 4.0]]), ops.ones((2, 1, 3)) * -2):
        found = ops.PReLU()(x, weight)
        a = x.asnumpy()
        assert found.shape == x.shape
        np.testing.assert_array_equal(found.asnumpy(), np.where(a > 0, a, a * 0.25))
    assert ms.grad(lambda x: ops.prelu(x, weight))(ms.Tensor(-2.0)).shape == ()
    channels = ops.prelu(ops.ones((1, 2, 2)) * -1, ms.Tensor([0.5, 0.25]))
    assert channels[0, :, 0].tolist() == [-0.5, -0.25]


@pytest.mark.parametrize("padding", [-1, 99, 0, 1])
def test_ctc_ignores_what_stands_behind_the_labels(padding: int, mode: Any) -> None:
    scores = np.random.default_rng(5).normal(size=(6, 2, 4)).astype(np.float32)
    logs = ops.log_softmax(ms.Tensor(scores))
    targets = np.array([[1, 2, 3], [2, padding, padding]])

    def loss(logs: Any) -> Any:
        return ops.ctc_loss(logs, ms.Tensor(targets), [6, 6], [3, 1], reduction="none")[0]

    alone = [
        ops.ctc_loss(logs[:, :1], ms.Tensor([[1, 2, 3]]), [6], [3], reduction="none")[0].item(),
        ops.ctc_loss(logs[:, 1:], ms.Tensor([[2]]), [6], [1], reduction="none")[0].item(),
    ]
    np.testing.assert_allclose(loss(logs).asnumpy(), alone, rtol=1e-5)
    np.testing.assert_allclose(ms.jit(loss)(logs).asnumpy(), alone, rtol=1e-5)
    assert np.isfinite(ms.grad(lambda x: loss(x).sum())(logs).asnumpy()).all()


def test_ctc_labels_must_be_classes(mode: Any) -> None:
    with pytest.raises(IndexError):
        ops.ctc_loss(ops.log_softmax(ops.zeros((4, 1, 3))), ms.Tensor([[1, 7]]), [4], [2])[0].asnumpy()


KEYS: list[Any] = [
    ((False, True, True), 1), ([False, True, True], 1), (slice(None), (True, False, True)), ((0, 2), 1),
    ((0, 2), (1, 0)), (((0, 1), (2, 0)),), (np.array([True, False, True]), slice(None, None, -1)),
    ((True, True, True), (True, False, True)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_sequences_inside_a_key(key: Any, mode: Any) -> None:
    a = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    expected: Any
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            ms.Tensor(a)[key].asnumpy()
        return
    np.testing.assert_array_equal(ms.Tensor(a)[key].asnumpy(), expected)
    np.testing.assert_array_equal(ms.jit(lambda x: x[key])(ms.Tensor(a)).asnumpy(), expected)
    written, x = a.copy(), ms.Tensor(a)
    written[key] = -1
    x[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), written)


@pytest.mark.parametrize("mask", [[True, False], [True] * 4, [[True, False, True]]])
def test_a_mask_of_another_length_is_refused(mask: Any, mode: Any) -> None:
    x = ms.Tensor(np.arange(9.0).reshape(3, 3))
    with pytest.raises(IndexError, match="a mask of size"):
        x[mask].asnumpy()
    with pytest.raises(IndexError, match="a mask of size"):
        x[mask] = 1.0


# ---- binary operators: one table of dtypes ----------------------------------------------------------------------

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
BINARY = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum", "minimum", "equal",
          "less", "logical_and", "bitwise_and", "atan2", "hypot")  # fmt: skip
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, np.inf, -np.inf, NAN, 1e30, 1e-30, 3.4e38, 1e-45]


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_of_pairs(name: str) -> None:
    """The declared type is that of the data, and one rule for all operators says which it is."""
    fn = getattr(ops, name)
    for a, b in itertools.product(DTYPES, DTYPES):
        x, y = ops.ones((2,), dtype=a), ops.ones((2,), dtype=b)
        try:
            found = fn(x, y)
        except TypeError:
            with pytest.raises(TypeError):
                fn(y, x)
            continue
        data = found.asnumpy()
        assert (found.shape, found.dtype.numpy) == (data.shape, data.dtype), (a, b)
        assert found.dtype is fn(y, x).dtype, (a, b)
        met = result_dtype((x._type, y._type))
        floating = name in ("divide", "atan2", "hypot") and not met.differentiable
        expected = ms.bool_ if name in ("equal", "less", "logical_and") else ms.float32 if floating else met
        assert found.dtype is expected, (a, b)


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum",
                                  "minimum", "less", "equal", "power"])  # fmt: skip
def test_special_values_of_pairs(name: str, level: str) -> None:
    ms.set_context(jit_level=level)
    a = np.repeat(np.array(SPECIAL, np.float32), len(SPECIAL))
    b = np.tile(np.array(SPECIAL, np.float32), len(SPECIAL))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    fn = getattr(ops, name)
    for found in (fn(ms.Tensor(a), ms.Tensor(b)), ms.jit(lambda x, y: fn(x, y))(ms.Tensor(a), ms.Tensor(b))):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)


def test_an_ellipsis_that_stands_for_nothing_separates_nothing(mode: Any) -> None:
    """As in PyTorch; NumPy moves the axes of the index tensors to the front there."""
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    found = ms.Tensor(a)[:, [0, 1], ..., [2, 3]]
    np.testing.assert_array_equal(found.asnumpy(), a[:, [0, 1], [2, 3]])
