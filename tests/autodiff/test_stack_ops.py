"""Stacks: an infinite sequence that is zero from some depth on, and the linear maps on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb.autodiff import jvp, vmap
from msnb.core import dtypes
from msnb.core.types import StackType, tensor_type
from msnb.ir.builder import build
from msnb.ir.stack_type import (
    STACK_ADD,
    STACK_LANE,
    STACK_NEW,
    STACK_POP,
    STACK_PUSH,
    STACK_SPREAD,
    STACK_SUM,
    STACK_WHERE,
    with_axis,
)
from tests.autodiff.programs import VECTOR, compiled, op
from tests.gradient_check import check_grads, run

X, Y = np.array([1.0, 2.0, 3.0]), np.array([-0.5, 0.25, 4.0])
MASK = tensor_type((3,), dtypes.bool_)


def pile(*xs: Any) -> Any:
    stack = STACK_NEW(type=VECTOR)
    for x in xs:
        stack = STACK_PUSH(stack, x)
    return stack


def popped(stack: Any, count: int) -> list[Any]:
    out = []
    for _ in range(count):
        stack, x = STACK_POP(stack)
        out.append(x)
    return out


def both(program: Any, arrays: list[Any], types: list[Any]) -> list[Any]:
    """The results, the same from the executor and eagerly."""
    graph = build("f", types, program)
    one, other = compiled(graph, arrays), run(graph, arrays)
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a, b)
    return one


def test_last_in_first_out_and_zeros_for_ever_after() -> None:
    found = both(lambda x, y: popped(pile(x, y), 4), [X, Y], [VECTOR, VECTOR])
    np.testing.assert_array_equal(found, [Y, X, 0 * X, 0 * X])


def test_adding_aligns_the_tops() -> None:
    found = both(lambda x, y: popped(STACK_ADD(pile(x, y), pile(x)), 3), [X, Y], [VECTOR, VECTOR])
    np.testing.assert_array_equal(found, [Y + X, X, 0 * X])


def test_where_by_lane() -> None:
    mask = np.array([True, False, True])
    program = lambda m, x, y: popped(STACK_WHERE(m, pile(x, y), pile(x)), 2)
    found = both(program, [mask, X, Y], [MASK, VECTOR, VECTOR])
    np.testing.assert_array_equal(found, [np.where(mask, Y, X), np.where(mask, X, 0)])


def test_spread_sum_and_lane() -> None:
    wide = tensor_type((2, 3), dtypes.float64)
    found = both(lambda x: popped(STACK_SPREAD(pile(x), size=2, axis=0, element=wide), 2), [X], [VECTOR])
    np.testing.assert_array_equal(found, [np.stack([X, X]), np.zeros((2, 3))])
    summed = both(
        lambda x: popped(STACK_SUM(STACK_SPREAD(pile(x), size=2, axis=0, element=wide), axis=0, element=VECTOR), 1),
        [X], [VECTOR],
    )  # fmt: skip
    np.testing.assert_array_equal(summed, [2 * X])
    lane = both(lambda x: popped(STACK_LANE(pile(x), np.array(1), element=VECTOR), 1), [X], [VECTOR])
    np.testing.assert_array_equal(lane, [[2.0, 2.0, 2.0]])


def test_stacks_of_stacks() -> None:
    def program(x: Any, y: Any) -> Any:
        outer = STACK_NEW(type=StackType(VECTOR))
        outer = STACK_PUSH(STACK_PUSH(outer, pile(x)), pile(y, x))
        doubled = STACK_ADD(outer, outer)
        rest, top = STACK_POP(doubled)
        rest, second = STACK_POP(rest)
        _, beyond = STACK_POP(rest)
        return [*popped(top, 2), *popped(second, 2), *popped(beyond, 1)]

    found = both(program, [X, Y], [VECTOR, VECTOR])
    np.testing.assert_array_equal(found, [2 * X, 2 * Y, 2 * X, 0 * X, 0 * X])


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_through_stacks(order: int) -> None:
    def program(x: Any, y: Any) -> Any:
        a, b = pile(op("sin", x), y), pile(op("multiply", x, y))
        first, second, third = popped(STACK_WHERE(op("greater", y, 0.0), STACK_ADD(a, b), a), 3)
        return op("multiply", first, second), op("exp", op("add", third, x))

    check_grads(program, [X, Y], order=order, runner=compiled)


def test_derivatives_of_spread_and_sum() -> None:
    wide = tensor_type((2, 3), dtypes.float64)

    def program(x: Any) -> Any:
        stack = STACK_SPREAD(pile(op("sin", x), x), size=2, axis=0, element=wide)
        (top, below), (total, _) = popped(stack, 2), popped(STACK_SUM(stack, axis=0, element=VECTOR), 2)
        return op("multiply", top, below), op("multiply", total, x)

    check_grads(program, [X], order=2, runner=compiled)


def test_a_stack_can_be_differentiated_by_itself() -> None:
    graph = build("f", [StackType(VECTOR)], lambda s: op("sin", STACK_POP(s)[1]))
    assert jvp(graph, [0]).params[1].type == StackType(VECTOR)


def test_stacks_under_vmap_match_a_loop() -> None:
    def program(m: Any, x: Any, y: Any) -> Any:
        stack = STACK_WHERE(m, pile(x, y), STACK_ADD(pile(y), pile(x, x)))
        wide = tensor_type((2, 3), dtypes.float64)
        spread = STACK_SPREAD(stack, size=2, axis=0, element=wide)
        lane = STACK_LANE(stack, np.array(2), element=VECTOR)
        return [*popped(stack, 3), *popped(STACK_SUM(spread, axis=0, element=VECTOR), 1), *popped(lane, 2)]

    graph = build("f", [MASK, VECTOR, VECTOR], program)
    rng = np.random.default_rng(0)
    arrays = [rng.random((4, 3)) > 0.5, rng.standard_normal((4, 3)), rng.standard_normal(3)]
    batched, outs = vmap(graph, 4, [True, True, False])
    assert all(outs)
    found = compiled(batched, arrays)
    for i in range(4):
        for a, b in zip(found, compiled(graph, [arrays[0][i], arrays[1][i], arrays[2]])):
            np.testing.assert_array_equal(a[i], b)


def test_types_of_stacks() -> None:
    assert str(StackType(StackType(VECTOR))) == "stack<stack<f64[3]>>"
    assert with_axis(StackType(VECTOR), 4) == StackType(tensor_type((4, 3), dtypes.float64))
    with pytest.raises(AssertionError, match="cannot hold"):
        build("f", [MASK], lambda m: STACK_PUSH(STACK_NEW(type=VECTOR), m))
