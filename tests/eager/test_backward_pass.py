"""Gradients of structures that come once, or seldom: swept line by line, with no program, and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.eager import backward_pass, backward_program
from msnb.ops.definition.record import REGISTRY


def programs() -> int:
    """How many structures have a program."""
    return len({program for program, _ in backward_program._programs.values()})


def test_lengths_that_do_not_return_get_no_program() -> None:
    w = ms.Parameter(ms.Tensor([0.5, -1.0]), name="w")

    def episode(x: Any, turns: int) -> Any:
        for _ in range(turns):
            x = ms.ops.tanh(x * w) + 0.1
        return x.sum()

    gradient = ms.value_and_grad(episode, None, [w])
    compiled = ms.jit(gradient)
    x = ms.Tensor([1.0, 2.0])
    before = programs()
    for turns in (3, 11, 5, 8, 2, 7, 4, 9):
        value, (dw,) = gradient(x, turns)
        expected, (want,) = compiled(x, turns)
        np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(dw.asnumpy(), want.asnumpy(), rtol=1e-5)
    assert programs() == before


def test_a_structure_that_returns_soon_or_often_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward_program, "USES", 10**9)  # no program for all sizes comes before it
    gradient = ms.grad(lambda x: (ms.ops.exp(x) * 1.25).sum())
    before = programs()
    for uses in range(1, 2 + backward_program.STREAK):
        assert programs() == before, uses
        gradient(ms.ops.ones(4))
    assert programs() == before + 1
    for _ in range(backward_program.OFTEN - 1):
        for size in range(5, 6 + backward_program.NEAR):
            gradient(ms.ops.ones(size))
    assert programs() == before + 1
    gradient(ms.ops.ones(5))
    assert programs() == before + 2


def test_what_leads_to_nothing_watched_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = ms.ops.ones((5, 3)), ms.Parameter(ms.ops.ones((3, 2)), name="w")
    product, shapes = REGISTRY["matmul"], list[Any]()
    apply = backward_pass.eager.apply

    def noted(op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        out = apply(op, inputs, attrs)
        if op is product:
            shapes.append(out.shape)
        return out

    monkeypatch.setattr(backward_pass.eager, "apply", noted)
    (dw,) = ms.grad(lambda x: (x @ w).sum(), None, [w])(x)
    assert shapes == [(3, 2)], "one product, the gradient of the weight"
    assert dw.tolist() == [[5.0, 5.0]] * 3


def test_hooks_and_bprops_run_in_order_with_real_tensors() -> None:
    seen: list[Any] = []

    class Twice(ms.nn.Cell):
        def construct(self, x: Any) -> Any:
            return x * 2

        def bprop(self, x: Any, out: Any, dout: Any) -> Any:
            seen.append(("bprop", float(out), float(dout)))
            return (dout * 5,)

    def f(x: Any, y: Any) -> Any:
        h = Twice()(x * y)
        h.register_hook(lambda g: seen.append(("hook", float(g))))
        return h * 3

    dx, dy = ms.grad(f, (0, 1))(ms.Tensor(2.0), ms.Tensor(4.0))
    assert (float(dx), float(dy)) == (60.0, 30.0)
    assert seen == [("hook", 3.0), ("bprop", 16.0, 3.0)]


@pytest.mark.parametrize("dtype", [ms.float32, ms.float16, ms.bfloat16, ms.float64, ms.complex64])
def test_swept_and_compiled_gradients_are_the_same(rng: np.random.Generator, dtype: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        a = ms.ops.where(ms.ops.arange(6) > 2, x * y, x.mean() * 3)
        b = ms.ops.concat([x, x[1:] * 2.5], axis=0).T
        parts = ms.ops.split(a @ b, 2)
        return a.sum() + (b[0] * b[2]).sum() + (parts[0] ** 2).sum() + x.astype(ms.float32).sum().astype(dtype)

    x, y = (ms.Tensor(rng.standard_normal(s).astype(np.float32)).astype(dtype) for s in ((3, 6), (1, 6)))
    gradient = ms.grad(f, (0, 1))
    close = 0.05 if dtype in (ms.float16, ms.bfloat16) else 1e-5
    swept = gradient(x, y)
    for again in (gradient(x, y), gradient(x, y)):
        for one, other in zip(swept, again):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            a, b = one.astype(ms.complex64).asnumpy(), other.astype(ms.complex64).asnumpy()
            np.testing.assert_allclose(a, b, rtol=close, atol=close)
