"""Functions of ops in both modes: effects in their order, state, and the same numbers from a compiled program."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops

X = np.array([[0.5, -1.25, 2.1, -3.4], [1.6, 0.25, -0.75, 3.2]], np.float32)
T = np.array([2, 0])


def activations(x: ms.Tensor) -> list[ms.Tensor]:
    return [
        ops.relu(x), ops.relu6(x), ops.leaky_relu(x), ops.elu(x), ops.selu(x), ops.gelu(x), ops.gelu(x, "tanh"),
        ops.silu(x), ops.mish(x), ops.hardswish(x), ops.hardsigmoid(x), ops.hardtanh(x), ops.softplus(x),
        ops.softsign(x), ops.logsigmoid(x), ops.glu(x), ops.softmax(x), ops.log_softmax(x), ops.softmin(x),
    ]  # fmt: skip


def losses(x: ms.Tensor) -> list[ms.Tensor]:
    y, t = x * 0.5 + 0.1, ms.Tensor(T)
    p = ops.softmax(y)
    return [
        ops.mse_loss(x, y), ops.l1_loss(x, y), ops.smooth_l1_loss(x, y, reduction="mean"), ops.huber_loss(x, y),
        ops.cross_entropy(x, t), ops.cross_entropy(x, p), ops.cross_entropy(x, t, label_smoothing=0.1),
        ops.nll_loss(ops.log_softmax(x), t), ops.binary_cross_entropy_with_logits(x, p), ops.kl_div(x, p),
        ops.cosine_embedding_loss(x, y, ms.Tensor([1, -1])),
    ]  # fmt: skip


def reductions(x: ms.Tensor) -> list[ms.Tensor]:
    return [
        x.sum(), x.sum(0), x.mean(1, True), x.prod(), *x.max(1), *x.min(0), (x > 0).any(), (x > 0).all(1), x.argmax(1),
        x.argmin(), x.var(), x.std(1, 1), ops.logsumexp(x, 0), ops.vector_norm(x), x.cumsum(1), x.cumprod(0),
        *ops.cummax(x, 1), *ops.median(x, 1), ops.median(x), ops.count_nonzero(x > 0, 1),
    ]  # fmt: skip


def operators(x: ms.Tensor) -> list[ms.Tensor]:
    n = x.astype(ms.int32)
    y = x
    y += 1
    return [x + 1, 2 - x, x * x, x / 3, x // 2, x % 2, x**2, abs(x) ** 0.5, -x, n & 3, n | 1, n ^ 5, ~n, n << 1, x == y,
            x != 2.1, x < y, x >= 0, y, n / 2, x.clip(-1, 1), ops.where(x > 0, x, 0.25), ops.full((2,), 1.5),
            ops.arange(3), ops.eye(2), ops.zeros_like(x)]  # fmt: skip


@pytest.mark.parametrize("program", [activations, losses, reductions, operators], ids=lambda f: f.__name__)
def test_a_compiled_program_gives_the_same_numbers(program: object) -> None:
    x = ms.Tensor(X)
    for one, other in zip(ms.jit(program)(x), program(x), strict=True):  # type: ignore[operator]
        assert one.dtype is other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_effects_and_state_come_in_the_order_of_the_program(compiled: bool, capsys: pytest.CaptureFixture[str]) -> None:
    w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")

    def program(x: ms.Tensor) -> ms.Tensor:
        ops.print("before", w)
        ops.assign_add(w, x)
        ops.print("after", w)
        ops.assign(w, w * 2)
        return w + 0

    run = ms.jit(program) if compiled else program
    first, second = run(ms.Tensor([1.0, 1.0])), run(ms.Tensor([1.0, 1.0]))
    assert first.tolist() == [4.0, 6.0] and second.tolist() == [10.0, 14.0] and w.tolist() == [10.0, 14.0]
    assert capsys.readouterr().out.splitlines() == [
        "before [1. 2.]", "after [2. 3.]", "before [4. 6.]", "after [5. 7.]",
    ]  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
def test_one_sentence_in_both_modes(compiled: bool) -> None:
    def program(x: ms.Tensor) -> ms.Tensor:
        return ops.cross_entropy(x, ops.zeros(3, dtype=ms.int32))

    with pytest.raises(ValueError, match=r"class indices have shape \[3\] where \[2\] is expected"):
        (ms.jit(program) if compiled else program)(ms.Tensor(X))
