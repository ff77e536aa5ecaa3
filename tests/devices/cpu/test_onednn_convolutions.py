"""Convolutions through oneDNN against the reference bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from msnb.core import dtypes
from msnb.devices.cpu.onednn import c_api as c, primitives
from msnb.devices.cpu.onednn.primitives import Layout
from msnb.devices.cpu.onednn.provider import recipe
from tests.devices.cpu.onednn_runs import Run, expected, node_of, run

pytestmark = pytest.mark.skipif(c.api() is None, reason="oneDNN is not installed")


@st.composite
def cases(draw: Any) -> Any:
    n = lambda low, high: draw(st.integers(low, high))
    groups = draw(st.sampled_from((1, 1, 1, 2, 3)))
    kernel, dilation = (n(1, 4), n(1, 4)), (n(1, 2), n(1, 2))
    pads = tuple(n(0, 2) for _ in range(4)) if draw(st.booleans()) else (0, 0, 0, 0)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    size = [max(n(1, 9), reach[i] - pads[2 * i] - pads[2 * i + 1]) for i in (0, 1)]
    attrs = {
        "stride": (n(1, 3), n(1, 3)), "pads": pads, "dilation": dilation, "groups": groups,
        "data_format": draw(st.sampled_from(("NCHW", "NHWC"))),
    }  # fmt: skip
    shapes = (n(1, 3), groups * n(1, 20), *size), (groups * n(1, 20), kernel)
    return shapes, attrs, n(0, 2**32 - 1)


def arranged(a: Any, attrs: dict[str, Any]) -> Any:
    return np.ascontiguousarray(a.transpose(0, 2, 3, 1)) if attrs["data_format"] == "NHWC" else a


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_all_three_agree_with_the_reference(case: Any) -> None:
    (x_shape, (outs, kernel)), attrs, seed = case
    rng = np.random.default_rng(seed)
    x = arranged(rng.standard_normal(x_shape).astype(np.float32), attrs)
    w = rng.standard_normal((outs, x_shape[1] // attrs["groups"], *kernel)).astype(np.float32)
    y = expected("conv2d", [x, w], **attrs)[0]
    dy = rng.standard_normal(y.shape).astype(np.float32)
    compare("conv2d", [x, w], attrs)
    compare("conv2d_input_grad", [dy, w], {**attrs, "size": x_shape[2:]})
    compare("conv2d_weight_grad", [x, dy], {**attrs, "kernel": kernel})


def compare(name: str, arrays: list[Any], attrs: dict[str, Any]) -> None:
    got = run(name, arrays, recipe, **attrs)
    want = expected(name, arrays, **attrs)[0]
    if got is None:  # an exotic window that the library refuses; the usual ones must not be refused
        full = {"dilation": (1,), "groups": 1, "pads": (0,), **attrs}
        assert max(full["dilation"]) > 1 or full["groups"] > 1 or max(full["pads"]) > 0, (name, attrs)
        return
    scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
    np.testing.assert_allclose(got[0], want, rtol=2e-4, atol=2e-4 * float(scale))


def test_common_layers_have_recipes() -> None:
    for channels, outs, kernel, stride, pad in (
        (3, 64, 7, 2, 3),
        (64, 64, 3, 1, 1),
        (64, 16, 1, 1, 0),
        (1, 6, 5, 1, 0),
    ):
        for data_format in ("NCHW", "NHWC"):
            attrs = {"stride": (stride,) * 2, "pads": (pad,) * 4, "data_format": data_format}
            x = arranged(np.ones((2, channels, 20, 20), np.float32), attrs)
            w = np.ones((outs, channels, kernel, kernel), np.float32)
            dy = expected("conv2d", [x, w], **attrs)[0]
            compare("conv2d", [x, w], attrs)
            assert run("conv2d", [x, w], recipe, **attrs) is not None
            assert run("conv2d_input_grad", [dy, w], recipe, size=(20, 20), **attrs) is not None
            assert run("conv2d_weight_grad", [x, dy], recipe, kernel=(kernel,) * 2, **attrs) is not None


def test_channels_last_needs_no_copy_of_images() -> None:
    x, w = np.ones((2, 8, 8, 32), np.float32), np.ones((32, 32, 3, 3), np.float32)
    made = recipe(node_of("conv2d", [x, w], {"pads": (1,) * 4, "data_format": "NHWC"}), whole_of)
    assert made is not None and sum(made.temps) <= w.nbytes + 65536, made.temps


def whole_of(value: Any) -> Any:
    from msnb.ir.kernel.strided_views import whole

    return whole(value)


def test_a_transposed_operand_is_read_in_place() -> None:
    from msnb.ir.kernel.strided_views import View, dense_strides

    rng = np.random.default_rng(0)
    stored = rng.standard_normal((2, 8, 7, 16)).astype(np.float32)  # n h w c
    x, w = np.ascontiguousarray(stored.transpose(0, 3, 1, 2)), rng.standard_normal((16, 16, 3, 3)).astype(np.float32)
    node = node_of("conv2d", [x, w], {"pads": (1,) * 4})
    base = node_of("relu", [stored], {}).inputs[0]

    def view_of(value: Any) -> Any:
        if value is not node.inputs[0]:
            return whole_of(value)
        s = dense_strides(stored.shape)
        return View(base, x.shape, (s[0], s[3], s[1], s[2]))

    made = recipe(node, view_of)
    assert made is not None and made.reads is not None and made.reads[0] is base
    node.inputs[0] = base
    done = Run(node, made, [stored, w])
    assert done() == 0
    np.testing.assert_allclose(done.outs[0], expected("conv2d", [x, w], pads=(1,) * 4)[0], rtol=1e-4, atol=1e-4)


def test_nan_and_infinity_stay_where_they_belong() -> None:
    x = np.zeros((1, 16, 6, 6), np.float32)
    x[0, 3, 0, 0], x[0, 5, 5, 5] = np.nan, np.inf
    w = np.ones((16, 16, 3, 3), np.float32)
    got = run("conv2d", [x, w], recipe)
    assert got is not None
    np.testing.assert_array_equal(got[0], expected("conv2d", [x, w])[0])


@pytest.mark.filterwarnings("ignore:invalid value")
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 7), st.integers(8, 40), st.integers(8, 40), st.data())
def test_products_of_pixels(down: int, right: int, size: int, ins: int, outs: int, data: Any) -> None:
    """1x1 kernels on few pixels with their channels last; NaN and infinities in some of them."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    attrs = {"stride": (down, right), "data_format": "NHWC"}
    x = rng.standard_normal((1, size, size, ins)).astype(np.float32)
    w = rng.standard_normal((outs, ins, 1, 1)).astype(np.float32)
    y = expected("conv2d", [x, w], **attrs)[0]
    dy = rng.standard_normal(y.shape).astype(np.float32)
    x[0, 0, 0, 0] = data.draw(st.sampled_from((1.0, np.nan, np.inf)))
    compare("conv2d", [x, w], attrs)
    compare("conv2d_input_grad", [dy, w], {**attrs, "size": (size, size)})
    compare("conv2d_weight_grad", [x, dy], {**attrs, "kernel": (1, 1)})


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16])
@pytest.mark.parametrize("units", [True, False])
def test_half_precision_with_and_without_units(
    units: bool, dtype: Any, kernel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without units for a dtype the same recipes work in float32, and round once, at the end."""
    if not units:
        for name in ("convolution", "convolution_input_grad", "convolution_weight_grad", "matmul"):
            monkeypatch.setattr(primitives, name, refusing(getattr(primitives, name)))
    rng, attrs = np.random.default_rng(kernel), {"data_format": "NHWC", "pads": (kernel // 2,) * 4}
    x = rng.standard_normal((2, 5, 5, 32)).astype(np.float32).astype(dtype.numpy)
    w = rng.standard_normal((24, 32, kernel, kernel)).astype(np.float32).astype(dtype.numpy)
    dy = rng.standard_normal((2, 5, 5, 24)).astype(np.float32).astype(dtype.numpy)
    for name, arrays, more in (
        ("conv2d", [x, w], {}),
        ("conv2d_input_grad", [dy, w], {"size": (5, 5)}),
        ("conv2d_weight_grad", [x, dy], {"kernel": (kernel, kernel)}),
    ):
        got = run(name, arrays, recipe, **attrs, **more)
        want = expected(name, [a.astype(np.float32) for a in arrays], **attrs, **more)[0]
        assert got is not None and got[0].dtype == dtype.numpy
        step = float(np.abs(want).max()) * (2**-8 if dtype is dtypes.bfloat16 else 2**-11)
        np.testing.assert_allclose(got[0].astype(np.float32), want, rtol=0, atol=1.5 * step)


def refusing(make: Any) -> Any:
    """A maker of primitives that has none for dtypes of 16 bits."""

    def made(*args: Any, **keywords: Any) -> Any:
        half = any(isinstance(a, Layout) and a.dtype != c.F32 for a in args)
        return None if half else make(*args, **keywords)

    return made


@pytest.mark.parametrize("dtype", [np.float64])
def test_no_recipe_for_dtypes_the_library_lacks(dtype: Any) -> None:
    assert run("conv2d", [np.ones((1, 2, 4, 4), dtype), np.ones((3, 2, 3, 3), dtype)], recipe) is None


def test_no_recipe_for_empty_images() -> None:
    assert run("conv2d", [np.ones((0, 2, 4, 4), np.float32), np.ones((3, 2, 3, 3), np.float32)], recipe) is None


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_enough_work_for_several_threads(count: int, data_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu import thread_pool

    monkeypatch.setattr(thread_pool, "count", lambda: count)
    rng, attrs = np.random.default_rng(4), {"pads": (1,) * 4, "data_format": data_format}
    x = arranged(rng.standard_normal((5, 32, 20, 20)).astype(np.float32), attrs)
    w = rng.standard_normal((48, 32, 3, 3)).astype(np.float32)
    dy = rng.standard_normal(expected("conv2d", [x, w], **attrs)[0].shape).astype(np.float32)
    made: Any = recipe(node_of("conv2d", [x, w], attrs), whole_of)
    assert max(primitive.threads for primitive, _ in made.steps) == count
    compare("conv2d", [x, w], attrs)
    compare("conv2d_input_grad", [dy, w], {**attrs, "size": (20, 20)})
    compare("conv2d_weight_grad", [x, dy], {**attrs, "kernel": (3, 3)})
