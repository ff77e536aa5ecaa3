"""MindSpore's primitives of numbers, matrices, places, draws and sequences, in both modes.

What has a kernel on MindSpore 2.10's CPU is compared with its numbers, the rest with the examples of its documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

INF, LEAST = float("inf"), float(np.finfo(np.float32).min)


def wave(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape)) * 1.7 + 0.3).reshape(shape).astype(np.float32)


def share(*shape: int) -> Any:
    return np.abs(wave(*shape))


def ints(*values: Any) -> Any:
    return np.array(values if len(values) > 1 else values[0], np.int32)


def longs(*values: Any) -> Any:
    return ints(*values).astype(np.int64)


def floats(*values: Any) -> Any:
    return np.array(values if len(values) > 1 else values[0], np.float32)


def run(op: Any, args: tuple[Any, ...]) -> Any:
    """Arrays are the operands of a program, everything else stands in its text."""
    tensors = [ms.Tensor(a) for a in args if isinstance(a, (np.ndarray, np.generic))]

    def fn(*given: Any) -> Any:
        rest = iter(given)
        return op(*[next(rest) if isinstance(a, (np.ndarray, np.generic)) else a for a in args])

    return ms.jit(fn)(*tensors) if ms.get_context("mode") == ms.GRAPH_MODE else fn(*tensors)


def check(name: str, make: Any, args: tuple[Any, ...], expected: Any) -> None:
    found = run(make(), args)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected), name
    for got, want in zip(found, expected):
        np.testing.assert_allclose(got.asnumpy().ravel(), np.array(want), rtol=3e-4, atol=3e-5, err_msg=name)


CASES: dict[str, Any] = {
    "Betainc": (lambda: ops.Betainc(), (floats(.3,.1,4), floats(.4,.5,9), floats(.2,.6,.5),),
        [[0.41463, 0.8706, 0.927]]),
    "Bincount": (lambda: ops.Bincount(), (ints(1,2,2,3,9), 4, floats(1,2,3,4,5),), [[0.0, 1.0, 5.0, 4.0]]),
    "Coalesce": (lambda: ops.Coalesce(), (longs([[0,0,1,0],[1,1,2,0]]), floats(1,5,4,2), (3,3),),
        [[0, 0, 1, 0, 1, 2], [2.0, 6.0, 4.0], [3, 3]]),
    "CumulativeLogsumexp": (lambda: ops.CumulativeLogsumexp(exclusive=True, reverse=True), (wave(2,3), 1,),
        [[1.1221, -0.52984, LEAST, 1.3527, 0.58492, LEAST]]),
    "IndexPut": (lambda: ops.IndexPut(1), (ints([[1,2,3],[4,5,6]]), ints([3]), [ms.Tensor([0, 0]), ms.Tensor([0, 1])],),
        [[4, 5, 3, 4, 5, 6]]),
    "RaggedRange": (lambda: ops.RaggedRange(Tsplits=ms.int64), (ints(2,5,8), ints(-3,5,12), ints(-2,1,3),),
        [[0, 3, 3, 5], [2, 0, -2, 8, 11]]),
    "SegmentMax": (lambda: ops.SegmentMax(), (wave(4,2), longs(0,0,2,2),),
        [[0.29552, 0.9093, 0.0, 0.0, 0.72897, 0.58492]]),
    "SegmentMean": (lambda: ops.SegmentMean(), (wave(4,2), longs(0,0,2,2),),
        [[-0.11716, 0.068266, 0.0, 0.0, -0.075363, 0.11334]]),
    "SegmentMin": (lambda: ops.SegmentMin(), (wave(4,2), longs(0,0,2,2),),
        [[-0.52984, -0.77276, 0.0, 0.0, -0.8797, -0.35823]]),
    "SegmentProd": (lambda: ops.SegmentProd(), (wave(4,2), longs(0,0,2,2),),
        [[-0.15658, -0.70267, 1.0, 1.0, -0.64127, -0.20953]]),
    "SegmentSum": (lambda: ops.SegmentSum(), (wave(4,2), longs(0,0,2,2),),
        [[-0.23432, 0.13653, 0.0, 0.0, -0.15073, 0.22669]]),
    "CompareAndBitpack": (lambda: ops.CompareAndBitpack(), (wave(8), floats(.1),), [[204]]),
    "DataFormatVecPermute": (lambda: ops.DataFormatVecPermute(), (ints(1,2,3,4),), [[1, 4, 2, 3]]),
    "Eps": (lambda: ops.Eps(), (wave(2),), [[1.1921e-07, 1.1921e-07]]),
    "MapUniform": (lambda: ops.MapUniform(), (longs(0,1,2,3,4,5), 3, 2,), [[0, 3, 1, 4, 2, 5]]),
    "MatrixSolveLs": (lambda: ops.MatrixSolveLs(), (wave(3,2), wave(3,1), np.float64(.5),), [[-0.48556, -0.091587]]),
    "MatrixSolveLs#slow": (lambda: ops.MatrixSolveLs(False), (wave(3,2), wave(3,1), np.float64(.5),),
        [[-1.5118, 0.5243]]),
    "NuclearNorm": (lambda: ops.NuclearNorm([0,2], True), (wave(2,2,3),), [[2.2444, 2.1212]]),
    "SubAndFilter": (lambda: ops.SubAndFilter(), (ints(1,3,5,8,9,16), 10, 5,), [[0, 3, 4], [2, 3, 4]]),
    "TridiagonalMatMul": (lambda: ops.TridiagonalMatMul(), (wave(1,3), wave(1,3)+1, wave(1,3)-1, wave(3,2),),
        [[0.22628, 0.94965, -0.37557, -1.026, 1.1533, 1.4572]]),
    "CTCLoss": (lambda: ops.CTCLoss(), (wave(3,2,3), longs([[0,0],[0,1],[1,0]]), ints(0,1,1), ints(3,2),),
        [[2.7449, 1.0943], [-0.65413, 0.56229, 0.091835, 0.10665, -0.34883, 0.24218, -0.025807, -0.074188,
        0.099995, 0.42134, -0.23227, -0.18907, 0.7047, -0.71827, 0.013568, 0.0, 0.0, 0.0]]),
    "CTCLoss#apart": (lambda: ops.CTCLoss(ctc_merge_repeated=False),
        (wave(3,1,3), longs([[0,0],[0,1]]), ints(1,1), ints([3]),),
        [[1.4079], [0.30437, -0.38916, 0.084794, 0.10665, -0.34396, 0.23731, 0.11043, -0.039766, -0.070668]]),
    "CTCLoss#collapse": (lambda: ops.CTCLoss(preprocess_collapse_repeated=True),
        (wave(3,1,3), longs([[0,0],[0,1]]), ints(1,1), ints([3]),),
        [[0.75383], [0.30437, -0.29517, -0.0092021, 0.10665, -0.15084, 0.044192, 0.11043, 0.032505, -0.14294]]),
    "CTCLossV2": (lambda: ops.CTCLossV2(), (wave(3,1,3)-2, ints([[1,2]]), ints([3]), ints([1]),),
        [[3.7233], [-1.7045, -1.0907, -INF, -INF, -INF, -4.4772, -1.9291, -3.8635, -INF, -INF, -7.3569, -4.212,
        -4.6738, -INF, -INF]]),
    "EditDistance": (lambda: ops.EditDistance(),
        (longs([[0,0],[0,1],[0,2],[1,0],[1,1],[2,0]]), ints(1,2,3,4,5,1), (4, 3),
         longs([[0,0],[0,1],[1,0],[1,1],[1,2],[3,0]]), ints(1,3,4,7,5,2), (4,4),),
        [[0.5, 0.33333, INF, 1.0]]),
    "NoRepeatNGram": (lambda: ops.NoRepeatNGram(2), (ints([[[1,2,1]]]), share(1,1,4),),
        [[0.29552, 0.9093, LEAST, 0.77276]]),
    "AccumulateNV2": (lambda: lambda x: ops.AccumulateNV2()((x, x, x)), (floats(1., 2.),), [[3., 6.]]),
    "BatchToSpace": (lambda: ops.BatchToSpace(2, [[0, 0], [0, 0]]), (np.arange(1., 5.).reshape(4, 1, 1, 1),),
        [[1., 2., 3., 4.]]),
    "BatchToSpaceNDV2": (lambda: ops.BatchToSpaceNDV2(),
        (np.arange(1., 5.).reshape(4, 1, 1, 1), (2, 2), [[0, 0], [0, 0]]), [[1., 2., 3., 4.]]),
    "SpaceToBatch": (lambda: ops.SpaceToBatch(2, [[0, 0], [0, 0]]), (floats([[[[1, 2], [3, 4]]]]),),
        [[1., 2., 3., 4.]]),
    "ComputeAccidentalHits": (lambda: ops.ComputeAccidentalHits(2), (longs([[1, 2], [0, 4], [3, 3]]), np.arange(5)),
        [[0, 0, 1, 1, 2, 2], [1, 2, 0, 4, 3, 3], [LEAST] * 6]),
    "ConfusionMatrix": (lambda: ops.ConfusionMatrix(3), (ints(0, 1, 1, 2), ints(1, 2, 1, 2)),
        [[0, 1, 0, 0, 1, 1, 0, 0, 1]]),
    "DepthwiseConv2dNative": (lambda: ops.DepthwiseConv2dNative(2, (1, 2)),
        (floats([[[[1, 2, 3]], [[4, 5, 6]]]]), np.arange(8.).reshape(2, 2, 1, 2).astype(np.float32)),
        [[2., 3., 14., 23., 23., 28., 59., 72.]]),
    "DynamicShape": (lambda: ops.DynamicShape(), (wave(2, 3),), [[2, 3]]),
    "Eig": (lambda: ops.Eig(), (floats([[1., 0.], [0., 2.]]),), [[1., 2.], [0.]]),
    "EuclideanNorm": (lambda: ops.EuclideanNorm(True), (ints([[3, 5], [4, 12]]), [0]), [[5, 13]]),
    "Fills": (lambda: ops.Fills(), (floats([[1., 2.]]), 1.5), [[1.5, 1.5]]),
    "HistogramFixedWidth": (lambda: ops.HistogramFixedWidth(5), (floats(-1., 0, 1.5, 2, 5, 15), floats(0., 5.)),
        [[2, 1, 1, 0, 2]]),
    "LerpScalar": (lambda: ops.LerpScalar(), (floats(1., 2.), floats(3., 6.), 0.5), [[2., 4.]]),
    "LogSoftmaxExt": (lambda: ops.LogSoftmaxExt(), (floats([[0., 0.]]), -1), [[-0.69315, -0.69315]]),
    "MoveTo": (lambda: ops.MoveTo(), (ints(1, 2), "CPU"), [[1, 2]]),
    "MultilabelMarginLoss": (lambda: ops.MultilabelMarginLoss(),
        (floats([[.1, .2, .4, .8], [.2, .3, .5, .7]]), ints([[1, 2, 0, 3], [2, 3, -1, 1]])),
        [[0.325], [1, 1, 1, 1, 0, 0, 1, 1]]),
    "SparseGatherV2": (lambda: ops.SparseGatherV2(),
        (floats([[1, 2, 7], [3, 4, 5]]), ints(1, 2), 1), [[2., 7., 4., 5.]]),
    "SplitV": (lambda: ops.SplitV([1, -1], 1, 2), (floats([[1, 2, 3], [4, 5, 6]]),), [[1., 4.], [2., 3., 5., 6.]]),
    "MatrixExp": (lambda: ops.MatrixExp(), (floats([[1., 2.], [0., 1.]]),), [[2.71828, 5.43656, 0., 2.71828]]),
    "MatrixLogarithm": (lambda: ops.MatrixLogarithm(), (np.array([[1 + 2j, 2 + 1j], [4 + 1j, 5 + 2j]]),),
        [[0.69155775 + 1.71618359j, 0.64665196 - 0.34928196j, 1.02426074 - 0.88736831j, 1.44677531 + 0.6400109j]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, mode: Any) -> None:
    check(name, *CASES[name])


SMOOTH = ("Betainc", "CumulativeLogsumexp", "MatrixSolveLs", "NuclearNorm", "TridiagonalMatMul", "CTCLoss",
          "CTCLoss#apart")  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    from tests.gradient_check import check_grads

    make, args, _ = CASES[name]
    first = 2 if name == "Betainc" else 0
    given = [ms.Tensor(a.astype(np.float64) if a.dtype == np.float32 else a) if isinstance(a, np.ndarray) else a
             for a in args]  # fmt: skip

    def fn(x: Any) -> Any:
        out = make()(*given[:first], x, *given[first + 1 :])
        out = out[0] if isinstance(out, tuple) else out
        return ops.where(out > LEAST / 2, out, 0.0)

    check_grads(fn, [args[first].astype(np.float64)], order=1, tolerance=1e-5, forward=False)


def test_gradients_of_segments(mode: Any) -> None:
    x, ids = floats([[1.0, 5.0], [3.0, 2.0], [4.0, 4.0]]), longs(0, 0, 2)
    wanted = {"Max": [0, 10, 6, 0, 8, 8], "Prod": [18, 40, 6, 100, 8, 8], "Mean": [2, 3.5, 2, 3.5, 8, 8]}
    for kind, expected in wanted.items():
        op = getattr(ops, f"Segment{kind}")()
        found = run(lambda a, b, op=op: ms.grad(lambda y: (op(y, b) ** 2).sum())(a), (x, ids))
        np.testing.assert_allclose(found.asnumpy().ravel(), expected)


def test_gradient_of_ctc_is_its_second_result() -> None:
    make, args, _ = CASES["CTCLoss"]
    rest = [ms.Tensor(a) for a in args[1:]]
    _, gradient = make()(ms.Tensor(args[0]), *rest)
    found = ms.grad(lambda x: make()(x, *rest)[0].sum())(ms.Tensor(args[0]))
    np.testing.assert_allclose(found.asnumpy(), gradient.asnumpy(), atol=1e-6)


def test_labels_that_do_not_fit() -> None:
    long = (wave(3, 1, 3), longs([[0, 0], [0, 1]]), ints(0, 1), ints([1]))
    loss, gradient = run(ops.CTCLoss(ignore_longer_outputs_than_inputs=True), long)
    assert loss.tolist() == [INF] and not gradient.asnumpy().any()
    with pytest.raises(ValueError, match="more labels than steps"):
        run(ops.CTCLoss(), long)


def test_recurrent_layers(mode: Any) -> None:
    x, h, c = wave(3, 2, 2), wave(1, 2, 2), wave(1, 2, 2) * 0.5
    w, b = wave(4, 8), wave(8)
    y, last_h, last_c, *gates = run(ops.DynamicRNN(forget_bias=1.0), (x, w, b, None, h, c))
    cell = ops.BasicLSTMCell()(*[ms.Tensor(a) for a in (x[0], h[0], c[0], w, b)])
    for part, one in zip((last_c, last_h, *gates), cell):
        np.testing.assert_allclose(part.asnumpy()[0], one.asnumpy(), rtol=1e-5)
    z = np.concatenate([x[0], h[0]], 1) @ w + b
    i, j, f, o = np.split(z, 4, 1)
    sig = lambda v: 1 / (1 + np.exp(-v))
    want = sig(f + 1) * c[0] + sig(i) * np.tanh(j)
    np.testing.assert_allclose(cell[0].asnumpy(), want, rtol=1e-5)
    np.testing.assert_allclose(y.asnumpy()[0], sig(o) * np.tanh(want), rtol=1e-5)


@pytest.mark.parametrize("order, after", [("rzh", True), ("zrh", True), ("rzh", False)])
def test_gated_units(order: str, after: bool, mode: Any) -> None:
    x, h, wi, wh, bi, bh = wave(2, 2, 2), wave(2, 2), wave(2, 6), wave(2, 6) * 0.5, wave(6), wave(6) * 0.3
    op = ops.DynamicGRUV2(gate_order=order, reset_after=after)
    y, _, update, reset, new, told = (v.asnumpy()[0] for v in run(op, (x, wi, wh, bi, bh, None, h)))
    given, state = np.split(x[0] @ wi + bi, 3, 1), np.split(h @ wh + bh, 3, 1)
    a, b = (1 / (1 + np.exp(-given[k] - state[k])) for k in (0, 1))
    r, z = (a, b) if order == "rzh" else (b, a)
    inner = state[2] if after else (r * h) @ wh[:, 4:] + bh[4:]
    n = np.tanh(given[2] + (r * inner if after else inner))
    for got, want in ((update, z), (reset, r), (new, n), (told, inner), (y, (1 - z) * n + z * h)):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def test_draws(mode: Any) -> None:
    ms.set_seed(4)
    x = floats([[0, 9, 4, 0], [1, 0, 0, 0]])
    found = run(ops.MultinomialWithReplacement(50, True), (x, longs(2), longs(5))).asnumpy()
    assert found.shape == (2, 50) and set(found[0]) == {1, 2} and not found[1].any()
    again = run(ops.MultinomialWithReplacement(50, True), (x, longs(2), longs(5))).asnumpy()
    np.testing.assert_array_equal(found, again)
    apart = run(ops.MultinomialWithReplacement(2), (x[:1], longs(0), longs(0))).asnumpy()
    assert sorted(apart[0]) == [1, 2]
    middle = np.median(run(ops.Cauchy([4000], 3.0, 2.0), ()).asnumpy())
    assert abs(middle - 3) < 0.3
    logs = np.log(run(ops.LogNormalReverse(2.0, 0.5), (wave(4000),)).asnumpy())
    assert abs(logs.mean() - 2) < 0.05 and abs(logs.std() - 0.5) < 0.05
    given = ((2, 500), floats(0, 5), floats(1, 2), floats(-1, 8), floats(2, 9))
    between = run(ops.ParameterizedTruncatedNormal(1, 2), given)
    low, high = between.asnumpy()
    assert -1 <= low.min() < -0.9 and 1.5 < low.max() <= 2 and 8 <= high.min() and high.max() <= 9
    assert run(ops.NonDeterministicInts(ms.int32), ((3, 4),)).dtype is ms.int32
    assert sorted(run(ops.RandpermV2(1, 2), (5,)).tolist()) == [0, 1, 2, 3, 4]
    mask = run(ops.DropoutGenMask(1, 1), ((1000,), 0.5)).asnumpy()
    kept = run(ops.DropoutDoMask(), (np.ones(1000, np.float32), mask, 0.5))
    assert set(kept.tolist()) == {0.0, 2.0} and 0.8 < kept.asnumpy().mean() < 1.2


def test_conditions(mode: Any) -> None:
    assert run(ops.CheckNumerics(), (wave(3),)).shape == (3,)
    with pytest.raises(RuntimeError, match="NaN or infinity"):
        run(ops.CheckNumerics(), (floats(1.0, INF),)).asnumpy()

    def checked(x: Any) -> Any:
        ops.Assert(2)(x.sum() > 0, [x])
        return x + 1

    assert run(lambda x: checked(x), (ints(1, 2),)).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"(?s)does not hold.*data 0: \[-1 -2\] \.\.\."):
        run(lambda x: checked(x), (ints(-1, -2, -3),)).asnumpy()


def test_bits_of_booleans_begin_with_the_lowest() -> None:
    bits = np.array([1, 0, 0, 1, 1, 1, 0, 1], bool)
    for threshold in (False, True):
        assert ops.CompareAndBitpack()(ms.Tensor(bits), ms.Tensor(threshold)).tolist() == [185]


WEIGHTS = {
    "AdamNoUpdateParam": (0.1, [-1.0004e-04]), "FusedWeightScaleApplyMomentum": (2.0, [0.9781]),
    "FusedCastAdamWeightDecay": (2.0, [0.994576]), "FusedAdaFactor": (1.0, [0.97]),
    "FusedAdaFactorWithGlobalNorm": (2.0, [0.97]),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_optimizers(name: str, mode: Any) -> None:
    scale, expected = WEIGHTS[name]
    var, m, v = (ms.Parameter(ms.Tensor([[x]]), name=f"{name}{k}") for k, x in enumerate((1.0, 0.1, 0.1)))
    row, column = (ms.Parameter(ms.Tensor([0.0]), name=f"{name}{k}") for k in "rc")
    s = lambda x: ms.Tensor(x, ms.float32)
    op = getattr(ops, name)()

    def step(g: Any) -> Any:
        if name == "AdamNoUpdateParam":
            return op(m, v, s(0.9), s(0.999), s(0.001), s(0.9), s(0.999), s(1e-8), g)
        if name == "FusedWeightScaleApplyMomentum":
            op(s(0.1), s(scale), var, m, s(0.01), g, s(0.9))
        elif name == "FusedCastAdamWeightDecay":
            op(var, m, v, 0.01, 0.9, 0.999, 1e-8, 0.1, g.astype(ms.float16), scale)
        else:
            norm = (scale,) if name.endswith("Norm") else ()
            op((1e-30, 1e-3), 1.0, 0.9, 0.8, 1e-2, 0.03, g, var, m, row, column, v, *norm)
        return var.value()

    found = run(step, (floats([[min(scale, 1.0)]]),))
    np.testing.assert_allclose(found.asnumpy().ravel(), expected, rtol=1e-3)


def test_wrong_calls_teach() -> None:
    x, ids = ms.Tensor(wave(2, 3)), ms.Tensor(ints(0, 1))
    ctc = ops.CTCLoss()
    wrong = [
        (lambda: ops.Bincount()(ms.Tensor(ints(1, -2)), 5, ops.ones(2)), "from 0, got -2"),
        (lambda: ops.Bincount()(ids, 0, ops.ones(2)), "above 0"),
        (lambda: ops.Bincount()(ids, 3, ops.ones(3)), "the shape of array"),
        (lambda: ops.SegmentSum()(x, x), "a vector of integers"),
        (lambda: ops.Coalesce()(ms.Tensor(longs([[3], [0]])), ops.ones(1), (3, 3)), "outside of the shape"),
        (lambda: ops.RaggedRange(ms.int64)(ids, ids, ids), "no delta is 0"),
        (lambda: ops.NuclearNorm()(ops.ones((2, 2, 2))), "the two axes in dim"),
        (lambda: ops.IndexPut(2)(x, x[0], [ids]), "0 or 1, not 2"),
        (lambda: ops.IndexPut()(x, x[0], [ms.Tensor(ints(5, 0))]), "outside of its 2 places"),
        (lambda: ops.IndexPut()(x, x[0, :2], [ids]), "1 or 3 values"),
        (lambda: ops.CompareAndBitpack()(x, 0.1), "a multiple of 8"),
        (lambda: ops.SplitV([1, 1], 1, 2)(x), "add up to 3"),
        (lambda: ops.Cauchy([])(), "numbers above 0"),
        (lambda: ops.MultinomialWithReplacement(9)(x, 1, 1), "not 9"),
        (lambda: ops.NonDeterministicInts(ms.float32)((2,)), "int32 or int64"),
        (lambda: ops.MoveTo()(x, "Mars"), "not 'Mars'"),
        (lambda: ops.Assert(1.5)(True, []), "summarize is an int"),
        (lambda: ops.Assert()(True, x), "a tuple or list"),
        (lambda: ops.Eps()(ids), "floating-point"),
        (lambda: ops.MatrixLogarithm()(ops.ones((2, 2))), "complex"),
        (lambda: ctc(x, ids, ids, ids), r"labels_indices \[labels, 2\]"),
        (lambda: ops.CTCLossV2(reduction="mean")(ops.ones((2, 1, 3)), ids[None], [2], [2]), "reduction is 'none'"),
        (lambda: ops.NoRepeatNGram(3)(ops.ones((1, 1, 3)), ops.ones((1, 1, 4))), "from 1 to 2, got 3"),
        (lambda: ops.DynamicRNN(cell_type="GRU")(x, x, x, None, x, x), "cell_type is 'LSTM'"),
        (lambda: ops.DynamicRNN()(x, x, x, ids, x, x), "seq_length is None"),
        (lambda: ops.DynamicGRUV2(gate_order="hzr")(x, x, x, x, x, None, x), "'rzh' or 'zrh'"),
        (lambda: ms.grad(lambda a: ops.Betainc()(a, x, x).sum())(x), "betainc"),
    ]  # fmt: skip
    for call, sentence in wrong:
        with pytest.raises((ValueError, TypeError, RuntimeError), match=sentence):
            call()
