"""Branches: if, elif, else, and, or, not, chained comparison, ternary, assert, early return; one and two deep."""

from __future__ import annotations

from typing import Any

from control_register import exp, program, sin, sqrt, tanh


@program((2.0,), (-1.5,))
def if_else(x: Any) -> Any:
    if x > 0:
        y = x * x
    else:
        y = sin(x)
    return y + 1


@program((2.0,), (-1.5,))
def if_without_else(x: Any) -> Any:
    y = x * 3
    if x > 0:
        y = y * y
    return y


@program((-2.0,), (0.5,), (3.0,), (8.0,))
def elif_chain(x: Any) -> Any:
    if x < 0:
        y = -x
    elif x < 1:
        y = x * x
    elif x < 5:
        y = exp(x * 0.5)
    else:
        y = x + 7
    return y * 2


@program((2.0, 1.0), (2.0, -1.0), (-2.0, 1.0), (-2.0, -1.0))
def if_in_if(x: Any, y: Any) -> Any:
    if x > 0:
        if y > 0:
            z = x * y
        else:
            z = x - y * y
    else:
        if y > 0:
            z = sin(x) * y
        else:
            z = x + 2
    return z * x


@program((2.0, 1.0), (2.0, -1.0), (-2.0, 1.0))
def if_in_if_one_sided(x: Any, y: Any) -> Any:
    z = x
    if x > 0:
        z = z * 2
        if y > 0:
            z = z + y * y
        z = z * y
    return z


@program((2.0,), (-2.0,))
def early_return(x: Any) -> Any:
    if x > 0:
        return x * x
    y = x * 3
    return y + sin(x)


@program((2.0, 1.0), (2.0, -1.0), (-2.0, 1.0), (-2.0, -1.0))
def early_return_in_inner_if(x: Any, y: Any) -> Any:
    if x > 0:
        if y > 0:
            return x * y
        x = x + 1
    else:
        y = y * 2
        if y < 0:
            return x - y
    return x * x * y


@program((0.2,), (0.7,), (1.5,), (4.0,))
def return_from_every_branch(x: Any) -> Any:
    if x < 0.5:
        return x
    elif x < 1:
        return x * x
    elif x < 2:
        return x * x * x
    return exp(-x)


@program((1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0))
def logical_and(x: Any, y: Any) -> Any:
    if x > 0 and y > 0:
        z = x * y
    else:
        z = x + y
    return z


@program((1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0))
def logical_or(x: Any, y: Any) -> Any:
    if x > 0 or y > 0:
        z = x * y * y
    else:
        z = x - y
    return z


@program((1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0))
def logical_not(x: Any, y: Any) -> Any:
    if not (x > 0 and not y > 0):
        z = x * 3
    else:
        z = y * 5
    return z * y


@program((4.0,), (-4.0,))
def short_circuit_guards_the_square_root(x: Any) -> Any:
    if x > 0 and sqrt(x) > 1:
        y = sqrt(x)
    else:
        y = x * x
    return y


@program((1.0, 2.0, 3.0), (1.0, 5.0, 3.0), (4.0, 2.0, 3.0))
def chained_comparison(x: Any, y: Any, z: Any) -> Any:
    if x < y < z:
        w = y * z
    else:
        w = x * z
    return w + y


@program((1.0, 2.5), (1.0, 0.5), (3.0, 7.0))
def chained_comparison_mixed_with_numbers(x: Any, y: Any) -> Any:
    if 0 < x <= 2 != y and y >= 1:
        return x * y
    return x - y


@program((2.0,), (-2.0,))
def ternary(x: Any) -> Any:
    y = x * x if x > 0 else exp(x)
    return y * 2


@program((2.0, 1.0), (2.0, -1.0), (-2.0, 1.0))
def ternary_in_ternary(x: Any, y: Any) -> Any:
    return (x * y if y > 0 else x - y) if x > 0 else sin(x) + y


@program((2.0, 3.0), (-2.0, 3.0))
def ternary_in_an_argument(x: Any, y: Any) -> Any:
    return tanh(x if x > 0 else y) * (y if x > 1 else 2.0) + y


@program((2.0,), (-2.0,))
def assert_holds(x: Any) -> Any:
    y = x * x
    assert y > 0, "a square is positive"
    if x > 0:
        assert x < 10
        y = y * x
    return sqrt(y * y)


@program((2.0, 5.0), (7.0, 5.0))
def swap_by_tuple(x: Any, y: Any) -> Any:
    if x > y:
        x, y = y, x
    return y * y - x


@program((2.0, 5.0), (7.0, 5.0))
def tuple_of_results(x: Any, y: Any) -> Any:
    if x > y:
        pair = (x * y, y)
    else:
        pair = (y, x - y)
    a, b = pair
    return a * b, a - b


@program((2.0,), (-2.0,))
def defined_in_both_branches_only(x: Any) -> Any:
    if x > 0:
        a = x * 2
        b = a + 1
    else:
        b = x - 1
        a = b * b
    return a * b


@program((2.0,), (-2.0,))
def local_to_a_branch(x: Any) -> Any:
    y = x + 1
    if x > 0:
        helper = y * y
        y = helper + x
    return y * x


@program((2.0,), (-2.0,))
def nothing_but_a_pass(x: Any) -> Any:
    if x > 0:
        pass
    else:
        x = x * x
    return x * 3


@program((2.0, 1), (2.0, 0), (-2.0, 1), (-2.0, 0))
def truth_of_an_integer_tensor(x: Any, n: Any) -> Any:
    if n:
        y = x * x
    else:
        y = x * 5
    if not n and x > 0:
        y = y + x
    return y


@program(([1.0, 2.0, 3.0],), ([-1.0, -2.0, 0.5],), ([-1.0, 2.0, 0.5],))
def any_and_all(x: Any) -> Any:
    if (x > 0).all():
        y = (x * x).sum()
    elif (x > 1).any():
        y = x.sum() * 2
    else:
        y = x[0] * x[2]
    return y


@program(([1.0, 2.0, 3.0],), ([-1.0, -2.0, 0.5],))
def index_assignment_in_a_branch(x: Any) -> Any:
    y = x * 2
    if x[0] > 0:
        y[1] = x[2] * x[0]
    else:
        y[0] = x[1]
        y[2] = y[0] * x[2]
    return (y * x).sum()


@program((2.0, 1.0), (-2.0, 1.0), (-2.0, -1.0))
def function_with_its_own_return(x: Any, y: Any) -> Any:
    def clip(v: Any) -> Any:
        if v > 0:
            return v * v
        return v * 0.1

    if x > 0:
        return clip(x) + y
    return clip(y) * clip(x)


@program((2.0, 1.0), (-2.0, 1.0))
def dict_filled_in_branches(x: Any, y: Any) -> Any:
    table = {"a": x, "b": y}
    if x > 0:
        table["a"] = x * y
    else:
        table["b"] = y - x
    return table["a"] * table["b"]


@program((2.0, 1.0), (-2.0, 1.0))
def list_changed_in_branches(x: Any, y: Any) -> Any:
    items = [x, y]
    if x > 0:
        items[0] = items[1] * 3
    else:
        items[1] = items[0] * items[0]
    return items[0] * items[1] + x


@program((2.0, 3), (-2.0, 2), (-2.0, 0))
def closure_sees_what_branches_and_loops_left(x: Any, n: Any) -> Any:
    a = x * 3

    def shifted(v: Any) -> Any:
        return v + a

    if x > 0:
        a = x * x
    y = shifted(x)
    for i in range(n):
        a = a * 0.5 + i
    z = shifted(y)
    a = 1.0
    return y * z + shifted(0.0)


@program((1.0,), (-0.5,), (-3.0,), (7.0,))
def return_inside_of_else_before_a_name_is_read(x: Any) -> Any:
    if x > 5:
        return x * x
    if x > 0:
        half = x / 2
        rate = x + half
    else:
        above = x + 1
        if above > 0:
            rate = above * 2
        else:
            return x * 3
    return rate * rate


@program((1.0, 3), (0.3, 3), (-3.0, 2), (7.0, 4))
def return_inside_of_else_in_a_loop(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        if x > i:
            pair = [x, x + i]
        else:
            if x < 0:
                return x * 10
            pair = [x - i, x]
        x = pair[0] + pair[1]
        i += 1
    return x * x
