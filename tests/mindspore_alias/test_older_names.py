"""Names that programs of older MindSpore import from private paths, and what they do here."""

from __future__ import annotations

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
