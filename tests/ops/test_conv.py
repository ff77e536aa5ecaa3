"""Convolution against loops written by hand: values, pad modes, the trilinear form, lanes of vmap, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.types import Dim, tensor_type
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD

Array = np.ndarray[Any, Any]


def by_hand(x: Array, w: Array, stride: Any, pads: Any, dilation: Any, groups: int) -> Array:
    """One output element at a time."""
    x = np.pad(x, ((0, 0), (0, 0), pads[:2], pads[2:]))
    o, per_group, kh, kw = w.shape
    oh = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((x.shape[0], o, oh, ow))
    for n, k, a, b in itertools.product(range(x.shape[0]), range(o), range(oh), range(ow)):
        group = k // (o // groups)
        for c, i, j in itertools.product(range(per_group), range(kh), range(kw)):
            at = a * stride[0] + i * dilation[0], b * stride[1] + j * dilation[1]
            y[n, k, a, b] += w[k, c, i, j] * x[n, group * per_group + c, at[0], at[1]]
    return y


def draw_case(rng: np.random.Generator) -> tuple[Array, Array, dict[str, Any]]:
    groups = int(rng.integers(1, 4))
    c, o = groups * int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    kernel, dilation = rng.integers(1, 4, 2), rng.integers(1, 3, 2)
    size = dilation * (kernel - 1) + 1 + rng.integers(0, 4, 2)
    attrs = {
        "stride": tuple(int(v) for v in rng.integers(1, 4, 2)),
        "pads": tuple(int(v) for v in rng.integers(0, 3, 4)),
        "dilation": tuple(int(v) for v in dilation),
        "groups": groups,
    }
    x = rng.standard_normal((int(rng.integers(1, 4)), c, *size))
    return x, rng.standard_normal((o, c // groups, *kernel)), attrs


def test_any_configuration_gives_what_loops_give(rng: np.random.Generator) -> None:
    for _ in range(40):
        x, w, attrs = draw_case(rng)
        got = CONV2D(ms.Tensor(x), ms.Tensor(w), **attrs).asnumpy()
        np.testing.assert_allclose(got, by_hand(x, w, **attrs), atol=1e-12, err_msg=str(attrs))


def test_the_three_maps_are_one_trilinear_form(rng: np.random.Generator) -> None:
    for _ in range(40):
        x, w, attrs = draw_case(rng)
        y = CONV2D(x, w, **attrs).asnumpy()
        dy = rng.standard_normal(y.shape)
        dx = CONV2D_INPUT_GRAD(dy, w, size=x.shape[2:], **attrs).asnumpy()
        dw = CONV2D_WEIGHT_GRAD(x, dy, kernel=w.shape[2:], **attrs).asnumpy()
        form = (y * dy).sum()
        np.testing.assert_allclose([(dx * x).sum(), (dw * w).sum()], [form, form], atol=1e-10, err_msg=str(attrs))


@pytest.mark.parametrize(
    "pad_mode, padding, size, stride, expected",
    [
        ("valid", 0, 28, 1, 24), ("same", 0, 28, 1, 28), ("same", 0, 28, 2, 14), ("same", 0, 29, 2, 15),
        ("pad", 2, 28, 1, 28), ("pad", (1, 0, 2, 2), 28, 1, None), ("valid", 0, 5, 1, 1),
    ],
)  # fmt: skip
def test_pad_modes_give_mindspores_sizes(pad_mode: str, padding: Any, size: int, stride: int, expected: Any) -> None:
    y = ops.conv2d(ops.ones((1, 1, size, size)), ops.ones((1, 1, 5, 5)), None, stride, pad_mode, padding)
    assert y.shape[2:] == ((expected, expected) if expected else (25, 28))


def test_steps_of_images_and_channels(mode: int) -> None:
    x, w = ms.ops.arange(128.0).reshape(1, 2, 8, 8), ms.ops.ones((3, 2, 3, 3))
    for name in ("stride", "dilation"):
        short, long = (ms.ops.Conv2D(3, 3, **{name: step})(x, w) for step in ((2, 1), (1, 1, 2, 1)))
        assert short.shape == long.shape and short.tolist() == long.tolist()
    assert ms.ops.AvgPool(2, (1, 1, 2, 1))(x).tolist() == ms.ops.AvgPool(2, (2, 1))(x).tolist()
    with pytest.raises(ValueError, match="two ints"):
        ms.ops.Conv2D(3, 3, stride=(2, 1, 2, 1))(x, w)


def test_same_puts_the_odd_pad_behind() -> None:
    y = ops.conv2d(ms.Tensor([[[[1.0, 2.0, 3.0]]]]), ms.Tensor([[[[1.0, 10.0]]]]), pad_mode="same")
    assert y.tolist() == [[[[21.0, 32.0, 3.0]]]]


def test_conv1d_is_correlation(rng: np.random.Generator) -> None:
    x, w = rng.standard_normal((2, 3, 11)), rng.standard_normal((4, 3, 3))
    got = ops.conv1d(x, w, np.arange(4.0), stride=2, pad_mode="pad", padding=(1, 2)).asnumpy()
    wide = np.pad(x, ((0, 0), (0, 0), (1, 2)))
    full = np.array([[sum(np.correlate(wide[n, c], w[o, c]) for c in range(3)) for o in range(4)] for n in range(2)])
    np.testing.assert_allclose(got, full[:, :, ::2] + np.arange(4.0)[None, :, None], atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("pad_mode, padding", [("valid", 0), ("same", 0), ("pad", (1, 0, 2, 1))])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolution_is_the_adjoint(
    rng: np.random.Generator, stride: int, pad_mode: str, padding: Any, groups: int
) -> None:
    x, w = rng.standard_normal((2, 4, 5, 4)), rng.standard_normal((4, 3, 3, 2))
    y = ops.conv2d_transpose(x, w, None, stride, pad_mode, padding, groups=groups)
    z = rng.standard_normal(y.shape)
    back = ops.conv2d(z, w, None, stride, pad_mode, padding, groups=groups)
    assert back.shape == x.shape
    np.testing.assert_allclose((back.asnumpy() * x).sum(), (y.asnumpy() * z).sum(), atol=1e-10)


def test_transposed_sizes_follow_mindspore() -> None:
    x, w = ops.ones((1, 1, 5, 5)), ops.ones((1, 1, 3, 3))
    assert ops.conv2d_transpose(x, w, stride=2, pad_mode="same").shape == (1, 1, 10, 10)
    assert ops.conv2d_transpose(x, w, stride=2, pad_mode="valid").shape == (1, 1, 11, 11)
    assert ops.conv2d_transpose(x, w, stride=2, pad_mode="pad", padding=1, output_padding=1).shape == (1, 1, 10, 10)
    assert ops.conv1d_transpose(ops.ones((1, 1, 5)), ops.ones((1, 1, 3)), stride=2, pad_mode="same").shape == (1, 1, 10)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_short_floats_are_summed_in_float32(rng: np.random.Generator, dtype: str) -> None:
    x, w = rng.integers(-3, 4, (1, 64, 6, 6)).astype(float), rng.integers(-3, 4, (2, 64, 3, 3)).astype(float)
    got = ops.conv2d(ms.Tensor(x, dtype), ms.Tensor(w, dtype))
    exact = ms.Tensor(by_hand(x, w, (1, 1), (0,) * 4, (1, 1), 1), dtype)
    assert got.dtype is exact.dtype and got.tolist() == exact.tolist()


@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("groups", [1, 2])
def test_vmap_is_a_loop_over_lanes(rng: np.random.Generator, batched: tuple[bool, bool], groups: int) -> None:
    shapes = {"x": (2, 4, 5, 6), "w": (6, 4 // groups, 3, 2), "y": (2, 6, 3, 5)}
    for op, kinds, attrs in (
        (CONV2D, "xw", {}),
        (CONV2D_INPUT_GRAD, "yw", {"size": (5, 6)}),
        (CONV2D_WEIGHT_GRAD, "xy", {"kernel": (3, 2)}),
    ):
        args = [rng.standard_normal(((3,) if b else ()) + shapes[k]) for k, b in zip(kinds, batched)]
        call = lambda a, b: op(a, b, groups=groups, **attrs)
        got = ms.vmap(call, in_axes=tuple(0 if b else None for b in batched))(*map(ms.Tensor, args))
        lanes = [call(*[a[i] if b else a for a, b in zip(args, batched)]).asnumpy() for i in range(3)]
        np.testing.assert_allclose(got.asnumpy(), np.stack(lanes), atol=1e-12, err_msg=op.name)


def test_a_second_derivative_is_a_convolution_too(rng: np.random.Generator) -> None:
    x, w = ms.Tensor(rng.standard_normal((1, 2, 4, 4))), ms.Tensor(rng.standard_normal((3, 2, 3, 3)))

    def inner(x: Any, w: Any) -> Any:
        return (ops.conv2d(x, w, pad_mode="same") ** 3).sum()

    def outer(w: Any) -> Any:
        return (ms.grad(inner)(x, w) ** 2).sum()

    direction = ms.Tensor(rng.standard_normal(w.shape))
    slope = float((ms.grad(outer)(w) * direction).sum())
    h = 1e-5
    numeric = (float(outer(w + direction * h)) - float(outer(w - direction * h))) / (2 * h)
    np.testing.assert_allclose(slope, numeric, rtol=1e-5)


def test_sizes_that_only_the_data_tell() -> None:
    n, rows = Dim("n"), Dim("rows", 64)
    x, w = tensor_type((n, 3, rows, 8), ms.float32), tensor_type((5, 3, 3, 3), ms.float32)
    attrs = CONV2D.bind_attrs({"pads": (1, 1, 0, 0)})
    assert CONV2D.infer(x, w, **attrs).shape == (n, 5, rows, 6)
    out = CONV2D.infer(x, w, **CONV2D.bind_attrs({"stride": (2, 1)})).shape
    assert isinstance(out[2], Dim) and out[2].bound == 31


def test_work_counts_two_flops_per_product() -> None:
    types = tensor_type((32, 1, 28, 28), ms.float32), tensor_type((6, 1, 5, 5), ms.float32)
    attrs = CONV2D.bind_attrs({})
    outs = CONV2D.result_types(types, attrs)
    assert CONV2D.work is not None and CONV2D.work(types, outs, attrs).cube == 2 * 32 * 6 * 24 * 24 * 25


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda x, w: ops.conv2d(x, w, padding=1), "goes with pad_mode='pad'"),
        (lambda x, w: ops.conv2d(x, w, pad_mode="full"), "must be 'valid', 'same' or 'pad'"),
        (lambda x, w: ops.conv2d(x, w, stride=(1, 2, 3)), "stride must be an int or two ints"),
        (lambda x, w: ops.conv2d(x[0], w), "needs x"),
        (lambda x, w: ops.conv2d(x, w, groups=2), "the weight expects 4 (2 for each of 2 groups)"),
        (lambda x, w: ops.conv2d(x, w, bias=ops.ones((3,))), "one value per output channel (5)"),
        (lambda x, w: ops.conv2d_transpose(x, ops.ones((2, 5, 3, 3)), output_padding=1), "goes with pad_mode='pad'"),
        (lambda x, w: ops.conv2d(x.astype(ms.int32), w.astype(ms.int32)), "floating-point x"),
    ],
)  # fmt: skip
def test_refusals(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call(ops.ones((1, 2, 6, 6)), ops.ones((5, 2, 3, 3)))
    assert sentence in str(caught.value)
