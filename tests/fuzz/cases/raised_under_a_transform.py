# An error that a transformed function always raises, with values of the function in its text, and a print before it.
import numpy as np

import msnb as ms

F = np.float64


def stops(x):
    print("before", x.shape[0])
    raise ValueError(f"stop {x > 0.0}")


def of_a_loop(x):
    for row in x:
        raise ValueError(f"stop {row}")


def main(x, y):
    return ms.value_and_grad(stops, 0)(y)


def state():
    return {}


CALLS = [([[1.5, -0.5], [0.25, 1.0]], [0.5, -1.0]), ([[0.5, 0.5], [0.75, 2.0]], [1.5, -2.0])]
