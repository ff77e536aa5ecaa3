"""Names of older MindSpore that programs use most: layers, primitives, functions. Both modes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, nn, ops


def test_products_of_matrices(mode: int, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((4, 3)).astype(np.float32)
    product = nn.MatMul(transpose_x2=True)
    np.testing.assert_allclose(product(Tensor(a), Tensor(b)).asnumpy(), a @ b.T, 1e-5, 1e-6)
    np.testing.assert_allclose(nn.MatMul(True)(Tensor(a), Tensor(a)).asnumpy(), a.T @ a, 1e-5, 1e-6)


def test_ranges(mode: int) -> None:
    assert nn.Range(3)().tolist() == [0, 1, 2] and nn.Range(5, 1, -2)().tolist() == [5, 3]
    assert nn.Range(0, 1, 0.5)().tolist() == [0.0, 0.5]
    with pytest.raises(ValueError, match="delta must not be 0"):
        nn.Range(1, 2, 0)


def test_noise_of_images(mode: int) -> None:
    x = ops.ones((2, 3, 4, 4))
    np.testing.assert_allclose(nn.PSNR(255.0)(x, x + 25.5).asnumpy(), [20.0, 20.0], 1e-4)
    with pytest.raises(ValueError, match="compares two batches"):
        nn.PSNR()(x, x[0])


def test_status_of_numbers(mode: int) -> None:
    status = ops.FloatStatus()
    assert status(Tensor([1.0, 2.0])).tolist() == [0.0] and status(Tensor([1.0, np.inf])).tolist() == [1.0]
    assert status(Tensor([np.nan])).tolist() == [1.0]


def test_spellings(mode: int) -> None:
    x, i = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1])
    assert ops.GatherV2()(x, i, 0).tolist() == [[3.0, 4.0]]
    assert ops.tensor_add(x, x).tolist() == (x * 2).tolist() and ops.tensor_pow(x, 2).tolist() == (x * x).tolist()
    assert ops.InvertPermutation()((3, 0, 2, 1)) == (1, 3, 2, 0)
    assert ops.ScalarToArray()(2.5).tolist() == ops.scalar_to_array(2.5).tolist() == 2.5
    assert ops.TensorSub()(x, x).tolist() == [[0.0, 0.0]] * 2
    with pytest.raises(ValueError, match="each number from 0 to 2 once"):
        ops.InvertPermutation()((0, 0, 2))


def test_private_names_of_mints_functions() -> None:
    from mindspore import mint
    from mindspore.ops.auto_generate.gen_ops_def import add_ext
    from mindspore.ops.function.array_func import max_ext

    assert inspect.unwrap(max_ext) is inspect.unwrap(mint.max)  # add_ext and others take alpha by position
    assert float(add_ext(Tensor(1.0), Tensor(2.0), alpha=2)) == 5
    with pytest.raises(ImportError, match="nothing_ext"):
        from mindspore.ops.function.array_func import nothing_ext  # noqa: F401


def test_classes_of_types(mode: int) -> None:
    """They were placeholders, of which nothing is an instance: every such question was answered False, in silence."""
    from mindspore import dtype
    from mindspore.ops import functional
    from mindspore.ops.operations._inner_ops import TopTypeof

    kinds = ("TensorType", "Int", "Float", "Number", "Tuple", "List", "Dict", "String", "NoneType")
    values = (Tensor([1.0]), 1, 1.5, (1,), [1], {"a": 1}, "s", None)
    expected = ("TensorType", "Int", "Float", "Tuple", "List", "Dict", "String", "NoneType")

    def answers() -> Any:
        return [[k for k in kinds if isinstance(functional.typeof(v), getattr(dtype, k))] for v in values]

    found = msnb.jit(answers)() if mode == msnb.GRAPH_MODE else answers()
    assert [[k for k in row if k != "Number"] for row in found] == [[k] for k in expected]
    assert [("Number" in row) for row in found] == [False, True, True, *[False] * 5]
    assert isinstance(TopTypeof()(values[0]), dtype.TensorType)
    assert isinstance(dtype.uint8, dtype.UInt) and not isinstance(dtype.uint8, dtype.Int)
    assert isinstance(dtype.float16, dtype.Float) and isinstance(dtype.bool_, dtype.Bool)
    assert isinstance(dtype.complex64, dtype.Complex) and not isinstance(3, dtype.Int)


def test_operators_of_sequences(mode: int) -> None:
    from mindspore.ops.operations import _sequence_ops as seq

    def program(x: Any, values: Any) -> Any:
        made = seq.ListAppend()(values, 7), seq.ListInsert()(values, 0, 5), seq.SequenceMul()((x, 1), 2)
        asked = seq.SequenceMax()(values), seq.SequenceMin()(values), seq.SequenceCount()(values, 1)
        return made, asked, seq.SequenceIndex()(values, 2, 0, 2), seq.SequenceSlice()(values, 0, 1, 1), values

    x = Tensor([1.0])
    found = (msnb.jit(program) if mode == msnb.GRAPH_MODE else program)(x, [1, 2])
    assert found[0][:2] == ([1, 2, 7], [5, 1, 2]) and [str(v) for v in found[0][2]] == ["[1.]", "1"] * 2
    assert found[1:] == ((2, 1, 1), 1, [1], [1, 2]), "a list that is given stays as it is"
    with pytest.raises(ValueError, match="not in"):
        seq.SequenceIndex()([1, 2], 3)


def test_operators_of_sequences_of_tensors(mode: int) -> None:
    from mindspore.ops.operations import _sequence_ops as seq

    def program(x: Any) -> Any:
        rows = seq.SequenceUnstack(1)(x)
        return seq.SequenceAddN()(rows), seq.SequenceConcat(0)(rows), seq.SequenceStack(1)([*rows]), rows

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    total, joined, stacked, rows = (msnb.jit(program) if mode == msnb.GRAPH_MODE else program)(Tensor(x))
    for found, wanted in ((total, x.sum(1)), (joined, x.T.ravel()), (stacked, x), *zip(rows, x.T)):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    with pytest.raises(ValueError, match="shape"):
        seq.SequenceStack()([Tensor([1.0]), Tensor([1.0, 2.0])])


def test_filled_tensors(mode: int) -> None:
    from mindspore.ops.operations import FillV2

    def program(x: Any) -> Any:
        return FillV2()((2, 3), Tensor(1.5)), FillV2()(x.shape, Tensor(1, msnb.int32))

    found = (msnb.jit(program) if mode == msnb.GRAPH_MODE else program)(Tensor([1.0, 2.0]))
    assert found[0].tolist() == [[1.5] * 3] * 2 and found[1].tolist() == [1, 1] and found[1].dtype is msnb.int32
    assert FillV2()(Tensor([2, 1]), Tensor(0.5, msnb.float16)).dtype is msnb.float16


class Printing(nn.Cell):
    def construct(self, x: Any) -> Any:
        print("ran", x.shape)
        return x.reshape((3, -1)) + 1


def test_compiled_ahead(mode: int, capfd: pytest.CaptureFixture[str]) -> None:
    """``compile`` did nothing: the errors of a program came with its first call only."""
    from mindspore.common.api import _cell_graph_executor

    net = Printing()
    for prepare in (net.compile, lambda x: _cell_graph_executor.compile(net, x, phase="train")):
        prepare(Tensor([[1.0, 2.0, 3.0]]))
        with pytest.raises(ValueError, match="reshape"):
            prepare(Tensor([[1.0, 2.0]]))
    net.compile()
    assert "ran" not in capfd.readouterr().out
    assert net(Tensor([[1.0, 2.0, 3.0]])).tolist() == [[2], [3], [4]]
    assert capfd.readouterr().out.count("ran") == 1
    counted = msnb.jit(lambda x, n: x * n)
    _cell_graph_executor.compile(counted, Tensor([1.0]), 2)
    assert len(counted.versions) == 1 and counted(Tensor([1.0]), 2).tolist() == [2] and len(counted.versions) == 1
    _cell_graph_executor.compile(lambda x: float(x.asnumpy()), Tensor(1.0))  # runs as Python: nothing to compile
