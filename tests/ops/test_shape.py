"""Functions that give elements other places, against NumPy; in eager and through a graph."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import msnb as ms
from msnb import ops
from msnb.core import dtypes
from msnb.core.types import Dim, tensor_type
from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.builder import build

A = np.arange(24.0).reshape(2, 3, 4)
V = np.array([3.0, 1.0, 2.0])
N = Dim("n", 8)


def in_a_graph(fn: Any, *arrays: Any) -> list[Any]:
    from msnb.base import device_registry

    graph = build("f", [ms.Tensor(a)._type for a in arrays], fn)
    return ReferenceProgram(device_registry.current(), graph)(list(arrays))


LIKE_NUMPY: list[Any] = [
    ("reshape", lambda x: ops.reshape(x, (4, -1)), lambda a: a.reshape(4, -1)),
    ("reshape ints", lambda x: x.reshape(3, 8), lambda a: a.reshape(3, 8)),
    ("transpose", lambda x: ops.transpose(x, (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    ("transpose negative", lambda x: x.transpose(-1, 0, 1), lambda a: a.transpose(-1, 0, 1)),
    ("T", lambda x: x.T, lambda a: a.T),
    ("mT", lambda x: x.mT, lambda a: a.swapaxes(-1, -2)),
    ("swapaxes", lambda x: x.swapaxes(0, -1), lambda a: a.swapaxes(0, -1)),
    ("moveaxis", lambda x: ops.moveaxis(x, (0, 1), (-1, 0)), lambda a: np.moveaxis(a, (0, 1), (-1, 0))),
    ("flatten", lambda x: x.flatten(), lambda a: a.flatten()),
    ("flatten columns", lambda x: x.flatten("F"), lambda a: a.flatten("F")),
    ("ops.flatten", ops.flatten, lambda a: a.reshape(2, 12)),
    ("flatten some", lambda x: x.flatten(start_dim=0, end_dim=1), lambda a: a.reshape(6, 4)),
    ("unflatten", lambda x: x.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    ("broadcast_to", lambda x: x.broadcast_to((5, -1, 3, 4)), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    ("sum_to", lambda x: ops.sum_to(x, (3, 1)), lambda a: a.sum((0, 2)).reshape(3, 1)),
    ("expand_dims", lambda x: ops.expand_dims(x, (0, -1)), lambda a: a[None, ..., None]),
    ("squeeze", lambda x: x[:1].squeeze(), lambda a: a[0]),
    ("squeeze one", lambda x: x[:1, :1].squeeze(1), lambda a: a[:1, 0]),
    ("flip", lambda x: ops.flip(x, (0, 2)), lambda a: np.flip(a, (0, 2))),
    ("flip all", ops.flip, np.flip),
    ("roll", lambda x: ops.roll(x, (1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    ("roll flat", lambda x: ops.roll(x, 5), lambda a: np.roll(a, 5)),
    *[(f"rot90 {k}", lambda x, k=k: ops.rot90(x, k, (1, 2)), lambda a, k=k: np.rot90(a, k, (1, 2)))
      for k in range(-1, 4)],
    ("tile", lambda x: ops.tile(x, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
    ("tile more", lambda x: x.tile((2, 1, 1, 2)), lambda a: np.tile(a, (2, 1, 1, 2))),
    ("tile fewer", lambda x: x.tile((2,)), lambda a: np.tile(a, (2,))),
    ("tile zero", lambda x: x.tile((0, 1)), lambda a: np.tile(a, (0, 1))),
    ("repeat", lambda x: x.repeat(2, 1), lambda a: a.repeat(2, 1)),
    ("repeat flat", lambda x: ops.repeat_interleave(x, 3), lambda a: a.repeat(3)),
    ("repeat each", lambda x: ops.repeat_interleave(x, [2, 0, 1], 1), lambda a: a.repeat([2, 0, 1], 1)),
    ("concat", lambda x: ops.concat((x, x[:, :1]), axis=1), lambda a: np.concatenate((a, a[:, :1]), 1)),
    ("concat negative", lambda x: ops.cat([x, x], -1), lambda a: np.concatenate((a, a), -1)),
    ("stack", lambda x: ops.stack([x, -x], -1), lambda a: np.stack([a, -a], -1)),
    ("stack rows", lambda x: ops.stack(x), lambda a: a),
    ("hstack", lambda x: ops.hstack([x, x]), lambda a: np.hstack([a, a])),
    ("vstack", lambda x: ops.vstack([x[0, 0], x[0]]), lambda a: np.vstack([a[0, 0], a[0]])),
    ("dstack", lambda x: ops.dstack([x[0], x[1]]), lambda a: np.dstack([a[0], a[1]])),
    ("split", lambda x: ops.split(x, 3, 2), lambda a: (a[..., :3], a[..., 3:])),
    ("split sizes", lambda x: x.split([1, 0, 2], 1), lambda a: (a[:, :1], a[:, 1:1], a[:, 1:])),
    ("chunk", lambda x: x.chunk(3, -1), lambda a: (a[..., :2], a[..., 2:])),
    ("tensor_split", lambda x: ops.tensor_split(x, 3, 2), lambda a: tuple(np.array_split(a, 3, 2))),
    ("tensor_split at", lambda x: ops.tensor_split(x, [1, 3, 9], 2), lambda a: tuple(np.array_split(a, [1, 3, 9], 2))),
    ("unbind", lambda x: x.unbind(1), lambda a: tuple(np.moveaxis(a, 1, 0))),
    ("slice", lambda x: ops.slice(x, (0, 1, 2), (-1, 2, 1)), lambda a: a[:, 1:3, 2:3]),
    ("narrow", lambda x: x.narrow(1, -2, 2), lambda a: a[:, 1:]),
    ("tril", lambda x: ops.tril(x, 1), lambda a: np.tril(a, 1)),
    ("triu", lambda x: x.triu(-1), lambda a: np.triu(a, -1)),
    ("diagonal", lambda x: ops.diagonal(x, 1, 1, 2), lambda a: a.diagonal(1, 1, 2)),
    ("diagonal below", lambda x: x.diagonal(-1, 0, 2), lambda a: a.diagonal(-1, 0, 2)),
    ("diag", lambda x: ops.diag(x[0, 0]), lambda a: np.diag(a[0, 0])),
    ("diag of a matrix", lambda x: ops.diag(x[0], 1), lambda a: np.diag(a[0], 1)),
    ("trace", lambda x: x[0].trace(), lambda a: np.trace(a[0])),
    ("meshgrid", lambda x: ops.meshgrid(x[0, 0], x[0, :, 0]), lambda a: tuple(np.meshgrid(a[0, 0], a[0, :, 0]))),
    ("atleast", lambda x: ops.atleast_3d(x[0, 0], x[0]), lambda a: tuple(np.atleast_3d(a[0, 0], a[0]))),
    *[(f"pad {m}", lambda x, m=m: ops.pad(x, (1, 2, 0, 1), mode=m),
       lambda a, n=n: np.pad(a, ((0, 0), (0, 1), (1, 2)), n))
      for m, n in [("constant", "constant"), ("reflect", "reflect"), ("edge", "edge"), ("replicate", "edge"),
                   ("circular", "wrap")]],
    ("pad wrap cut", lambda x: ops.pad(x, (2, -1), mode="circular"),
     lambda a: np.pad(a[..., :-1], ((0, 0), (0, 0), (2, 0)), "wrap")),
    ("pad cut wrap", lambda x: ops.pad(x, (-1, 3), mode="circular"),
     lambda a: np.pad(a[..., 1:], ((0, 0), (0, 0), (0, 3)), "wrap")),
    ("pad cut", lambda x: ops.pad(x, (-1, 1), value=9.0), lambda a: np.pad(a[..., 1:], ((0, 0), (0, 0), (0, 1)),
                                                                          constant_values=9.0)),
]  # fmt: skip


@pytest.mark.parametrize("fn, expected", [pytest.param(f, e, id=i) for i, f, e in LIKE_NUMPY])
def test_like_numpy(fn: Any, expected: Any) -> None:
    wanted = expected(A)
    wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    found = fn(ms.Tensor(A))
    found = found if isinstance(found, tuple) else (found,)
    for f, g, w in zip(found, in_a_graph(fn, A), wanted, strict=True):
        np.testing.assert_array_equal(f.asnumpy(), w, strict=True)
        np.testing.assert_array_equal(np.asarray(g), w, strict=True)


def test_one_hot() -> None:
    i = ms.Tensor([[0, 2], [1, 5]])
    assert ops.one_hot(i, 3).tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]
    first = ops.one_hot(i, 3, ms.Tensor(2.0), ms.Tensor(-1.0), axis=0)
    assert first.shape == (3, 2, 2) and first.asnumpy()[0].tolist() == [[2.0, -1.0], [-1.0, -1.0]]


def test_a_value_is_never_a_view() -> None:
    x = ms.Tensor(A)
    y = x.reshape(-1)
    y[0] = 100.0
    assert x.asnumpy()[0, 0, 0] == 0.0 and y.asnumpy()[0] == 100.0


@pytest.mark.parametrize("fn, sentence", [
    (lambda x: x.reshape(5, -1), "cannot become"),
    (lambda x: x.reshape(-1, -1), "cannot become"),
    (lambda x: x.permute(0, 1), "does not name each of the 3 axes once"),
    (lambda x: ops.split(x, [1, 1], 2), "do not add up to the 4"),
    (lambda x: ops.split(x, 0), "at least one element"),
    (lambda x: ops.concat([x, x[0]]), "must agree in every other axis"),
    (lambda x: ops.stack([x, x[0]]), "one shape"),
    (lambda x: ops.pad(x, (4, 0), mode="reflect"), "does not fit an axis of size 4"),
    (lambda x: ops.pad(x, (1, 0), mode="mirror"), "mode 'mirror'"),
    (lambda x: ops.pad(x, (1, 0, 1)), "3 widths for 3 axes"),
    (lambda x: x.narrow(0, 1, 2), "are not in axis 0 of size 2"),
    (lambda x: x.squeeze(0), "axis 0 has size 2"),
    (lambda x: ops.moveaxis(x, (0, 0), (1, 2)), "cannot go to"),
    (lambda x: x.swapaxes(0, 3), "axis 3 is outside"),
    (lambda x: ops.roll(x, (1, 2), 0), "2 shifts for 1 axes"),
    (lambda x: ops.repeat_interleave(x, [1, 2], 1), "2 counts for an axis of size 3"),
])  # fmt: skip
def test_wrong_calls_say_the_same_in_a_graph(fn: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as eager:
        fn(ms.Tensor(A))
    with pytest.raises((ValueError, TypeError), match=sentence) as graph:
        in_a_graph(fn, A)
    assert eager.value.message() == graph.value.message()  # type: ignore[union-attr]


def test_sizes_known_only_at_run_time() -> None:
    def shape(fn: Any, *types: Any) -> Any:
        return build("f", types, fn).outputs[0].type.shape  # type: ignore[union-attr]

    x = tensor_type((N, 3), dtypes.float32)
    y = tensor_type((2, 3), dtypes.float32)
    flat = shape(lambda t: t.reshape(-1), x)
    assert flat == (Dim("3*n", 24),)
    assert shape(lambda t: t.reshape(-1).reshape(-1, 3), x) == (N, 3)
    assert shape(lambda t, u: ops.concat((t, u)), x, y) == (Dim("n+2", 10), 3)
    assert shape(lambda t: t[1:], x) == (Dim("n[1::1]", 8), 3)
    assert shape(lambda t: t[:, None].transpose(2, 1, 0), x) == (3, 1, N)
    assert shape(lambda t: t.T @ t, x) == (3, 3)


@pytest.mark.long
@given(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4), st.data())
def test_any_reshape(shape: Any, data: Any) -> None:
    a = np.arange(float(np.prod(shape))).reshape(shape)
    factors = data.draw(st.permutations(shape))
    merged: list[int] = []
    for f in factors:
        if merged and data.draw(st.booleans()):
            merged[-1] *= f
        else:
            merged.append(f)
    x = ms.Tensor(a)
    np.testing.assert_array_equal(ops.reshape(x, tuple(merged)).asnumpy(), a.reshape(merged), strict=True)
    if merged and 0 not in merged:
        merged[data.draw(st.integers(0, len(merged) - 1))] = -1
        np.testing.assert_array_equal(x.reshape(*merged).asnumpy(), a.reshape(merged), strict=True)


@given(hnp.mutually_broadcastable_shapes(num_shapes=1, base_shape=(2, 3, 1, 4), max_dims=4, max_side=4), st.data())
def test_broadcast_and_its_adjoint(drawn: Any, data: Any) -> None:
    small, big = drawn.input_shapes[0], drawn.result_shape
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a, b = rng.normal(size=small), rng.normal(size=big)
    wide = ops.broadcast_to(ms.Tensor(a), big).asnumpy()
    np.testing.assert_array_equal(wide, np.broadcast_to(a, big), strict=True)
    narrow = ops.sum_to(ms.Tensor(b), small).asnumpy()
    assert narrow.shape == small
    np.testing.assert_allclose((wide * b).sum(), (a * narrow).sum(), rtol=1e-9, atol=1e-9)


MAKE = {
    "ones": ops.ones, "zeros": ops.zeros, "full": lambda s: ops.full(s, 1.0), "empty": ops.empty,
    "mint.empty": ms.mint.empty, "new_zeros": lambda s: ms.Tensor([1.0]).new_zeros(s), "rand": ops.rand,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKE)
def test_sizes_are_integers(name: str, mode: int) -> None:
    for wrong in ((2.0,), [2.0, 3], (True, 3), ("2",), ms.Tensor([2.0, 3.0])):
        with pytest.raises(TypeError):
            MAKE[name](wrong)
        with pytest.raises(TypeError):
            ms.jit(lambda wrong=wrong: MAKE[name](wrong))()
    with pytest.raises(ValueError, match="ints >= 0"):
        MAKE[name]((-2, 3))


@pytest.mark.parametrize("name", ["ones", "zeros", "full", "empty"])
def test_a_tensor_as_the_shape_in_a_program(name: str, mode: int) -> None:
    size = ms.Tensor([2, 3])
    found = ms.jit(lambda s: MAKE[name](s), fullgraph=True)(size)
    assert found.shape == (2, 3)
    assert ms.jit(lambda s: MAKE[name](s * 2), fullgraph=True)(size).shape == (4, 6)
    assert ms.grad(lambda x, s: (MAKE[name](s) * x).sum(), 0)(ms.Tensor([1.0, 2.0, 3.0]), size).shape == (3,)


IMAGE = ms.Tensor(np.ones((1, 1, 4, 4), np.float32))
NUMBERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "axis": (lambda x, n: ops.softmax(x, n), (0.0, "a", True)),
    "axis of a reduction": (lambda x, n: ops.sum(x, n), (0.0, "a", True, (0.5,))),
    "axis of gather": (lambda x, n: ops.gather(x, ms.Tensor([0]), n), (0.0, "a", True)),
    "diagonal": (ops.tril, (1.5, "a", True)),
    "k": (ops.topk, (1.5, "a", True)),
    "turns": (ops.rot90, (1.5, "a", True)),
    "sections": (ops.split, ("a", True, 1.5, (1, 1.5))),
    "parts": (ops.tensor_split, (True,)),
    "columns": (lambda x, n: ops.vander(x[0], n), (1.5, True)),
    "power": (lambda x, n: ops.matrix_power(x[:, :3], n), (1.5, True)),
    "count": (lambda x, n: ops.linspace(0, 1, n), (1.5, "a", True)),
    "stride": (lambda x, n: ops.conv2d(IMAGE, IMAGE, stride=n), (1.5, "a", True, (1, 2.0))),
    "groups": (lambda x, n: ops.conv2d(IMAGE, IMAGE, groups=n), ("a", True, 1.0)),
    "window": (lambda x, n: ops.max_pool2d(IMAGE, n), (1.5, "a", True)),
    "factor": (lambda x, n: ops.pixel_shuffle(ops.ones((1, 4, 2, 2)), n), (1.5, "a", True)),
    "size": (lambda x, n: ops.interpolate(IMAGE, n), (1.5, "a", True)),
    "shifts": (ops.roll, (1.5, "a", True, (True,), (1, 2.0))),
    "dims": (lambda x, n: ops.roll(x, 1, n), (0.0, "a", True, (True,))),
    "offset": (ops.diagonal, (1.5, "a", True)),
    "times": (ops.diff, (1.5, "a", True)),
    "chunks": (ops.chunk, (1.5, "a", True)),
    "start": (lambda x, n: ops.narrow(x, 0, n, 1), (0.0, "a", False)),
    "length": (lambda x, n: ops.narrow(x, 0, 0, n), (1.0, "a", True)),
    "widths": (ops.pad, (1.5, True, (1, True), (1.5, 1), ((True, 1), (0, 0)))),
    "begin": (lambda x, n: ops.strided_slice(x, (0, n), (1, 2), (1, 1)), (0.0, "a", False)),
    "start_dim": (lambda x, n: ops.flatten(x, start_dim=n), (0.0, "a", False)),
    "high": (lambda x, n: ops.randint(0, n, (2,)), (2.0, "a", True)),
    "permuted": (lambda x, n: ops.randperm(n), (2.0, "a", True)),
    "blocks": (lambda x, n: ops.space_to_batch_nd(IMAGE, [n, 1], [[0, 0], [0, 0]]), (1.0, "a", True)),
    "means": (lambda x, n: ops.adaptive_avg_pool2d(IMAGE, n), (1.0, "a", True, (True, None))),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_integer_is_a_type_error(name: str, mode: int) -> None:
    fn, wrong = NUMBERS[name]
    for n in wrong:
        with pytest.raises(TypeError):
            fn(ms.Tensor(A[0]), n)
        with pytest.raises(TypeError):
            ms.jit(lambda x, n=n: fn(x, n))(ms.Tensor(A[0]))
    with pytest.raises(ValueError, match="at least one part"):
        ops.tensor_split(ms.Tensor(V), 0)


@pytest.mark.parametrize("fn", [ops.shape, ops.rank, ops.size, ops.dtype])
@pytest.mark.parametrize("x", [[IMAGE, IMAGE], (IMAGE,), 1.0, [1, 2], np.ones(2), None])
def test_only_a_tensor_has_a_shape(mode: int, fn: Any, x: Any) -> None:
    with pytest.raises(TypeError, match="needs a tensor"):
        ms.jit(lambda y: (y, fn(x)))(IMAGE) if mode == ms.GRAPH_MODE else fn(x)
    assert fn(IMAGE) == {ops.shape: (1, 1, 4, 4), ops.rank: 4, ops.size: 16, ops.dtype: ms.float32}[fn]
