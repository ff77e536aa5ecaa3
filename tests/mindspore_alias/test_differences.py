"""Each row of the table of differences: msnb's answer, MindSpore's, and which one the alias gives. Both modes."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor
from msnb.as_mindspore.differences import DIFFERENCES

TESTS = [importlib.import_module(__name__ + rest) for rest in ("", "_of_files", "_of_first_values", "_of_halves")]
TESTS += [importlib.import_module(__name__ + rest) for rest in ("_of_numbers", "_of_operators")]
for other in ("optimizer_primitives", "gradients_at_kinks"):
    TESTS.append(importlib.import_module(__name__.replace("differences", other)))


def theirs(name: str) -> Any:
    return getattr(importlib.import_module("mindspore.ops"), name)


def compiled(fn: Any, *inputs: Any) -> Any:
    """fn's results in the mode of the test: a function is compiled where Cells are."""
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


X = [[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]


@pytest.mark.parametrize("row", DIFFERENCES, ids=[row.name for row in DIFFERENCES])
def test_every_row_has_its_test_and_its_answer(row: Any) -> None:
    assert any(callable(getattr(module, row.test, None)) for module in TESTS)
    module, _, name = row.name.rpartition(".")
    home, view = (f"{package}.{module}".rstrip(".") for package in ("msnb", "mindspore"))
    if module in ("Tensor", "train.MAE", "train.MSE"):  # a method: exchanged while the alias is on
        owner = Tensor if module == "Tensor" else getattr(msnb.train, module.rpartition(".")[2])
        assert getattr(owner, name).__module__ == row.answer.partition(":")[0]
        return
    ours, seen = (getattr(importlib.import_module(path), name) for path in (home, view))
    same = ours in (seen, getattr(seen, "__wrapped__", None))  # with MindSpore's keywords
    assert same == (row.holds == "msnb") == (not row.answer)
    assert row.mindspore != row.msnb and row.why


def test_dtype_of_indices(mode: int) -> None:
    x = Tensor(X)
    cases: dict[str, Any] = {
        "argmin": ((x, 1), [1, 2]), "argsort": ((x, 1), [[1, 2, 0], [2, 1, 0]]),
        "sort": ((x, 1), [[1, 2, 0], [2, 1, 0]]), "topk": ((x, 1), [[0], [0]]),
        "cummin": ((x, 1), [[0, 1, 1], [0, 1, 2]]),
        "count_nonzero": ((x, 1), [3, 3]), "bucketize": ((x, [1.5, 3.5]), [[1, 0, 1], [2, 2, 2]]),
    }  # fmt: skip
    for name, (inputs, expected) in cases.items():
        found = [compiled(lambda *a, f=f: f(*a), *inputs) for f in (theirs(name), getattr(msnb.ops, name))]
        last = [f[-1] if isinstance(f, tuple) else f for f in found]
        assert [f.tolist() for f in last] == [expected, expected], name
        assert [f.dtype for f in last] == [msnb.int32, msnb.int64], name


def test_width_of_places(mode: int) -> None:
    edges, x = Tensor([1.5, 3.5]), Tensor([2.0])
    for narrow, dtype in ((False, msnb.int64), (True, msnb.int32)):
        found = compiled(lambda e, x, narrow=narrow: theirs("searchsorted")(e, x, out_int32=narrow), edges, x)
        assert (found.tolist(), found.dtype) == ([1], dtype)
    found = compiled(lambda p: theirs("multinomial")(p, 3), Tensor([0.0, 1.0]))
    assert (found.tolist(), found.dtype) == ([1, 1, 1], msnb.int32)
    assert msnb.ops.multinomial(Tensor([0.0, 1.0]), 3).dtype is msnb.int64


def test_sums_of_int32(mode: int) -> None:
    x = Tensor([[1, 2], [3, 4]], msnb.int32)
    for name in ("reduce_sum", "nansum", "cumsum"):
        found = [compiled(lambda a, f=f: f(a, 0), x) for f in (theirs(name), getattr(msnb.ops, name))]
        assert found[0].tolist() == found[1].tolist()
        assert [f.dtype for f in found] == [msnb.int32, msnb.int64], name
        bytes_too = compiled(lambda a, name=name: theirs(name)(a, 0), Tensor([[200], [100]], msnb.uint8))
        assert bytes_too.dtype is msnb.uint8 and bytes_too.tolist()[-1] in (44, [44])
    assert compiled(lambda a: theirs("trace")(a), x).dtype is msnb.int32
    assert theirs("cumsum")(x, 0, msnb.float32).dtype is msnb.float32
    mint = importlib.import_module("mindspore.mint")
    assert compiled(lambda a: mint.nansum(a, dim=0, keepdim=True), x).dtype is msnb.int32


def test_complex_numbers_of_python(mode: int) -> None:
    import mindspore

    for data in (1 + 2j, [1, 2j], ((1j,), (2.0,))):
        assert mindspore.Tensor(data).dtype is msnb.complex128
    assert mindspore.Tensor(np.array([1j], np.complex64)).dtype is msnb.complex64
    assert mindspore.Tensor([1j], msnb.complex64).dtype is msnb.complex64
    assert compiled(lambda x: x * 1j, Tensor([1.0])).dtype is msnb.complex64


def test_extreme_of_all_elements(mode: int) -> None:
    values, place = compiled(lambda x: theirs("max")(x), Tensor(X))
    assert (float(values), int(place), place.dtype) == (6.0, 0, msnb.int64)
    assert float(msnb.ops.min(Tensor(X))) == 1.0 == float(theirs("min")(Tensor(X))[0])
    values, places = compiled(lambda x: theirs("min")(x, 1), Tensor(X))
    assert (values.tolist(), places.tolist()) == ([1.0, 4.0], [1, 2])
    low = theirs("max")(Tensor(X), 1, initial=5.0, where=Tensor(X) < 4.5)[0]
    assert low.tolist() == [5.0, 5.0]
    assert theirs("max")(Tensor(X), 1, where=True)[0].tolist() == msnb.ops.amax(Tensor(X), 1).tolist()
    with pytest.raises(ValueError, match="where= needs initial="):
        theirs("max")(Tensor(X), 1, where=Tensor(X) < 4.5)


def test_medians(mode: int) -> None:
    for name in ("median", "nanmedian"):
        values, places = compiled(lambda x, name=name: theirs(name)(x), Tensor(X))
        assert (values.tolist(), places.tolist()) == ([2.0, 5.0], [2, 1])
        assert getattr(msnb.ops, name)(Tensor(X)).shape == ()


def test_rms_norm(mode: int) -> None:
    x, weight = Tensor([[3.0, 4.0]]), Tensor([1.0, 2.0])
    y, reciprocal = compiled(lambda x, w: theirs("rms_norm")(x, w, epsilon=0.0), x, weight)
    np.testing.assert_allclose(reciprocal.asnumpy(), [[1 / np.sqrt(12.5)]], rtol=1e-6)
    np.testing.assert_allclose(y.asnumpy(), [[3 / np.sqrt(12.5), 8 / np.sqrt(12.5)]], rtol=1e-6)


def test_unique() -> None:
    values, places = theirs("unique")(Tensor([5, 2, 5], msnb.int32))
    assert (values.tolist(), places.tolist(), places.dtype) == ([5, 2], [0, 1, 0], msnb.int32)
    assert msnb.ops.unique(Tensor([5, 2, 5])).tolist() == [2, 5]


def test_stride_of_avg_pool(mode: int) -> None:
    for axes in (1, 2, 3):
        x = Tensor(np.arange(4.0**axes, dtype=np.float32).reshape(1, 1, *(4,) * axes))
        name = f"avg_pool{axes}d"
        assert compiled(lambda x, name=name: theirs(name)(x, 2), x).shape[2:] == (3,) * axes
        assert getattr(msnb.ops, name)(x, 2).shape[2:] == (2,) * axes
    x = Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert float(theirs("avg_pool2d")(x, 2, divisor_override=2)) == 5.0


def test_order_of_max_pool(mode: int) -> None:
    for axes in (2, 3):
        x = Tensor(np.arange(4.0**axes, dtype=np.float32).reshape(1, 1, *(4,) * axes))
        name = f"max_pool{axes}d"
        assert compiled(lambda x, name=name: theirs(name)(x, 2, 1, 1), x).shape[2:] == (5,) * axes
        values, places = compiled(lambda x, name=name: theirs(name)(x, 2, None, 0, 2, return_indices=True), x)
        assert values.reshape(-1).tolist() == [float(p) for p in places.reshape(-1).tolist()]
        assert getattr(msnb.ops, name)(x, 2, 1, "pad", 1).shape[2:] == (5,) * axes


def test_diag_of_a_matrix(mode: int) -> None:
    found = compiled(lambda x: theirs("diag")(x), Tensor(X))
    assert found.shape == (2, 3, 2, 3) and float(found[1, 2, 1, 2]) == 4.0 and float(found.sum()) == 21.0
    assert msnb.ops.diag(Tensor(X)).tolist() == [3.0, 5.0]


def test_order_of_conv_transpose2d() -> None:
    x, w = Tensor(np.arange(36.0).reshape(1, 4, 3, 3)), Tensor(np.arange(72.0).reshape(4, 2, 3, 3))
    seen = compiled(lambda x, w: theirs("conv_transpose2d")(x, w, None, 2, 1, 1, 2), x, w)
    by_name = msnb.ops.conv_transpose2d(
        x, w, stride=2, pad_mode="pad", padding=1, output_padding=1, groups=2
    )  # fmt: skip
    np.testing.assert_allclose(seen.asnumpy(), by_name.asnumpy())
    assert seen.shape == (1, 4, 6, 6)
    x, w = x.reshape(1, 4, 1, 3, 3), w.reshape(4, 2, 1, 3, 3)
    deep = compiled(lambda x, w: theirs("conv3d_transpose")(x, w, "pad", (0, 0, 1, 1, 1, 1), (1, 2, 2)), x, w)
    flat = msnb.ops.conv_transpose2d(x.squeeze(2), w.squeeze(2), None, 2, "pad", 1)
    np.testing.assert_allclose(deep.squeeze(2).asnumpy(), flat.asnumpy())


def test_outer_of_a_number(mode: int) -> None:
    number = Tensor(2.0)
    assert compiled(lambda n, x: theirs("outer")(n, x), number, Tensor(X)).tolist() == (number * Tensor(X)).tolist()
    assert msnb.ops.outer(number, Tensor(X)).shape == (1, 6) and theirs("outer")(number, number).shape == (1, 1)


def test_stack_of_one_tensor(mode: int) -> None:
    assert compiled(lambda x: theirs("stack")(x, axis=1), Tensor(X)).shape == (2, 1, 3)
    assert msnb.ops.stack(Tensor(X), 1).shape == (3, 2) and theirs("stack")([Tensor(X)] * 2).shape == (2, 2, 3)
    with pytest.raises(TypeError):
        theirs("stack")(3)


def test_squeeze(mode: int) -> None:
    assert compiled(lambda x: theirs("squeeze")(x, 0), Tensor(X)).shape == (2, 3)
    assert compiled(lambda x: theirs("squeeze")(x, (0, 2)), Tensor([X])).shape == (2, 3)
    assert compiled(lambda x: numpys("squeeze")[0](x, 0), Tensor(X)).shape == (2, 3)
    for squeeze in (msnb.ops.squeeze, numpys("squeeze")[1]):
        with pytest.raises(ValueError, match="size"):
            squeeze(Tensor(X), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cubics_between_pixels(mode: int, dtype: str) -> None:
    """Of the centre of 3 pixels among 5, and its neighbour, by Keys's formula for each slope."""
    from mindspore import nn

    image = np.zeros((1, 1, 3, 3), dtype)
    image[..., 1, 1] = 1
    x, upsampled = Tensor(image), nn.Upsample((5, 5), mode="bicubic")

    def weights(slope: float, inside: bool) -> float:
        """Of the middle pixel, 0.6 to the right of a new one that lies 0.4 behind the first."""
        near = [(slope + 2) * d**3 - (slope + 3) * d**2 + 1 for d in (0.4, 0.6)]
        far = [slope * (d**3 - 5 * d**2 + 8 * d - 4) for d in (1.4, 1.6)]
        return near[1] / (sum(near) + far[1] if inside else 1)

    for fn in (theirs("interpolate"), theirs("upsample"), lambda x, *_, **__: upsampled(x)):
        found = compiled(lambda x, fn=fn: fn(x, (5, 5), mode="bicubic"), x)
        assert found.dtype is x.dtype and abs(found[0, 0, 2, 1].item() - weights(-0.5, True)) < 1e-3
    scaled = compiled(lambda x: theirs("interpolate")(x, None, 1.7, "bicubic", None, True), x)
    assert abs(scaled[0, 0, 2, 1].item() - weights(-0.5, True)) < 1e-3
    for fn in (
        msnb.ops.interpolate,
        msnb.ops.upsample,
        importlib.import_module("mindspore.mint.nn.functional").interpolate,
    ):
        assert (
            abs(compiled(lambda x, fn=fn: fn(x, (5, 5), mode="bicubic"), x)[0, 0, 2, 1].item() - weights(-0.75, False))
            < 1e-5
        )
    corners = {"mode": "bicubic", "align_corners": True}
    assert np.allclose(
        theirs("interpolate")(x, 5, **corners).asnumpy(), msnb.ops.interpolate(x, 5, **corners).asnumpy()
    )
    assert isinstance(msnb.nn.Upsample(5), nn.Upsample) and theirs("interpolate")(x, 6).shape == (1, 1, 6, 6)


def test_positional_dropout(mode: int) -> None:
    from mindspore import nn

    layer = nn.Dropout(0.8)
    assert abs(layer.p - 0.2) < 1e-9 and isinstance(layer, msnb.nn.Dropout)
    assert isinstance(msnb.nn.Dropout(p=0.5), nn.Dropout) and not isinstance(msnb.nn.Dense(1, 1), nn.Dropout)
    assert layer(Tensor([1.0])).tolist() == [1.0] and type(layer).__name__ == "Dropout"
    assert nn.Dropout(p=0.3, dtype=msnb.float32).p == 0.3
    with pytest.raises(TypeError, match="ambiguous"):
        msnb.nn.Dropout(0.8)


def test_cosine_similarity_is_a_metric(mode: int) -> None:
    from mindspore import nn

    metric = nn.CosineSimilarity()
    metric.clear()
    metric.update([[1.0, 0.0], [3.0, 4.0]])
    assert np.allclose(metric.eval(), [[0.0, 0.6], [0.6, 0.0]]) and issubclass(nn.CosineSimilarity, nn.Metric)
    assert not issubclass(msnb.nn.CosineSimilarity, msnb.train.Metric)
    with pytest.raises(TypeError):
        nn.CosineSimilarity(1)


def test_means_of_integers(mode: int) -> None:
    x = Tensor([1, 2, 4, 4], msnb.int32)
    assert float(compiled(lambda x: theirs("mean")(x), x)) == 2.75
    assert theirs("std")(x).dtype is theirs("var")(x).dtype is msnb.float32


def test_nan_stays(mode: int) -> None:
    x = Tensor([math.nan])
    for name, inputs in {"relu": (x,), "relu6": (x,), "sign": (x,), "maximum": (x, Tensor([0.0]))}.items():
        assert math.isnan(float(compiled(lambda *a, name=name: theirs(name)(*a), *inputs))), name


def test_activations_of_integers(mode: int) -> None:
    for name in ("leaky_relu", "hardtanh", "selu", "hardsigmoid", "hardswish"):
        assert compiled(lambda x, name=name: theirs(name)(x), Tensor([-2, 3], msnb.int32)).dtype is msnb.float32, name


def test_halves_by_a_number(mode: int) -> None:
    x, number = Tensor([[1.0, 2.0]], msnb.float16), Tensor(1.5, msnb.float32)
    for name in ("mul", "true_divide", "add"):
        assert compiled(lambda x, n, f=theirs(name): f(x, n), x, number).dtype is msnb.float32, name
    assert compiled(lambda x: x * 1.5, x).dtype is msnb.float16


def test_output_padding(mode: int) -> None:
    net = msnb.nn.Conv2dTranspose(1, 1, 3, pad_mode="pad", padding=1, stride=2, output_padding=1, weight_init="ones")
    found = net(Tensor(np.ones((1, 1, 2, 2), np.float32)))
    assert found[0, 0, :, 3].tolist() == [1.0, 2.0, 1.0, 1.0]


def test_truth_of_numbers(mode: int) -> None:
    for dtype in (msnb.uint8, msnb.float32):
        found = compiled(lambda x: theirs("any")(x, 1), Tensor([[0, 2], [0, 0]], dtype))
        assert (found.dtype, found.tolist()) == (msnb.bool_, [True, False])


def test_allclose(mode: int) -> None:
    found = compiled(lambda x: theirs("allclose")(x, x), Tensor(X))
    assert bool(found) and found.dtype is msnb.bool_


def numpys(name: str) -> list[Any]:
    return [getattr(importlib.import_module(f"{package}.numpy"), name) for package in ("mindspore", "msnb")]


def test_places_of_numpy(mode: int) -> None:
    x, square = Tensor([1.0, 0.0, 2.0]), Tensor(np.ones((2, 2), np.float32))
    cases: dict[str, tuple[Any, ...]] = {
        "argmin": (x,), "count_nonzero": (x,), "searchsorted": (Tensor([0.0, 1.0, 2.0]), x), "diag_indices": (3,),
        "digitize": (x, Tensor([0.5, 1.5])), "tril_indices": (3,), "triu_indices": (3, 1),
        "tril_indices_from": (square,), "triu_indices_from": (square,), "unravel_index": (Tensor([1, 2]), (2, 2)),
        "intersect1d": (x, Tensor([2.0, 1.0]), False, True),
    }  # fmt: skip
    for name, given in cases.items():
        tensors = [g for g in given if isinstance(g, Tensor)]
        rest = [g for g in given if not isinstance(g, Tensor)]
        both = [compiled(lambda *t, f=f, r=rest: f(*t, *r), *tensors) for f in numpys(name)]
        seen, own = (f if isinstance(f, tuple) else (f,) for f in both)
        seen, own = (f[1:] if name == "intersect1d" else f for f in (seen, own))  # behind the values
        assert [f.tolist() for f in seen] == [f.tolist() for f in own], name
        assert {f.dtype for f in seen} == {msnb.int32} and {f.dtype for f in own} == {msnb.int64}, name


def test_unique_of_numpy() -> None:
    theirs_, ours = numpys("unique")
    assert (theirs_(Tensor([3, 1, 3])).tolist(), ours(Tensor([3, 1, 3])).tolist()) == ([3, 1], [1, 3])
    values, places = theirs_([3, 1, 3], return_inverse=True)
    assert (values.tolist(), places.tolist(), places.dtype) == ([3, 1], [0, 1, 0], msnb.int32)


def test_counts_of_numpy() -> None:
    for fn, dtype in zip(numpys("bincount"), (msnb.float32, msnb.int64)):
        found = fn([1, 1, 3], length=5)
        assert (found.tolist(), found.dtype) == ([0, 2, 0, 1, 0], dtype)
    assert theirs("bincount")(Tensor([1, 1, 3]), minlength=5).dtype is msnb.float32
    assert msnb.ops.bincount(Tensor([1, 1, 3]), minlength=5).dtype is msnb.int64


def test_lists_of_numpy(mode: int) -> None:
    seen, own = (fn((2, 3)) for fn in numpys("indices"))
    assert isinstance(seen, list) and np.array_equal(np.stack([g.asnumpy() for g in seen]), own.asnumpy())
    for n in (1, 2, 3):
        seen, own = (fn(Tensor(1.0), Tensor([2.0])) for fn in numpys(f"atleast_{n}d"))
        assert isinstance(seen, list) and isinstance(own, tuple) and [t.ndim for t in seen] == [n, n]
        assert numpys(f"atleast_{n}d")[0](Tensor(1.0)).ndim == n


def test_stacks_of_one_array(mode: int) -> None:
    x = Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    for name, shape in {"column_stack": (3, 2), "dstack": (1, 3, 2), "hstack": (6,), "vstack": (2, 3)}.items():
        seen, own = (compiled(lambda x, f=f: f(x), x) for f in numpys(name))
        assert (seen.tolist(), own.shape) == (x.tolist(), shape), name
        both = [compiled(lambda x, f=f: f((x, x)), x) for f in numpys(name)]
        assert both[0].tolist() == both[1].tolist(), name


def test_dtypes_of_numpy(mode: int) -> None:
    whole, half = Tensor([[2, -3], [1, 4]], msnb.int32), Tensor([[0.5, 2.0], [1.5, -1.0]], msnb.float16)
    cases: list[tuple[str, tuple[Any, ...], Any, Any]] = [
        *((name, (whole,), msnb.int32, msnb.int64) for name in ("cumsum", "cumprod", "nancumsum", "nansum")),
        *((name, (whole,), msnb.float32, msnb.int32) for name in ("ceil", "fix", "sign", "trunc")),
        *((name, (half,), msnb.float32, msnb.float16)
          for name in ("cov", "corrcoef", "norm", "nanmean", "nanvar", "nanstd", "unwrap")),
        *((name, (whole, whole), msnb.int32, msnb.float32) for name in ("copysign", "heaviside")),
        ("float_power", (whole, half), msnb.float32, msnb.float64),
        ("full_like", (whole, half), msnb.float16, msnb.int32),
        ("polyval", ([1, 2], half), msnb.float32, msnb.float16), ("polyval", (half[0], 2), msnb.float32, msnb.float16),
    ]  # fmt: skip
    for name, given, seen, own in cases:
        found = [compiled(lambda *t, f=f: f(*t), *given) for f in numpys(name)]
        assert [f.dtype for f in found] == [seen, own], name
        if name != "full_like":
            np.testing.assert_allclose(*[f.asnumpy() for f in found], rtol=5e-3, err_msg=name)
    cumsum, norm = numpys("cumsum")[0], numpys("norm")[0]
    assert cumsum(whole, 0, msnb.float32).dtype is cumsum(whole, dtype=msnb.float32).dtype is msnb.float32
    assert float(norm(x=half)) == pytest.approx(7.5**0.5)
    with pytest.raises(TypeError, match="missing a required argument"):
        cumsum()


def test_cut_off_in_numpy(mode: int) -> None:
    x = Tensor([2, 1, -1, 3], msnb.int32)
    cases: dict[str, tuple[Any, ...]] = {
        "mean": (1.25,), "average": (1.25,), "exp2": ([4, 2, 0.5, 8],), "reciprocal": ([0.5, 1, -1, 1 / 3],),
        "maximum": ([2, 1.5, 1.5, 3], 1.5), "minimum": ([1.5, 1, -1, 1.5], 1.5),
    }  # fmt: skip
    for name, (want, *rest) in cases.items():
        found = compiled(lambda x, f=numpys(name)[0], rest=rest: f(x, *rest), x)
        assert found.dtype is msnb.float32 and found.tolist() == pytest.approx(want), name


def test_digits_of_numpy(mode: int) -> None:
    x = Tensor(np.array([0.1, 0.7]))
    cases: dict[str, tuple[Any, ...]] = {"divide": (x, x), "true_divide": (x, x), "trapz": (x,), "round": (x,)}
    for name, given in cases.items():
        assert compiled(lambda *t, f=numpys(name)[0]: f(*t), *given).dtype is msnb.float64, name
    for name in ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
                 "arctanh"):  # fmt: skip
        assert compiled(lambda t, f=numpys(name)[0]: f(t), Tensor([True])).dtype is msnb.float32, name
    found = numpys("ravel_multi_index")[0]((Tensor([2**25]), Tensor([1])), (2**26, 2))
    assert found.tolist() == [2**26 + 1] and found.dtype is msnb.int64


def test_methods_of_tensors(mode: int) -> None:
    from msnb.as_mindspore import uninstall

    x = Tensor([2.0, 1.0, 0.0])

    def found() -> Any:
        return compiled(lambda x: (x.argmin(), x.argsort(), x.sort()[1], x.topk(2)[1], x.count_nonzero()), x)

    assert [t.dtype for t in found()] == [msnb.int32] * 5
    assert x.searchsorted(Tensor([1.5]), "right").dtype is msnb.int32 and x.stride() == [1] and x.stride(0) == 1
    weight = msnb.Parameter(Tensor([1.0]), name="w")
    assert str(weight) == repr(weight) == "Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)"
    net = msnb.nn.SequentialCell(msnb.nn.ReLU(), msnb.nn.Tanh())
    assert len(net.cells()) == 2
    uninstall()
    assert [t.dtype for t in found()] == [msnb.int64] * 5
    assert x.stride() == (1,) and str(weight) == "[1.]" and "value=" in repr(weight)
    assert msnb.ops.ArgMaxWithValue()(x)[0].dtype is msnb.int64


def test_methods_that_are_functions(mode: int) -> None:
    from msnb.as_mindspore import uninstall

    def of_integers(x: Any) -> Any:
        return x.cumsum(), x.cumsum(axis=0), x.nansum(), x.cummin(0)[1], x.top_k(1)[1]

    x = Tensor([[1, 2], [0, 4]], msnb.int32)
    found = compiled(of_integers, x)
    assert [t.shape for t in found] == [(4,), (2, 2), (), (2, 2), (2, 1)] and {t.dtype for t in found} == {msnb.int32}
    found = compiled(lambda x: (x.median()[0], x.nanmedian()[1], x.diag(), x.squeeze(0)), Tensor(X))
    assert [t.shape for t in found] == [(2,), (2,), (2, 3, 2, 3), (2, 3)]
    assert Tensor([0, 2], msnb.int32).bincount().dtype is msnb.float32
    assert float(Tensor(1.26).round(decimals=1)) == pytest.approx(1.3)
    with pytest.raises(TypeError):
        x.cumsum(0, 1, 2)
    uninstall()
    assert x.cumsum().shape == (2, 2) and x.cumsum(0).dtype is x.top_k(1)[1].dtype is msnb.int64


def test_bernoulli(mode: int) -> None:
    found = compiled(lambda x: theirs("bernoulli")(x, 1.0), Tensor([[0, 0, 0]], msnb.int32))
    assert (found.tolist(), found.dtype) == ([[1, 1, 1]], msnb.int32)
    assert compiled(lambda x: theirs("bernoulli")(x, x), Tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert msnb.ops.bernoulli(Tensor(1.0), (2,)).tolist() == [1.0, 1.0]


def test_nesterov(mode: int) -> None:
    w = msnb.Parameter(Tensor([0.0]), name="w")
    msnb.nn.Momentum([w], 1.0, 0.5, use_nesterov=True)([Tensor([1.0])])
    assert w.tolist() == [-1.5]


def test_gradients_by_integers(mode: int) -> None:
    import mindspore

    x, y = Tensor(3, msnb.int32), Tensor([1.0, 2.0, 5.0])
    for grad in (mindspore.grad, mindspore.ops.grad):
        found = grad(lambda a: a * a)(x)
        assert (int(found), found.dtype) == (6, msnb.int32)
    value, found = mindspore.value_and_grad(lambda a: a * a * a)(x)
    assert (int(value), int(found)) == (27, 27)
    by_all = mindspore.ops.GradOperation(get_all=True)(lambda a, b: b[a - 1] * a)(x, y)
    assert (int(by_all[0]), by_all[1].tolist()) == (5, [0.0, 0.0, 3.0])
    for vjp in (mindspore.vjp, mindspore.ops.vjp, mindspore.ops.functional.vjp):
        value, pull = vjp(lambda a, b: b[a - 1] * a, x, y)
        assert (float(value), int(pull(Tensor(2.0))[0]), pull(Tensor(2.0))[1].tolist()) == (15, 10, [0, 0, 6])
    with pytest.raises(msnb.base.errors.DTypeError):
        msnb.grad(lambda a: a * a)(x)


def test_gradients_by_integers_beside_an_index(mode: int) -> None:
    """The index is asked for, too, and has the values' dtype: it alone must stay an integer."""
    import mindspore

    ops = mindspore.ops
    x, rows = Tensor(np.arange(12).reshape(3, 4).astype(np.int32)), Tensor([0, 2], msnb.int32)
    y = Tensor(np.ones((2, 4), np.int32))
    by_all = ops.GradOperation(get_all=True)(lambda a, i, b: ops.index_add(a, i, b, 0) * 3)(x.copy(), rows, y)
    assert [g.asnumpy().max() for g in by_all] == [3, 0, 3]
    by_all = ops.GradOperation(get_all=True)(lambda a, i: ops.gather(a * a, i, 0))(x, rows)
    assert by_all[0].tolist() == [[0, 2, 4, 6], [0, 0, 0, 0], [16, 18, 20, 22]]
    matrix = Tensor([[0, 0], [1, 1], [2, 2]], msnb.int32), Tensor([2, 3, 4], msnb.int32)
    product = mindspore.nn.SparseTensorDenseMatmul()
    found = ops.GradOperation(get_all=True)(lambda i, v, d: product(i, v, (3, 3), d))(*matrix, x[:, :3])
    assert found[1].tolist() == [3, 15, 27]
    assert found[2].tolist() == [[2, 2, 2], [3, 3, 3], [4, 4, 4]]


def test_pivots_of_lu(mode: int) -> None:
    import mindspore

    ops, b = mindspore.ops, Tensor([[1.0], [2.0], [3.5]])
    a = Tensor(np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 10]]))
    factors, pivots = mindspore.scipy.linalg.lu_factor(a)  # counted from 0
    operators = ops.operations.math_ops.LuSolve(), ops.operations.LuUnpack()
    for solve in (ops.lu_solve, lambda b, *lu: b.lu_solve(*lu), operators[0]):
        np.testing.assert_allclose((a @ compiled(solve, b, factors, pivots + 1)).asnumpy(), b.asnumpy(), rtol=1e-4)
        for wrong in ([0, 1, 2], [-1, 1, 2], [4, 2, 3]):
            with pytest.raises(IndexError):
                solve(b, factors, Tensor(wrong, msnb.int32)).asnumpy()
    for unpack in (ops.lu_unpack, operators[1]):
        p, low, high = compiled(unpack, factors, pivots + 1)
        np.testing.assert_allclose((p @ low @ high).asnumpy(), a.asnumpy(), rtol=1e-4)
    assert operators[1].attrs == {"unpack_data": True, "unpack_pivots": True}


def test_words_of_methods(mode: int) -> None:
    x, like = Tensor([1.25, 2.5]), Tensor(np.ones((2, 2), np.float32))
    assert compiled(lambda t: t.round(0), x).tolist() == [1.0, 2.0]
    np.testing.assert_allclose(compiled(lambda t: t.round(1), x).asnumpy(), [1.2, 2.5], rtol=1e-6)
    for expanded in (lambda t, y: t.expand_as(x=y), lambda t, y: t.expand_as(other=y)):
        assert compiled(expanded, x, like).tolist() == [[1.25, 2.5]] * 2
    with pytest.raises(TypeError):
        x.expand_as(like, x=like)


def test_gradients_through_integers(mode: int) -> None:
    import mindspore

    x = Tensor([1.5, 2.5])
    for dtype in (mindspore.int32, mindspore.bool_):
        assert mindspore.grad(lambda a, t=dtype: a.astype(t).astype(mindspore.float32) * 3)(x).tolist() == [0.0, 0.0]
    assert mindspore.grad(lambda a: a - a.astype(mindspore.int32))(x).tolist() == [1.0, 1.0]
    assert mindspore.grad(lambda a: a - mindspore.ops.floor(a))(x).tolist() == [1.0, 1.0]


def test_gradients_of_python_integers(mode: int) -> None:
    import mindspore

    x = Tensor([1.0, 2.0])
    assert mindspore.grad(mindspore.ops.size)(x).tolist() == [0, 0]
    assert mindspore.ops.GradOperation()(lambda t: t.shape[0])(x).tolist() == [0, 0]
    with pytest.raises(msnb.base.errors.GradientError):
        msnb.grad(lambda t: 3)(x)


def test_gradients_by_one_position(mode: int) -> None:
    import mindspore

    def scaled(x: Tensor, how: Any) -> Tensor:
        return x * (2.0 if how == "twice" else 1.0)

    x = Tensor([1.0, 3.0])
    assert mindspore.grad(scaled, (0,))(x, "twice").tolist() == [2.0, 2.0]
    assert mindspore.grad(scaled, (0, 1))(x, "twice").tolist() == [2.0, 2.0], "the one that is left, as it is"
    assert mindspore.value_and_grad(scaled, (0,))(x, None)[1].tolist() == [1.0, 1.0]
    assert isinstance(msnb.grad(scaled, (0,))(x, "twice"), tuple)
    with pytest.raises(msnb.base.errors.DTypeError):
        msnb.grad(scaled, (0, 1))(x, "twice")


def test_divergence_of_gumbel(mode: int) -> None:
    import mindspore.nn.probability.distribution as msd

    found = msd.Gumbel(0.0, 1.0).kl_loss("Gumbel", Tensor([-1.0, 0.0, 1.0]), Tensor([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(found.asnumpy(), [np.exp(-1.0), 0.0, np.e - 2.0], atol=1e-6)


def test_rounded_division(mode: int) -> None:
    x, y = Tensor([-7.0, 7.0]), Tensor([2.0, 2.0])
    for name in ("div", "divide"):
        assert theirs(name)(x, y, rounding_mode="floor").tolist() == [-4.0, 3.0]
        assert theirs(name)(x, y, rounding_mode="trunc").tolist() == [-3.0, 3.0]
        assert theirs(name)(x, y).tolist() == getattr(msnb.ops, name)(x, y).tolist() == [-3.5, 3.5]
    assert theirs("round")(Tensor([1.25, 2.5]), decimals=1).tolist() == pytest.approx([1.2, 2.5])
    assert theirs("subtract")(x, y, alpha=2).tolist() == [-11.0, 3.0]


def test_gradients_of_assignments(mode: int) -> None:
    from msnb.as_mindspore import install, uninstall

    weight = msnb.Parameter(Tensor(5.0), name="w")

    def fn(x: Tensor) -> Tensor:
        return x * 10 + theirs("assign")(weight, x * 3)

    assert float(msnb.grad(fn)(Tensor(2.0))) == 10.0
    uninstall()
    assert float(msnb.grad(lambda x: x * 10 + msnb.ops.assign(weight, x * 3))(Tensor(2.0))) == 13.0
    install()


def test_a_parameter_that_is_off_for_a_while(mode: int) -> None:
    p = msnb.Parameter(Tensor([2.0]), name="p")

    class Net(msnb.nn.Cell):
        def construct(self, x: Any) -> Any:
            p.requires_grad = False
            y = x * p
            p.requires_grad = True
            return y + 2 * p

    assert msnb.grad(Net(), None, p)(Tensor([3.0])).tolist() == [5]  # MindSpore: 2
