"""Normalisations and what is like them, forward and backward, as kernels against the reference bodies: odd sizes, ones
and zeros, views with strides, NaN and infinities, every float dtype.

How far rounding may carry a result is not guessed but measured: the reference runs once more on inputs that are off in
their last digit, up and down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, native, traced

pytest.importorskip("llvmlite")

SIZES = st.sampled_from((1, 2, 3, 5, 16, 17, 33, 67))
FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
EPS = {dtypes.float32: 2e-7, dtypes.float64: 3e-16, dtypes.float16: 1e-3, dtypes.bfloat16: 8e-3}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[::2],
    "transposed": lambda x: ops.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)),
}


class Group(NamedTuple):
    """A function of x and of vectors as long as ``axis`` of x.

    Attributes:
        floor: how large the terms are that may cancel in a gradient.
        least: so many values are normalised together at least; the gradient of fewer is all cancellation.
    """

    run: Callable[..., Any]
    ndim: int
    vectors: int
    axis: int
    floor: float = 2.0
    least: int = 1


def batch_norm(x: Any, w: Any, b: Any) -> Any:
    """Over images in a training step."""
    zero = ops.zeros_like(w)
    found = ops.batch_norm(x, zero, zero + 1, w, b, training=True)
    return found[0] if isinstance(found, tuple) else found


def cross_entropy(x: Any) -> Any:
    """Of the classes 0, 1, 2 ... in turn."""
    return ops.cross_entropy(x, ms.Tensor((np.arange(x.shape[0]) % x.shape[1]).astype(np.int32)))


GROUPS = {
    "softmax": Group(lambda x: ops.softmax(x), 2, 0, -1),
    "softmax of columns": Group(lambda x: ops.softmax(x, 0), 2, 0, -1),
    "log_softmax": Group(lambda x: ops.log_softmax(x), 3, 0, -1),
    "layer_norm": Group(lambda x, w, b: ops.layer_norm(x, x.shape[-1:], w, b), 3, 2, -1, 8.0, 5),
    "batch_norm": Group(batch_norm, 4, 2, 1, 8.0, 5),
    "cross_entropy": Group(cross_entropy, 2, 0, -1),
    "gelu": Group(lambda x, b: ops.gelu(x + b), 2, 1, -1),
    "moments": Group(lambda x: (x - x.mean((0, 1), keepdims=True)) / (1 + x.var(-1, keepdims=True)), 3, 0, -1),
}


@st.composite
def cases(draw: Any, name: str, sizes: Any = SIZES) -> Any:
    group = GROUPS[name]
    shape = tuple(draw(sizes) for _ in range(group.ndim))
    while np.prod(shape) > 40_000:
        shape = tuple(max(1, n // 2) for n in shape)
    together = shape[-1] if group.axis == -1 else np.prod(shape) // shape[group.axis]
    assume(0 in shape or together >= 2 * group.least)
    strange = draw(st.lists(st.sampled_from((np.nan, np.inf, -np.inf)), max_size=2))
    return shape, draw(st.sampled_from(FLOATS)), draw(st.sampled_from(sorted(VIEWS))), strange, draw(st.integers(0, 99))


def bowl(y: Any) -> Any:
    """A number of y whose slope differs from place to place."""
    return (y * y * y / 6 + y).sum()


def operands(group: Group, case: Any) -> list[Any]:
    shape, dtype, view, strange, seed = case
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2 + 0.5
    for value in strange[: x.size]:
        x.reshape(-1)[rng.integers(x.size)] = value
    length = VIEWS[view](ms.Tensor(x)).shape[group.axis]
    vectors = [rng.standard_normal(length) + 1 for _ in range(group.vectors)]
    return [ms.Tensor(a.astype(np.float32)).astype(dtype) for a in (x, *vectors)]


def compare(name: str, case: Any, backward: bool) -> None:
    group, args = GROUPS[name], operands(GROUPS[name], case)
    floor = group.floor if backward else 1e-3
    seen = lambda x, *rest: group.run(VIEWS[case[2]](x), *rest)
    wide = ms.float64 if case[1] is dtypes.float64 else ms.float32
    weighed = lambda *a: bowl(seen(*a).astype(wide))
    fn = ms.grad(weighed, tuple(range(len(args)))) if backward else seen
    try:
        with np.errstate(all="ignore"):
            graph = traced(fn, *args)
            reference, plain = REFERENCE.compile(graph), buffers(args)
            want = reference(plain)
    except (MsnbError, ValueError):
        assume(False)
    eps = EPS[case[1]]
    with np.errstate(all="ignore"):
        got = native(graph)(plain)
        noisy = [reference([nudged(a, k * eps) for a in plain]) for k in (-2, -1, 1, 2)]
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        assert x.dtype == y.dtype and x.shape == y.shape
        agree(x, y, [n[i] for n in noisy], eps, floor)


def nudged(a: Any, by: float) -> Any:
    """Off in the last digit; integers stay."""
    return (a.astype(np.float64) * (1 + by)).astype(a.dtype) if a.dtype.kind not in "iub" else a


def agree(got: Any, want: Any, noisy: list[Any], eps: float, floor: float) -> None:
    x, y = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = np.max([np.abs(n.astype(np.float64) - y) for n in noisy], axis=0, initial=0.0)
        off = np.abs(x - y)
    settled = np.isfinite(moved) | ~np.isfinite(y)
    np.testing.assert_array_equal(np.isnan(x)[settled], np.isnan(y)[settled])
    scale = np.abs(y[np.isfinite(y)]).max(initial=0.0)
    fine = (x == y) | (np.isnan(x) & np.isnan(y)) | (off <= 30 * moved + 12 * eps * max(scale, floor)) | ~settled
    assert fine.all(), f"off by {off[~fine].max()} where {moved[~fine].max()} was to be expected"


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.long
@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=4, **QUIET)
@given(st.data())
def test_groups_agree_with_the_reference(name: str, data: Any) -> None:
    case = data.draw(cases(name))
    compare(name, case, False)
    compare(name, case, True)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=40, **QUIET)
@given(st.data())
def test_groups_agree_with_the_reference_at_length(name: str, backward: bool, data: Any) -> None:
    compare(name, data.draw(cases(name)), backward)


@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=6, **QUIET)
@given(st.data())
def test_no_elements(name: str, data: Any) -> None:
    """Some sizes are 0; what the reference refuses is refused before there is a program."""
    case = data.draw(cases(name, st.sampled_from((0, 0, 1, 3))))
    assume(0 in case[0])
    compare(name, (*case[:3], [], case[4]), False)
    compare(name, (*case[:3], [], case[4]), True)
