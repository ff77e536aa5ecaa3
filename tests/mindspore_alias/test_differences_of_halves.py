"""Rows of the table of differences about halves, bounds, shapes and integers that are cut off. Both modes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, ops


def view(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"mindspore.{module}"), last)


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


def test_bounds_of_lists_and_halves(mode: int) -> None:
    clip, half = view("ops.clip_by_value"), Tensor([1.5, 2.0], msnb.float16)
    single = Tensor([1.5, -2.0])
    found = run(lambda x, y: clip([x, y], 0, 1), single, half)
    assert type(found) is tuple and [f.tolist() for f in found] == [[1, 0], [1, 1]]
    assert [f.dtype for f in found] == [msnb.float32, msnb.float16]
    assert type(run(lambda x, y: ops.clip_by_value([x, y], 0, 1), single, half)) is list
    for fn, dtype in ((clip, msnb.float16), (ops.clip_by_value, msnb.float32)):
        found = run(lambda x, low, high, fn=fn: fn(x, low, high), half, Tensor(0.0), Tensor(1.75))
        assert found.dtype is dtype and found.tolist() == [1.5, 1.75]
    found = run(lambda x: clip(x, 0.5, 1.5), Tensor([1, 2], msnb.int32))  # MindSpore cuts off: [0, 1]
    assert found.dtype is msnb.float32 and found.tolist() == [1, 1.5]
    assert run(lambda high: clip(1.5, None, high), Tensor([1, 2], msnb.int32)).tolist() == [1, 1.5]
    with pytest.raises(ValueError):
        clip(single)


def test_powers_and_signs_of_bfloat16(mode: int) -> None:
    x = Tensor([1.5, -2.0], msnb.bfloat16)
    for name, inputs, expected in (("exp2", (x,), [2.0**1.5, 0.25]), ("copysign", (x, -1.0), [-1.5, -2.0])):
        found = run(lambda *a, name=name: view(f"ops.{name}")(*a), *inputs)
        assert found.dtype is msnb.float32 and found.tolist() == pytest.approx(expected, rel=1e-6)
        half = run(lambda *a, name=name: view(f"ops.{name}")(*a), x.astype(msnb.float16), *inputs[1:])
        assert half.dtype is msnb.float16
        assert run(lambda *a, name=name: getattr(ops, name)(*a), *inputs).dtype is msnb.bfloat16
    assert run(lambda x: x.copysign(-1.0), x).dtype is msnb.float32
    with pytest.raises((TypeError, ValueError)):
        view("ops.copysign")("a", "b")


def test_full_of_a_number(mode: int) -> None:
    for value, dtype in ((1.5, msnb.float32), (True, msnb.bool_), (2, msnb.int64)):
        found = run(lambda value=value: view("ops.full")((2,), value))
        assert found.dtype is dtype and found.tolist() == [value, value]


def test_statistics_of_layer_norm(mode: int) -> None:
    norm = view("ops.LayerNorm")()
    for dtype, wide in ((msnb.float16, msnb.float32), (msnb.bfloat16, msnb.float32), (msnb.float64, msnb.float64)):
        x, weight = Tensor([[0.0, 1.0, 2.0]], dtype), Tensor([1.0, 1.0, 1.0], dtype)
        y, mean, variance = run(lambda x, w, norm=norm: norm(x, w, w), x, weight)
        assert y.dtype is dtype and [mean.dtype, variance.dtype] == [wide, wide]
        assert mean.tolist() == [[1.0]] and variance.tolist() == [[pytest.approx(2 / 3, rel=1e-6)]]
        grads = ops.LayerNormGrad()(x, x, variance, mean, weight)
        assert [g.dtype for g in grads] == [dtype] * 3


def test_is_nonzero(mode: int) -> None:
    found = run(lambda x: view("ops.is_nonzero")(x), Tensor([2.0]))
    assert isinstance(found, Tensor) and found.dtype is msnb.bool_ and bool(found)
    with pytest.raises(ValueError):
        view("ops.is_nonzero")(Tensor([1.0, 2.0]))


def test_places_of_all_elements(mode: int) -> None:
    x = Tensor([[1.0, 3.0], [2.0, 0.0]])
    for name, place in (("argmax", 1), ("argmin", 3)):
        for fn in (view(f"ops.{name}"), lambda x, *rest, name=name: getattr(x, name)(*rest)):
            assert run(lambda x, fn=fn: fn(x, None, True), x).tolist() == place
            assert run(lambda x, fn=fn: fn(x, 1, True), x).shape == (2, 1)
        assert run(lambda x, name=name: getattr(ops, name)(x, None, True), x).shape == (1, 1)
    assert view("ops.argmax")(x, dim=1, keepdim=True).tolist() == [[1], [0]]
    assert (x.argmin().dtype, x.argmax().dtype) == (msnb.int32, msnb.int64)
    with pytest.raises(ValueError):
        view("ops.argmax")(x, 2)


def test_columns(mode: int) -> None:
    matrix, vector = Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([2.0, 4.0])
    for fn in (view("ops.lstsq"), view("ops.Lstsq")(), lambda x, v: x.lstsq(v)):
        assert run(lambda x, v, fn=fn: fn(x, v), matrix, vector).asnumpy() == pytest.approx(1.0)
        assert run(lambda x, v, fn=fn: fn(x, v), matrix, vector).shape == (2, 1)
    assert run(ops.lstsq, matrix, vector).shape == (2,)
    for fn, expected in ((view("ops.cartesian_prod"), [[2], [4]]), (ops.cartesian_prod, [2, 4])):
        assert run(lambda v, fn=fn: fn(v), vector).tolist() == expected
        assert run(lambda v, fn=fn: fn(v, v), vector).shape == (4, 2)
    with pytest.raises(ValueError):
        view("ops.lstsq")(matrix, Tensor([1.0, 2.0, 3.0]))


def test_fractions_of_integers(mode: int) -> None:
    x, y = Tensor([[1, 2], [4, 8]], msnb.int32), Tensor([[2, 2], [4, 6]], msnb.int32)
    cases = {
        "l1_loss": ((x, y), 0.75), "dist": ((x, y), 5**0.5), "inv": ((x,), [[1, 0.5], [0.25, 0.125]]),
        "addcmul": ((x, x, y, 0.25), [[1.5, 3], [8, 20]]), "clip_by_norm": ((x, 1.0), x.asnumpy() / 85**0.5),
    }  # fmt: skip
    for name, (inputs, expected) in cases.items():
        found = run(lambda *a, name=name: view(f"ops.{name}")(*a), *inputs)
        assert found.dtype is msnb.float32 and found.asnumpy() == pytest.approx(np.array(expected), rel=1e-5)


def test_bytes_by_numbers(mode: int) -> None:
    x = Tensor([4, 200], msnb.uint8)
    for name in ("gt", "greater", "ge", "greater_equal", "le", "less_equal"):
        found = run(lambda x, name=name: view(f"ops.{name}")(x, -1), x)
        assert found.tolist() == [name[0] == "g"] * 2
    for name in ("maximum", "clamp", "clip"):
        assert run(lambda x, name=name: view(f"ops.{name}")(x, -1), x).tolist() == [4, 200]
    assert run(lambda x: view("ops.minimum")(x, 300), x).tolist() == [4, 200]
    assert run(lambda x: x > -1, x).tolist() == [True, True]


def test_bessel_below_zero(mode: int) -> None:
    for name in ("bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1"):
        found = run(lambda x, name=name: view(f"ops.{name}")(x), Tensor([-1.0, 1.0])).tolist()
        assert found[0] != found[0] and found[1] == found[1]


def test_triangle_of_a_factor(mode: int) -> None:
    factor = Tensor([[2.0, 9.0], [1.0, 3.0]])
    lower = run(lambda x: view("ops.cholesky_inverse")(x), factor)
    assert (lower.asnumpy() @ [[4, 2], [2, 10]]).tolist() == [pytest.approx(row, abs=1e-5) for row in ([1, 0], [0, 1])]


def test_parts_of_numpy(mode: int) -> None:
    x = Tensor(np.arange(8.0).reshape(2, 2, 2))
    for name, rest in (("split", (0,)), ("array_split", (0,)), ("hsplit", ()), ("vsplit", ()), ("dsplit", ())):
        for kind, places in ((list, (1,)), (list, [1]), (tuple, 2)):
            found = run(lambda x, n=name, p=places, r=rest: view(f"numpy.{n}")(x, p, *r), x)
            assert type(found) is kind and [f.size for f in found] == [4, 4]
            assert type(getattr(msnb.numpy, name)(x, places, *rest)) is tuple
    found = run(lambda x: view("numpy.meshgrid")(x, x, indexing="ij"), Tensor([1.0, 2.0]))
    assert type(found) is list and found[0].tolist() == [[1, 1], [2, 2]]
    with pytest.raises(ValueError):
        view("numpy.vsplit")(Tensor([1.0]), 2)


def test_halves_of_numpy(mode: int) -> None:
    x, n = Tensor([1.5, -2.0], msnb.float16), Tensor([1, 2], msnb.int32)
    for dtype in (msnb.float16, msnb.bfloat16):
        found = run(lambda x: view("numpy.gradient")(x), x.astype(dtype))
        assert found.dtype is msnb.float32 and found.tolist() == [-3.5, -3.5]
        assert run(lambda x: view("numpy.ceil")(x), x.astype(dtype)).dtype is msnb.float32
        assert run(lambda x: view("numpy.polyval")(x, x), x.astype(dtype)).dtype is msnb.float32
        assert run(lambda x: view("ops.xlogy")(x, 2), x.astype(dtype)).dtype is msnb.float32
    for name, dtype in (("fix", msnb.float16), ("trunc", msnb.float16), ("gradient", msnb.float32)):
        assert run(lambda x, n=name: view(f"numpy.{n}")(x), x).dtype is dtype
    assert run(lambda x: view("numpy.trunc")(x), x.astype(msnb.bfloat16)).dtype is msnb.float32
    found = run(lambda x, n: view("numpy.arctan2")(x, n), x, n)
    assert found.dtype is msnb.float32 and found.tolist() == pytest.approx(np.arctan2([1.5, -2], [1, 2]), rel=1e-6)
    assert run(lambda x: view("numpy.arctan2")(x, x), x).dtype is msnb.float16
    bytes_ = Tensor([200, 2], msnb.uint8)
    product = run(lambda b: view("numpy.cumprod")(b), bytes_)
    assert product.dtype is msnb.uint32 and product.tolist() == [200, 400]
    assert view("numpy.asfarray")([1, 2], msnb.int64).dtype is msnb.float32


def test_deviations_of_integers(mode: int) -> None:
    x = Tensor([1, 2, 2], msnb.int32)
    for name in ("std", "var"):
        assert run(lambda x, n=name: view(f"numpy.{n}")(x), x).item() == pytest.approx(getattr(np, name)([1, 2, 2]))


def test_cut_off_beside_integers(mode: int) -> None:
    n, half = Tensor([1, 3], msnb.int32), 0.5
    found = run(lambda n: view("numpy.select")([n > 1], [n], half), n)
    assert found.tolist() == [0.5, 3]
    assert run(lambda n: view("numpy.ediff1d")(n, half), n).tolist() == [2, 0.5]
    assert run(lambda n: view("numpy.clip")(n, None, 1.5), n).tolist() == [1, 1.5]
    found = run(lambda n: view("numpy.logaddexp2")(n, -n), n)
    assert found.asnumpy() == pytest.approx(np.logaddexp2([1, 3], [-1, -3]), rel=1e-6)


def test_places_and_shapes_of_methods(mode: int) -> None:
    assert run(lambda x: x.multinomial(2), Tensor([0.0, 1.0])).dtype is msnb.int32
    assert run(lambda x: x.diag(0), Tensor([[1.0, 2.0]])).shape == (1, 2, 1, 2)
    assert run(lambda x: view("ops.squeeze")(x, 0), Tensor(1.5)).shape == ()


def test_errors_by_row() -> None:
    outputs, labels = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2))
    for module in ("train", "nn"):
        for name, expected in (("MAE", 5.0), ("MSE", 15.0)):
            metric = view(f"{module}.{name}")()
            metric.update(Tensor(outputs), Tensor(labels))
            metric.update(outputs[:, :1], labels[:, :1])
            assert metric.eval() == (expected * 2 + (4 if name == "MAE" else 10)) / 4
    loss = view("train.Loss")()
    loss.update(Tensor(1.5))
    assert loss.eval() == 1.5
