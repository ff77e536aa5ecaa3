"""Names of older MindSpore that programs use most: layers, primitives, functions. Both modes."""

from __future__ import annotations

import numpy as np
import pytest

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

    assert max_ext is mint.max
    assert float(add_ext(Tensor(1.0), Tensor(2.0), alpha=2)) == 5
    with pytest.raises(ImportError, match="nothing_ext"):
        from mindspore.ops.function.array_func import nothing_ext  # noqa: F401
