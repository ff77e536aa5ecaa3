"""NumPy arrays on the left of a tensor: operators give tensors, ``array op= tensor`` writes the array. Both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn

_OPERATORS = "+ - * / // % ** @ & | ^ << >> == != < <= > >=".split()


def statement(text: str, *names: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(f"def fn({', '.join(names)}):\n    {text}\n", space)  # a function without a source file runs as Python
    return space["fn"]


@pytest.mark.parametrize("sign", _OPERATORS)
def test_an_operator_gives_a_tensor_and_with_an_equals_sign_writes_the_array(mode: int, sign: str) -> None:
    a, b = np.array([[5, 2], [6, 3]]), np.array([[1, 2], [3, 2]])
    if sign == "/":
        a, b = a.astype(np.float64), b.astype(np.float64)
    plain = eval(f"a {sign} b")
    found = statement(f"return a {sign} x", "a", "x")(a, Tensor(b))
    assert isinstance(found, Tensor) and found.tolist() == plain.tolist()
    if sign in _OPERATORS[:13]:
        statement(f"a {sign}= x", "a", "x")(a, Tensor(b))
        assert a.tolist() == plain.tolist()


def test_a_buffer_of_an_object_stays_an_array(mode: int, capsys: Any) -> None:
    class Counts(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.sums = np.zeros(2, np.float32)

        def construct(self, x: Tensor) -> Tensor:
            self.sums += x
            row = self.sums[1:]
            row *= x[1:]
            return x + self.sums

    net = Counts()
    sums = net.sums
    assert net(Tensor([1.0, 2.0])).tolist() == [2.0, 6.0] and net(Tensor([1.0, 2.0])).tolist() == [3.0, 14.0]
    assert net.sums is sums and sums.tolist() == [2.0, 12.0]


def test_functions_of_numpy_take_values_and_write_no_tensor(mode: int) -> None:
    x = Tensor([1.0, 4.0])
    assert type(np.sqrt(x)) is np.ndarray and np.add.reduce(x) == 5.0 and np.maximum(2, x).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError):
        np.sqrt(np.ones(2), out=x)  # type: ignore[call-overload]
    assert ms.grad(lambda x: (np.array([2.0, 3.0], np.float32) * x).sum())(x).tolist() == [2.0, 3.0]
