"""Operators made of NumPy functions (`ops.Custom`), and hooks between operators, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import MsnbError


def same(of_input: Any) -> Any:
    return of_input


def sine_rule(x: Any, out: Any, dout: Any) -> tuple[Any]:
    return (ops.cos(x) * dout,)


X = np.array([0.0, 0.5, 2.0], np.float32)


def test_a_numpy_function_as_an_operator(mode: int) -> None:
    sine = ops.Custom(np.sin, out_shape=same, out_dtype=same, func_type="pyfunc")

    class Net(nn.Cell):
        def construct(self, x: Any) -> Any:
            return sine(x * 2) + 1

    np.testing.assert_allclose(Net()(ms.Tensor(X)).asnumpy(), np.sin(2 * X) + 1, rtol=1e-6)


def test_it_runs_at_every_call() -> None:
    seen = []
    noted = ops.Custom(lambda x: (seen.append(x.copy()), x + 1)[1], same, same, "pyfunc")
    fn = ms.jit(lambda x: noted(x) * 2)
    assert [fn(ms.Tensor([float(i)])).item() for i in range(3)] == [2.0, 4.0, 6.0]
    assert [x.item() for x in seen] == [0.0, 1.0, 2.0]


def test_its_gradient_is_the_rule_that_it_came_with(mode: int) -> None:
    sine = ops.Custom(np.sin, same, same, "pyfunc", sine_rule)
    slope = ms.grad(lambda x: (sine(x) * 3).sum())
    found = (ms.jit(slope) if mode == ms.GRAPH_MODE else slope)(ms.Tensor(X))
    np.testing.assert_allclose(found.asnumpy(), 3 * np.cos(X), rtol=1e-6)


def test_without_a_rule_the_gradient_stops(mode: int) -> None:
    fixed = ops.Custom(np.sin, same, same, "pyfunc")
    slope = ms.grad(lambda x: (fixed(x) * x).sum())
    found = (ms.jit(slope) if mode == ms.GRAPH_MODE else slope)(ms.Tensor(X))
    np.testing.assert_allclose(found.asnumpy(), np.sin(X), rtol=1e-6)


def test_several_results_and_other_types(mode: int) -> None:
    both = ops.Custom(
        lambda x, y: (np.concatenate([x, y]), x.argmax()), lambda a, b: ([a[0] + b[0]], []), (ms.float32, ms.int32),
        "pyfunc",
    )  # fmt: skip
    fn = ms.jit(lambda x: both(x, x + 1)) if mode == ms.GRAPH_MODE else lambda x: both(x, x + 1)
    joined, place = fn(ms.Tensor(X))
    assert joined.shape == (6,) and place.dtype is ms.int32 and place.item() == 2


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (lambda: ops.Custom(np.sin, same, same, "akg"), "'pyfunc' takes a NumPy function"),
        (lambda: ops.Custom(np.sin, func_type="pyfunc"), "out_shape and out_dtype say what func gives"),
        (lambda: ops.Custom(3, same, same, "pyfunc"), "func is a function of NumPy arrays, got 3"),
        (lambda: ops.Custom(lambda x: x[1:], same, same, "pyfunc")(ms.Tensor(X)), r"out_shape promised \[3\]"),
        (lambda: ops.Custom(lambda x: (x, x), same, same, "pyfunc")(ms.Tensor(X)), "2 results, 1 were promised"),
        (lambda: ops.HookBackward(3), "a hook must be callable"),
    ],
)
def test_wrong_operators(wrong: Any, sentence: str, mode: int) -> None:
    with pytest.raises(MsnbError, match=sentence):
        wrong()


def test_a_promise_that_is_broken_in_a_compiled_program() -> None:
    short = ops.Custom(lambda x: x[1:], same, same, "pyfunc")
    with pytest.raises(MsnbError, match=r"shape \[2\], out_shape promised \[3\]"):
        ms.jit(lambda x: short(x) + 1)(ms.Tensor(X))


def test_a_hook_between_operators(mode: int) -> None:
    seen = []
    hook = ops.HookBackward(lambda gradients: seen.append([g.item() for g in gradients]))
    pair = ops.HookBackward(lambda gradients: (gradients[0] * 10, gradients[1]))

    def fn(x: Any, y: Any) -> Any:
        a, b = pair(hook(x * y), y)
        return a * b

    slope = ms.grad(fn, (0, 1))
    found = (ms.jit(slope) if mode == ms.GRAPH_MODE else slope)(ms.Tensor(1.0), ms.Tensor(2.0))
    assert [g.item() for g in found] == [40.0, 10.0 * 2.0 + 2.0] and seen == [[20.0]]


def test_the_first_arguments_of_a_function(mode: int) -> None:
    shifted = ops.Partial()(lambda a, x: x + a, ms.Tensor(3.0))
    fn = ms.jit(lambda x: shifted(x)) if mode == ms.GRAPH_MODE else shifted
    assert fn(ms.Tensor(1.0)).item() == 4.0
