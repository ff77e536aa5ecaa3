"""``float(t)``, ``int(t)`` and the elements of ``Tensor([...])`` are numbers in every mode, without a gradient."""

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops

NUMBERS = {  # -> the gradient by hand at [1, 2]
    "float(x.sum()) * x.sum()": [3, 3],
    "int(x.sum()) * x.sum()": [3, 3],
    "float(x[0]) ** 2 * x.sum()": [1, 1],
    "max(float(x[0]), float(x[1])) * x.sum()": [2, 2],
    "(x ** float(x[1])).sum()": [2, 4],
    "abs(float(x[0])) * x.sum()": [1, 1],
    "sum(float(v) for v in x) * x.sum()": [3, 3],
    "(ops.full((2,), float(x.sum())) * x).sum()": [3, 3],
    "Tensor(float(x.sum()), ms.float32) * x.sum()": [3, 3],
    "(Tensor([float(x[0]), float(x[1])]) * x).sum()": [1, 2],
    "(Tensor([x[0], x[1] * 2]) * x).sum()": [1, 4],
    "(ms.tensor([x[0], 3.0]) * x).sum()": [1, 3],
    "ops.lerp(x, x * 2, float(x[0])).sum()": [2, 2],
    "ms.tensor(x.sum()) * x.sum()": [6, 6],  # a tensor of a tensor keeps it
    "(Tensor(x) * x).sum()": [2, 4],
}


def by_vjp(program):
    return lambda x: ms.vjp(program, x)[1](Tensor(np.float32(1)))


WAYS = {
    "grad": ms.grad, "jit(grad)": lambda f: ms.jit(ms.grad(f), fullgraph=True),
    "grad(jit)": lambda f: ms.grad(ms.jit(f)),
    "jacrev": ms.jacrev, "jacfwd": ms.jacfwd, "vjp": by_vjp,
    "value_and_grad": lambda f: lambda x: ms.value_and_grad(f)(x)[1],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", NUMBERS)
def test_number_has_no_gradient(text, way):
    program = eval("lambda x: " + text, {"ms": ms, "ops": ops, "Tensor": Tensor})
    found = WAYS[way](program)(Tensor(np.array([1, 2], np.float32)))
    found = found[0] if isinstance(found, tuple) else found
    assert found.asnumpy().tolist() == NUMBERS[text]
