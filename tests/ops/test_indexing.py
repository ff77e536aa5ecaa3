"""Brackets mean what they mean in NumPy, to read and to write, and a captured program means the same."""

from __future__ import annotations

import operator
import weakref
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import msnb as ms
from msnb.base.errors import ArgumentError, IndexOutOfRange, LostWriteError
from msnb.core import temporary_writes
from msnb.core.types import Dim, tensor_type
from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.builder import build
from tests.gradient_check import check_grads

A = np.arange(24.0).reshape(2, 3, 4)
FULL = slice(None)
KEYS: list[Any] = [
    0, -1, (0, 1), (FULL, 1), (..., 2), None, (None, 0, ..., None), (), ...,
    ([0, 1], FULL, [0, 1]), (FULL, [0, 2], [1, 1]), (0, FULL, [1, 2]), (0, [1, 2]), ([1], 0, slice(1, None)),
    (slice(None, None, -1), slice(2, 0, -1)), (slice(5, 9),), (slice(-2, None), slice(None, -1), slice(None, None, 3)),
    A > 5, A[:, :, 0] > 3, (FULL, A[0] > 5), (0, A[0] > 5), (A[:, 0, 0] > 1, FULL, [0, 1]), True, False, (0, True),
    np.array(1), (np.array(0), FULL, [1, 2]), [], range(2), np.array([[0], [1]]), [True, False], np.int32(1),
    np.bool_(True),
    (np.array([[0], [1]]), np.array([[0, 2]])), (None, [0, 1], None, ..., [1, 1]), np.array([-1, -2], np.int8),
]  # fmt: skip


def device() -> Any:
    from msnb.base import device_registry

    return device_registry.current()


def through_a_graph(fn: Any, *arrays: Any) -> Any:
    types = [ms.Tensor(a)._type for a in arrays]
    out = ReferenceProgram(device(), build("f", types, fn))([device().from_host(np.asarray(a)) for a in arrays])
    return device().to_host(out[0])


def as_tensors(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(as_tensors(k) for k in key)
    return ms.Tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("wrap", [as_tensors, lambda key: key], ids=["tensors", "arrays"])
def test_reads_like_numpy(key: Any, wrap: Any) -> None:
    expected = A[key]
    found = ms.Tensor(A)[wrap(key)]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.asnumpy(), expected)
    np.testing.assert_array_equal(through_a_graph(lambda x: x[wrap(key)], A), expected)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("kind", ["number", "whole", "row"])
def test_writes_like_numpy(key: Any, kind: str) -> None:
    place = A[key]
    value: Any = {"number": -7.0, "whole": place * 2 + 1, "row": np.ones(place.shape[-1:]) * 3}[kind]
    expected = A.copy()
    expected[key] = value

    def write(x: Any, v: Any) -> Any:
        x[as_tensors(key)] = v
        return x

    x = ms.Tensor(A)
    same_value = ms.Tensor(x)
    got = write(x, value if kind == "number" else ms.Tensor(value))
    np.testing.assert_array_equal(got.asnumpy(), expected)
    np.testing.assert_array_equal(same_value.asnumpy(), A)
    np.testing.assert_array_equal(through_a_graph(write, A, np.asarray(value)), expected)


BAD = [
    (2, "index 2 is outside axis 0 of size 2"),
    ((0, -4), "index -4 is outside axis 1 of size 3"),
    ((FULL, [0, 3]), "index 3 is outside axis 1 of size 3"),
    ((0, 0, 0, 0), "too many indices: the tensor has 3 axes and 4 were indexed"),
    (np.ones((3,), bool), "a mask of size 3 cannot index axis 0 of size 2"),
    ((..., ...), "one Ellipsis"),
]


@pytest.mark.parametrize("key, sentence", BAD, ids=[s for _, s in BAD])
def test_out_of_range(key: Any, sentence: str) -> None:
    def write(x: Any) -> Any:
        x[key] = 1.0
        return x

    for fn in (lambda x: x[key], write):
        for attempt in (lambda: fn(ms.Tensor(A)), lambda: through_a_graph(fn, A)):
            with pytest.raises(IndexOutOfRange, match=sentence) as caught:
                attempt()
            assert isinstance(caught.value, IndexError)


@pytest.mark.parametrize("key", ["a", 1.5, {0}, ms.Tensor([0.5]), slice("a", None)], ids=repr)
def test_what_is_no_index(key: Any) -> None:
    with pytest.raises(TypeError):
        ms.Tensor(A)[key]


def test_step_zero_and_wrong_values() -> None:
    x = ms.Tensor(A)
    with pytest.raises(ValueError, match="step 0"):
        x[::0]
    with pytest.raises(ValueError, match=r"\[3\] does not broadcast to the shape \[3, 4\]"):
        x[0] = ms.Tensor([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.asnumpy(), A)


def test_written_value_takes_the_dtype_of_the_tensor() -> None:
    x = ms.Tensor(np.array([1, 2, 3]))
    x[1] = 7.9
    x[ms.Tensor([True, False, False])] = ms.Tensor(5.5)
    assert x.dtype is ms.Tensor([1])._type.dtype
    assert x.tolist() == [5, 7, 3]


class Keeper(ms.nn.Cell):
    """A Cell with a tensor behind a property that keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.own = ms.Tensor(A[0])
        self.weight = ms.Parameter(ms.Tensor(A[0]))

    @property
    def kept(self) -> Any:
        return self.own


def test_what_somebody_keeps_is_written_to(mode: int) -> None:
    """Writes that look like those into a value that is gone with the statement: here somebody has the tensor."""
    keeper = Keeper()

    def same(x: Any) -> Any:
        return x

    def write(x: Any) -> Any:
        held, named = [x * 1], {"a": x * 1}
        held[0][0, 0] = 1.0
        named["a"][0] += 1.0
        same(x)[1] = 2.0
        x.__setitem__(2, 3.0)
        operator.setitem(x, (0, 1), 4.0)
        (row := x[2])[0] = 5.0
        keeper.kept[0, 0] = 6.0
        keeper.weight[0, 0] += 7.0
        for each in held:
            each[1, 1] = 8.0
        return x, row, held[0], named["a"]

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    x, row, held, named = run(ms.Tensor(A[0]))
    expected = A[0].copy()
    expected[1], expected[2], expected[0, 1] = 2.0, 3.0, 4.0
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert row.tolist() == [5.0, *[3.0] * (3)]
    assert held[0, 0] == 1.0 and held[1, 1] == 8.0 and named[0, 0] == A[0, 0, 0] + 1
    assert keeper.own[0, 0] == 6.0 and keeper.weight[0, 0] == A[0, 0, 0] + 7


def test_a_write_into_what_nobody_keeps_is_refused_every_time(mode: int) -> None:
    def write(x: Any) -> Any:
        x[x > 0][0] = 1.0
        return x

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    for _ in range(3):
        with pytest.raises(LostWriteError, match=r"x\[mask, 1\] = 5 instead of x\[mask\]\[:, 1\] = 5"):
            run(ms.Tensor(A[0]))
    proxy = ms.Tensor(A[0])
    weakref.proxy(proxy)[0] = 1.0
    assert proxy[0, 0] == 1.0


def test_a_write_into_a_part_that_nobody_keeps_goes_back(mode: int) -> None:
    """``x[0][1] = 5``, ``x[1].zero_()``: the part says of which tensor it is, and where."""

    def write(x: Any, by: Any) -> Any:
        y = x * 1
        y[0][1] = by * y[0, 0]
        y[1].zero_()
        y[2:, :][0] += by
        y[:, 2].mul_(2.0)
        y[..., 0].fill_(-1.0)
        row = y[2]
        row[1] = 100.0  # a name: a value of its own
        return y, y.sum()

    def expected(a: Any, by: float) -> Any:
        b = np.array(a)
        b[0, 1] = by * b[0, 0]
        b[1] = 0.0
        b[2] += by
        b[:, 2] *= 2.0
        b[:, 0] = -1.0
        return b

    a, run = A.reshape(-1)[:9].reshape(3, 3), ms.jit(write) if mode == ms.GRAPH_MODE else write
    for by in (3.0, 4.0, 5.0):  # from the second call on, what is kept of the first
        whole, total = run(ms.Tensor(a), ms.Tensor(by))
        np.testing.assert_allclose(whole.asnumpy(), expected(a, by), 1e-6)
        assert total.item() == pytest.approx(expected(a, by).sum(), rel=1e-5)
    slope = ms.grad(lambda x: run(x, ms.Tensor(3.0))[1])(ms.Tensor(a))
    assert slope.tolist() == [[3, 0, 2], [0, 0, 0], [0, 1, 2]]
    lanes = ms.vmap(lambda x: run(x, ms.Tensor(3.0))[0])(ms.Tensor(np.stack([a, -a])))
    np.testing.assert_allclose(lanes.asnumpy()[1], expected(-a, 3.0), 1e-6)

    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight = ms.Parameter(ms.Tensor(a), name="weight")

        def construct(self) -> Any:
            self.weight[0][1] = 7.0
            self.weight.data[2].zero_()
            return self.weight * 1

    net = Net()
    net()
    assert (net.weight.tolist()[2], net.weight[0, 1].item()) == ([0, 0, 0], 7)
    gone = ms.Tensor(a)[1]
    with pytest.raises(LostWriteError, match="nobody keeps"):
        (ms.Tensor(a) * 1)[1][0] = 0.0
    assert (ms.Tensor(a) * 1)[1].zero_().tolist() == gone.zero_().tolist() == [0, 0, 0]


def test_an_interpreter_that_counts_all_alike_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_writes, "IN_STATEMENT", temporary_writes.NEVER)
    ms.Tensor(A[0])[0][1] = 5.0
    monkeypatch.setattr(temporary_writes, "count", lambda kept: 0)
    assert temporary_writes._in_statement() == temporary_writes._in_call() == temporary_writes.NEVER


def test_augmented_and_duplicate_writes() -> None:
    x = ms.Tensor([0.0, 0.0, 0.0])
    x[[1, 1]] += 1.0
    assert x.tolist() == [0.0, 1.0, 0.0]
    x[[2, 2]] = ms.Tensor([3.0, 4.0])
    assert x.tolist() == [0.0, 1.0, 4.0]


def test_a_mask_in_a_graph_has_a_size_of_its_own_and_eager_has_none() -> None:
    graph = build("f", [tensor_type((4,), ms.Tensor(1.0)._type.dtype)] * 2, lambda a, b: (a[a > 0], b[b > 0]))
    sizes = [v.type.shape[0] for v in graph.outputs]  # type: ignore[union-attr]
    assert all(isinstance(d, Dim) and d.bound == 4 for d in sizes)
    assert sizes[0] != sizes[1]
    assert ms.Tensor([1.0, -1.0, 2.0])[ms.Tensor([True, False, True])].shape == (2,)


# ---- drawn keys ----------------------------------------------------------------------------------------------------

shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)


@st.composite
def basic(draw: Any) -> tuple[Any, Any]:
    shape = draw(shapes)
    return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


@st.composite
def mixed(draw: Any) -> tuple[Any, Any]:
    """Every axis gets a slice, an int, a mask, or an index array; the arrays broadcast together."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    joint = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=3))
    key: list[Any] = []
    for size in shape[: draw(st.integers(1, len(shape)))]:
        kind = draw(st.sampled_from(["slice", "int", "array", "array", "new"]))
        if kind == "new":
            key.append(None)
            kind = "array"
        if kind == "slice":
            key.append(draw(st.slices(size)))
        elif kind == "int":
            key.append(draw(st.integers(-size, size - 1)))
        else:
            cut = draw(st.integers(0, len(joint)))
            own = tuple(draw(st.sampled_from([1, d])) for d in joint[cut:])
            key.append(draw(hnp.arrays(np.int64, own, elements=st.integers(-size, size - 1))))
    return shape, tuple(key)


@given(st.one_of(basic(), mixed()))
def test_any_key_reads_like_numpy(case: Any) -> None:
    shape, key = case
    a = np.arange(float(np.prod(shape))).reshape(shape)
    np.testing.assert_array_equal(ms.Tensor(a)[as_tensors(key)].asnumpy(), a[key], strict=True)


@given(st.one_of(basic(), mixed()), st.data())
def test_any_key_writes_like_numpy(case: Any, data: Any) -> None:
    shape, key = case
    a = np.arange(float(np.prod(shape))).reshape(shape)
    place = a[key].shape
    own = tuple(data.draw(st.sampled_from([1, d])) for d in place[data.draw(st.integers(0, len(place))) :])
    value = -1 - np.arange(float(np.prod(own))).reshape(own)
    x = ms.Tensor(a)
    x[as_tensors(key)] = ms.Tensor(value)
    a[key] = value
    np.testing.assert_array_equal(x.asnumpy(), a, strict=True)


@pytest.mark.long
@given(shapes.filter(lambda s: 0 not in s), st.data())
def test_any_mask(shape: Any, data: Any) -> None:
    a = np.arange(float(np.prod(shape))).reshape(shape)
    mask = data.draw(hnp.arrays(bool, shape[: data.draw(st.integers(1, len(shape)))]))
    x = ms.Tensor(a)
    np.testing.assert_array_equal(x[ms.Tensor(mask)].asnumpy(), a[mask], strict=True)
    value = np.arange(float(a[mask].size)).reshape(a[mask].shape)
    for v in (value, 5.0, value[:1].reshape(value.shape[1:]) if len(value) else 2.0):
        x[ms.Tensor(mask)] = ms.Tensor(v)
        a[mask] = v
        np.testing.assert_array_equal(x.asnumpy(), a, strict=True)


# ---- functions that read and write by index ------------------------------------------------------------------------


def test_gathers(rng: np.random.Generator) -> None:
    x, i = ms.Tensor(A), rng.integers(-3, 3, (2, 5))
    np.testing.assert_array_equal(ms.ops.gather(x, ms.Tensor(i), 1).asnumpy(), np.take(A, i, 1))
    np.testing.assert_array_equal(
        ms.ops.gather(x, ms.Tensor(i), 1, 1).asnumpy(), np.stack([np.take(a, j, 0) for a, j in zip(A, i)])
    )
    deep = ms.ops.gather(x, ms.Tensor(i), 2, 1).asnumpy()
    np.testing.assert_array_equal(deep, np.stack([np.take(a, j, 1) for a, j in zip(A, i)]))
    j = rng.integers(0, 3, (2, 6, 4))
    np.testing.assert_array_equal(ms.ops.gather_elements(x, 1, ms.Tensor(j)).asnumpy(), np.take_along_axis(A, j, 1))
    np.testing.assert_array_equal(ms.ops.gather(x, 1, ms.Tensor(j)).asnumpy(), np.take_along_axis(A, j, 1))
    np.testing.assert_array_equal(
        ms.ops.take_along_axis(x, ms.Tensor(j[:1]), 1).asnumpy(), np.take_along_axis(A, j[:1], 1)
    )
    nd = ms.Tensor([[0, 2], [1, 1], [0, 0]])
    np.testing.assert_array_equal(ms.ops.gather_nd(x, nd).asnumpy(), A[[0, 1, 0], [2, 1, 0]])


@pytest.mark.parametrize(
    "how, ufunc", [("add", np.add), ("max", np.maximum), ("min", np.minimum), ("mul", np.multiply)]
)
def test_scatters(how: str, ufunc: Any, rng: np.random.Generator) -> None:
    i, v = rng.integers(0, 2, (3, 4)), rng.normal(size=(3, 4))
    expected = A[:, 0].copy()
    grid = (i, np.arange(4)[None] + 0 * i)
    ufunc.at(expected, grid, v)
    found = ms.ops.tensor_scatter_elements(ms.Tensor(A[:, 0]), ms.Tensor(i), ms.Tensor(v), 0, how)
    np.testing.assert_allclose(found.asnumpy(), expected)
    pairs = ms.Tensor(np.stack(grid, -1))
    name = {"add": "tensor_scatter_add"}.get(how, f"tensor_scatter_{how}")
    np.testing.assert_allclose(getattr(ms.ops, name)(ms.Tensor(A[:, 0]), pairs, ms.Tensor(v)).asnumpy(), expected)


def test_rows() -> None:
    x = ms.ops.zeros((3, 2))
    i, v = ms.Tensor([0, 2, 0]), ms.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert ms.ops.index_add(x, 0, i, v).tolist() == [[6.0, 8.0], [0.0, 0.0], [3.0, 4.0]]
    assert ms.ops.index_add(x, i, v, 0).tolist() == [[6.0, 8.0], [0.0, 0.0], [3.0, 4.0]]
    assert ms.ops.index_add(x, indices=i, y=v, axis=0).tolist() == [[6.0, 8.0], [0.0, 0.0], [3.0, 4.0]]
    assert ms.ops.index_add(x, 0, i, source=v, alpha=2)[0].tolist() == [12.0, 16.0]
    assert x.index_add(ms.Tensor([1]), ms.Tensor([[1.0, 2.0]]), 0).tolist() == [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    assert x.index_add(ms.Tensor([1]), y=ms.Tensor([[1.0, 2.0]]), axis=0)[1].tolist() == [1.0, 2.0]
    with pytest.raises(ArgumentError, match="takes axis, index and src"):
        ms.ops.index_add(x, 0, i)
    with pytest.raises(ArgumentError, match="got 'z'"):
        ms.ops.index_add(x, 0, i, z=v)
    assert ms.ops.index_copy(x, 0, i, v).tolist() == [[5.0, 6.0], [0.0, 0.0], [3.0, 4.0]]
    assert ms.ops.index_fill(x, 1, ms.Tensor([1]), 7.0).tolist() == [[0.0, 7.0]] * 3
    assert ms.ops.scatter_nd(ms.Tensor([[1], [1]]), ms.Tensor([2.0, 3.0]), (3,)).tolist() == [0.0, 5.0, 0.0]
    p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="p")
    ms.ops.scatter_update(p, ms.Tensor([1]), ms.Tensor([9.0]))
    assert p.asnumpy().tolist() == [1.0, 9.0]


def test_masked_functions() -> None:
    x, m = ms.Tensor(A), ms.Tensor(A[0] > 4)
    np.testing.assert_array_equal(ms.ops.masked_select(x, m).asnumpy(), A[np.broadcast_to(A[0] > 4, A.shape)])
    np.testing.assert_array_equal(ms.ops.masked_fill(x, m, -1.0).asnumpy(), np.where(A[0] > 4, -1.0, A))
    np.testing.assert_array_equal(ms.ops.nonzero(m).asnumpy(), np.argwhere(A[0] > 4))
    with pytest.raises(TypeError, match="mask of bools"):
        ms.ops.masked_fill(x, x, 0.0)
    values, inverse, counts = ms.ops.unique(ms.Tensor([3, 1, 3]), True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 3], [1, 0, 1], [1, 2])


@pytest.mark.long
@given(
    hnp.arrays(np.float64, shapes, elements=st.sampled_from([0.0, 1.0, -2.0, 3.5, np.nan])), st.booleans(), st.data()
)
def test_sort(a: Any, descending: bool, data: Any) -> None:
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    values, indices = ms.ops.sort(ms.Tensor(a), axis, descending)
    np.testing.assert_array_equal(np.take_along_axis(a, indices.asnumpy(), axis), values.asnumpy())
    upward = np.sort(a, axis)
    np.testing.assert_array_equal(values.asnumpy(), np.flip(upward, axis) if descending else upward)
    v, i = (np.moveaxis(t.asnumpy(), axis, -1) for t in (values, indices))
    ties = (v[..., 1:] == v[..., :-1]) | (np.isnan(v[..., 1:]) & np.isnan(v[..., :-1]))
    assert (i[..., 1:] > i[..., :-1])[ties].all()


def test_topk_and_relatives() -> None:
    x = ms.Tensor([[3, 1, 2], [4, 6, 5]])
    assert [t.tolist() for t in ms.ops.topk(x, 2)] == [[[3, 2], [6, 5]], [[0, 2], [1, 2]]]
    assert ms.ops.topk(x, 1, 0, largest=False)[0].tolist() == [[3, 1, 2]]
    assert [t.tolist() for t in ms.ops.kthvalue(x, 2)] == [[2, 5], [2, 2]]
    with pytest.raises(ValueError, match="k = 4 for an axis of size 3"):
        ms.ops.topk(x, 4)
    assert ms.ops.bincount(ms.Tensor([0, 2]), ms.Tensor([0.5, 1.5])).tolist() == [0.5, 0.0, 1.5]
    assert operator.index(x[0, 1]) == 1


@pytest.mark.parametrize("loss", [
    lambda x: (x[x > 0] * x[x > 0]).sum(),
    lambda x: (ms.ops.masked_select(x, x < 0) ** 2).mean(),
    lambda x: (ms.ops.index_update(x, x > 0, x[x > 0] * 3.0) ** 2).sum(),
], ids=["two selections with one mask", "mean", "written back"])  # fmt: skip
def test_derivatives_through_masks(loss: Any) -> None:
    check_grads(loss, [np.array([1.0, -2.0, 3.0, -0.5])])


def test_the_gradient_that_would_need_zeros_of_unknown_size_says_so() -> None:
    with pytest.raises(ValueError, match=r"zeros of shape \[n\d+<=4\] cannot be made"):
        check_grads(lambda x: (x[x > 0][1:] ** 2).sum(), [np.array([1.0, -2.0, 3.0, -0.5])])


def test_whether_an_element_is_in_a_tensor(mode: int) -> None:
    def tell(x: Any, y: Any) -> Any:
        return 3 in x, 9 in x, y in x, x[:, [-1, 0]] if 4 in x else x

    run: Any = ms.jit(tell) if mode == ms.GRAPH_MODE else tell
    *told, part = run(ms.Tensor([[1, 2, 0], [3, 4, 0]]), ms.Tensor(2))
    assert [bool(t) for t in told] == [True, False, True]
    assert part.tolist() == [[0, 1], [0, 3]]
    assert None not in ms.Tensor([1])
