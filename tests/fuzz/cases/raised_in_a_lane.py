# An error that a mapped function raises about its lane.
import numpy as np

import msnb as ms

F = np.float64


def stops(x):
    raise ValueError(f"stop {x * 2.0}")


def main(x, y):
    return ms.vmap(stops)(x)


def state():
    return {}


CALLS = [([[1.5, -0.5], [0.25, 1.0]], [0.5, -1.0]), ([[0.5, 0.5], [0.75, 2.0]], [1.5, -2.0])]
