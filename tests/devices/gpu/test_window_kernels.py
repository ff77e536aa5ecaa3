"""Poolings of the GPU against the reference bodies: both formats, all floats, overlaps, padding, NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from kernel_runs import nearly, same, wanted

BF16 = ml_dtypes.bfloat16
LAPPED = {"kernel": (3, 2), "stride": (2, 1), "pads": (1, 1, 0, 1), "ceil_mode": True}
PLAIN = {"pads": (0, 0, 0, 0), "ceil_mode": False}


def pooled(shape: Any, dtype: Any, last: bool, seed: int, attrs: Any) -> None:
    print(f"seed {seed}")
    draw = np.random.default_rng(seed)
    attrs = {**attrs, "data_format": "NHWC" if last else "NCHW"}
    x = (np.round(draw.standard_normal(shape) * 2) + 0.0).astype(dtype)  # -0 and 0 are equal: either may win
    if x.size > 20:
        x.reshape(-1)[::17] = np.nan
        x.reshape(-1)[3:15] = -np.inf
    y = same("max_pool2d", [x], attrs).outs[0]
    dy, dx = draw.standard_normal(y.shape).astype(dtype), draw.standard_normal(shape).astype(dtype)
    ulps = 0.01 if np.dtype(dtype).itemsize >= 4 else 3
    nearly("max_pool2d_grad", [x, y, dy], attrs, ulps, 4)
    same("max_pool2d_pick", [x, y, dx], attrs)
    for counted in (True, False):
        mean = {**attrs, "count_include_pad": counted}
        nearly("avg_pool2d", [dx], mean, ulps, 1)
        nearly("avg_pool2d_grad", [dy], {**mean, "size": shape[1:3] if last else shape[2:]}, ulps, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16, np.float64])
@pytest.mark.parametrize(("last", "channels"), [(False, 3), (True, 16), (True, 3)])
def test_overlaps_and_padding(dtype: Any, last: bool, channels: int) -> None:
    pooled((2, 9, 7, channels) if last else (2, channels, 9, 7), dtype, last, 3, LAPPED)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((2, 8, 6, 4), {"kernel": (2, 2), "stride": (2, 2), **PLAIN}),
        ((1, 7, 8, 6), {"kernel": (1, 3), "stride": (3, 2), "pads": (0, 0, 2, 0), "ceil_mode": False}),
        ((1, 1, 1, 1), {"kernel": (1, 1), "stride": (1, 1), **PLAIN}),
    ],
)
def test_shapes(shape: Any, attrs: Any, last: bool) -> None:
    pooled(shape, np.float32, last, 4, attrs)


def test_a_large_window_is_a_loop() -> None:
    attrs = {"kernel": (9, 9), "stride": (1, 2), "pads": (4, 4, 4, 4), "ceil_mode": False}
    pooled((1, 2, 10, 11), np.float32, False, 5, attrs)


def test_what_no_element_has_won() -> None:
    x = np.full((1, 1, 4, 4), -np.inf, np.float32)
    attrs = {**LAPPED, "data_format": "NCHW"}
    y = wanted("max_pool2d", [x], attrs)[0]
    same("max_pool2d_grad", [x, y, np.ones_like(y)], attrs)
    same("max_pool2d_pick", [x, y, np.ones_like(x)], attrs)
    same("max_pool2d_grad", [x, y + 1, np.ones_like(y)], attrs)
