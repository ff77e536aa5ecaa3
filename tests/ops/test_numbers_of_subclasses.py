"""An IntEnum, a subclass of int or float and NumPy's integers are numbers to operations, in both modes."""

import enum

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops


class Level(enum.IntEnum):
    TWO = 2


class Whole(int):
    pass


class Real(float):
    pass


PROGRAMS = [
    lambda x, v: x * v,
    lambda x, v: v * x,
    lambda x, v: x - v,
    lambda x, v: v**x,
    lambda x, v: x > v,
    lambda x, v: x == v,
    lambda x, v: ops.add(x, v),
    lambda x, v: ops.where(x > 1, x, v),
    lambda x, v: ops.clamp(x, 0, v),
]
SIZES = [lambda v: ops.ones(v), lambda v: ops.zeros((v, 3)), lambda v: ops.full((v,), 1.0), lambda v: ops.eye(v)]


@pytest.mark.parametrize("value", [Level.TWO, Whole(2), Real(2.0)], ids=repr)
@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_operands(program, value):
    x = Tensor([1.0, 3.0])
    plain = program(x, 2 if isinstance(value, int) else 2.0)
    for run in (program, ms.jit(program)):
        found = run(x, value)
        assert (found.dtype, found.tolist()) == (plain.dtype, plain.tolist())


SCALARS = [np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.int32(2), np.bool_(True), np.complex64(2)]
OPERANDS = [[1.5, 3.0], np.float16([1, 3]), np.int32([1, 3]), np.int8([1, 3]), np.float64([1, 3])]
FUNCTIONS = [
    lambda x, v: ops.mul(x, v), lambda x, v: ops.sub(v, x), lambda x, v: ops.maximum(x, v),
    lambda x, v: ops.equal(x, v), lambda x, v: ops.where(x > 1, v, x), lambda x, v: ops.pow(x, v),
    lambda x, v: ops.less(v, x),
]  # fmt: skip


@pytest.mark.parametrize("value", SCALARS, ids=repr)
@pytest.mark.parametrize("program", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_scalars_of_numpy_beside_tensors(program, value):
    for operand in OPERANDS:
        found = []
        for number in (value.item(), value):
            for run in (program, ms.jit(program)):
                try:
                    result = run(Tensor(operand), number)
                    found.append((result.dtype, np.round(result.asnumpy(), 3).tolist()))
                except TypeError as error:  # no order of complex numbers
                    found.append(type(error))
        assert all(one == found[0] for one in found)


def test_scalars_of_numpy_alone_keep_their_dtype(mode):
    assert ops.add(np.float64(1), np.float64(2)).dtype is ms.float64
    assert ops.sin(np.float64(1)).dtype is ms.float64


@pytest.mark.parametrize("value", [Level.TWO, np.int32(2), np.int64(2)], ids=repr)
@pytest.mark.parametrize("program", SIZES, ids=range(len(SIZES)))
def test_sizes(program, value):
    for run in (program, ms.jit(program)):
        assert run(value).shape == program(2).shape


def test_operators_have_names():
    assert ops.sin.__name__ == "sin"
