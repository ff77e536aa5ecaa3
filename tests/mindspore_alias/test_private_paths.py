"""Private paths of MindSpore that programs of others import, with the meaning that they have here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb.as_mindspore  # noqa: F401


def test_classes_named_after_functions_of_pytorch(mode: int) -> None:
    import mindspore as ms
    from mindspore.ops.auto_generate import AddExt, BatchMatMulExt, StackExt, TopkExt

    x = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(AddExt()(x, x, alpha=2).asnumpy(), 3 * x.asnumpy())
    np.testing.assert_array_equal(StackExt()([x, x], 1).asnumpy(), np.stack([x.asnumpy()] * 2, 1))
    np.testing.assert_array_equal(BatchMatMulExt()(x[None], x.T[None]).asnumpy()[0], x.asnumpy() @ x.asnumpy().T)
    assert TopkExt()(x, 2)[1].asnumpy().tolist() == [[2, 1], [2, 1]]
    with pytest.raises(ImportError, match="NoSuchExt"):
        from mindspore.ops.auto_generate import NoSuchExt  # noqa: F401


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.check_non_negative_float(-1.0, "rate", "Net"), ValueError, "'Net', the 'rate' must be float and"),
        (lambda c: c.check_float(1, 0.0, c.GT, "rate"), TypeError, "The 'rate' must be float, but got 'int'"),
        (lambda c: c.check_number("n", 3, 4, c.GE, "Net"), ValueError, "'Net', the argument 'n' must >= 4, but"),
        (lambda c: c.check("n", 3, "m", 4, c.EQ, "Net", TypeError), TypeError, "'Net', the 'n' should be = m: 4, but"),
        (lambda c: c.check_type_name("dtype", int, (float, str), "Net"), TypeError, "'dtype' must be float or str"),
        (lambda c: c.check_subclass("x", int, (float,), "Net", "So it is."), TypeError, "the 'x' must be .*So it is"),
        (lambda c: c.check_types_same_and_valid({"a": int, "b": str}, (int, str), "Net"), TypeError, "'b' must have"),
        (lambda c: c.check_is_int(True, "n"), TypeError, "The type of 'n' must be 'int', but got 'bool'"),
        (lambda c: c.check_negative_int(0, prim_name="Net"), ValueError, "the input value must be int and must < 0, "),
        (lambda c: c.check_non_positive_float(1.0, "x"), ValueError, "'x' must be float and must <= 0, but got"),
        (lambda c: c.check_positive_int_sequence((3, 0), "sizes"), ValueError, r"'sizes\[1\]' must be int and must"),
        (lambda c: c.check_non_negative_int_sequence(3, "sizes"), TypeError, "not iterable"),
        (lambda c: c.check_equal_int(3, 4, "n"), ValueError, "'n' must be int and must = 4, but got '3'"),
        (lambda c: c.check_is_number("3", int, "n", "Net"), TypeError, "type of 'n' must be 'int', but got 'str'"),
        (lambda c: c.check_float(float("inf"), 0.0, c.GT, "x"), ValueError, "'x' must be a legal value"),
        (lambda c: c.check_float_range(2, 0.0, 1.0, c.INC_BOTH, "x"), TypeError, "'x' must be 'float',  but got 'int'"),
        (lambda c: c.check_isinstance("x", 3, str), ValueError, "'x' must be isinstance of <class 'str'>, but got 3"),
        (lambda c: c.check_valid_input("x", None, "Net"), ValueError, "the 'x' must not be None"),
        (lambda c: c.check_element_type_of_iterable("names", ["a", 1], [str]), TypeError, r"names\[1\]' should be"),
        (lambda c: c.check_str_by_regular("3 x"), ValueError, "'3 x' does not match"),
        (lambda c: c.check_input_format("rt"), ValueError, "the data format must be one of 'NCHW', got 'rt'"),
        (lambda c: c.twice((3.3, 4)), TypeError, "an int or a tuple of 2 ints, not"),
        (lambda c: c.triple((1, 2)), TypeError, "an int or a tuple of 3 ints, not"),
        (lambda c: c.check_tensors_dtypes_same_and_valid({"a": int, "b": str}, (int, str)), TypeError, "'b' must have"),
        (lambda c: c.args_type_check(a=int)(lambda a: a)("text"), TypeError, "a must be <class 'int'>, got 'text'"),
    ],
)  # fmt: skip
def test_checks_of_arguments(call: Any, error: type[Exception], message: str) -> None:
    from mindspore import _checkparam

    with pytest.raises(error, match=message):
        call(_checkparam)


def test_checks_that_hold() -> None:
    from mindspore import _checkparam as c

    assert (c.check_non_negative_float(0.0), c.check_number("n", 4, 4, c.GE), c.check_type_name("t", int, int)) == (
        0,
        4,
        int,
    )
    assert c.check("n", 3, "m", 4, c.NE) == 3
    assert (c.check_is_int(3), c.check_is_float(0.5, "x", "Net"), c.check_negative_int(-1)) == (3, 0.5, -1)
    assert c.check_int_range(3, 1, 3, c.INC_RIGHT, arg_name="n") == c.check_equal_int(3, 3, prim_name="Net") == 3
    assert c.check_positive_float_sequence([0.5]) == [0.5] and c.check_str_by_regular("net.1_a")
    assert (c.once(3), c.twice(3), c.triple((1, 2, 3))) == ((3,), (3, 3), (1, 2, 3))
    c.check_tensor_dtype_valid("x", int, (int,), "Net")
    c.check_element_type_of_iterable("names", ["a"], [str])
    c.check_subclass("x", int, int)
    c.check_types_same_and_valid({"a": int, "b": int}, (int, str))
    assert c.args_type_check(int, b=str)(lambda a, b="x": (a, b))(3, b=None) == (3, None)


def test_names_of_kinds_of_types(mode: int) -> None:
    import mindspore as ms
    from mindspore import dtype as mstype, ops

    double = ops.MultitypeFuncGraph("double")

    @double.register(mstype.number)
    def _number(x: Any) -> Any:
        return 2 * x

    @double.register(mstype.tensor_type)
    def _tensor(x: Any) -> Any:
        return x + x

    @double.register(mstype.tuple_)
    def _tuple(x: Any) -> Any:
        return x + x

    @ms.jit
    def all_of(x: Any) -> Any:
        return double(3), double(x), double((1,))

    number, tensor, pair = all_of(ms.Tensor([1.0, 2.0]))
    assert number == 6 and tensor.asnumpy().tolist() == [2, 4] and pair == (1, 1)
    with pytest.raises(TypeError, match="double has no kind 'float128'"):
        double.register("float128")


def test_methods_under_the_path_of_the_parser(mode: int) -> None:
    import mindspore as ms
    from mindspore._extends.parse.standard_method import argmax, choose, ms_len, tensor_bool, unsqueeze
    from mindspore.ops.composite.base import core

    @core(loop_can_unroll=True)
    def largest(x: Any) -> Any:
        return argmax(x) if tensor_bool(x.sum() > 0) else x.sum()

    x = ms.Tensor([1, 3, 2])
    assert largest(x).item() == 1 and unsqueeze(x, 0).shape == (1, 3) and ms_len((1, 2)) == 2
    assert choose(ms.Tensor([1, 0]), [[1, 2], [3, 4]]).asnumpy().tolist() == [3, 2]
    with pytest.raises(ImportError, match="no_such_method"):
        from mindspore._extends.parse.standard_method import no_such_method  # noqa: F401


def test_checks_as_methods() -> None:
    from mindspore._checkparam import Validator as v

    assert v.check("n", 3, "m", 3, rel=v.EQ) == 3 and v.check_float(0.5, 0.0, v.GT, "rate") == 0.5
    assert v.check_int_range(3, 0, 3, v.INC_BOTH, "n") == 3
    with pytest.raises(ValueError, match="The 'n' should be <= m: 3, but got 4"):
        v.check("n", 4, "m", 3, rel=v.LE)


def test_facts_of_parallel_programs(tmp_path: Path) -> None:
    import mindspore as ms
    from mindspore.parallel import _utils
    from mindspore.train._utils import _make_directory

    assert (_utils._is_sharding_propagation(), _utils._is_in_auto_parallel_mode(), _utils._get_pipeline_stages()) == (
        False, False, 1,
    )  # fmt: skip
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="sharding_propagation", device_num=8)
    assert _utils._is_sharding_propagation() and _utils._is_in_auto_parallel_mode()
    ms.reset_auto_parallel_context()
    with pytest.raises(ValueError, match="8 devices is not stand_alone"):
        _utils._device_number_check("stand_alone", 8)
    assert Path(_make_directory(str(tmp_path / "a" / "b"))).is_dir()
    with pytest.raises(TypeError, match="path is a path as a text, not 3"):
        _make_directory(3)


def test_parameters_of_the_search(notices: list[str]) -> None:
    import mindspore as ms

    ms.set_algo_parameters(fully_use_devices=True, tensor_slice_align_size=32)
    assert ms.get_algo_parameters("fully_use_devices") and ms.get_algo_parameters("tensor_slice_align_size") == 32
    ms.reset_algo_parameters()
    assert ms.get_algo_parameters("tensor_slice_align_size") == 16 and len(notices) == 1
    for wrong, error, message in (
        ({"fast": True}, ValueError, "no parameter 'fast'; it has fully_use_devices"),
        ({"fully_use_devices": 1}, TypeError, "a bool, not 1"),
        ({"algo_approxi_epsilon": 2.0}, ValueError, r"lies in \(0, 1\]"),
        ({"tensor_slice_align_size": 0}, ValueError, "lies in .1, 1024"),
    ):
        with pytest.raises(error, match=message):
            ms.set_algo_parameters(**wrong)


def test_the_version() -> None:
    import mindspore as ms

    assert ms.version.__version__ == ms.__version__


def test_flags_of_the_compiler(mode: int) -> None:
    import mindspore as ms
    from mindspore import nn, ops
    from mindspore.ops import composite

    class Net(nn.Cell):
        @composite.add_flags(has_effect=True)
        def construct(self, x: Any) -> Any:
            return x * 2

    net = ops.add_flags(Net(), predit=True)
    assert float(net(ms.Tensor(1.5))) == 3 and net._func_graph_flags == {"predit": True}
    assert Net.construct._func_graph_flags == {"has_effect": True}


def test_parts_of_trainings(mode: int) -> None:
    import mindspore as ms
    from mindspore import nn
    from mindspore.nn.layer.conv import _check_input_3d
    from mindspore.nn.loss.loss import _Loss
    from mindspore.nn.wrap.cell_wrapper import _VirtualDatasetCell
    from mindspore.numpy.utils_const import _raise_value_error
    from mindspore.ops.operations.comm_ops import _VirtualDataset
    from mindspore.train.callback import _InternalCallbackParam
    from mindspore.train.callback._callback import _handle_loss
    from mindspore.train.serialization import _update_param, tensor_to_ms_type, tensor_to_np_type

    class Loss(_Loss):
        def construct(self, x: Any, y: Any) -> Any:
            return self.get_loss((x - y) ** 2)

    x = ms.Tensor(np.ones((2, 2), np.float32))
    assert float(Loss("sum")(x, x + 2)) == 16
    assert _VirtualDatasetCell(nn.Dense(2, 1))(x).shape == (2, 1) and len(_VirtualDataset()(x, x)) == 2
    assert _InternalCallbackParam(a=3).a == 3 and _handle_loss(x) == 1 and _handle_loss((x, 2)) is x
    assert (tensor_to_np_type("Float16"), tensor_to_ms_type["Int8"]) == (np.float16, ms.int8)
    param = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    _update_param(param, ms.Parameter(ms.Tensor([3.0, 4.0]), name="w"), False)
    assert param.asnumpy().tolist() == [3, 4]
    assert _check_input_3d((1, 2, 3), "Net")
    for call, message in ((lambda: _check_input_3d((1,), "Net"), "Net: the input has 3 axes, not 1"),
                          (lambda: _raise_value_error("too ", 3), "too 3")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()


def test_names_of_layers_and_arrays() -> None:
    import mindspore as ms
    from mindspore import nn
    from mindspore.nn.layer.activation import _activation
    from mindspore.nn.layer.normalization import _BatchNorm
    from mindspore.numpy.utils import _to_tensor

    assert _activation["relu"] is nn.ReLU and isinstance(nn.BatchNorm2d(3), _BatchNorm)
    number, several, same = _to_tensor(1, [0.5, 1.5], ms.Tensor([1.0], ms.float64))
    assert (number.dtype, several.dtype, same.dtype) == (ms.int32, ms.float32, ms.float64)
    assert _to_tensor(True).dtype == ms.bool_
    with pytest.raises(TypeError, match="numbers, lists and tensors, not str"):
        _to_tensor("text")


def test_own_steps_of_recurrent_networks(mode: int) -> None:
    import mindspore as ms
    from mindspore import nn, ops
    from mindspore.nn.layer.rnn_cells import RNNCellBase

    class MinimalCell(RNNCellBase):
        def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True) -> None:
            super().__init__(input_size, hidden_size, has_bias, num_chunks=2)

        def construct(self, x: Any, h: Any) -> Any:
            f, n = ops.split(ops.matmul(x, self.weight_ih.T) + self.bias_ih, self.hidden_size, 1)
            return h + ops.sigmoid(f) * (ops.tanh(n) - h)

    net = MinimalCell(3, 5)
    assert [p.shape for p in net.get_parameters()] == [(10, 3), (10, 5), (10,), (10,)]
    assert net(ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor(np.ones((2, 5), np.float32))).shape == (2, 5)
    assert isinstance(nn.GRUCell(3, 5), RNNCellBase) and nn.LSTMCell(3, 5, False).weight_hh.shape == (20, 5)
    with pytest.raises(ValueError, match="num_chunks"):
        RNNCellBase(3, 5, True, 0)


def test_own_initializers_and_constant_functions(mode: int) -> None:
    import mindspore as ms
    from mindspore.common.initializer import _INITIALIZER_ALIAS, Initializer, One, _assignment, _register, initializer
    from mindspore.ops.function.nn_func import _get_cache_prim
    from mindspore.ops.primitive import _primexpr

    @_register("counted_up", "ones")
    class CountedUp(Initializer):
        def _initialize(self, arr: Any) -> None:
            _assignment(arr, np.arange(arr.size).reshape(arr.shape))

    try:
        assert initializer("counted_up", (3,)).asnumpy().tolist() == [0, 1, 2] and _INITIALIZER_ALIAS["ones"] is One
        assert initializer("CountedUp", (2,)).asnumpy().tolist() == [0, 1]
    finally:
        del _INITIALIZER_ALIAS["counted_up"], _INITIALIZER_ALIAS["countedup"]

    @_primexpr
    def last(shape: Any) -> int:
        return int(np.array(shape)[-1])

    relu = _get_cache_prim(ms.ops.ReLU)()
    assert float(ms.jit(lambda x: relu(x).sum() * last(x.shape))(ms.Tensor([1.0, -2.0]))) == 2
    with pytest.raises(ValueError, match="no initializer 'counted_up'"):
        initializer("counted_up", (3,))


def test_a_warning_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    from mindspore import log

    @log._LogActionOnce(logger=log, key="a test of this file")
    def warned(x: int) -> int:
        log.warning("number %d", x)
        return x

    assert [warned(x) for x in (1, 2, 3)] == [1, 2, 3]
    log.warning("number %d", 4)
    assert [record.getMessage() for record in caplog.records] == ["number 1", "number 4"]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("BatchDataset", (2,)), ("PaddedBatchDataset", (2,)), ("RepeatDataset", (2,)), ("ShuffleDataset", (3,)),
        ("SkipDataset", (1,)), ("TakeDataset", (1,)), ("ProjectDataset", (["x"],)), ("RenameDataset", (["x"], ["y"])),
        ("MapDataset", (lambda x: x + 1,)), ("FilterDataset", (lambda x: bool(x > 1),)),
    ],
)  # fmt: skip
def test_classes_of_data_sets(name: str, args: tuple[Any, ...]) -> None:
    import mindspore.dataset as ds
    from mindspore.dataset.engine import datasets

    source = ds.NumpySlicesDataset({"x": [1, 2, 3]}, shuffle=False)
    kind = getattr(datasets, name)
    made = kind(source, *args)
    others = [getattr(ds, n) for n in ("BatchDataset", "RepeatDataset", "MapDataset", "SkipDataset") if n != name]
    assert isinstance(made, kind) and isinstance(made, ds.Dataset) and not isinstance(made, tuple(others))
    assert not isinstance(source, kind) and isinstance(source, ds.SourceDataset)
    assert isinstance(source, ds.MappableDataset)
    assert len(list(made.create_tuple_iterator(num_epochs=1))) > 0


def test_data_sets_of_several() -> None:
    import mindspore.dataset as ds

    def rows(name: str) -> Any:
        return ds.NumpySlicesDataset({name: [1, 2, 3]}, shuffle=False)

    assert isinstance(rows("x") + rows("x"), ds.ConcatDataset)
    assert isinstance(ds.zip((rows("x"), rows("y"))), ds.ZipDataset)
    assert ds.ConcatDataset([rows("x"), rows("x")]).get_dataset_size() == 6
    assert ds.ZipDataset([rows("x"), rows("y")]).get_col_names() == ["x", "y"]
    with pytest.raises(TypeError, match="SourceDataset is a name for isinstance"):
        ds.SourceDataset(1)


def test_sizes_of_scaled_images(mode: int) -> None:
    import mindspore as ms
    from mindspore.ops.function.nn_func import _interploate_ext_make_tuple, _interpolate_ext_scale_factor_convert_size

    def halved(x: ms.Tensor) -> ms.Tensor:
        factors = _interploate_ext_make_tuple(x, 0.5)
        return ms.ops.zeros(_interpolate_ext_scale_factor_convert_size(x, factors))

    run = ms.jit(halved) if mode == ms.GRAPH_MODE else halved
    assert run(ms.Tensor(np.zeros((1, 2, 5, 7), np.float32))).shape == (2, 3)
    assert _interploate_ext_make_tuple(ms.Tensor(np.zeros((1, 2, 5, 7))), (2, 3)) == (2, 3)


def test_strategies_of_mixed_precision_are_imported_and_refused() -> None:
    from mindspore import float16
    from mindspore._c_expression.amp import AmpLevel, create_amp_strategy

    assert [level.value for level in (AmpLevel.AmpO0, AmpLevel.AmpO3, AmpLevel.AmpAuto)] == [0, 3, 4]
    with pytest.raises(AttributeError, match="create_amp_strategy is not part of msnb"):
        create_amp_strategy(AmpLevel.AmpO3, float16, [], [])
