"""Tensor's operators and methods: what they mean, with whom they meet, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import msnb as ms

X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
Y = np.array([2.0, -0.5, 1.0], np.float32)


@pytest.mark.parametrize("text", ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "abs(x) ** y", "-x", "+x",
                                  "abs(x)", "x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y"])  # fmt: skip
def test_operators_mean_what_numpy_means(text: str) -> None:
    found = eval(text, {"x": ms.Tensor(X), "y": ms.Tensor(Y)})
    expected = eval(text, {"x": X, "y": Y})
    assert found.asnumpy().dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("text", ["x & y", "x | y", "x ^ y", "~x", "x << 2", "x >> 1", "x // y", "x % y", "2 ** abs(x)",
                                  "7 // y", "7 % y", "1 << abs(x)", "5 & x", "5 | x", "5 ^ x"])  # fmt: skip
def test_operators_on_whole_numbers(text: str) -> None:
    x, y = np.array([6, -7, 2], np.int32), np.array([4, 3, -5], np.int32)
    found = eval(text, {"x": ms.Tensor(x), "y": ms.Tensor(y)})
    np.testing.assert_array_equal(found.asnumpy(), eval(text, {"x": x, "y": y}))
    assert found.dtype is ms.int32


@pytest.mark.parametrize("text", ["2 + x", "2 - x", "2 * x", "2 / x", "2 // x", "2 % x", "2 ** x", "2 < x", "2 >= x"])
def test_numbers_on_the_left(text: str) -> None:
    found = eval(text, {"x": ms.Tensor(X)})
    np.testing.assert_allclose(found.asnumpy(), eval(text, {"x": X}), rtol=1e-6)
    assert found.dtype in (ms.float32, ms.bool_)


def test_numpy_on_either_side() -> None:
    x = ms.Tensor(X)
    for found in (X + x, x + X, np.float64(1.0) * x + X, x + X.tolist()):
        assert isinstance(found, ms.Tensor) and found.dtype is ms.float32
        np.testing.assert_array_equal(found.asnumpy(), X + X)


def test_numpy_scalars_do_not_widen() -> None:
    assert (ms.Tensor(X) * np.sqrt(2)).dtype is ms.float32
    assert (ms.Tensor(X) * np.float64(2)).dtype is ms.float32
    assert (ms.Tensor(np.int8([1])) + np.int64(1)).dtype is ms.int8


def test_quotients_of_whole_numbers_are_float32() -> None:
    x = ms.Tensor(np.array([7, -7], np.int32))
    assert (x / 2).dtype is ms.float32 and (x / 2).tolist() == [3.5, -3.5]
    assert (x // 2).dtype is ms.int32 and (x // 2).tolist() == [3, -4]
    assert (x % 4).tolist() == [3, 1] and (x % -4).tolist() == [-1, -3]
    assert ms.ops.fmod(x, 4).tolist() == [3, -3]


def test_whole_numbers_to_negative_powers_are_truncated() -> None:
    x = ms.Tensor([2, 1, -1, -1, 0, 3])
    assert (x ** ms.Tensor([-1, -3, -3, -2, 2, 2])).tolist() == [0, 1, -1, 1, 0, 9]


def test_equality_with_none_and_strangers() -> None:
    x = ms.Tensor([1.0])
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "text") is False
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        object() * x
    with pytest.raises(TypeError):
        x < None


def test_a_stranger_that_knows_tensors_is_asked() -> None:
    class Friend:
        def __radd__(self, other: Any) -> str:
            return "asked"

    assert ms.Tensor([1.0]) + Friend() == "asked"


def test_augmented_assignment_makes_a_new_value() -> None:
    x = ms.Tensor([1.0, 2.0])
    y = x
    x += 1
    assert x.tolist() == [2.0, 3.0] and y.tolist() == [1.0, 2.0]


def test_a_parameter_takes_the_new_value_itself() -> None:
    w = ms.Parameter(ms.Tensor([1, 2]), name="w")
    same = w
    w += 1
    assert w is same and isinstance(w, ms.Parameter) and w.tolist() == [2, 3] and w.dtype is ms.int64
    with pytest.raises(TypeError, match="cannot hold float32"):
        w *= 0.5
    assert w.tolist() == [2, 3]


def test_tensors_stay_hashable() -> None:
    x = ms.Tensor([1.0])
    assert {x: 1}[x] == 1


@pytest.mark.parametrize("name, arguments", [("sum", (1,)), ("mean", (0,)), ("prod", (1,)),
                                             ("argmax", (1,)), ("argmin", (0,)), ("any", (0,)), ("all", (1,)),
                                             ("std", (0,)), ("var", (1,)), ("cumsum", (1,)),
                                             ("cumprod", (0,))])  # fmt: skip
def test_methods_mean_what_numpys_mean(name: str, arguments: tuple[int, ...]) -> None:
    found = getattr(ms.Tensor(X), name)(*arguments)
    np.testing.assert_allclose(found.asnumpy(), getattr(X, name)(*arguments), rtol=1e-5)


def test_words_of_three_libraries() -> None:
    x = ms.Tensor(X)
    assert x.sum(axis=1, keepdims=True).shape == x.sum(dim=1, keepdim=True).shape == x.sum(1, True).shape == (2, 1)
    assert x.mean(axis=1, keep_dims=True).shape == (2, 1)
    np.testing.assert_allclose(x.var(0, unbiased=True).asnumpy(), X.var(0, ddof=1), rtol=1e-6)
    values, places = x.max(axis=1, return_indices=True)
    assert values.tolist() == [3.0, 4.0] and places.tolist() == [2, 1]
    assert x.astype("int32").dtype is x.int().dtype is ms.int32
    assert x.half().dtype is ms.float16 and x.bool().tolist() == [[True] * 3] * 2
    assert x.clip(-1, 1).max().item() == 1.0
    assert round(ms.Tensor([1.26]), 1).asnumpy() == pytest.approx([1.3])


def test_one_sentence_for_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"add: the shapes \[2, 3\] and \[2\] do not broadcast") as caught:
        ms.Tensor(X) + ms.Tensor([1.0, 2.0])
    assert "x: f32[2,3]" in str(caught.value) and "y: f32[2]" in str(caught.value)
    with pytest.raises(TypeError, match="subtract does not take bool"):
        ms.Tensor([True]) - ms.Tensor([True])


def test_numbers_that_do_not_fit_wrap_around() -> None:
    x = ms.Tensor(np.array([1, 2], np.uint8))
    assert (x * -1).tolist() == [255, 254] and (x + 300).tolist() == [45, 46] and (x - 3).dtype is ms.uint8
    assert (ms.Tensor(np.int8(100)) + 100).item() == -56


def test_numbers_alone() -> None:
    for found, value, dtype in ((ms.ops.add(1, 2), 3, ms.int64), (ms.ops.add(1, 2.5), 3.5, ms.float32),
                                (ms.ops.exp(0), 1.0, ms.float32), (ms.ops.add(True, 1), 2, ms.int64)):  # fmt: skip
        assert found.item() == value and found.dtype is dtype


@pytest.mark.long
def test_infinities_come_without_a_warning() -> None:
    """In a fresh process: pytest sets up warnings of its own."""
    program = (
        "import msnb as ms, numpy as np, warnings\n"
        "x = ms.Tensor([0.0, -1.0])\n"
        "print((x / 0).tolist(), x.log().tolist(), ms.ops.rsqrt(x).tolist())\n"
        "np.log(np.zeros(1))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[nan, -inf] [-inf, nan] [inf, nan]\n"
    assert done.stderr.count("RuntimeWarning") == 1, "NumPy's own warning to the user's code stays"
