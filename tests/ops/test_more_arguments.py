"""Arguments that MindSpore 2.10 has beyond the usual ones, against NumPy or windows taken one by one; both modes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import Tensor, mint, nn, ops


def run(fn: Any, *inputs: Any) -> Any:
    """In the mode of the test."""
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


DRAW = np.random.default_rng(0)
A = DRAW.normal(size=(3, 5)).astype(np.float32)
B = DRAW.normal(size=(3, 5)).astype(np.float32)


def test_dtype_of_results_of_numpy(mode: int) -> None:
    for name in ("add", "subtract", "multiply", "maximum", "arctan2", "hypot", "less", "equal"):
        found = run(lambda a, b, n=name: getattr(mnp, n)(a, b, dtype=mnp.float16), Tensor(A), Tensor(B))
        assert found.dtype is mnp.float16
        np.testing.assert_allclose(found.asnumpy(), getattr(np, name)(A, B).astype(np.float16), rtol=2e-3)
    for name in ("abs", "exp", "sin", "sign", "isnan", "rint", "trunc", "cbrt", "radians", "nanmax", "nanvar"):
        found = run(lambda a, n=name: getattr(mnp, n)(a, dtype=mnp.float64), Tensor(A))
        assert found.dtype is mnp.float64
        close(found, getattr(np, name)(A))
    assert mnp.add([1.7], [1.0], mnp.int32).tolist() == [2]
    assert [t.dtype for t in mnp.divmod(Tensor([7.0]), 2.0, dtype=mnp.int32)] == [mnp.int32] * 2
    assert mnp.trace(Tensor(A[:, :3]), dtype=mnp.float16).dtype is mnp.float16
    assert mnp.add(x1=Tensor([1]), x2=Tensor([2])).tolist() == [3]


def test_extremes_of_what_counts(mode: int) -> None:
    mask = A > 0
    for name, start in (("amax", -1.0), ("amin", 1.0)):
        found = run(lambda a, m, n=name, s=start: getattr(ops, n)(a, 1, initial=s, where=m), Tensor(A), Tensor(mask))
        close(found, getattr(np, name)(A, 1, initial=start, where=mask))
        with pytest.raises(ValueError, match="where= needs initial="):
            getattr(ops, name)(Tensor(A), where=Tensor(mask))
    close(Tensor(A).amax(0, initial=0.5), np.amax(A, 0, initial=0.5))
    slope = ms.grad(lambda a: ops.amax(a, 0, initial=-9.0, where=Tensor(mask[0])).sum())(Tensor(A[0]))
    assert slope.asnumpy().sum() == 1.0 and slope.asnumpy()[int(np.argmax(np.where(mask[0], A[0], -9)))] == 1.0


def test_diff_with_ends(mode: int) -> None:
    for axis, end in ((0, A[:1]), (1, A[:, :2])):
        found = run(lambda a, e, k=axis: ops.diff(a, 2, k, prepend=e, append=e), Tensor(A), Tensor(end))
        close(found, np.diff(A, 2, axis, prepend=end, append=end))
    close(Tensor(A).diff(prepend=0.5), np.diff(A, prepend=0.5))
    close(mnp.diff(Tensor(A), append=1.0), np.diff(A, append=1.0))


def test_searchsorted_of_what_is_not_sorted(mode: int) -> None:
    row, wanted = np.array([3.0, 1.0, 2.0], np.float32), np.array([2.0, 0.5, 9.0], np.float32)
    order = np.argsort(row)
    for side in ("left", "right"):
        found = run(
            lambda r, w, o, s=side: ops.searchsorted(r, w, side=s, sorter=o, out_int32=True),
            Tensor(row), Tensor(wanted), Tensor(order),
        )  # fmt: skip
        assert found.dtype is ms.int32
        np.testing.assert_array_equal(found.asnumpy(), np.searchsorted(row, wanted, side, order))
    assert mint.searchsorted(Tensor(row), Tensor(wanted), sorter=Tensor(order)).tolist() == [1, 0, 3]
    with pytest.raises(ValueError, match="side must be"):
        ops.searchsorted(Tensor([1.0]), 2.0, side="middle")


@pytest.mark.parametrize(("often", "much"), [(True, False), (False, True), (True, True)])
def test_covariances_of_weighted_observations(often: bool, much: bool, mode: int) -> None:
    f = np.array([1, 2, 3, 1, 2]) if often else None
    w = np.array([0.5, 1.0, 0.25, 2.0, 1.0], np.float32) if much else None
    fw, aw = (None if v is None else Tensor(v) for v in (f, w))
    for ddof in (0, 1):
        found = run(lambda a, d=ddof: ops.cov(a, correction=d, fweights=fw, aweights=aw), Tensor(A))
        close(found, np.cov(A, ddof=ddof, fweights=f, aweights=w))
    with pytest.raises(ValueError, match="one number per observation"):
        ops.cov(Tensor(A), aweights=Tensor([1.0]))


# ---- poolings ------------------------------------------------------------------------------------------------------


def windows(x: Any, kernel: Any, stride: Any, pads: Any, gaps: Any, ceil: bool) -> tuple[Any, Any]:
    """Largest elements and their places, window by window."""
    sizes = x.shape[2:]
    outs = []
    for n, k, s, p, d in zip(sizes, kernel, stride, pads, gaps):
        room = n + 2 * p - (d * (k - 1) + 1)
        count = -(-room // s) + 1 if ceil else room // s + 1
        outs.append(count - 1 if ceil and (count - 1) * s >= n + p else count)
    values, places = np.empty((*x.shape[:2], *outs), x.dtype), np.empty((*x.shape[:2], *outs), np.int64)
    for at in itertools.product(*map(range, values.shape)):
        best = None
        for inside in itertools.product(*map(range, kernel)):
            where = [o * s - p + i * d for o, s, p, i, d in zip(at[2:], stride, pads, inside, gaps)]
            if all(0 <= w < n for w, n in zip(where, sizes)):
                value = x[(*at[:2], *where)]
                if best is None or value > best[0]:
                    best = value, int(np.ravel_multi_index(where, sizes))
        values[at], places[at] = best  # type: ignore[misc]
    return values, places


POOLS = [
    ((2, 3, 9), (3,), (2,), (1,), (2,), False), ((1, 2, 8), (2,), (3,), (0,), (1,), True),
    ((2, 2, 6, 7), (2, 3), (1, 2), (1, 1), (2, 1), False), ((1, 1, 7, 7), (3, 3), (2, 2), (0, 1), (1, 2), True),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (0, 1, 1), (1, 2, 1), False),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "gaps", "ceil"), POOLS)
def test_max_pools_with_gaps_and_places(
    shape: Any, kernel: Any, stride: Any, pads: Any, gaps: Any, ceil: bool, mode: int
) -> None:
    x = DRAW.normal(size=shape).astype(np.float32)
    n = len(kernel)
    one = (lambda t: t[0]) if n == 1 else lambda t: t
    pool, layer = getattr(ops, f"max_pool{n}d"), getattr(nn, f"MaxPool{n}d")
    values, places = windows(x, kernel, stride, pads, gaps, ceil)
    given = one(kernel), one(stride), "pad", one(pads)
    found = run(lambda x: pool(x, *given, ceil, dilation=one(gaps), return_indices=True), Tensor(x))
    close(found[0], values)
    np.testing.assert_array_equal(found[1].asnumpy(), places)
    close(layer(*given, one(gaps), False, ceil)(Tensor(x)), values)
    slopes = ms.grad(lambda x: pool(x, *given, ceil, dilation=one(gaps), return_indices=True)[0].sum())(Tensor(x))
    expected = np.zeros((*shape[:2], int(np.prod(shape[2:]))), np.float32)
    for at in itertools.product(*map(range, values.shape)):
        expected[(*at[:2], places[at])] += 1
    close(slopes, expected.reshape(shape))


def test_max_pools_in_other_words(mode: int) -> None:
    x = Tensor(DRAW.normal(size=(1, 2, 6, 6)).astype(np.float32))
    values, places = run(lambda x: mint.nn.functional.max_pool2d(x, 2, return_indices=True), x)
    close(ops.max_unpool2d(values, places, 2).sum(), values.asnumpy().sum())
    same = run(lambda x: ops.max_pool2d(x, 3, 2, "same", return_indices=True)[0], x)
    close(same, ops.max_pool2d(x, 3, 2, "same").asnumpy())
    with pytest.raises(ValueError, match="before ceil_mode"):
        nn.MaxPool2d(2, 2, "valid", 0, True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a window reaches over 7"):
        ops.max_pool2d(x, 4, dilation=2)
    with pytest.raises(ValueError, match="NCHW"):
        ops.max_pool2d(x, 2, data_format="NHWC", dilation=2)


def test_divisors_of_mean_pools(mode: int) -> None:
    x = Tensor(np.ones((1, 1, 4, 4), np.float32))
    assert run(lambda x: mint.nn.functional.avg_pool2d(x, 2, divisor_override=2), x).asnumpy().max() == 2.0
    deep = run(lambda x: mint.nn.functional.avg_pool3d(x[None], 2, padding=(1, 0, 0), divisor_override=1), x)
    assert deep.max() == 4.0
    with pytest.raises(ValueError, match="must not be 0"):
        mint.nn.functional.avg_pool2d(x, 2, divisor_override=0)


# ---- further functions ---------------------------------------------------------------------------------------------


def test_own_arguments_of_numpy(mode: int) -> None:
    w = np.array([1.0, 2.0, 0.5, 1.0, 3.0], np.float32)
    for axis, weights in ((1, w), (None, np.abs(B)), (None, None)):
        found = run(lambda a, k=axis, v=weights: mnp.average(a, k, None if v is None else Tensor(v), True), Tensor(A))
        expected = np.average(A, axis, weights, True)
        for one, other in zip(found, expected):
            close(one, other)
    assert mnp.bincount([1, 1, 3], length=6).tolist() == [0, 2, 0, 1, 0, 0]
    assert mnp.bincount([1, 1, 3], length=2).tolist() == [0, 2]
    assert mnp.size(Tensor(A)) == 15 and mnp.size(Tensor(A), 1) == 5 and mnp.size(Tensor(A), (0, 1)) == 15
    for how in ("clip", "wrap"):
        found = run(lambda a, h=how: mnp.take(a, Tensor([0, 7, -2]), 1, h), Tensor(A))
        close(found, np.take(A, [0, 7, -2], 1, mode=how))
    close(mnp.trapz(Tensor(A), dx=0.5, axis=0), ((A[1:] + A[:-1]) / 4).sum(0))
    assert mnp.searchsorted([3.0, 1.0, 2.0], 2.5, sorter=[1, 2, 0]).tolist() == 2
    nan = Tensor([float("nan"), 1.0])
    assert not bool(mnp.array_equal(nan, nan)) and bool(mnp.array_equal(nan, nan, equal_nan=True))
    for one, other in zip(mnp.gradient(Tensor(A), 0.5, 2.0), np.gradient(A, 0.5, 2.0)):
        close(one, other)
    with pytest.raises(TypeError, match="one distance, or one for each"):
        mnp.gradient(Tensor(A), 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="edge_order is 1"):
        mnp.gradient(Tensor(A), edge_order=2)
    with pytest.raises(ValueError, match="mode is 'raise'"):
        mnp.take(Tensor(A), 0, mode="jump")


@pytest.mark.parametrize("how", ["linear_ramp", "maximum", "minimum", "mean", "reflect", "symmetric"])
def test_borders_of_numpy(how: str, mode: int) -> None:
    widths = ((1, 2), (3, 0))
    more: dict[str, Any] = {"mode": how}
    if how in ("reflect", "symmetric"):
        more["reflect_type"] = "odd"
    elif how == "linear_ramp":
        more["end_values"] = ((0.0, 4.0), (-1.0, 2.0))
    else:
        more["stat_length"] = (2, 3)
    x = A[:, :4]
    close(run(lambda a: mnp.pad(a, widths, **more), Tensor(x)), np.pad(x, widths, **more))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="mode is"):
        mnp.pad(Tensor(x), 1, "spiral")


def test_norms_and_means_in_a_dtype(mode: int) -> None:
    square = A[:, :3]
    for fn in (ops.vector_norm, ops.matrix_norm, ops.nanmean, mint.linalg.vector_norm, mint.linalg.matrix_norm):
        assert run(lambda a, f=fn: f(a, dtype=ms.float64), Tensor(square)).dtype is ms.float64
    assert ops.tril_indices(2, 2, dtype=ms.int32).dtype is ops.triu_indices(2, 2, dtype=ms.int32).dtype is ms.int32
    close(ops.pinv(Tensor(square), atol=1.5), np.linalg.pinv(square, 1.5 / np.linalg.svd(square)[1][0]))
    close(ops.pinv(Tensor(square @ square.T), hermitian=True), np.linalg.pinv(square @ square.T))


def test_norms_that_are_not_finite() -> None:
    with pytest.raises(RuntimeError, match="not finite"):
        ops.clip_by_norm(Tensor([float("inf")]), 1.0, error_if_nonfinite=True)
    assert ops.clip_by_norm(Tensor([3.0, 4.0]), 1.0, error_if_nonfinite=True).shape == (2,)


INPLACE: dict[str, Any] = {
    "relu": (), "relu6": (), "silu": (), "elu": (0.5,), "hardtanh": (-0.5, 0.5), "threshold": (0.25, 9.0),
    "dropout": (0.0, True), "dropout2d": (0.0, True),
}  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
def test_results_that_are_put_where_the_input_was(name: str, mode: int) -> None:
    fn = getattr(mint.nn.functional, name)
    x = A.reshape(1, 3, 5)
    expected = fn(Tensor(x), *INPLACE[name]).asnumpy()

    def twice(x: Tensor) -> Tensor:
        y = x + 0.0
        fn(y, *INPLACE[name], inplace=True)
        return y

    close(run(twice, Tensor(x)), expected)
    given = Tensor(x)
    assert fn(given, *INPLACE[name], inplace=True) is given
    close(given, expected)


def test_layers_that_write_their_input() -> None:
    layers = (mint.nn.SiLU(True), mint.nn.ReLU6(True), mint.nn.ELU(0.5, True), mint.nn.Hardtanh(-1.0, 0.5, True),
              mint.nn.Threshold(0.0, 5.0, True), mint.nn.Dropout(0.0, True))  # fmt: skip
    for layer in layers:
        x = Tensor(A)
        expected = layer(Tensor(A)).asnumpy()
        assert layer(x) is x
        close(x, expected)


def test_losses_of_counts(mode: int) -> None:
    x, y = np.abs(A) + 0.5, np.array([[0.0, 1.0, 2.0, 3.0, 9.0]] * 3, np.float32)
    stirling = np.where(y > 1, y * np.log(np.maximum(y, 1)) - y + 0.5 * np.log(2 * np.pi * np.maximum(y, 1)), 0)
    found = run(lambda a, b: nn.PoissonNLLLoss(False, True, 0.25, "none")(a, b), Tensor(x), Tensor(y))
    close(found, x - y * np.log(x + 0.25) + stirling)
    logs = np.log(np.full((3, 5), 0.2, np.float32))
    found = run(lambda a, b: nn.KLDivLoss("sum", log_target=True)(a, b), Tensor(A), Tensor(logs))
    close(found, (0.2 * (logs - A)).sum())


def test_steps_that_give_their_gradients(mode: int) -> None:
    net = nn.Dense(2, 1, "ones")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1), 2.0, True)
    loss, grads = step(Tensor([[1.0, 1.0]]), Tensor([[float(net.bias) + 1.0]]))
    assert float(loss) == pytest.approx(1.0)
    found = {name.split(".")[-1]: grad.tolist() for name, grad in grads.items()}
    assert found == {"weight": [[pytest.approx(4.0)] * 2], "bias": [pytest.approx(4.0)]}


def test_hooks_with_keywords_and_in_front(mode: int) -> None:
    class Net(nn.Cell):
        def construct(self, x: Any, scale: Any = 1.0) -> Any:
            return x * scale

    net = Net()
    net.register_forward_pre_hook(lambda cell, args: (args[0] + 1.0,))
    net.register_forward_pre_hook(lambda cell, args: (args[0] * 10.0,), prepend=True)
    doubled = lambda cell, args, kw: (args, {"scale": kw["scale"] * 2.0})
    handle = net.register_forward_pre_hook(doubled, with_kwargs=True)
    net.register_forward_hook(lambda cell, args, kw, out: out + kw["scale"], with_kwargs=True)
    assert net(Tensor([1.0]), scale=3.0).tolist() == [72.0]
    handle.remove()
    assert net(Tensor([1.0]), scale=3.0).tolist() == [36.0]


def test_all_columns_of_qr(mode: int) -> None:
    for x in (A.T, A, np.stack([A.T, B.T])):
        q, r = run(lambda x: ops.qr(x, "complete"), Tensor(x))
        rows = x.shape[-2]
        assert q.shape[-2:] == (rows, rows) and r.shape == x.shape
        close(q @ r, x)
        close(q @ ops.swapaxes(q, -1, -2), np.broadcast_to(np.eye(rows), q.shape))
    with pytest.raises(ValueError, match="'reduced' or 'complete'"):
        ops.qr(Tensor(A), "r")


def test_embeddings_that_are_short(mode: int) -> None:
    table = ms.Parameter(Tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), name="table")
    found = run(lambda ids: ops.embedding(ids, table, None, 1.0), Tensor([0, 1]))
    close(found, [[0.6, 0.8], [0.3, 0.4]])
    close(table, [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])
    close(ops.embedding(Tensor([2]), Tensor([[3.0, 4.0]] * 3), None, 7.0, 1.0), [[3.0, 4.0]])
    often = lambda w: ops.embedding(Tensor([0, 2, 2]), w, None, None, 2.0, True).sum()
    slopes = ms.grad(often)(Tensor(np.ones((3, 2))))
    close(slopes, [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])


def test_scatter_add_by_name(mode: int) -> None:
    x, index, src = Tensor([1.0, 2.0]), Tensor([1, 1]), Tensor([3.0, 4.0])
    for named in ({"dim": 0, "index": index, "src": src}, {"axis": 0, "index": index, "src": src}):
        assert run(lambda x, named=named: ops.scatter_add(x, **named), x).tolist() == [1.0, 9.0]
    assert mint.scatter_add(x, 0, index=index, src=src).tolist() == [1.0, 9.0]
    weight = ms.Parameter(x, name="w")
    assert ops.scatter_add(weight, indices=Tensor([1]), updates=Tensor([1.0])).tolist() == [1.0, 3.0]
    with pytest.raises(TypeError, match="scatter_add takes x, axis, index, src"):
        ops.scatter_add(x, 0, index=index, sauce=src)


def test_transformers_of_ones_own_parts(mode: int) -> None:
    class Twice(nn.Cell):
        def construct(self, x: Any, *rest: Any) -> Any:
            return x * 2.0

    net = nn.Transformer(4, 2, 1, 1, 6, custom_encoder=Twice(), custom_decoder=Twice())
    x = Tensor(np.ones((2, 1, 4), np.float32))
    assert net(x, x).asnumpy().max() == 2.0
    with pytest.raises(TypeError, match="custom_encoder must be a Cell"):
        nn.Transformer(4, 2, custom_encoder=3)  # type: ignore[arg-type]


def test_unfold_as_a_layer() -> None:
    x = Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    close(mint.nn.Unfold(2, stride=2)(x), ops.unfold(x, 2, stride=2).asnumpy())
    close(mnp.swapaxes(Tensor(A), axis1=0, axis2=1), A.T)


def test_weights_of_bincount_in_a_program(mode):
    x, w = ms.Tensor([2, 4, 1, 0, 0]), ms.Tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    for least in (0, 5, 7):
        total = lambda w, least=least: ms.ops.bincount(x, w, least)
        want = np.bincount(x.asnumpy(), w.asnumpy(), least)
        for run in (total, ms.jit(total)):
            assert run(w).tolist() == want.tolist()
        squares = lambda w, total=total: (total(w) ** 2).sum()
        for slope in (ms.grad(squares), ms.jit(ms.grad(squares))):
            np.testing.assert_allclose(slope(w).asnumpy(), 2 * want[x.asnumpy()])
