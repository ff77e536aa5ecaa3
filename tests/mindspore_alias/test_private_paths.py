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
        (lambda c: c.check_non_negative_float(-1.0, "rate", "Net"), ValueError, "Net: rate must be at least 0"),
        (lambda c: c.check_float(1, 0.0, c.GT, "rate"), TypeError, "rate must be float, got 1"),
        (lambda c: c.check_number("n", 3, 4, c.GE, "Net"), ValueError, "Net: n must be at least 4, got 3"),
        (lambda c: c.check("n", 3, "m", 4, c.EQ, "Net", TypeError), TypeError, r"Net: n must be m \(4\), got 3"),
        (lambda c: c.check_type_name("dtype", int, (float, str), "Net"), TypeError, "dtype must be float or str"),
        (lambda c: c.check_subclass("x", int, (float,), "Net", "So it is."), TypeError, "Net: x must be .*So it is"),
        (lambda c: c.check_types_same_and_valid({"a": int, "b": str}, (int, str), "Net"), TypeError, "b must have"),
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
    c.check_subclass("x", int, int)
    c.check_types_same_and_valid({"a": int, "b": int}, (int, str))
    assert c.args_type_check(int, b=str)(lambda a, b="x": (a, b))(3, b=None) == (3, None)


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
