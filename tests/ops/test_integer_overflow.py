"""Python integers that no integer dtype holds: an error of ours, at the line, in both modes."""

from __future__ import annotations

import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import IntegerOverflowError

HUGE = 10**30


def added(x):
    return x + HUGE


def chosen(x):
    return ops.where(x > 1, x, HUGE)


def bounded(x):
    return ops.clamp(x, 0, HUGE)


@pytest.mark.parametrize("program", [added, chosen, bounded])
def test_integers_refuse_it(mode, program):
    run = ms.jit(program) if mode == ms.GRAPH_MODE else program
    with pytest.raises(IntegerOverflowError, match="outside the range") as told:
        run(ms.Tensor([1, 2, 3]))
    assert isinstance(told.value, OverflowError)
    assert told.value.where is not None


@pytest.mark.parametrize("program", [added, chosen, bounded])
def test_floats_take_it(mode, program):
    run = ms.jit(program) if mode == ms.GRAPH_MODE else program
    assert run(ms.Tensor([1.0, 2.0, 3.0])).dtype is ms.float32
