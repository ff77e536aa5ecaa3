"""Windows that bend, and windows without a common step, against loops over windows. Both modes, random sizes.

Boundaries of ``FractionalMaxPool`` are numbers that MindSpore 2.10 gave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import AttributeValueError, DTypeError, ShapeError
from msnb.ops.spatial.deformable import deformable_offsets

Rng = np.random.Generator


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def same(found: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=tolerance, atol=tolerance)


# ---- bent windows ------------------------------------------------------------------------------------------------


def pixel(image: Any, y: float, x: float) -> float:
    """A value between four pixels; 0 outside."""
    total = 0.0
    for i in (int(np.floor(y)), int(np.floor(y)) + 1):
        for j in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= i < image.shape[0] and 0 <= j < image.shape[1]:
                total += image[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def bent(x: Any, offsets: Any, strides: Any, pads: Any, kernel: Any, dilations: Any, groups: int) -> Any:
    n, c = x.shape[:2]
    parts = offsets.reshape(n, 3, groups, *kernel, *offsets.shape[2:])
    rows, columns = offsets.shape[2:]
    out = np.zeros((n, c, rows * kernel[0], columns * kernel[1]))
    for b, ch, i, j, r, s in np.ndindex(n, c, rows, columns, *kernel):
        across, along, weight = parts[b, :, ch // (c // groups), r, s, i, j]
        y = i * strides[2] + r * dilations[2] - pads[0] + along
        z = j * strides[3] + s * dilations[3] - pads[2] + across
        out[b, ch, i * kernel[0] + r, j * kernel[1] + s] = weight * pixel(x[b, ch], y, z)
    return out


def layout(rng: Rng) -> tuple[Any, Any, dict[str, Any]]:
    kernel, groups = tuple(int(k) for k in rng.integers(1, 4, 2)), int(rng.integers(1, 3))
    strides, dilations = ((1, 1, *(int(v) for v in rng.integers(1, 3, 2))) for _ in range(2))
    pads = tuple(int(p) for p in rng.integers(0, 3, 4))
    size = rng.integers(5, 9, 2)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations[2:], kernel)]
    outs = [int((size[i] + pads[2 * i] + pads[2 * i + 1] - reach[i]) // strides[2 + i] + 1) for i in (0, 1)]
    x = rng.normal(size=(2, 2 * groups, *size))
    offsets = rng.normal(size=(2, 3 * groups * kernel[0] * kernel[1], *outs))
    return x, offsets, {"strides": strides, "pads": pads, "ksize": kernel, "dilations": dilations,
                        "deformable_groups": groups}  # fmt: skip


def test_bent_windows(mode: int, rng: Rng) -> None:
    for _ in range(4):
        x, offsets, attrs = layout(rng)
        wanted = bent(x, offsets, *attrs.values())
        found = run(ops.DeformableOffsets(**attrs), Tensor(x.astype(np.float32)), Tensor(offsets.astype(np.float32)))
        assert found.dtype is ms.float32, attrs
        same(found, wanted, 1e-4)


def test_a_convolution_of_bent_windows(mode: int, rng: Rng) -> None:
    x, offsets, attrs = layout(rng)
    kernel, groups = attrs["ksize"], attrs["deformable_groups"]
    weight, bias = rng.normal(size=(3, x.shape[1], *kernel)), rng.normal(size=3)
    windows = bent(x, offsets, *attrs.values()).reshape(2, x.shape[1], offsets.shape[2], kernel[0], -1, kernel[1])
    wanted = np.einsum("ncirjs,ocrs->noij", windows, weight) + bias[:, None, None]

    def conv(x: Any, weight: Any, offsets: Any, bias: Any) -> Any:
        return ops.deformable_conv2d(x, weight, offsets, kernel, attrs["strides"], attrs["pads"], bias,
                                     attrs["dilations"], 1, groups)  # fmt: skip

    same(run(conv, *map(Tensor, (x, weight, offsets, bias))), wanted, 1e-5)


def test_slopes_of_bent_windows(mode: int, rng: Rng) -> None:
    x, offsets, attrs = layout(rng)
    one, two = rng.normal(size=x.shape), rng.normal(size=offsets.shape)
    weights = rng.normal(size=bent(x, offsets, *attrs.values()).shape)

    def total(x: Any, offsets: Any) -> Any:
        return (ops.DeformableOffsets(**attrs)(x, offsets) * Tensor(weights)).sum()

    dx, do = run(ms.grad(total, (0, 1)), Tensor(x), Tensor(offsets))
    step = 1e-7
    ends = [(bent(x + s * one, offsets + s * two, *attrs.values()) * weights).sum() for s in (step, -step)]
    np.testing.assert_allclose((dx.asnumpy() * one).sum() + (do.asnumpy() * two).sum(),
                               (ends[0] - ends[1]) / (2 * step), rtol=1e-4)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"strides": (1, 1, 1)}, "strides are 4 ints"), ({"dilations": (2, 1, 1, 1)}, "dilations of images"),
        ({"pads": (0, 0, 0, 0.5)}, "pads are 4 ints"), ({"ksize": (2,)}, "ksize are 2 ints"),
        ({"deformable_groups": 0}, "an int from 1"), ({"data_format": "NHWC"}, "takes data_format"),
        ({"modulated": False}, "modulated=True"), ({"deformable_groups": 3}, "equal groups"),
        ({"pads": (1, 0, 0, 0)}, r"offsets must have shape \[1, 12, 3, 2\]"),
    ],
)  # fmt: skip
def test_wrong_bent_windows(change: dict[str, Any], words: str) -> None:
    attrs = {"strides": (1,) * 4, "pads": (0,) * 4, "ksize": (2, 2), **change}
    with pytest.raises(ValueError, match=words):
        ops.DeformableOffsets(**attrs)(ops.ones((1, 1, 3, 3)), ops.ones((1, 12, 2, 2)))
    with pytest.raises(AttributeValueError, match="modulated must be True"):
        ops.deformable_conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2)), ops.ones((1, 12, 2, 2)), (2, 2),
                              (1,) * 4, (0,) * 4, modulated=False)  # fmt: skip
    with pytest.raises(ShapeError, match="four axes"):
        deformable_offsets(ops.ones((1, 3, 3)), ops.ones((1, 12, 2, 2)), (1,) * 4, (0,) * 4, (2, 2))


# ---- windows between boundaries ----------------------------------------------------------------------------------

BOUNDS = [
    ({}, (1.4, 1.7), [0, 1, 3, 4, 5, 7], [0, 2, 4, 6, 8, 10]),
    ({}, (2.0, 3.0), [0, 2, 5, 7], [0, 3, 7, 10]),
    ({"pseudo_random": True}, (3.5, 2.5), [0, 3, 7], [0, 2, 5, 7, 10]),
    ({"pseudo_random": True}, (1.4, 3.0), [0, 1, 2, 4, 5, 7], [0, 3, 6, 10]),
    ({"deterministic": True, "seed": 3}, (1.4, 2.5), [0, 1, 2, 3, 5, 7], [0, 2, 4, 7, 10]),
    ({"deterministic": True, "seed": 3, "seed2": 4, "pseudo_random": True}, (3.5, 2.5), [0, 4, 7], [0, 3, 5, 8, 10]),
    ({"deterministic": True, "seed2": 4}, (1.4, 2.5), [0, 1, 3, 4, 6, 7], [0, 3, 5, 7, 10]),
    ({"deterministic": True, "seed": 12345, "overlapping": True}, (1.4, 2.5), [0, 1, 2, 4, 5, 7], [0, 3, 6, 8, 10]),
]


def loops(x: Any, rows: Any, columns: Any, overlapping: int, reduce: Any) -> Any:
    return np.stack(
        [np.stack([reduce(x[:, a : b + overlapping, c : d + overlapping], axis=(1, 2))
                   for c, d in zip(columns, columns[1:])], 1) for a, b in zip(rows, rows[1:])], 1)  # fmt: skip


@pytest.mark.parametrize(("attrs", "ratio", "rows", "columns"), BOUNDS)
def test_boundaries_are_mindspores(
    mode: int, rng: Rng, attrs: dict[str, Any], ratio: Any, rows: list[int], columns: list[int]
) -> None:
    x = rng.normal(size=(2, 7, 10, 3)).astype(np.float32)
    for kind, reduce in ((ops.FractionalMaxPool, np.max), (ops.FractionalAvgPool, np.mean)):
        y, found_rows, found_columns = run(kind([1.0, *ratio, 1.0], **attrs), Tensor(x))
        assert (found_rows.tolist(), found_columns.tolist()) == (rows, columns)
        assert (y.dtype, found_rows.dtype) == (ms.float32, ms.int64)
        same(y, loops(x, rows, columns, int(attrs.get("overlapping", False)), reduce), 1e-5)


def test_boundaries_of_random_sizes(rng: Rng) -> None:
    for _ in range(60):
        size, ratio, seed = int(rng.integers(3, 60)), float(rng.uniform(1.0, 3.0)), int(rng.integers(0, 2**40))
        pseudo = bool(rng.integers(0, 2))
        pool = ops.FractionalMaxPool([1.0, ratio, 1.0, 1.0], pseudo, deterministic=True, seed=seed)
        steps = np.diff(pool(ops.ones((1, size, 2, 1)))[1].asnumpy())
        count = int(np.float32(size) / np.float32(ratio))
        assert len(steps) == count and steps.sum() == size, (size, ratio, seed, pseudo)
        assert set(steps) <= {size // count, size // count + 1}, (size, ratio, seed, pseudo)


@pytest.mark.parametrize("overlapping", [False, True])
def test_gradients_between_boundaries(mode: int, rng: Rng, overlapping: bool) -> None:
    x = rng.permutation(2 * 7 * 10 * 3).reshape(2, 7, 10, 3).astype(np.float64)
    more = int(overlapping)
    y, rows, columns = ops.FractionalMaxPool([1.0, 1.4, 2.5, 1.0], overlapping=overlapping)(Tensor(x))
    dy = rng.normal(size=y.shape)
    largest, means = np.zeros_like(x), np.zeros_like(x)
    for i, (a, b) in enumerate(zip(rows.tolist(), rows.tolist()[1:])):
        for j, (c, d) in enumerate(zip(columns.tolist(), columns.tolist()[1:])):
            window, own = x[:, a : b + more, c : d + more], dy[:, i : i + 1, j : j + 1]
            largest[:, a : b + more, c : d + more] += own * (window == window.max((1, 2), keepdims=True))
            means[:, a : b + more, c : d + more] += own / (window.shape[1] * window.shape[2])
    given = (Tensor(dy), rows, columns)
    same(run(ops.FractionalMaxPoolGrad(overlapping), Tensor(x), y, *given), largest)
    shape = x.shape
    same(run(lambda *d: ops.FractionalAvgPoolGrad(overlapping)(shape, *d), *given), means)
    for kind, wanted in ((ops.FractionalMaxPool, largest), (ops.FractionalAvgPool, means)):
        pool = kind([1.0, 1.4, 2.5, 1.0], overlapping=overlapping)
        same(run(ms.grad(lambda t, pool=pool: (pool(t)[0] * Tensor(dy)).sum()), Tensor(x)), wanted)


def test_means_of_integers_are_cut(mode: int) -> None:
    x = Tensor(np.array([-3, -4, 3, 4, -1, 0, 7, 8]).reshape(1, 2, 4, 1))
    assert run(ops.FractionalAvgPool([1.0, 2.0, 2.0, 1.0]), x)[0].flatten().tolist() == [-2, 5]


def test_wrong_fractions() -> None:
    x = ops.ones((1, 4, 4, 1))
    for ratio in ([1.0, 2.0], [2.0, 2.0, 2.0, 1.0], [1.0, 0.5, 2.0, 1.0]):
        with pytest.raises(AttributeValueError, match="pooling_ratio is"):
            ops.FractionalMaxPool(ratio)(x)
    with pytest.raises(AttributeValueError, match="must be 0 if deterministic"):
        ops.FractionalAvgPool([1.0, 2.0, 2.0, 1.0], seed=1)(x)
    with pytest.raises(ShapeError, match="leaves nothing"):
        ops.FractionalAvgPool([1.0, 5.0, 2.0, 1.0])(x)
    for wrong in (x[0], x.astype(ms.float16)):
        with pytest.raises(DTypeError, match="FractionalMaxPool takes"):
            ops.FractionalMaxPool([1.0, 2.0, 2.0, 1.0])(wrong)


# ---- windows of one size -----------------------------------------------------------------------------------------


def begins(size: int, kernel: int, count: int, u: Any) -> list[int]:
    if count == 1:
        return [size - kernel]
    step = (size - kernel) / (count - 1)
    return [*(int((i + u) * step) - int(u * step) for i in range(count - 1)), size - kernel]


def at_random(x: Any, samples: Any, kernel: Any, outs: Any) -> tuple[Any, Any]:
    space = x.shape[2:]
    values, places = np.zeros((*x.shape[:2], *outs), x.dtype), np.zeros((*x.shape[:2], *outs), np.int64)
    flat = np.arange(np.prod(space)).reshape(space)
    for n, c in np.ndindex(x.shape[:2]):
        u = samples[n, c, ::-1] if len(space) == 2 else samples[n, c]
        first = [begins(*sizes) for sizes in zip(space, kernel, outs, u)]
        for at in np.ndindex(*outs):
            window = tuple([slice(first[i][j], first[i][j] + kernel[i]) for i, j in enumerate(at)])
            values[(n, c, *at)] = x[n, c][window].max()
            places[(n, c, *at)] = flat[window].reshape(-1)[x[n, c][window].argmax()]
    return values, places


def test_windows_that_begin_at_random(mode: int, rng: Rng) -> None:
    for axes, pool, fixed in ((2, ops.fractional_max_pool2d, ops.FractionalMaxPoolWithFixedKsize),
                              (3, ops.fractional_max_pool3d, ops.FractionalMaxPool3DWithFixedKsize)):  # fmt: skip
        kernel, outs = (tuple(int(k) for k in rng.integers(1, 4, axes)) for _ in range(2))
        space = tuple(int(k + m + rng.integers(0, 4)) for k, m in zip(kernel, outs))
        x, u = rng.normal(size=(2, 3, *space)), rng.uniform(size=(2, 3, axes))
        values, places = at_random(x, u, kernel, outs)
        for fn in (fixed(kernel, outs), lambda x, u, p=pool, k=kernel, m=outs: p(x, k, m, None, True, u)):
            found = run(fn, Tensor(x), Tensor(u))
            same(found[0], values)
            assert found[1].tolist() == places.tolist() and found[1].dtype is ms.int64
        one = run(lambda x, u, p=pool, k=kernel, m=outs: p(x, k, m, None, True, u), Tensor(x[0]), Tensor(u[:1]))
        assert one[1].tolist() == places[0].tolist()


def test_gradients_by_places(mode: int, rng: Rng) -> None:
    x, u = rng.normal(size=(2, 3, 6, 7)), rng.uniform(size=(2, 3, 2))
    values, places = at_random(x, u, (3, 3), (3, 4))
    dy = rng.normal(size=values.shape)
    wanted = np.zeros((2, 3, 42))
    for at in np.ndindex(*places.shape):
        wanted[at[0], at[1], places[at]] += dy[at]
    like = Tensor(np.zeros(x.shape, np.int64))
    for op in (ops.FractionalMaxPoolGradWithFixedKsize(), ops.MaxPoolGradWithArgmaxV2(3)):
        same(run(op, like, Tensor(dy), Tensor(places)), wanted.reshape(x.shape))
    pool = ops.FractionalMaxPoolWithFixedKsize(3, (3, 4))
    slope = run(ms.grad(lambda t: (pool(t, Tensor(u))[0] * Tensor(dy)).sum()), Tensor(x))
    same(slope, wanted.reshape(x.shape))


def test_drawn_windows_are_legal(mode: int, rng: Rng) -> None:
    x = Tensor(rng.normal(size=(2, 9, 8)))
    values, places = run(lambda t: ops.fractional_max_pool2d(t, 2, output_ratio=(0.5, 0.6), return_indices=True), x)
    assert values.shape == (2, 4, 4)
    flat, at = x.asnumpy().reshape(2, -1), places.asnumpy().reshape(2, -1)
    assert np.take_along_axis(flat, at, 1).reshape(2, 4, 4).tolist() == values.tolist()
    assert ms.nn.FractionalMaxPool3d(2, output_ratio=0.5)(ops.ones((1, 1, 4, 4, 4))).shape == (1, 1, 2, 2, 2)
    layer = ms.nn.FractionalMaxPool2d(2, (4, 4))
    assert layer(x).shape == (2, 4, 4) and "output_size=(4, 4)" in repr(layer)


def test_wrong_windows_at_random() -> None:
    x, u = ops.ones((1, 1, 5, 5)), ops.ones((1, 1, 2))
    for kernel, outs, why in ((5, 2, "do not fit"), (2, 5, "do not fit"), (2, (2, 2, 2), "output_size must be an int")):
        with pytest.raises(ValueError, match=why):
            ops.fractional_max_pool2d(x, kernel, outs, None, False, u)
    for ratio in (None, 1.0, (0.5,)):
        with pytest.raises(AttributeValueError, match="numbers between 0 and 1"):
            ops.fractional_max_pool2d(x, 2, output_ratio=ratio)
    with pytest.raises(ShapeError, match="samples must have shape"):
        ops.FractionalMaxPoolWithFixedKsize(2, 2)(x, ops.ones((1, 1, 3)))
    with pytest.raises(ShapeError, match="takes x of 3 or 4 axes"):
        ops.fractional_max_pool2d(x[0, 0], 2, 2)
    with pytest.raises(AttributeValueError, match="channels second"):
        ops.FractionalMaxPool3DWithFixedKsize(2, 2, "NDHWC")(ops.ones((1, 1, 5, 5, 5)), ops.ones((1, 1, 3)))


# ---- places of maxima --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "strides", "pads", "gap", "ceil"),
    [(2, None, 0, 1, False), (3, 2, 1, 1, True), (2, 1, 0, 2, False), ((2, 3), (2, 1), (1, 1), 1, False)],
)
def test_places_in_planes(mode: int, rng: Rng, size: Any, strides: Any, pads: Any, gap: int, ceil: bool) -> None:
    x = rng.normal(size=(2, 3, 8, 8)).astype(np.float32)
    values, places = run(ops.MaxPoolWithArgmaxV2(size, strides, pads, gap, ceil, ms.int32), Tensor(x))
    same(values, ops.max_pool2d(Tensor(x), size, strides, "pad", pads, ceil_mode=ceil, dilation=gap).asnumpy())
    flat, at = x.reshape(2, 3, -1), places.asnumpy().reshape(2, 3, -1)
    assert places.dtype is ms.int32
    assert np.take_along_axis(flat, at, 2).tolist() == values.asnumpy().reshape(2, 3, -1).tolist()


def test_places_in_volumes(mode: int, rng: Rng) -> None:
    x = rng.normal(size=(1, 2, 6, 5, 6)).astype(np.float32)
    attrs = {"ksize": (3, 2, 3), "strides": (1, 2, 2), "pads": (1, 0, 1)}
    values, places = run(ops.MaxPool3DWithArgmax(**attrs), Tensor(x))
    same(values, ops.max_pool3d(Tensor(x), (3, 2, 3), (1, 2, 2), "pad", (1, 0, 1)).asnumpy())
    dy = rng.normal(size=values.shape).astype(np.float32)
    found = run(ops.MaxPool3DGradWithArgmax(**attrs), Tensor(x), Tensor(dy), places)
    wanted = ms.grad(lambda t: (ops.MaxPool3DWithArgmax(**attrs)(t)[0] * Tensor(dy)).sum())(Tensor(x))
    same(found, wanted.asnumpy(), 1e-5)


@pytest.mark.parametrize("pad_mode", ["valid", "SAME"])
def test_second_gradients_read_where_maxima_stand(mode: int, rng: Rng, pad_mode: str) -> None:
    x, grad = (rng.normal(size=(2, 3, 7, 7)).astype(np.float32) for _ in range(2))
    values, places = run(ops.MaxPoolWithArgmax(3, 2, pad_mode), Tensor(x))
    wanted = np.take_along_axis(grad.reshape(2, -1), places.asnumpy().reshape(2, -1), 1).reshape(values.shape)
    assert np.take_along_axis(x.reshape(2, -1), places.asnumpy().reshape(2, -1), 1).tolist() == \
        values.asnumpy().reshape(2, -1).tolist()  # fmt: skip
    same(run(ops.MaxPoolGradGradWithArgmax(3, 2, pad_mode), Tensor(x), Tensor(grad), places), wanted)
    same(run(ops.MaxPoolGradGrad(3, 2, pad_mode), Tensor(x), values, Tensor(grad)), wanted)
    volume, more = (rng.normal(size=(1, 2, 4, 4, 4)).astype(np.float32) for _ in range(2))
    found = run(ops.MaxPool3DGradGrad((1, 1, 2, 2, 2), 2), Tensor(volume), Tensor(volume), Tensor(more)).asnumpy()
    blocks = [a.reshape(1, 2, 2, 2, 2, 2, 2, 2).transpose(0, 1, 2, 4, 6, 3, 5, 7).reshape(-1, 8)
              for a in (volume, more)]  # fmt: skip
    assert found.reshape(-1).tolist() == blocks[1][np.arange(16), blocks[0].argmax(1)].tolist()


@pytest.mark.parametrize("made", [
    lambda: ops.MaxPool3DGradGrad(2, 2, data_format="NDHWC"),
    lambda: ops.MaxPool3DGradWithArgmax(2, 2, 0, data_format="NDHWC"),
])  # fmt: skip
def test_places_are_of_channels_that_come_second(mode: str, made: Any) -> None:
    x = ops.ones((1, 1, 2, 2, 2))
    with pytest.raises(AttributeValueError, match="data_format must put the channels second, got 'NDHWC'"):
        made()(x, x, x)
