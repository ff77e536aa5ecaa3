"""Names that programs of older MindSpore import from private paths, and what they do here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms


def test_executor_and_switches() -> None:
    from mindspore._extends import cell_attr_register
    from mindspore._extends.parse import compile_config
    from mindspore.common.api import _pynative_executor

    _pynative_executor.sync()
    compile_config.FOR_HALF_UNROLL = 1

    class Net(ms.nn.Cell):
        @cell_attr_register
        def __init__(self, n):
            super().__init__()
            self.n = n

    assert Net(3).n == 3


def test_a_path_and_a_function_of_one_name() -> None:
    import mindspore.common
    import mindspore.common.mutable
    from mindspore.common import mutable
    from mindspore.common.mutable import mutable as same

    assert mutable is same
    assert mindspore.common.mutable is mutable


def test_words_for_python(mode: int) -> None:
    from mindspore.ops import functional as F

    def program(x):
        pair = F.make_tuple(x, x + 1)
        return F.tuple_getitem(pair, 1) * F.tuple_len(pair)

    step = ms.jit(program) if mode == ms.GRAPH_MODE else program
    assert step(ms.Tensor(2.0)).item() == 6.0
    assert F.tuple_div((8, 14), (3, 5)) == (2, 2)
    assert F.mixed_precision_cast(ms.float16, (ms.Tensor([1.0]), 2))[0].dtype is ms.float16


def test_loops_as_operators(mode: int) -> None:
    from mindspore import ops

    def program(x):
        doubled = ops.WhileLoop()(lambda v: v < 10, lambda v: v * 2, x)
        summed = ops.ForiLoop()(0, 4, lambda i, v: v + i, x)
        last, all_of_them = ops.Scan()(lambda s, y: (s + y, s + y), x, ms.Tensor([1, 2, 3]))
        return doubled, summed, last, all_of_them[1]

    step = ms.jit(program) if mode == ms.GRAPH_MODE else program
    assert [int(v) for v in step(ms.Tensor(1))] == [16, 7, 7, 4]


def test_records_that_no_one_reads_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    from mindspore.ops import operations as P

    assert P.ScalarSummary()("loss", ms.Tensor(1.0)) is None
    flag = P.NPUAllocFloatStatus()()
    assert P.NPUGetFloatStatus()(flag).tolist() == [0.0] * 8
    told = capfd.readouterr().err
    assert "ScalarSummary changes nothing" in told or "FloatStatus changes nothing" in told or told == ""


def test_tangents_and_gradients_as_cells(mode: int) -> None:
    from mindspore.nn.grad import Jvp, Vjp

    def square(x):
        return x * x

    x, v = ms.Tensor([3.0]), ms.Tensor([2.0])
    out, tangent = Jvp(square)(x, v)
    assert (out.tolist(), tangent.tolist()) == ([9.0], [12.0])
    out, gradient = Vjp(square)(x, v)
    assert (out.tolist(), gradient.tolist()) == ([9.0], [12.0])


def test_unknown_names_still_say_so() -> None:
    with pytest.raises(ImportError, match="tuple_getitm"):
        from mindspore.ops.functional import tuple_getitm  # noqa: F401
    assert np.float32(0) == 0


NUMBERS = {
    "scalar_add": (7, 2, 9), "scalar_sub": (7, 2, 5), "scalar_mul": (7, 2, 14), "scalar_div": (7, 2, 3.5),
    "scalar_floordiv": (-7, 2, -4), "scalar_mod": (-7.5, 2, 0.5), "scalar_pow": (7, 2, 49), "scalar_max": (7, 2, 7),
    "scalar_min": (7, 2, 2), "scalar_eq": (7, 2, False), "scalar_ne": (7, 2, True), "scalar_lt": (7, 2, False),
    "scalar_le": (7, 7, True), "scalar_gt": (7, 2, True), "scalar_ge": (2, 7, False), "scalar_usub": (3, -3),
    "scalar_uadd": (3, 3), "scalar_log": (1.0, 0.0), "scalar_cast": (3.7, ms.int64, 3),
    "bool_and": (True, False, False),
    "bool_or": (True, False, True), "bool_eq": (True, False, False), "bool_not": (True, False),
    "string_concat": ("a", "b", "ab"), "string_eq": ("a", "b", False), "in_dict": ("a", {"a": 1}, True),
    "not_in_dict": ("a", {"a": 1}, False), "dict_setitem": ({"a": 1}, "b", 2, {"a": 1, "b": 2}),
    "list_setitem": ([1, 2], -1, 5, [1, 5]), "tuple_setitem": ((1, 2), 0, 3, (3, 2)),
    "tuple_reversed": ((1, 2), (2, 1)),
    "list_equal": ([1], [1], True), "tuple_equal": ((1,), (2,), False), "tail": ((1, 2, 3), (2, 3)),
    "shape_mul": ((2, 3), 6), "make_slice": (1, 2, 3, slice(1, 2, 3)), "make_dict": (("a",), (1,), {"a": 1}),
    "is_": (None, None, True), "is_not": (None, None, False), "hastype": (1, ms.int64, True),
    "reduced_shape": ((2, 3), (-1,), (2, 1)), "augassign_add": ([1], [2], [1, 2]), "augassign_sub": (7, 2, 5),
    "augassign_mul": (7, 2, 14), "augassign_div": (7, 2, 3.5), "augassign_floordiv": (7, 2, 3),
    "augassign_mod": (7, 2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_functions_of_python(mode: int, name: str) -> None:
    from mindspore.ops import functional as F

    *given, want = NUMBERS[name]
    assert getattr(F, name)(*given) == want
    assert ms.jit(lambda: getattr(F, name)(*given))() == want


X = np.array([[1.0, -2.0], [-3.0, 5.0]], np.float32)
TENSORS = {
    "soft_shrink": ((X,), [[0.5, -1.5], [-2.5, 4.5]]), "pows": ((X, 2), X**2), "floordiv": ((X, 2), X // 2),
    "floormod": ((X, 2), X % 2), "tensor_exp": ((X,), np.exp(X)), "tensor_expm1": ((X,), np.expm1(X)),
    "tensor_floordiv": ((X, 2), X // 2), "tensor_ge": ((X, 1), X >= 1), "tensor_gt": ((X, 1), X > 1),
    "tensor_le": ((X, 1), X <= 1), "tensor_lt": ((X, 1), X < 1), "tensor_muls": ((X, 2), X * 2),
    "tensor_slice": ((X, (0, 1), (2, 1)), X[:, 1:]), "shape_": ((X,), (2, 2)), "reshape_": ((X, (4,)), X.reshape(-1)),
    "matrix_determinant": ((X,), -1.0), "log_matrix_determinant": ((X,), (-1.0, 0.0)), "deepcopy": ((X,), X),
    "dyn_shape": ((X,), [2, 2]), "fills": ((X, 2), [[2, 2]] * 2), "top_k": ((X, 1), ([[1], [5]], [[0], [1]])),
    "accumulate_n": (([X, X],), X * 2), "hyper_add": (((X, [X]), (X, [X])), None), "move_to": ((X, "CPU"), X),
    "coo2csr": ((np.array([0, 1, 1], np.int32), 3), [0, 1, 3, 3]),
    "csr2coo": ((np.array([0, 0, 3], np.int32), 3), [1] * 3),
    "mse_loss_ext": ((X, X + 2), 4.0), "inplace_sigmoid": ((X,), 1 / (1 + np.exp(-X))), "tanh_": ((X,), np.tanh(X)),
    "clamp_": ((X, 0, 2), X.clip(0, 2)), "zero_": ((X,), X * 0), "erfinv_": ((X * 0,), X * 0),
}  # fmt: skip


@pytest.mark.parametrize("name", TENSORS)
def test_functions_of_tensors(mode: int, name: str) -> None:
    from mindspore.ops import functional as F

    def tensors(value):
        if isinstance(value, np.ndarray):
            return ms.Tensor(value.copy())
        deep = isinstance(value, (list, tuple)) and name in ("accumulate_n", "hyper_add")
        return type(value)(map(tensors, value)) if deep else value

    given, want = TENSORS[name]
    fn = getattr(F, name)
    found = (ms.jit(fn) if mode == ms.GRAPH_MODE and not name.endswith("_") else fn)(*map(tensors, given))
    if name == "hyper_add":
        found, want = found[1][0], X * 2
    for f, w in zip(found, want) if isinstance(want, tuple) and isinstance(found, tuple) else [(found, want)]:
        np.testing.assert_allclose(np.asarray(f), w, 1e-5, 1e-6)


def test_sparse_tensors_by_functions() -> None:
    from mindspore.ops import functional as F

    coo = F.make_coo_tensor(ms.Tensor([[0, 1]]), ms.Tensor([2.0]), (2, 2))
    assert F.coo_tensor_get_values(coo).tolist() == [2.0] and F.coo_tensor_get_dense_shape(coo) == (2, 2)
    csr = F.make_csr_tensor(ms.Tensor([0, 1, 1]), ms.Tensor([0]), ms.Tensor([3.0]), (2, 2))
    assert F.csr_tensor_get_indptr(csr).tolist() == [0, 1, 1] and F.csr_tensor_get_indices(csr).tolist() == [0]
    row = F.make_row_tensor(ms.Tensor([1]), ms.Tensor([[3.0, 4.0]]), (2, 2))
    assert F.row_tensor_add(row, ms.Tensor(X)).tolist() == [[1.0, -2.0], [0.0, 9.0]]
    assert F.make_sparse_tensor is F.make_coo_tensor and F.row_tensor_get_indices(row).tolist() == [1]


def test_a_tensor_becomes_a_constant() -> None:
    from mindspore import ops

    def loss(x):
        y = x * 2
        ops.stop_gradient_(y)
        return (y * x).sum()

    assert ms.grad(loss)(ms.Tensor([3.0])).tolist() == [6.0]
    assert ops.poisson((4, 1), ms.Tensor([5.0, 10.0]), seed=5).shape == (4, 2)
    x = ms.Tensor([0.0])
    assert ops.random_(x, 3, 4).tolist() == [3.0] and ops.put_(x, ms.Tensor([0]), ms.Tensor([5.0])).tolist() == [5.0]


def test_the_memory_of_a_tensor() -> None:
    import mindspore

    x = ms.Tensor(X)
    storage = x.untyped_storage()
    assert isinstance(storage, mindspore.UntypedStorage) and storage.size() == storage.nbytes() == len(storage) == 16
    assert storage.data_ptr() == x.data_ptr() == x.asnumpy().ctypes.data and storage.device == x.device
    assert storage.element_size() == 1 and not storage.is_shared()
    y = ms.Tensor(np.arange(4), ms.int32)
    assert y.untyped_storage().copy_(storage).size() == 16 and y.asnumpy().tobytes() == x.asnumpy().tobytes()
    number, other = ms.Tensor(2.0), ms.Tensor(6.0)
    number.untyped_storage().copy_(other.untyped_storage(), non_blocking=True)
    other.assign_value(ms.Tensor(1.0))
    assert number.item() == 6.0
    with pytest.raises(RuntimeError, match="4 bytes, src has 16"):
        number.untyped_storage().copy_(storage)


def test_operators_of_inner_modules(mode: int) -> None:
    from mindspore.ops.auto_generate import as_strided
    from mindspore.ops.operations._grad_ops import ConcatOffset
    from mindspore.ops.operations.array_ops import ArgminV2

    def compiled(fn: Any, *inputs: Any) -> Any:
        return (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*inputs)

    x = ms.Tensor(np.arange(9, dtype=np.float32).reshape(3, 3))
    assert compiled(lambda x: as_strided(x, (2, 2), (1, 2), 1), x).tolist() == [[1, 3], [2, 4]]
    assert compiled(lambda x: as_strided(x, (2,), (-1,), 3), x).tolist() == [3, 2]
    assert ms.grad(lambda x: as_strided(x, (2, 2), (1, 1)).sum())(x).tolist() == [[1, 2, 1], [0, 0, 0], [0, 0, 0]]
    for size, stride, kind in (((9, 9), (1, 2), ValueError), ((2, 2), (1,), ValueError), ((2.0,), (1,), TypeError)):
        with pytest.raises(kind, match="as_strided"):
            compiled(lambda x, size=size, stride=stride: as_strided(x, size, stride), x)
    assert compiled(lambda x: ConcatOffset(2, -1)((x, x[:, :1])), x).tolist() == [[0, 0], [0, 3]]
    assert compiled(lambda x: ConcatOffset(3)(x, x, x), x).tolist() == [[0, 0], [3, 0], [6, 0]]
    for axis, given in ((5, (x, x)), (0, (x, x[:, :1]))):
        with pytest.raises(ValueError, match="ConcatOffset"):
            ConcatOffset(2, axis)(given)
    found = compiled(lambda x: ArgminV2()(x, 1), ms.Tensor([[4.0, 8, 1, 6], [4, 3, 6, 2]]))
    assert found.tolist() == [2, 3] and found.dtype is ms.int32


def test_a_tensor_takes_const_arg(mode: int) -> None:
    def fn(x: Any) -> Any:
        return x + ms.Tensor([2.0], const_arg=True)

    assert (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(ms.Tensor([1.0], ms.float32, None, None, True)).tolist() == [3]
    with pytest.raises(TypeError, match="const_arg"):
        ms.Tensor([1.0], const_arg=1)


def test_functions_of_private_modules() -> None:
    from mindspore.ops.function import array_func, math_func

    x = ms.Tensor([[3.0, 4.0], [0.0, 0.0]])
    assert array_func.new_ones(x, (2,), dtype=ms.int32).tolist() == [1, 1]
    assert array_func.new_zeros(x, (1,)).dtype == ms.float32
    assert [part.tolist() for part in array_func.chunk_view(x, 2, dim=1)] == [[[3], [0]], [[4], [0]]]
    assert [part.shape for part in array_func.split_view(x, 1, dim=0)] == [(1, 2), (1, 2)]
    assert array_func.unsqueeze_view(x, dim=0).shape == (1, 2, 2)
    assert array_func.index_fill_ext(x, 0, ms.Tensor([1]), 7.0).tolist() == [[3, 4], [7, 7]]
    assert math_func.vector_norm_ext(x, 2, 1).tolist() == [5, 0]
    assert math_func.matrix_norm_ext(x).item() == math_func.linalg_norm(x).item() == 5


def test_steps_of_sunk_data(mode: int) -> None:
    import mindspore
    import mindspore.train
    from mindspore.train.data_sink import data_sink

    assert data_sink is mindspore.data_sink is mindspore.train.data_sink
    rows = lambda: ms.dataset.NumpySlicesDataset([1.0, 2.0, 3.0], shuffle=False).batch(1)
    for more in ({}, {"jit_config": ms.JitConfig()}):
        two, one = data_sink(lambda x: x * 10, rows(), 2, **more), data_sink(lambda x: x + 1, rows(), **more)
        assert [two().item() for _ in range(3)] == [20, 10, 30], "the rows begin anew at their end"
        assert [one().item() for _ in range(4)] == [2, 3, 4, 2]
    for wrong, error in ((0, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match="sink_size must be"):
            data_sink(abs, rows(), wrong)
    with pytest.raises(ValueError, match="has no rows"):
        data_sink(abs, rows().skip(3))


def test_names_that_a_module_or_a_package_hid() -> None:
    import mindspore
    import mindspore.nn.optim.thor
    from mindspore import LossScaleManager, context, train
    from mindspore.nn.optim import thor

    assert issubclass(mindspore.FixedLossScaleManager, LossScaleManager) and train.LossScaleManager is LossScaleManager
    assert (context.STRICT, context.COMPATIBLE, context.LAX) == (mindspore.STRICT, mindspore.COMPATIBLE, mindspore.LAX)
    assert callable(thor) and not ms.Tensor([1.0]).has_init
