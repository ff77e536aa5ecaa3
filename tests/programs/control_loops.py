"""One loop: while and for, over ranges and tensors, with break, continue, else and return; data decide how often."""

from __future__ import annotations

from typing import Any

from control_register import exp, program, sin, tanh


@program((1.5,), (40.0,), (0.01,))
def while_unknown_trips(x: Any) -> Any:
    while x < 10:
        x = x * 2
    return x * x


@program((1.5, 0.5), (20.0, 2.0))
def while_counts_its_trips(x: Any, y: Any) -> Any:
    n = 0
    while x < 10:
        x = x * 1.7 + y
        n = n + 1
    return x * n + y


@program((1.5,), (9.0,), (0.3,))
def while_accumulates_from_a_number(x: Any) -> Any:
    total = 0.0
    while x < 10:
        total = total + sin(x)
        x = x * 1.5
    return total * x + x


@program((1.5,), (3.5,))
def while_with_break(x: Any) -> Any:
    y = x
    while y < 50:
        if y > 20:
            break
        y = y * x
    return y


@program((1.5,), (3.5,))
def while_true_with_break(x: Any) -> Any:
    y = x
    while True:
        y = y * x
        if y > 20:
            break
    return y - x


@program((1.5,), (12.0,), (3.5,))
def while_with_continue(x: Any) -> Any:
    total = x * 0
    n = 0
    while n < 6:
        n = n + 1
        if x * n > 10:
            continue
        total = total + x * x * n
    return total + x


@program((1.5,), (7.0,), (-3.0,))
def while_with_return(x: Any) -> Any:
    n = 0
    while n < 5:
        x = x * 1.3
        if x > 8:
            return x * x
        n = n + 1
    return x - n


@program((1.5,), (30.0,))
def while_with_else(x: Any) -> Any:
    n = 0
    while n < 4:
        if x > 20:
            break
        x = x * 1.5
        n = n + 1
    else:
        x = x + 100
    return x * 2


@program((1.0, 3.0), (4.0, 3.0))
def while_two_conditions(x: Any, y: Any) -> Any:
    while x < 10 and y > 0.5:
        x = x * 1.4
        y = y * 0.7
    return x * y


@program((1.0, 3.0), (12.0, 0.2))
def while_either_condition(x: Any, y: Any) -> Any:
    while not (x > 10) or y > 0.5:
        x = x * 1.4
        y = y * 0.7
    return x - y * y


@program(([1.0, 2.0, 3.0],), ([-1.0, 0.5, 20.0],))
def while_on_a_norm(x: Any) -> Any:
    while (x * x).sum() > 1:
        x = x * 0.6
    return x.sum() * x[0]


@program((2.0,), (-0.5,))
def for_range_unrolled(x: Any) -> Any:
    y = x
    for i in range(4):
        y = y * x + i
    return y


@program((2.0, 3), (2.0, 0), (0.5, 6))
def for_range_of_a_tensor(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        y = y * 0.5 + x * i
    return y * x


@program((2.0, 1, 6), (2.0, 3, 3), (0.5, 0, 7))
def for_range_start_and_stop(x: Any, a: Any, b: Any) -> Any:
    y = x * 0
    for i in range(a, b, 2):
        y = y + tanh(x * i)
    return y + x


@program((2.0, 5), (0.5, 1))
def for_range_downwards(x: Any, n: Any) -> Any:
    y = x
    for i in range(n, 0, -1):
        y = sin(y) + x * i
    return y


@program((2.0, 4), (0.5, 9), (0.1, 3))
def for_tensor_range_break(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        y = y + x * i
        if y > 5:
            break
    return y * y


@program((2.0, 4), (0.5, 6))
def for_tensor_range_continue(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if i % 2 == 0:
            continue
        y = y * x + i
    return y


@program((2.1, 4), (0.5, 6))
def for_tensor_range_return(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        y = y + x
        if y > 6:
            return y * i
    return y * 10


@program(([1.0, 2.0, 3.0],), ([-1.0, 0.5, 4.0],))
def for_over_a_vector(x: Any) -> Any:
    y = 1.0
    for v in x:
        y = y * v + 0.5
    return y


@program(([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]],))
def for_over_rows(x: Any) -> Any:
    total = x[0] * 0
    for row in x:
        total = tanh(total + row) * 2
    return (total * total).sum()


@program(([1.0, -2.0, 3.0, 2.0],), ([1.0, 2.0, 3.0, -1.0],), ([1.0, 0.2, 0.3, 0.1],))
def for_over_a_vector_break(x: Any) -> Any:
    y = x[0]
    for v in x:
        if v < 0:
            break
        y = y + v * v
    return y * y


@program(([1.0, -2.0, 3.0, 2.0],), ([-1.0, -2.0, -3.0, -1.0],))
def for_over_a_vector_continue(x: Any) -> Any:
    y = x[1]
    for v in x:
        if v < 0:
            continue
        y = y + v * v
    return y * 2


@program(([1.0, -2.0, 3.0, 2.0],), ([1.0, 2.0, 3.0, 1.0],))
def for_over_a_vector_return(x: Any) -> Any:
    y = x[0]
    for v in x:
        y = y * v
        if v < 0:
            return y * 3
    return y


@program(([1.0, -2.0, 3.0],), ([1.0, 2.0, 3.0],))
def for_with_else(x: Any) -> Any:
    y = x[0]
    for v in x:
        if v < 0:
            break
        y = y + v
    else:
        y = y * 100
    return y * x[2]


@program(([1.0, -2.0, 3.0],))
def for_enumerate_and_zip(x: Any) -> Any:
    y = x[0] * 0
    for i, (a, b) in enumerate(zip(x, x * 2)):
        y = y + a * b * (i + 1)
    return y


@program(([1.0, -2.0, 3.0],), ([5.0, 2.0, -3.0],))
def for_index_assignment(x: Any) -> Any:
    y = x * 1
    for i in range(len(x)):
        if y[i] > 0:
            y[i] = y[i] * x[0]
        else:
            y[i] = x[i] - 1
    return (y * y).sum()


@program(([1.0, -2.0, 3.0, 0.5], 3), ([5.0, 2.0, -3.0, 1.0], 1))
def for_tensor_range_index_assignment(x: Any, n: Any) -> Any:
    y = x * 1
    for i in range(n):
        y[i + 1] = y[i] * 0.5 + x[i + 1]
    return (y * x).sum()


@program((0.3, 4), (1.2, 2))
def last_loop_variable(x: Any, n: Any) -> Any:
    i = 0
    for i in range(n):
        x = x + sin(x)
    return x * i


@program((0.3,), (2.0,))
def list_grows_in_an_unrolled_loop(x: Any) -> Any:
    powers = []
    for i in range(4):
        powers.append(x**i)
    total = x
    for p in powers:
        if p > 1:
            total = total + p
        else:
            total = total * exp(-p)
    return total


@program((0.3, 0.9), (2.0, 0.1))
def tuple_carried(x: Any, y: Any) -> Any:
    pair = (x, y)
    while pair[0] < 10:
        pair = (pair[0] + 3 * pair[1], pair[0])
    a, b = pair
    return a * b


@program((5.0,), (80.0,))
def augmented_assignment(x: Any) -> Any:
    total = x
    step = 1.0
    while total < 50:
        total += total + x
        step *= 1.5
        total -= step
    total /= step
    return total
