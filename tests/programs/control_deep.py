"""Three deep, and small algorithms: Newton, bisection, a power series, a walk, a triangular solve."""

from __future__ import annotations

from typing import Any

from control_register import cos, exp, program, sin, sqrt, tanh


@program((2.0, 1.0, 0.5), (2.0, 1.0, -0.5), (2.0, -1.0, 0.5), (-2.0, 1.0, 0.5))
def if_in_if_in_if(x: Any, y: Any, z: Any) -> Any:
    if x > 0:
        if y > 0:
            if z > 0:
                w = x * y * z
            else:
                w = x * y - z
        else:
            w = x - y * z
    else:
        w = x * z
    return w * w


@program((0.7,), (3.0,))
def if_in_while_in_while(x: Any) -> Any:
    total = x * 0
    while x < 20:
        y = x
        while y < 30:
            if total > 50:
                total = total - y
            else:
                total = total + y * x
            y = y * 2
        x = x * 2.7
    return total + x


@program((0.7, 3), (-3.0, 3))
def range_in_while_in_if(x: Any, n: Any) -> Any:
    y = x
    if x > 0:
        while y < 20:
            for i in range(n):
                y = y + x * (i + 1)
            y = y * 1.1
    else:
        y = y * n
    return y * x


@program((0.3, 3), (0.1, 2))
def range_in_range_in_range(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        for j in range(n):
            for k in range(n):
                y = tanh(y) + x * (i + j - k)
    return y


@program((0.3, 3), (0.9, 2))
def while_in_range_in_while(x: Any, n: Any) -> Any:
    y = x
    while y < 30:
        for i in range(n):
            z = x
            while z < 2 + i:
                z = z * 2
            y = y + z
    return y * x


@program(([[1.5, -0.5], [0.25, 1.0]],), ([[1.5, 0.5], [-2.25, 1.0]],))
def if_in_rows_in_rows(x: Any) -> Any:
    y = x[0, 0]
    for row in x:
        for v in row:
            if v < 0:
                y = y * 0.5
            else:
                y = y + v * v
    return y


@program((0.7, 4), (0.11, 3), (5.5, 4), (13.0, 1))
def return_from_three_deep(x: Any, n: Any) -> Any:
    y, i = x, 0
    for i in range(n):
        while y < 4 + i:
            y = y + x
            if y > 3:
                if x > 5:
                    return y * 7
                y = y * 1.5
        if y > 12:
            return y * y
    return y + i


@program((0.7, 4), (0.2, 5), (4.0, 3), (10.0, 2))
def break_and_continue_three_deep(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        if y > 9:
            break
        for j in range(n):
            if j == i:
                continue
            z = y
            while z < 6:
                z = z * 1.9
                if z > 5:
                    break
            y = y * 0.6 + z * 0.3
    return y


@program((2.0,), (30.0,))
def newton_square_root(x: Any) -> Any:
    y = x
    while abs(y * y - x) > 1e-5 * x:
        y = (y + x / y) * 0.5
    return y


@program((2.0,), (0.7,))
def bisection(x: Any) -> Any:
    low, high = x * 0, x + 1
    while high - low > 0.001:
        middle = (low + high) / 2
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return low * x + high


@program((0.5,), (-1.3,), (2.0,))
def power_series(x: Any) -> Any:
    term, total, n = x * 0 + 1, x * 0, 1
    while abs(term) > 1e-12:
        total = total + term
        term = term * x / n
        n = n + 1
    return total


@program(([0.5, 1.5], 5), ([-2.0, 0.3], 2))
def recurrent_cell(x: Any, n: Any) -> Any:
    h = x * 0
    for i in range(n):
        gate = tanh(h * x + i * 0.1)
        if gate.sum() > 0.5:
            h = h * 0.5 + gate
        else:
            h = h + sin(x) * 0.3
    return (h * h).sum()


@program(([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.5, -1.0, 4.0]], [1.0, 2.0, 3.0]))
def triangular_solve(a: Any, b: Any) -> Any:
    x = b * 0
    for i in range(3):
        total = b[i]
        for j in range(i):
            total = total - a[i, j] * x[j]
        x[i] = total / a[i, i]
    return (x * b).sum()


@program(([1.0, 2.0, -0.5], [0.3, -0.2, 0.9]), ([30.0, 0.2, 5.0], [0.1, 0.1, 0.2]), ([3.0, 0.2, 5.0], [0.1, 0.1, 0.2]))
def gradient_descent(x: Any, target: Any) -> Any:
    steps = 0
    while ((x - target) ** 2).sum() > 0.01:
        slope = 2 * (x - target)
        if (slope * slope).sum() > 4:
            slope = slope / sqrt((slope * slope).sum())
        x = x - 0.2 * slope
        steps = steps + 1
        if steps > 40:
            break
    return (x * x).sum() + steps


@program((0.5, 4), (-1.5, 6), (2.2, 0))
def nested_functions_with_loops(x: Any, n: Any) -> Any:
    def inner(v: Any, k: Any) -> Any:
        while v < k:
            v = v + 1
            if v > 3:
                return v * 0.5
        return v

    total = x
    for i in range(n):
        total = cos(total) + inner(x, i)
    return total * exp(-x)


@program((3.0,), (6.5,), (0.5,))
def collatz_like(x: Any) -> Any:
    n, y = 0, x
    while y > 1 and n < 30:
        if y > 5:
            y = y / 2
        elif y > 2:
            y = y * 1.5 + 1 if n < 3 else y * 0.4
        else:
            y = y - 0.7
        n += 1
    return y * x + n
