"""Gradients where a function has a kink, and where its formula has no value. Numbers of MindSpore 2.10, both modes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, nn, ops


def view(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"mindspore.{module}"), last)


def slopes(fn: Any, x: Any, at: Any = 0) -> Any:
    slope = msnb.grad(lambda *x: fn(*x).sum(), at)
    x = x if isinstance(x, tuple) else (x,)
    return (msnb.jit(slope) if msnb.get_context("mode") == msnb.GRAPH_MODE else slope)(*x)


_BOUNDS: list[tuple[str, dict[str, Any], list[float], list[float], list[float]]] = [
    ("ops.leaky_relu", {}, [-1, 0, 1], [0.2, 0.6, 1], [0.2, 0.2, 1]),
    ("ops.leaky_relu", {"alpha": 1.5}, [-1, 0, 1], [1.5, 1.25, 1], [1.5, 1.5, 1]),
    ("ops.hardtanh", {"min_val": -2}, [-3, -2, 0, 1, 2], [0, 0.5, 1, 0.5, 0], [0, 0, 1, 0, 0]),
    ("ops.clip_by_value", {"clip_value_min": -1, "clip_value_max": 2}, [-2, -1, 0, 2, 3], [0, 0.5, 1, 0.5, 0],
     [0, 1, 1, 1, 0]),
    ("ops.clip_by_value", {"clip_value_min": 1.0}, [0, 1, 2], [0, 0.5, 1], [0, 1, 1]),
    ("ops.relu6", {}, [-1, 0, 3, 6, 7], [0, 0, 1, 1, 0], [0, 0, 1, 0, 0]),
    ("ops.hardswish", {}, [-4, -3, 0, 3, 4], [0, -0.5, 0.5, 1.5, 1], [0, 0, 0.5, 1, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "x", "theirs", "ours"), _BOUNDS)
@pytest.mark.parametrize("dtype", [msnb.float32, msnb.float16])
def test_gradients_on_a_bound(
    mode: int, name: str, words: dict[str, Any], x: list[float], theirs: list[float], ours: list[float], dtype: Any
) -> None:
    fn, own, x = view(name), getattr(ops, name.partition(".")[2]), Tensor(x, dtype)
    for call, expected in ((fn, theirs), (own, ours)):
        found = slopes(lambda x: call(x, **words), x)
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-3)
        assert found.dtype is dtype and call(x, **words).dtype is dtype
    np.testing.assert_array_equal(fn(x, **words).asnumpy(), own(x, **words).asnumpy())
    assert np.isnan(fn(Tensor([np.nan]), **words).item())


@pytest.mark.parametrize("name", ["LeakyReLU", "Hardtanh", "ReLU6", "HSwish"])
def test_layers_on_a_bound(mode: int, name: str) -> None:
    made, x = view(f"nn.{name}"), Tensor([-3.0, -1, 0, 1, 3, 6])
    expected = {"LeakyReLU": [0.2, 0.2, 0.6, 1, 1, 1], "Hardtanh": [0, 0.5, 1, 0.5, 0, 0],
                "ReLU6": [0, 0, 0, 1, 1, 1], "HSwish": [-0.5, 1 / 6, 0.5, 5 / 6, 1.5, 1]}[name]  # fmt: skip
    np.testing.assert_allclose(slopes(made(), x).asnumpy(), expected, rtol=1e-5)
    assert isinstance(getattr(nn, name)(), made) and isinstance(made(), getattr(nn, name)) and made.__name__ == name


def test_bounds_take_their_gradient(mode: int) -> None:
    x, low, high = Tensor([0.0, 1.0, 5.0]), Tensor(1.0), Tensor([3.0, 3.0, 3.0])
    by_x, by_low, by_high = slopes(view("ops.clip_by_value"), (x, low, high), (0, 1, 2))
    assert (by_x.tolist(), by_low.item(), by_high.tolist()) == ([0, 0.5, 0], 1.5, [0, 0, 1])
    with pytest.raises(ValueError, match="clip"):
        view("ops.clip_by_value")(x)


def test_gradient_primitive_of_relu6(mode: int) -> None:
    made = view("ops.operations._grad_ops.ReLU6Grad")()
    found = slopes(lambda dy: made(dy, Tensor([-1.0, 0, 3, 6, 7])), Tensor([1.0, 1, 1, 1, 1]))
    assert made(Tensor([1.0, 2, 3, 4, 5]), Tensor([-1.0, 0, 3, 6, 7])).tolist() == [0, 0, 3, 4, 0]
    assert found.tolist() == [0, 0, 1, 1, 0]


def test_primitives_on_a_bound(mode: int) -> None:
    x = Tensor([-3.0, 0, 3, 6])
    for name, expected in (("ReLU6", [0, 0, 1, 1]), ("HSwish", [-0.5, 0.5, 1.5, 1])):
        made = view(f"ops.{name}")()
        np.testing.assert_allclose(slopes(made, x).asnumpy(), expected)
        assert type(made).__name__ == made.name == name


def test_gradients_at_zero(mode: int) -> None:
    """MindSpore 2.10 has NaN in each of them."""
    zero = Tensor([0.0, 0.0])
    for name, more in (("norm", ()), ("std", ()), ("pow", (0.0,)), ("atan2", (Tensor([0.0, 0.0]),))):
        assert slopes(lambda x: view(f"ops.{name}")(x, *more), zero).tolist() == [0, 0]
    assert slopes(lambda x: view("ops.cumprod")(x, 0), Tensor([2.0, 0.0, 3.0])).tolist() == [1, 8, 0]
    assert slopes(lambda y: view("ops.xlogy")(Tensor([0.0]), y), Tensor([0.0])).tolist() == [0]


def test_gradient_of_selu(mode: int) -> None:
    """MindSpore 2.10 has -0.117 at -1, and -0.705 at -3."""
    for fn in (view("ops.selu"), view("nn.SeLU")()):
        np.testing.assert_allclose(slopes(fn, Tensor([-1.0, -3.0])).asnumpy(), [0.646768, 0.087532], rtol=1e-4)


def test_gradient_of_targets(mode: int) -> None:
    """MindSpore 2.10 has 0."""
    found = slopes(lambda x, y: view("ops.kl_div")(x, y, "sum"), (Tensor([-1.0]), Tensor([1.0])), 1)
    np.testing.assert_allclose(found.asnumpy(), [2.0], rtol=1e-6)
