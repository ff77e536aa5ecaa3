"""A slice takes the places that ``slice.indices`` names: every small slice, read and written, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from tests.gradient_check import check_grads

ENDS = (None, *range(-7, 8))
STEPS = (-3, -2, -1, 1, 2, 3)
SLICES = [slice(start, stop, step) for start in ENDS for stop in ENDS for step in STEPS]
LENGTHS = range(5)
PER_PROGRAM = 128  # a compiled program takes this many slices: to compile each alone would take minutes


def numbers(n: int) -> Any:
    return np.arange(1.0, n + 1, dtype=np.float32)


@pytest.mark.parametrize("n", LENGTHS)
def test_every_small_slice_reads_as_in_python(n: int) -> None:
    x, rows = ms.Tensor(numbers(n)), list(numbers(n))
    wrong = [s for s in SLICES if x[s].tolist() != rows[s] or x[s].shape != (len(rows[s]),)]
    assert not wrong


@pytest.mark.parametrize("n", LENGTHS)
def test_every_small_slice_is_written_as_in_numpy(n: int) -> None:
    wrong = []
    for s in SLICES:
        expected, x = numbers(n), ms.Tensor(numbers(n))
        expected[s] = 9
        x[s] = 9
        if not np.array_equal(x.asnumpy(), expected):
            wrong.append(s)
    assert not wrong


def many_reads(x: ms.Tensor, some: list[slice]) -> Any:
    return [x[s] for s in some]


def many_writes(x: ms.Tensor, some: list[slice]) -> Any:
    return [ops.index_update(x, s, 9) for s in some]


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("n", LENGTHS)
def test_sampled_slices_in_a_program(n: int, level: str, rng: np.random.Generator) -> None:
    ms.set_context(jit_level=level)
    empty = [s for s in SLICES if s.step < 0 and s.start is not None and s.start < -n]
    picked = [*rng.choice(np.array(SLICES, object), PER_PROGRAM // 2), *rng.choice(np.array(empty, object), 32)]
    some = [slice(s.start, s.stop, s.step) for s in picked]
    x = ms.Tensor(numbers(n))
    read, written = ms.jit(lambda x: many_reads(x, some))(x), ms.jit(lambda x: many_writes(x, some))(x)
    for s, part, whole in zip(some, read, written, strict=True):
        expected = numbers(n)
        np.testing.assert_array_equal(part.asnumpy(), expected[s], str(s))
        expected[s] = 9
        np.testing.assert_array_equal(whole.asnumpy(), expected, str(s))


@pytest.mark.parametrize("key", [slice(-7, None, -1), slice(-4, -7, -2), slice(9, 2, 1)], ids=repr)
def test_the_gradient_of_an_empty_slice_is_zero(mode: Any, key: slice) -> None:
    x = ms.Tensor(numbers(3))
    np.testing.assert_array_equal(ms.grad(lambda x: x[key].sum() + (x * x).sum())(x).asnumpy(), 2 * numbers(3))
    check_grads(lambda x: x[key].sum() + x.sum(), (numbers(3).astype(np.float64),))


def test_slices_of_sizes_that_only_the_data_tell(mode: Any) -> None:
    keys = [slice(-7, None, -1), slice(-3, None, -1), slice(None, -7, -1), slice(-2, None, 1), slice(1, 9, 2)]

    def chosen(x: ms.Tensor) -> Any:
        found = x[x > 1.5]
        return [found[key] for key in keys]

    expected = numbers(4)[1:]
    for key, part in zip(keys, chosen(ms.Tensor(numbers(4))), strict=True):
        np.testing.assert_array_equal(part.asnumpy(), expected[key], str(key))
    for key, part in zip(keys, ms.jit(chosen)(ms.Tensor(numbers(4))), strict=True):
        np.testing.assert_array_equal(part.asnumpy(), expected[key], str(key))


def test_several_axes_at_once(mode: Any) -> None:
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    key = (slice(-5, None, -1), slice(None, None, -1), 1)
    found = ms.Tensor(a)[key]
    assert found.shape == a[key].shape == (0, 3)


def test_a_box_from_behind(mode: Any) -> None:
    x = ms.Tensor(numbers(4))
    assert ops.slice(x, (-2,), (2,)).tolist() == [3, 4]
    assert ops.slice(x, (-3,), (2,)).tolist() == [2, 3]
    assert ops.Slice()(x, (1,), (-1,)).tolist() == [2, 3, 4]


@pytest.mark.parametrize("size", [(5,), (-2,)])
def test_a_box_must_lie_inside(size: Any) -> None:
    with pytest.raises(ValueError, match="slice"):
        ops.slice(ms.Tensor(numbers(4)), (1,), size)
