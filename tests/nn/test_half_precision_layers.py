"""Layers in float16 and bfloat16 against themselves in float32, values and gradients, at the level that users have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn

BOUND = {"float16": 0.01, "bfloat16": 0.06}  # of the largest number; a rounding is 0.0005 and 0.004
LAYERS: dict[str, tuple[Callable[[], Any], tuple[tuple[int, ...], ...]]] = {
    "Dense": (lambda: nn.Dense(130, 70), ((33, 130),)),
    "BiDense": (lambda: nn.BiDense(20, 30, 40), ((16, 20), (16, 30))),
    "Conv1d": (lambda: nn.Conv1d(16, 32, 3), ((4, 16, 30),)),
    "Conv2d": (lambda: nn.Conv2d(16, 32, 3, stride=2, has_bias=True), ((4, 16, 15, 15),)),
    "Conv2d, depthwise": (lambda: nn.Conv2d(16, 16, 3, group=16), ((4, 16, 14, 14),)),
    "Conv2d, groups": (lambda: nn.Conv2d(16, 32, 3, group=4), ((4, 16, 14, 14),)),
    "Conv2dTranspose": (lambda: nn.Conv2dTranspose(16, 8, 3, stride=2), ((4, 16, 9, 9),)),
    "LayerNorm": (lambda: nn.SequentialCell(nn.LayerNorm((65,)), nn.Dense(65, 130), nn.GELU()), ((40, 65),)),
    "LSTM": (lambda: nn.LSTM(40, 30, batch_first=True), ((6, 9, 40),)),
    "GRU": (lambda: nn.GRU(40, 30, batch_first=True, bidirectional=True), ((6, 9, 40),)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(64, 4, batch_first=True), ((4, 20, 64),) * 3),
}


def found(net: Any, xs: tuple[ms.Tensor, ...], compiled: bool) -> list[np.ndarray]:
    """The mean square of the first result, its gradients by inputs and weights."""

    def loss(*inputs: ms.Tensor) -> ms.Tensor:
        y = net(*inputs)
        return (y[0] if isinstance(y, tuple) else y).astype(ms.float32).square().mean()

    step = ms.value_and_grad(loss, tuple(range(len(xs))), net.trainable_params())
    value, (by_inputs, by_weights) = (ms.jit(step) if compiled else step)(*xs)
    by_inputs = by_inputs if isinstance(by_inputs, tuple) else (by_inputs,)
    return [t.astype(ms.float32).asnumpy() for t in (value, *by_inputs, *by_weights)]


@pytest.mark.parametrize("dtype", list(BOUND))
@pytest.mark.parametrize("name", list(LAYERS))
def test_a_layer_in_half_precision(name: str, dtype: str, mode: int, rng: np.random.Generator) -> None:
    make, shapes = LAYERS[name]
    xs = tuple(ms.Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in shapes)
    with ms.set_context(jit_level="O1"):
        net, half = make(), make()
        half.load_state_dict(net.state_dict())
        half.to_float(getattr(ms, dtype))
        wanted = found(net, xs, mode == ms.GRAPH_MODE)
        for want, got in zip(wanted, found(half, xs, mode == ms.GRAPH_MODE), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=BOUND[dtype] * abs(want).max())


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_keeps_its_weights_in_float32(train: bool, mode: int, rng: np.random.Generator) -> None:
    start = {"gamma_init": ms.Tensor([1.2345678, 1e-9]), "beta_init": ms.Tensor([0.7654321, 1e-9])}
    half = nn.BatchNorm1d(2, **start).to_float(ms.float16).set_train(train)
    plain = nn.BatchNorm1d(2, **start).set_train(train)
    x = ms.Tensor(rng.standard_normal((40, 2)).astype(np.float16))
    got, want = (found(net, (x,), mode == ms.GRAPH_MODE) for net in (half, plain))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
