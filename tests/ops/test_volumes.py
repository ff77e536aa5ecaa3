"""Convolutions and poolings of volumes: against sums written out, their gradients, and what is refused."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from tests.gradient_check import check_grads

Array = np.ndarray[Any, Any]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"stride": 2, "pad_mode": "same"},
    {"stride": (2, 1, 3), "pad_mode": "pad", "padding": (1, 0, 2), "dilation": (2, 1, 1)},
    {"pad_mode": "pad", "padding": (0, 2, 1, 0, 3, 1), "groups": 2},
    {"stride": (3, 2, 1), "dilation": (1, 2, 2), "groups": 4},
]


def triple(value: Any) -> tuple[int, ...]:
    return (value,) * 3 if isinstance(value, int) else tuple(value)


def borders(x: Array, spans: Any, stride: Any, pad_mode: str, padding: Any) -> list[tuple[int, int]]:
    """(before, after) of the three axes."""
    if pad_mode == "pad" and not isinstance(padding, int) and len(padding) == 6:
        return [tuple(padding[i : i + 2]) for i in (0, 2, 4)]
    if pad_mode == "pad":
        return [(p, p) for p in triple(padding)]
    if pad_mode == "valid":
        return [(0, 0)] * 3
    totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(x.shape[2:], spans, stride)]
    return [(total // 2, total - total // 2) for total in totals]


def windows(x: Array, kernel: Any, stride: Any, dilation: Any, pads: Any, fill: float) -> Array:
    """[n, c, z, y, x, kd, kh, kw]: what every window sees."""
    big = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    outs = [(size - span) // s + 1 for size, span, s in zip(big.shape[2:], spans, stride)]
    seen = np.empty((*x.shape[:2], *outs, *kernel))
    for place in itertools.product(*map(range, outs)):
        cut = tuple(slice(p * s, p * s + n, d) for p, s, n, d in zip(place, stride, spans, dilation))
        seen[(slice(None), slice(None), *place)] = big[(slice(None), slice(None), *cut)]
    return seen


def convolved(x: Array, w: Array, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
              groups: int = 1) -> Array:  # fmt: skip
    stride, dilation, kernel = triple(stride), triple(dilation), w.shape[2:]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    seen = windows(x, kernel, stride, dilation, borders(x, spans, stride, pad_mode, padding), 0.0)
    per, out = x.shape[1] // groups, w.shape[0] // groups
    parts = [
        np.einsum("nczyxijk,ocijk->nozyx", seen[:, g * per : (g + 1) * per], w[g * out : (g + 1) * out])
        for g in range(groups)
    ]
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_convolution_is_the_sum_written_out(settings: dict[str, Any], mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4, 5, 6, 7))
    w = rng.standard_normal((8, 4 // settings.get("groups", 1), 2, 3, 2))
    bias = rng.standard_normal(8)
    fn = lambda x, w, b: ops.conv3d(x, w, b, **settings)
    run: Any = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    want = convolved(x, w, **settings) + bias.reshape(-1, 1, 1, 1)
    np.testing.assert_allclose(run(*map(ms.Tensor, (x, w, bias))).asnumpy(), want, rtol=0, atol=1e-10)


def test_gradients_of_volumes(mode: int, rng: np.random.Generator) -> None:
    x, w = rng.standard_normal((1, 2, 3, 4, 3)), rng.standard_normal((2, 1, 2, 2, 1))
    distinct = rng.permutation(x.size).reshape(x.shape) / 8.0  # no two are so close that a small step swaps them
    weights = rng.standard_normal(200)

    def mixed(y: Any) -> Any:
        return (y.reshape(-1) * ms.Tensor(weights[: y.size])).sum()

    convolution = lambda x, w: mixed(ops.conv3d(x, w, None, (1, 2, 1), "pad", (1, 0, 1), groups=2))
    run: Any = ms.jit if mode == ms.GRAPH_MODE else (lambda fn: fn)
    check_grads(run(convolution), (ms.Tensor(x), ms.Tensor(w)))
    for pool in (ops.max_pool3d, ops.avg_pool3d):
        check_grads(run(lambda x, pool=pool: mixed(pool(x, 2, 1, "pad", (1, 0, 1)))), (ms.Tensor(distinct),))


@pytest.mark.parametrize("kernel, stride, pad_mode, padding", [
    (2, None, "valid", 0), ((2, 3, 1), 1, "same", 0), (3, (1, 2, 3), "pad", 1), ((1, 2, 2), 2, "pad", (0, 1, 0)),
])  # fmt: skip
def test_poolings_are_those_of_whole_windows(
    kernel: Any, stride: Any, pad_mode: str, padding: Any, mode: int, rng: np.random.Generator
) -> None:
    x = rng.standard_normal((2, 3, 5, 6, 7))
    k, s = triple(kernel), triple(kernel if stride is None else stride)
    pads = borders(x, k, s, pad_mode, padding)
    seen = windows(x, k, s, (1, 1, 1), pads, -np.inf)
    run: Any = ms.jit if mode == ms.GRAPH_MODE else (lambda fn: fn)
    found = run(lambda x: ops.max_pool3d(x, kernel, stride, pad_mode, padding))(ms.Tensor(x))
    np.testing.assert_array_equal(found.asnumpy(), seen.max((5, 6, 7)))
    inside = np.isfinite(seen)
    total, count = np.where(inside, seen, 0).sum((5, 6, 7)), inside.sum((5, 6, 7))
    for counted in (True, False):
        found = run(lambda x, c=counted: ops.avg_pool3d(x, kernel, stride, pad_mode, padding, False, c))(ms.Tensor(x))
        over = np.prod(k) if counted else count
        np.testing.assert_allclose(found.asnumpy(), total / over, rtol=0, atol=1e-12)


def test_poolings_that_hang_over_and_that_adapt(rng: np.random.Generator) -> None:
    x = rng.standard_normal((1, 2, 5, 4, 3))
    found = ops.max_pool3d(ms.Tensor(x), 2, ceil_mode=True)
    assert found.shape == (1, 2, 3, 2, 2) and found[0, 0, 2, 0, 1].item() == x[0, 0, 4, :2, 2].max()
    whole = nn.AdaptiveAvgPool3d(1)(ms.Tensor(x))
    np.testing.assert_allclose(whole.asnumpy(), x.mean((2, 3, 4), keepdims=True), rtol=0, atol=1e-12)
    halves = ops.adaptive_avg_pool3d(ms.Tensor(x), (None, 2, 1)).asnumpy()
    np.testing.assert_allclose(halves[..., 1, 0], x[:, :, :, 2:].mean((3, 4)), rtol=0, atol=1e-12)


def test_a_network_of_volumes_learns(mode: int, rng: np.random.Generator) -> None:
    net = nn.SequentialCell(
        nn.Conv3d(1, 4, 3, bias=True), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2, 2),
        nn.Conv3d(4, 4, (1, 3, 3), pad_mode="pad", padding=(0, 1, 1), group=2), nn.AvgPool3d(2, 2),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Dense(4, 2),
    ).set_train()  # fmt: skip
    x = ms.Tensor(rng.standard_normal((4, 1, 4, 8, 8)).astype(np.float32))
    labels = ms.Tensor(np.array([0, 1, 0, 1], np.int32))
    opt = nn.Adam(net.trainable_params(), 0.01)
    step = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, opt.parameters)
    losses = []
    for _ in range(6):
        loss, gradients = step(x, labels)
        opt(gradients)
        losses.append(loss.item())
    assert min(losses) < losses[0]


@pytest.mark.parametrize("attempt, kind, words", [
    (lambda x, w: ops.conv3d(x[0], w), ValueError, "five axes .* one volume alone becomes a batch"),
    (lambda x, w: ops.conv3d(x, w[0]), ValueError, "needs a weight of five axes"),
    (lambda x, w: ops.conv3d(x, w[:, :1]), ValueError, "x has 2 channels, the weight expects 1"),
    (lambda x, w: ops.conv3d(x, w, groups=0), ValueError, "groups must be an int of at least 1"),
    (lambda x, w: ops.conv3d(x[:, :, :1], w), ValueError, "the window spans 2 layers, the padded input has 1"),
    (lambda x, w: ops.conv3d(x, w, stride=(1, 2)), ValueError, "stride must be an int or three ints"),
    (lambda x, w: ops.conv3d(x, w, padding=1), ValueError, "padding=1 goes with pad_mode='pad', not 'valid'"),
    (lambda x, w: ops.conv3d(x, w, pad_mode="full"), ValueError, "must be 'valid', 'same' or 'pad', got 'full'"),
    (lambda x, w: ops.conv3d(x, w.astype("float16")), TypeError, "x and weight have different dtypes"),
    (lambda x, w: ops.max_pool3d(x, 0), ValueError, "kernel_size must be an int or three ints"),
    (lambda x, w: ops.adaptive_avg_pool3d(x, (1, 2)), ValueError, "output_size is an int or three"),
    (lambda x, w: nn.Conv3d(3, 4, 3, group=2), ValueError, "in_channels=3 does not divide into group=2"),
])  # fmt: skip
def test_what_is_refused(attempt: Any, kind: type[Exception], words: str, mode: int) -> None:
    x, w = ops.ones((1, 2, 3, 4, 4)), ops.ones((2, 2, 2, 2, 2))
    run: Any = ms.jit(attempt) if mode == ms.GRAPH_MODE else attempt
    with pytest.raises(kind) as caught:
        run(x, w)
    assert re.search(words, str(caught.value).replace("\n", " "))


TRANSPOSED: tuple[dict[str, Any], ...] = (
    {},
    {"stride": (2, 3, 1), "dilation": (1, 2, 1), "pad_mode": "pad", "padding": (1, 0, 1, 1, 0, 2)},
    {"stride": 3, "pad_mode": "pad", "padding": 1, "output_padding": 2, "groups": 2},
    {"stride": 2, "groups": 2},
)


@pytest.mark.parametrize("settings", TRANSPOSED, ids=range(len(TRANSPOSED)))
def test_the_transposed_convolution_is_the_adjoint(
    settings: dict[str, Any], mode: int, rng: np.random.Generator
) -> None:
    groups = settings.get("groups", 1)
    x, w = ms.Tensor(rng.standard_normal((2, 4, 3, 4, 5))), ms.Tensor(rng.standard_normal((4, 6 // groups, 2, 3, 2)))
    bias = ms.Tensor(rng.standard_normal(6))
    fn = lambda x, w: ops.conv3d_transpose(x, w, None, **settings)
    run: Any = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    y = run(x, w)
    z = ms.Tensor(rng.standard_normal(y.shape))
    there = {k: v for k, v in settings.items() if k != "output_padding"}
    back = ops.conv3d(z, w, None, **there)[:, :, :3, :4, :5]
    assert float((back * x).sum()) == pytest.approx(float((y * z).sum()))
    gradient = ms.grad(lambda x: (run(x, w) * z).sum())(x)
    np.testing.assert_allclose(gradient.asnumpy(), back.asnumpy(), rtol=0, atol=1e-10)
    shifted = ops.conv3d_transpose(x, w, bias, **settings) - y
    want = np.broadcast_to(bias.asnumpy().reshape(6, 1, 1, 1), y.shape)
    np.testing.assert_allclose(shifted.asnumpy(), want, atol=1e-9)


def test_transposed_volumes_that_do_not_fit() -> None:
    x, w = ops.ones((1, 4, 2, 3, 3)), ops.ones((4, 2, 2, 2, 2))
    with pytest.raises(ValueError, match=r"conv3d_transpose: x has 4 channels, the weight expects 3"):
        ops.conv3d_transpose(x, w[:3])
    with pytest.raises(ValueError, match="output_padding=1 goes with pad_mode='pad'"):
        ops.conv3d_transpose(x, w, output_padding=1)
    with pytest.raises(ValueError, match=r"output_padding \(2, 2, 2\) must be smaller than the stride"):
        ops.conv3d_transpose(x, w, stride=2, pad_mode="pad", output_padding=2)
    with pytest.raises(ValueError, match=r"data_format must be 'NCDHW', got 'NDHWC'"):
        ms.nn.Conv3dTranspose(4, 2, 2, data_format="NDHWC")


def test_operator_classes_of_convolutions(mode: int, rng: np.random.Generator) -> None:
    from msnb.ops import Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose

    x, w = ms.Tensor(rng.standard_normal((2, 3, 9, 12))), ms.Tensor(rng.standard_normal((4, 3, 3, 2)))
    windows: dict[str, Any] = {"pad_mode": "pad", "pad": (1, 1, 0, 0), "stride": 2}
    y = Conv2D(4, (3, 2), **windows)(x, w)
    z = ms.Tensor(rng.standard_normal(y.shape))
    back = Conv2DTranspose(4, (3, 2), **windows)(z, w, x.shape)
    want = ms.grad(lambda x: (Conv2D(4, (3, 2), **windows)(x, w) * z).sum())(x)
    np.testing.assert_allclose(back.asnumpy(), want.asnumpy(), atol=1e-10)
    deep, kernel = ms.Tensor(rng.standard_normal((1, 3, 4, 5, 6))), ms.Tensor(rng.standard_normal((4, 3, 2, 3, 2)))
    np.testing.assert_array_equal(Conv3D(4, (2, 3, 2))(deep, kernel).asnumpy(), ops.conv3d(deep, kernel).asnumpy())
    seen = ms.Tensor(rng.standard_normal((1, 4, 3, 4, 5)))
    made = Conv3DTranspose(4, 3, (2, 3, 2), stride=2)(seen, kernel)
    np.testing.assert_array_equal(made.asnumpy(), ops.conv3d_transpose(seen, kernel, stride=2).asnumpy())
    with pytest.raises(ValueError, match="the attributes say 5 kernels"):
        Conv3D(5, (2, 3, 2))(deep, kernel)
    with pytest.raises(ValueError, match="the attributes say 7"):
        Conv3DTranspose(4, 7, (2, 3, 2))(seen, kernel)
    with pytest.raises(ValueError, match="mode must be 1"):
        Conv2D(4, (3, 2), mode=2)(x, w)
