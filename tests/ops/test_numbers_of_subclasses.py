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


@pytest.mark.parametrize("value", [Level.TWO, np.int32(2), np.int64(2)], ids=repr)
@pytest.mark.parametrize("program", SIZES, ids=range(len(SIZES)))
def test_sizes(program, value):
    for run in (program, ms.jit(program)):
        assert run(value).shape == program(2).shape


def test_operators_have_names():
    assert ops.sin.__name__ == "sin"
