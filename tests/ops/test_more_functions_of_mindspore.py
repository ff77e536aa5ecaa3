"""Functions of MindSpore that are compositions here, against NumPy or numbers of its pages; in both modes; what they
refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError, LinAlgError, ShapeError

RNG = np.random.default_rng(30)
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(2, 3, 3)) + 2 * np.eye(3)
B = RNG.normal(size=(2, 3, 4, 5))


def both(fn: Any, *args: Any) -> Any:
    """The eager results, after those of a compiled call were found to be the same."""
    given = [ms.Tensor(a) for a in args]
    eager, graph = fn(*given), ms.jit(fn)(*given)
    pairs = [*zip(eager, graph)] if isinstance(eager, (tuple, list)) else [(eager, graph)]
    for e, g in pairs:
        assert e.dtype is g.dtype
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-6, atol=1e-7)
    return [e.asnumpy() for e, _ in pairs] if isinstance(eager, (tuple, list)) else eager.asnumpy()


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def condition(a: Any, p: Any) -> Any:
    return np.stack([np.linalg.cond(m, p) for m in a])


EXACT: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "swiglu": (ops.swiglu, (X,), silu(X[:, :2]) * X[:, 2:]),
    "swiglu of rows": (lambda x: ops.swiglu(x, 0), (X[:2],), silu(X[:1]) * X[1:2]),
    "swiglu of nothing": (ops.swiglu, (X[:0],), X[:0, :2]),
    "rrelu": (lambda x: ops.rrelu(x, 0.25, 0.25), (X,), np.where(X >= 0, X, X / 4)),
    "adjoint": (ops.adjoint, (X + 1j * Y,), np.conj(X + 1j * Y).T),
    "diagflat": (lambda x: ops.diagflat(x, -1), (X,), np.diagflat(X, -1)),
    "diagflat of a number": (ops.diagflat, (np.array(3.0),), [[3.0]]),
    "eps": (ops.eps, (np.ones(2, np.float16),), [2.0**-10] * 2),
    **{f"cond {p}": (lambda a, p=p: ops.cond(a, p), (SQUARE,), condition(SQUARE, p))
       for p in (None, "fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)},
    "cond of a rectangle": (ops.cond, (X,), np.linalg.cond(X)),
    "batch_dot": (ops.batch_dot, (B[:, :, 0], np.swapaxes(B[:, 1], 1, 2)), B[:, :, 0] @ np.swapaxes(B[:, 1], 1, 2)),
    "batch_dot of rows": (ops.batch_dot, (X, Y), (X * Y).sum(1, keepdims=True)),
    "batch_dot by axes": (
        lambda x, y: ops.batch_dot(x, y, (1, -1)), (B, B[:, 0, :, :3]), np.einsum("bkij,blk->bijl", B, B[:, 0, :, :3]),
    ),
    "batch_dot by one axis": (
        lambda x, y: ops.batch_dot(x, y, 2), (B, B[:, 1:]), np.einsum("bikj,bmkl->bijml", B, B[:, 1:]),
    ),
    "col2im": (
        lambda x: ops.col2im(x, ms.Tensor([3, 3]), 2, 1, 0, 1), (np.ones((1, 1, 4, 4)),),
        [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]],
    ),
    "coalesce": (
        lambda i, v: ops.coalesce(i, v, (3, 3))[:2], ([[0, 0, 1], [1, 1, 2]], np.array([1.0, 5.0, 4.0])),
        ([[0, 1], [1, 2]], [6.0, 4.0]),
    ),
    "multilabel_margin_loss": (
        ops.multilabel_margin_loss,
        (np.array([[0.1, 0.2, 0.4, 0.8], [0.2, 0.3, 0.5, 0.7]]), [[1, 2, 0, 3], [2, 3, -1, 1]]), 0.325,
    ),
    "multilabel_margin_loss of a row": (
        lambda x, t: ops.multilabel_margin_loss(x, t, "none"), (np.array([0.1, 0.2, 0.4, 0.8]), [3, 0, -1, 1]), 0.85,
    ),
    "rotary, halves": (
        ops.rotary_position_embedding, (B[..., :4], B[:, :, :, 1:], B[:, :, :, 1:] * 2),
        B[..., :4] * B[..., 1:] + np.concatenate([-B[..., 2:4], B[..., :2]], -1) * 2 * B[..., 1:],
    ),
    "rotary, neighbours": (
        lambda x, c, s: ops.rotary_position_embedding(x, c, s, 1), (B[..., :4], B[:1, :1, :, 1:], B[:1, :1, :, 1:] * 2),
        B[:1, :1, :, 1:] * (B[..., :4] + 2 * np.stack([-B[..., 1:4:2], B[..., 0:4:2]], -1).reshape(2, 3, 4, 4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXACT)
def test_values(case: str) -> None:
    fn, inputs, want = EXACT[case]
    found = both(fn, *inputs)
    for f, w in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-6)
        assert f.shape == np.shape(w)


SMOOTH: dict[str, Any] = {
    "swiglu": lambda x: ops.swiglu(x),
    "cond": lambda x: ops.cond(x[:, :3] + 2 * ops.eye(3, dtype=ms.float64), 1),
    "batch_dot": lambda x: ops.batch_dot(x, x * x),
    "multilabel_margin_loss": lambda x: ops.multilabel_margin_loss(x * x, ms.Tensor([[2, 0, -1, 1]] * 3)),
    "add_layer_norm": lambda x: ops.add_layer_norm(x, x * x, x[0], x[1])[0],
    "add_rms_norm": lambda x: ops.add_rms_norm(x, x * x, x[0])[0],
    "moe": lambda x: ops.moe_token_unpermute(*ops.moe_token_permute(x, ms.Tensor([[1, 0]] * 3)), x[:, :2]),
    "rotated_iou": lambda x: ops.rotated_iou(
        ops.concat([x[:, :2] / 9, x[:, 2:] / 9 + 2, x[:, :1] * 9], 1)[None],
        ms.Tensor([[[0.1, 0.0, 1.9, 2.2, 20.0]]], ms.float64)),
}  # fmt: skip


@pytest.mark.parametrize("case", SMOOTH)
def test_first_and_second_derivatives(mode: int, case: str) -> None:
    def loss(x: Any) -> Any:
        return (SMOOTH[case](x) ** 2).sum()

    def slope(x: Any) -> Any:
        return (ms.grad(loss)(x) * ms.Tensor(Y)).sum()

    step = 1e-5
    for fn in (loss, slope):
        found = (ms.jit(ms.grad(fn)) if mode == ms.GRAPH_MODE else ms.grad(fn))(ms.Tensor(X)).asnumpy()
        want = (fn(ms.Tensor(X + step * X[::-1])) - fn(ms.Tensor(X - step * X[::-1]))).item() / (2 * step)
        np.testing.assert_allclose((found * X[::-1]).sum(), want, rtol=1e-4, atol=1e-5)


def test_slopes_of_rrelu_are_drawn(mode: int) -> None:
    x = ms.Tensor(-np.ones(2000, np.float16))
    ms.set_seed(3)
    found = (ms.jit(ops.rrelu) if mode == ms.GRAPH_MODE else ops.rrelu)(x)
    assert found.dtype is ms.float16
    drawn = -found.asnumpy().astype(np.float64)
    assert 0.12 < drawn.min() < 0.14 and 0.32 < drawn.max() < 0.335 and abs(drawn.mean() - 11 / 48) < 0.01


def test_sums_with_a_norm() -> None:
    x, y, g, b = (RNG.normal(size=s).astype(np.float16) for s in ((2, 3, 8), (2, 3, 8), (8,), (8,)))
    found = both(ops.add_layer_norm, x, y, g, b)
    s = (x + y).astype(np.float32)
    mean, rstd = s.mean(-1, keepdims=True), 1 / np.sqrt(s.var(-1, keepdims=True) + 1e-5)
    assert [f.dtype for f in found] == [np.float16, np.float32, np.float32, np.float16]
    for f, w in zip(found, ((s - mean) * rstd * g + b, mean, rstd, s)):
        np.testing.assert_allclose(f, w, rtol=2e-2, atol=1e-2)
    for weight in (g, RNG.normal(size=(3, 8)).astype(np.float16)):
        y_, rstd_, sum_ = both(ops.add_rms_norm, x, y, weight)
        axes = tuple(range(-weight.ndim, 0))
        want = 1 / np.sqrt((s**2).mean(axes, keepdims=True) + 1e-6)
        np.testing.assert_allclose(rstd_, want, rtol=1e-2)
        np.testing.assert_allclose(y_, s * want * weight, rtol=2e-2, atol=1e-2)
        np.testing.assert_array_equal(sum_, x + y)


def test_tokens_go_to_their_experts_and_back() -> None:
    tokens = np.array([[1.0], [7.0], [2.0], [1.5], [2.5], [3.0]], np.float32)
    rows, places = both(ops.moe_token_permute, tokens, np.array([5, 0, 3, 1, 2, 4], np.int32))
    assert rows.tolist() == [[7.0], [1.5], [2.5], [2.0], [3.0], [1.0]] and places.tolist() == [5, 0, 3, 1, 2, 4]
    experts, share = RNG.integers(0, 4, (6, 2)), RNG.uniform(0, 1, (6, 2)).astype(np.float32)
    rows, places = both(ops.moe_token_permute, tokens, experts)
    assert (np.sort(experts.reshape(-1)) == experts.reshape(-1)[np.argsort(places)]).all() and places.dtype == np.int32
    back = both(ops.moe_token_unpermute, rows, places, share)
    np.testing.assert_allclose(back, tokens * share.sum(1)[:, None], 1e-6)
    kept = both(lambda t, e: ops.moe_token_permute(t, e, 5), tokens, experts)[0]
    assert kept.tolist() == rows[:5].tolist()
    want = (np.where(places < 5, rows[places % 12, 0], 0).reshape(6, 2) * share).sum(1)
    np.testing.assert_allclose(both(ops.moe_token_unpermute, kept, places, share)[:, 0], want, 1e-6)


def test_likeliest_labels() -> None:
    scores = np.array([[[0.6, 0.4, 0.2], [0.8, 0.6, 0.3]], [[0.0, 0.6, 0.0], [0.5, 0.4, 0.5]]], np.float32)
    found = both(lambda x: ops.ctc_greedy_decoder(x, ms.Tensor([2, 2])), scores)
    assert [f.tolist() for f in found[:3]] == [[[0, 0], [0, 1], [1, 0]], [0, 1, 0], [2, 2]]
    np.testing.assert_allclose(found[3], [[-1.2], [-1.3]], 1e-6)
    found = both(lambda x, n: ops.ctc_greedy_decoder(x, n, False), scores, np.array([0, 2]))
    assert [f.tolist() for f in found[:3]] == [[[1, 0], [1, 1]], [0, 0], [2, 2]] and found[3][0, 0] == 0


def test_draws(mode: int) -> None:
    mask = np.zeros((6, 4), bool)
    mask[[1, 2, 5], [0, 3, 3]] = True
    places, valid = ops.choice_with_mask(ms.Tensor(mask), 4, seed=1)
    assert valid.tolist() == [True] * 3 + [False] and places.tolist()[3] == [0, 0] and places.dtype is ms.int32
    assert sorted(places.tolist()[:3]) == [[1, 0], [2, 3], [5, 3]]
    weights = ms.Tensor([[0.0, 9.0, 4.0, 0.0]] * 2)
    drawn = ops.multinomial_with_replacement(weights, 2, 5, 300, True)
    assert set(drawn.reshape(-1).tolist()) == {1, 2} and 0.6 < (drawn == 1).astype(ms.float32).mean().item() < 0.8
    keyed = ms.jit(lambda s, o: ops.multinomial_with_replacement(weights, s, o, 300, True))
    assert (drawn == keyed(ms.Tensor([2]), ms.Tensor(5))).all()
    assert sorted(ops.multinomial_with_replacement(weights[0], -1, 0, 2).tolist()) == [1, 2]
    found = ops.randint_like(ms.Tensor(X), 3, 5, dtype=ms.int8)
    assert found.dtype is ms.int8 and found.shape == X.shape and set(found.reshape(-1).tolist()) <= {3, 4}


# ---- rotated boxes: Sutherland and Hodgman's clipping as the reference -----------------------------------------------


def corners(box: Any) -> list[tuple[float, float]]:
    x, y, w, h, a = box
    c, s = np.cos(np.deg2rad(a)), np.sin(np.deg2rad(a))
    return [(x + i * w * c - j * h * s, y + i * w * s + j * h * c)
            for i, j in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]  # fmt: skip


def shared(box: Any, other: Any) -> float:
    polygon, sides = corners(box), corners(other)
    for (x1, y1), (x2, y2) in zip(sides, sides[1:] + sides[:1]):
        side = [(x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) for x, y in polygon]
        kept: list[tuple[float, float]] = []
        for k, point in enumerate(polygon):
            n = (k + 1) % len(polygon)
            if side[k] >= 0:
                kept.append(point)
            if side[k] * side[n] < 0:
                t = side[k] / (side[k] - side[n])
                kept.append((point[0] + t * (polygon[n][0] - point[0]), point[1] + t * (polygon[n][1] - point[1])))
        polygon = kept
    points = [*zip(polygon, polygon[1:] + polygon[:1])]
    return abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in points)) / 2


def test_rotated_boxes() -> None:
    def made(n: int) -> Any:
        parts = [RNG.uniform(-3, 3, (2, n, 2)), RNG.uniform(1, 5, (2, n, 2)), RNG.uniform(-180, 180, (2, n, 1))]
        return np.concatenate(parts, -1).astype(np.float32)

    a, b = made(7), made(5)
    b[:, :3] = a[:, :3]  # equal ones, one turned by a right angle, one far away
    b[0, 0, 4] += 90
    b[0, 1, :2] += 100
    area = np.array([[[shared(p, q) for q in many] for p in one] for one, many in zip(a, b)])
    of_a, of_b = (t[..., 2] * t[..., 3] for t in (a, b))
    whole = of_a[:, :, None] + of_b[:, None] - area
    np.testing.assert_allclose(both(ops.rotated_iou, a, b), area / whole, atol=2e-6)
    of_first = both(lambda x, y: ops.rotated_iou(x, y, mode=1), a, b)
    np.testing.assert_allclose(of_first, area / of_a[..., None], atol=2e-6)
    pairs = both(lambda x, y: ops.rotated_iou(x, y, is_cross=False), a[:, :5], b)
    np.testing.assert_allclose(pairs, np.diagonal(area / whole, axis1=1, axis2=2), atol=2e-6)
    ends = np.concatenate([a[..., :2] - a[..., 2:4] / 2, a[..., :2] + a[..., 2:4] / 2, a[..., 4:]], -1)
    by_ends, by_sizes = both(lambda x: ops.rotated_iou(x, x, True), ends), both(lambda x: ops.rotated_iou(x, x), a)
    np.testing.assert_allclose(by_ends, by_sizes, atol=1e-5)
    assert ops.rotated_iou(ms.Tensor(a.astype(np.float16)), ms.Tensor(b[:, :0])).shape == (2, 7, 0)


def test_nothing_for_nan_is_zero() -> None:
    assert ops.nan_to_num(ms.Tensor([math.nan, math.inf]), None, 2.0).tolist() == [0.0, 2.0]


T = ms.Tensor
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "rrelu of integers": (lambda: ops.rrelu(T([1])), DTypeError, "rrelu needs floats"),
    "rrelu, bounds": (lambda: ops.rrelu(T([1.0]), 0.5, 0.25), AttributeValueError, "lower must not be above upper"),
    "rrelu, a word": (lambda: ops.rrelu(T([1.0]), "a"), ArgumentError, "lower is a number"),
    "swiglu": (lambda: ops.swiglu(T([1.0, 2.0, 3.0])), ShapeError, "size 3 is not even"),
    "cond": (lambda: ops.cond(T([[1.0, 1.0], [1.0, 1.0]]), 1), LinAlgError, "singular"),
    "cond, another norm": (lambda: ops.cond(T(X[:, :3]), 3), ShapeError, "ord is"),
    "adjoint": (lambda: ops.adjoint(T([1.0])), ShapeError, "needs a matrix"),
    "diagflat": (lambda: ops.diagflat(T([1.0]), 0.5), ArgumentError, "whole number"),
    "eps": (lambda: ops.eps(T([1])), DTypeError, "fact of floats"),
    "batch_dot, the batch": (lambda: ops.batch_dot(T(X), T(Y), 0), ShapeError, "axis 0 is the batch"),
    "batch_dot, batches": (lambda: ops.batch_dot(T(X), T(Y[:2])), ShapeError, "different numbers of rows"),
    "batch_dot, sizes": (lambda: ops.batch_dot(T(X), T(Y[:, :2])), ShapeError, "different sizes"),
    "batch_dot, axes": (lambda: ops.batch_dot(T(X), T(Y), (1, 1, 1)), ShapeError, "one for x1"),
    "batch_dot, a row": (lambda: ops.batch_dot(T(X[0]), T(Y)), ShapeError, "another axis"),
    "col2im": (lambda: ops.col2im(ops.ones((1, 1, 3, 4)), (3, 3), 2, 1, 0, 1), ShapeError, "2 x 2 have 4 places"),
    "margin": (lambda: ops.multilabel_margin_loss(T(X), T(X)), DTypeError, "whole numbers"),
    "margin, shapes": (lambda: ops.multilabel_margin_loss(T(X), T([1])), ShapeError, "of one shape"),
    "decoder": (lambda: ops.ctc_greedy_decoder(T(B[0]), T([5, 1, 1, 1])), AttributeValueError, "above the 3 steps"),
    "decoder, shapes": (lambda: ops.ctc_greedy_decoder(T(X), T([1])), ShapeError, "time, n, classes"),
    "decoder, lengths": (lambda: ops.ctc_greedy_decoder(T(B[0]), T([1.0] * 4)), DTypeError, "whole lengths"),
    "mask": (lambda: ops.choice_with_mask(T([1])), DTypeError, "tensor of booleans"),
    "mask, count": (lambda: ops.choice_with_mask(T([True]), 0), AttributeValueError, "above 0"),
    "multinomial": (lambda: ops.multinomial_with_replacement(T([1.0]), 1, 1, 2), AttributeValueError, "2 different"),
    "randint_like": (lambda: ops.randint_like(T([1.0]), 1, 2), DTypeError, "integer numbers"),
    "rotary": (lambda: ops.rotary_position_embedding(T(X), T(X), T(X)), ShapeError, "four axes"),
    "rotary, mode": (lambda: ops.rotary_position_embedding(T(B), T(B), T(B), 2), AttributeValueError, "mode is 0"),
    "layer norm": (lambda: ops.add_layer_norm(T(X), T(Y), T(X[0, :2]), T(X[0])), ShapeError, "last axes of x1"),
    "rms norm": (lambda: ops.add_rms_norm(T(X), T(Y[:1]), T(X[0])), ShapeError, "of one shape"),
    "rms norm, epsilon": (lambda: ops.add_rms_norm(T(X), T(Y), T(X[0]), 1), DTypeError, "epsilon is a float"),
    "experts": (lambda: ops.moe_token_permute(T(X), T([1])), ShapeError, "indices"),
    "padded": (lambda: ops.moe_token_permute(T(X), T([1, 2, 3]), None, True), AttributeValueError, "padded_mode"),
    "experts, back": (lambda: ops.moe_token_unpermute(T(X), T([1, 2]), T(X)), ShapeError, "weights"),
    "rotated_iou": (lambda: ops.rotated_iou(T(B[..., 0]), T(B[..., 0])), ShapeError, "b, n, 5"),
    "rotated_iou, mode": (lambda: ops.rotated_iou(T(B[0]), T(B[0]), mode=2), AttributeValueError, "mode is 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case: str) -> None:
    call, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        call()


ROWS = np.array([[4, 1, 2, 0], [7, 9, 9, 0], [3, 3, 3, 0], [np.nan, 1, 2, 3], [np.inf, 1, 0, 0]], np.float32)


@pytest.mark.parametrize(("k", "wanted"), [(-1, [0, 0, 0, 0, 0]), (1, [0, 1, 1, 0, 0]), (9, [1, 1, 1, 0, 0])])
def test_equal_numbers_share_their_place_in_the_first_k(k: int, wanted: list[int]) -> None:
    found = both(lambda x, at: ops.intopk(x, at, k), ROWS, np.array([2, 1, 2, 0, 0], np.int32))
    assert found.tolist() == [bool(w) for w in wanted]
    assert not both(lambda x, at: ops.intopk(x, at, 9), ROWS[:2], np.array([-1, 4])).any()


def test_what_intopk_refuses() -> None:
    x, at = ms.Tensor(ROWS), ms.Tensor([1] * 5)
    for wrong in ((x[0], at), (x, at[:2]), (x, at[:, None])):
        with pytest.raises(ShapeError):
            ops.intopk(*wrong, 1)
    for wrong in ((x.astype(ms.int32), at), (x, at.astype(ms.float32))):
        with pytest.raises(DTypeError):
            ops.intopk(*wrong, 1)


def test_topk_of_a_whole_axis_without_order_leaves_it_as_it_is() -> None:
    values, at = both(lambda x: ops.topk(x, 3, 0, sorted=False), X)
    np.testing.assert_array_equal(values, X.astype(values.dtype))
    assert at.tolist() == [[0] * 4, [1] * 4, [2] * 4]
    gradient = ms.grad(lambda x: (ops.topk(x, 4, sorted=False)[0] * ms.Tensor(Y)).sum())(ms.Tensor(X))
    np.testing.assert_array_equal(gradient.asnumpy(), ms.Tensor(Y).asnumpy())
    assert ops.TopK(False)(ms.Tensor([1.0, 3.0, 2.0]), 3)[0].tolist() == [1, 3, 2]


@pytest.mark.parametrize("write", [ops.tensor_scatter_add, ops.tensor_scatter_div, ops.tensor_scatter_max])
def test_places_of_scatter_have_a_width_and_a_dtype(write: Any) -> None:
    x, updates = ms.Tensor(X), ms.Tensor([1.0])
    with pytest.raises(DTypeError, match="int32 or int64"):
        write(x, ms.Tensor([[0, 1]], ms.int8), updates)
    with pytest.raises(ShapeError, match="3 coordinates for 2 axes"):
        write(x, ms.Tensor([[0, 1, 2]]), updates)
    with pytest.raises(ShapeError, match="gather_nd: 3 coordinates for 2 axes"):
        ops.gather_nd(x, ms.Tensor([[0, 1, 2]]))
