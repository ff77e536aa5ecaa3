"""Two deep: every pair of if, while, for over a range and for over a tensor, with break, continue and return inside."""

from __future__ import annotations

from typing import Any

from control_register import cos, exp, program, sin, tanh


@program((1.5,), (-1.5,))
def while_in_if(x: Any) -> Any:
    if x > 0:
        while x < 10:
            x = x * 2
        y = x
    else:
        y = sin(x)
    return y * x


@program((1.5,), (-1.5,))
def while_in_else(x: Any) -> Any:
    y = x
    if x > 0:
        y = y * x
    else:
        while y > -10:
            y = y * 2 + x
    return y * x


@program((1.5,), (0.5,))
def if_in_while(x: Any) -> Any:
    y = x
    while x < 10:
        if y > 3:
            y = y - x
        else:
            y = y + x * x
        x = x * 1.5
    return y * x


@program((1.5,), (0.5,))
def if_elif_in_while(x: Any) -> Any:
    y = x * 1
    n = 0
    while n < 7:
        if y > 6:
            y = y * 0.5
        elif y > 2:
            y = y + x
        else:
            y = y * 2 + 0.3
        n = n + 1
    return y * n


@program((1.5, 3), (-1.5, 3))
def range_in_if(x: Any, n: Any) -> Any:
    if x > 0:
        y = x
        for i in range(n):
            y = y * x + i
    else:
        y = x * n
    return y


@program((1.5, 4), (0.9, 0))
def if_in_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if y > 4:
            y = y - i
        else:
            y = y * x + i
    return y


@program(([1.0, 2.0, 0.5],), ([-1.0, 2.0, 0.5],))
def rows_in_if(x: Any) -> Any:
    y = x[0]
    if x[0] > 0:
        for v in x:
            y = y * v + v
    else:
        y = y * x[1]
    return y


@program(([1.0, -2.0, 0.5],), ([-1.0, 2.0, -0.5],))
def if_in_rows(x: Any) -> Any:
    y = x[2]
    for v in x:
        if v > 0:
            y = y + v * v
        else:
            y = y * v
    return y


@program((1.5, 0.7), (0.43, 0.21))
def while_in_while(x: Any, y: Any) -> Any:
    total = x * 0
    while x < 10:
        z = y
        while z < x:
            z = z * 2
            total = total + z * x
        x = x * 2.3
    return total + x


@program((1.5, 0.7), (0.43, 0.21))
def while_in_while_shared_counter(x: Any, y: Any) -> Any:
    while x < 10:
        while y < x:
            y = y * 2
        x = x + y
    return x * y


@program((1.5, 3), (0.4, 2))
def range_in_while(x: Any, n: Any) -> Any:
    y = x
    while y < 20:
        for i in range(n):
            y = y + x * (i + 1)
    return y * x


@program((1.5, 3), (0.4, 2))
def while_in_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        while y < 3 * (i + 1):
            y = y * 1.5
        y = y * x
    return y


@program(([1.5, 0.5, 0.25],))
def rows_in_while(x: Any) -> Any:
    y = x[0]
    while y < 20:
        for v in x:
            y = y + v * v
    return y * x[1]


@program(([1.5, 0.5, 0.25],), ([9.0, 0.3, 11.0],))
def while_in_rows(x: Any) -> Any:
    y = x[0] * 0
    for v in x:
        while v < 6:
            v = v * 1.7
        y = y * 0.5 + v
    return y


@program((0.7, 3, 2), (0.2, 0, 4), (0.2, 4, 0))
def range_in_range(x: Any, n: Any, m: Any) -> Any:
    y = x
    for i in range(n):
        for j in range(m):
            y = tanh(y) + x * (i - j)
    return y


@program((0.7, 4), (0.2, 2))
def range_in_range_triangle(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        for j in range(i):
            y = sin(y) + x * (i + j)
    return y


@program(([1.5, 0.5, 0.25], 2), ([-1.5, 0.5, 0.25], 0))
def rows_in_range(x: Any, n: Any) -> Any:
    y = x[0]
    for i in range(n):
        for v in x:
            y = cos(y) * v + i
    return y


@program(([1.5, 0.5, 0.25], 2), ([-1.5, 0.5, 0.25], 0))
def range_in_rows(x: Any, n: Any) -> Any:
    y = x[0]
    for v in x:
        for i in range(n):
            y = y * v + i
    return y * x[1]


@program(([[1.5, 0.5], [0.25, -1.0], [2.0, 0.1]],))
def rows_in_rows(x: Any) -> Any:
    y = 1.0
    for row in x:
        for v in row:
            y = y * 0.5 + v * v
    return y


@program((1.5, 0.7), (0.43, 0.21), (9.0, 0.1))
def break_of_inner_while(x: Any, y: Any) -> Any:
    total = x
    while x < 10:
        z = y
        while z < 50:
            z = z * 2
            if z > x:
                break
        total = total + z
        x = x * 2
    return total


@program((1.5, 0.7), (0.4, 0.2), (9.0, 30.0))
def break_of_both_whiles(x: Any, y: Any) -> Any:
    while x < 40:
        while y < 20:
            y = y * (x + 1) + 1
            if y > 10:
                break
        if y > 15:
            break
        x = x * 1.5
    return x * y


@program((0.7, 4), (0.2, 5))
def continue_of_inner_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        for j in range(n):
            if (i + j) % 2 == 0:
                continue
            y = y * 0.9 + x * j
        y = y + i
    return y


@program((0.7, 4), (0.21, 5))
def continue_of_outer_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if y > 2:
            y = y * 0.5
            continue
        for j in range(n):
            y = y + x * j * 0.3
    return y


@program((0.7, 4), (0.05, 3), (5.0, 3))
def return_of_inner_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        for j in range(n):
            y = y + x * i
            if y > 6:
                return y * j + x
        y = y * 1.1
    return y - 1


@program((0.7,), (3.0,), (20.0,))
def return_of_inner_while(x: Any) -> Any:
    n = 0
    while n < 4:
        y = x
        while y < 15:
            y = y * 2
            if y > 10 + n:
                return y * x
        x = x + 1
        n = n + 1
    return x * 3


@program((0.7, 4), (2.5, 4), (0.01, 2))
def break_and_continue_together(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if i == 1:
            continue
        y = y + x * (i + 1)
        if y > 8:
            break
        y = y * 1.2
    return y * y


@program(([1.0, -2.0, 0.1, 0.2],), ([0.1, 2.2, 0.5, 3.0],), ([1.0, 1.9, -0.5, 12.0],))
def return_from_if_in_rows(x: Any) -> Any:
    y = x[0]
    for v in x:
        if v > 2:
            if y > 3:
                return y * v
            y = y + v
        y = y * 2
    return exp(-y)


@program(([3.0, 1.0, 2.0, 0.5],), ([1.0, 2.0, 4.0, 3.0],))
def bubble_sort(x: Any) -> Any:
    y = x * 1
    for i in range(3):
        for j in range(3 - i):
            if y[j] > y[j + 1]:
                larger = y[j]
                y[j] = y[j + 1]
                y[j + 1] = larger
    return y[0] + 2 * y[1] + 3 * y[2] + 4 * y[3]


@program(([3.0, 1.0, 2.0], 3), ([-1.0, 2.0, 0.3], 2))
def index_assignment_two_deep(x: Any, n: Any) -> Any:
    y = x * 1
    for i in range(n):
        for j in range(n):
            if i != j:
                y[i] = y[i] + x[j] * 0.5
    return (y * y).sum()
