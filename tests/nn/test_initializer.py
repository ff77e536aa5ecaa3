"""First values: moments, bounds, names, and that they follow the seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.nn import initializer as init


@pytest.mark.parametrize(
    "rule, deviation, bound",
    [
        (init.Normal(0.5), 0.5, None),
        (init.Uniform(0.3), 0.3 / math.sqrt(3), 0.3),
        (init.TruncatedNormal(1.0), 0.8796, 2.0),
        (init.XavierUniform(), math.sqrt(2 / (200 * 9 + 100 * 9)), math.sqrt(6 / (2700))),
        (init.XavierNormal(2.0), 2 * math.sqrt(2 / 2700), None),
        (init.HeUniform(nonlinearity="relu"), math.sqrt(2 / 900), math.sqrt(6 / 900)),
        (init.HeNormal(mode="fan_out"), math.sqrt(2 / 1800), None),
        (init.HeUniform(math.sqrt(5)), 1 / math.sqrt(3 * 900), 1 / math.sqrt(900)),
    ],
)
def test_moments(rule: Any, deviation: float, bound: Any) -> None:
    values = rule((200, 100, 3, 3), ms.float64)
    assert abs(values.std() / deviation - 1) < 0.01 and abs(values.mean()) < 0.02 * deviation
    assert bound is None or np.abs(values).max() <= bound


def test_special_values() -> None:
    q = init.Orthogonal(2.0)((3, 8))
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-5)
    assert init.Identity()((2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.Constant([1, 2])((3, 2)).tolist() == [[1, 2]] * 3
    assert init.initializer(3, (2,), ms.int32).tolist() == [3, 3]
    assert ms.Tensor(shape=(2,), dtype=ms.float16, init=init.One()).tolist() == [1, 1]


def test_a_tensor_keeps_its_dtype() -> None:
    given = ms.Tensor([2, 1], ms.int32)
    assert init.initializer(given, (2,)).dtype is ms.int32
    assert init.initializer(given, (2,), ms.float16).dtype is ms.float16
    assert init.initializer(np.ones(2), (2,)).dtype is init.initializer("ones", 2).dtype is ms.float32


def test_values_follow_the_seed() -> None:
    ms.set_seed(7)
    first, second = nn.Dense(4, 4).weight.asnumpy(), nn.Dense(4, 4).weight.asnumpy()
    ms.set_seed(7)
    assert (nn.Dense(4, 4).weight.asnumpy() == first).all() and (first != second).any()
    ms.set_seed(8)
    assert (nn.Dense(4, 4).weight.asnumpy() != first).any()


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: init.initializer("nromal", (2,)), ValueError, "there is no initializer 'nromal'; legal: he_normal"),
        (lambda: init.initializer(ms.Tensor([1.0]), (2,)), ValueError, r"has shape \[1\], wanted \[2\]"),
        (lambda: init.initializer([1], (1,)), TypeError, "is a name, a number"),
        (lambda: init.initializer("ones"), TypeError, "needs a shape"),
        (lambda: init.HeNormal()((3,)), ValueError, "at least two axes"),
        (lambda: init.HeNormal(nonlinearity="sine")((3, 3)), ValueError, "nonlinearity must be"),
        (lambda: init.HeNormal(mode="fan"), ValueError, "mode must be"),
        (lambda: init.TruncatedNormal(a=1, b=0), ValueError, "a < b"),
        (lambda: init.Orthogonal()((3,)), ValueError, "at least two axes"),
        (lambda: init.Identity()((3,)), ValueError, "makes matrices"),
    ],
)
def test_refusals(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()
