"""A bias in the library's primitive: which groups it replaces, and that the numbers are the reference bodies'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("llvmlite")

import msnb as ms
from msnb import ops
from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.cpu.onednn.primitive_chain import Steps

pytestmark = pytest.mark.skipif(c.api() is None, reason="oneDNN is not installed")


@pytest.fixture(autouse=True)
def _machine_code() -> Iterator[None]:
    with ms.set_context(jit_level="O1"):
        yield


def linear(x: Any, w: Any, b: Any) -> Any:
    return x @ w + b


def convolution(x: Any, w: Any, b: Any) -> Any:
    return ops.spatial.convolution_records.CONV2D(x, w, pads=(1, 1, 1, 1), data_format="NHWC") + b


def run(fn: Callable[..., Any], *arrays: Any) -> tuple[Any, list[str]]:
    """The result as one program, and the operations that run as instructions of the library."""
    jitted = ms.jit(fn)
    out = jitted(*map(ms.Tensor, arrays))
    program = jitted.versions[0].compiled.executable
    return out.asnumpy(), [n.op.name for n, r in program.recipes.items() if isinstance(r, Steps)]


def reference(fn: Callable[..., Any], *arrays: Any) -> Any:
    with ms.set_context(jit_level="O0"):
        return fn(*map(ms.Tensor, arrays)).asnumpy()


def check(fn: Callable[..., Any], *arrays: Any, joint: bool | None = True, rtol: float = 1e-5) -> None:
    got, ways = run(fn, *arrays)
    want = reference(fn, *arrays)
    finite = np.abs(want.astype(np.float64)[np.isfinite(want.astype(np.float64))])
    atol = rtol * float(finite.max(initial=1.0))
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
    if joint is not None:
        assert (ways == ["fused"]) is joint, ways


def arrays(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Any]:
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def test_a_dense_layer_is_one_instruction(rng: np.random.Generator) -> None:
    check(linear, *arrays(rng, (256, 40), (40, 128), (128,)))


def test_leading_axes_too(rng: np.random.Generator) -> None:
    check(linear, *arrays(rng, (4, 64, 40), (40, 128), (128,)))
    check(linear, *arrays(rng, (3, 64, 20), (3, 20, 128), (128,)))


def test_a_convolution_of_channels_last_too(rng: np.random.Generator) -> None:
    check(convolution, *arrays(rng, (4, 16, 16, 16), (32, 16, 3, 3), (32,)), rtol=1e-4)


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 300), st.integers(1, 70), st.integers(2, 90), st.integers(0, 2**32 - 1))
def test_odd_sizes(m: int, k: int, n: int, seed: int) -> None:
    check(linear, *arrays(np.random.default_rng(seed), (m, k), (k, n), (n,)), joint=None)


@pytest.mark.parametrize("shape", [(0, 8), (300, 0)], ids=["no rows", "no terms"])
def test_no_elements(shape: tuple[int, int], rng: np.random.Generator) -> None:
    check(linear, *arrays(rng, shape, (shape[1], 100), (100,)), joint=None)


def test_nan_and_infinity_pass(rng: np.random.Generator) -> None:
    x, w, b = arrays(rng, (256, 8), (8, 128), (128,))
    x[3, 2], b[5], b[6], b[7] = np.nan, np.inf, -np.inf, np.nan
    got, ways = run(linear, x, w, b)
    want = reference(linear, x, w, b)
    assert ways == ["fused"]
    for kind in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(kind(got), kind(want))


@pytest.mark.parametrize("half", [ms.bfloat16, ms.float16], ids=str)
def test_sixteen_bits(half: Any, rng: np.random.Generator) -> None:
    def cast(x: Any, w: Any, b: Any) -> Any:
        return linear(*(ops.cast(v, half) for v in (x, w, b))).astype(ms.float32)

    # the group rounds the product and the sum, the library their sum alone: a last digit of 8 bits each
    check(cast, *arrays(rng, (256, 40), (40, 128), (128,)), joint=None, rtol=2.0**-6)


KEPT: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "an activation behind it": (lambda x, w, b: ops.relu(x @ w + b), [(256, 8), (8, 128), (128,)]),
    "a bias per row": (lambda x, w, b: x @ w + b, [(128, 8), (8, 160), (128, 1)]),
    "a residual": (lambda x, w, b: x @ w + b, [(128, 8), (8, 160), (128, 160)]),
    "a product with a vector": (lambda x, w, b: x @ w + b, [(300, 128, 8), (8,), (128,)]),
}


@pytest.mark.parametrize(("fn", "shapes"), KEPT.values(), ids=KEPT)
def test_what_stays_apart(fn: Any, shapes: Any, rng: np.random.Generator) -> None:
    check(fn, *arrays(rng, *shapes), joint=False)


def test_a_product_that_is_read_twice_stays_apart(rng: np.random.Generator) -> None:
    def twice(x: Any, w: Any, b: Any) -> Any:
        y = x @ w
        return ops.concat([y + b, y], 0)

    check(twice, *arrays(rng, (256, 8), (8, 128), (128,)), joint=None)
