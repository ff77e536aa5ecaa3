"""Hand-written pooling kernels against the reference bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from msnb.core import dtypes
from msnb.devices.cpu.onednn.c_api import api as library
from tests.devices.cpu.onednn_runs import expected, run

pytest.importorskip("llvmlite")
from msnb.devices.cpu.kernels.pooling import recipe

# few windows, for each is compiled; extents are free
WINDOWS = ((2, 2, 2, 2), (3, 3, 2, 2), (2, 3, 1, 3), (3, 2, 3, 1), (1, 1, 2, 2))


@st.composite
def cases(draw: Any) -> Any:
    n = lambda low, high: draw(st.integers(low, high))
    kh, kw, sh, sw = draw(st.sampled_from(WINDOWS))
    pads = (n(0, kh - 1), n(0, kh - 1), n(0, kw - 1), n(0, kw - 1)) if draw(st.booleans()) else (0, 0, 0, 0)
    attrs = {
        "kernel": (kh, kw), "stride": (sh, sw), "pads": pads, "ceil_mode": draw(st.booleans()),
        "data_format": draw(st.sampled_from(("NCHW", "NHWC"))),
    }  # fmt: skip
    shape = (n(1, 3), draw(st.sampled_from((1, 5, 16, 19, 70))), n(kh, 12), n(kw, 40))
    return shape, attrs, draw(st.sampled_from((np.float32, np.float64))), draw(st.booleans()), n(0, 2**32 - 1)


def images(shape: Any, attrs: Any, dtype: Any, strange: bool, rng: Any) -> Any:
    """Small integers, so that maxima tie; a few NaNs and infinities."""
    x = rng.integers(-4, 4, shape).astype(dtype)
    if strange:
        x[rng.random(shape) < 0.03] = np.nan
        x[rng.random(shape) < 0.03] = -np.inf
        x[rng.random(shape) < 0.03] = np.inf
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if attrs["data_format"] == "NHWC" else x


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(cases())
def test_poolings_agree_with_the_reference(case: Any) -> None:
    shape, attrs, dtype, strange, seed = case
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        x = images(shape, attrs, dtype, strange, rng)
        y = np.ascontiguousarray(expected("max_pool2d", [x], **attrs)[0])
        dy = rng.standard_normal(y.shape).astype(dtype)
        counted = {**attrs, "count_include_pad": bool(seed % 2)}
        compare("max_pool2d", [x], attrs)
        compare("max_pool2d_grad", [x, y, dy], attrs)
        compare("avg_pool2d", [x], counted)
        compare("avg_pool2d_grad", [dy], {**counted, "size": shape[2:]})


def compare(name: str, arrays: list[Any], attrs: dict[str, Any]) -> None:
    got = run(name, arrays, recipe, **attrs)
    assert got is not None
    np.testing.assert_array_equal(got[0], expected(name, arrays, **attrs)[0])


def test_many_threads_share_the_planes(monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu import thread_pool

    monkeypatch.setattr(thread_pool, "count", lambda: 3)
    x = np.random.default_rng(2).standard_normal((5, 7, 64, 64)).astype(np.float32)
    attrs = {"kernel": (2, 2), "stride": (2, 2)}
    compare("max_pool2d", [x], attrs)
    y = expected("max_pool2d", [x], **attrs)[0]
    compare("max_pool2d_grad", [x, y, y], attrs)


def test_the_first_of_equal_values_wins() -> None:
    x, one = np.zeros((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    got = run("max_pool2d_grad", [x, 0 * one, one], recipe, kernel=(2, 2), stride=(2, 2))
    np.testing.assert_array_equal(got[0], [[[[1, 0], [0, 0]]]])


def test_no_kernel() -> None:
    assert run("max_pool2d", [np.ones((0, 1, 4, 4), np.float32)], recipe, kernel=(2, 2)) is None
    assert run("avg_pool2d", [np.ones((1, 1, 20, 20), np.float32)], recipe, kernel=(9, 9)) is None


@pytest.mark.skipif(library() is None, reason="oneDNN is not installed")
@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16])
@pytest.mark.parametrize("strange", [False, True])
def test_images_in_16_bits(strange: bool, dtype: Any) -> None:
    """Maxima are exact; sums are made in float32 and rounded once."""
    attrs = {"kernel": (3, 2), "stride": (2, 1), "pads": (1, 0, 0, 1), "data_format": "NHWC"}
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        x = images((2, 19, 9, 11), attrs, np.float32, strange, rng).astype(dtype.numpy)
        y = expected("max_pool2d", [x], **attrs)[0]
        top = run("max_pool2d", [x], recipe, **attrs)[0]
        np.testing.assert_array_equal(top.astype(np.float32), y.astype(np.float32))
        dy = rng.standard_normal(y.shape).astype(dtype.numpy)
        wide = [a.astype(np.float32) for a in (x, y, dy)]
        for name, halves, floats, more in (
            ("max_pool2d_grad", [x, y, dy], wide, {}),
            ("avg_pool2d", [x], wide[:1], {}),
            ("avg_pool2d_grad", [dy], wide[2:], {"size": (9, 11)}),
        ):
            got = run(name, halves, recipe, **attrs, **more)[0]
            want = expected(name, floats, **attrs, **more)[0]
            assert got.dtype == dtype.numpy
            np.testing.assert_array_equal(got.astype(np.float32), want.astype(dtype.numpy).astype(np.float32))
