# Slices with negative steps name what Python's slices name.
import numpy as np

F = np.float64


def main(x, y, t):
    u = y * 1.0
    u[-7::-1] = 9.0
    v = y * 1.0
    v[1:-7:-2] = 8.0
    return y[-7::-1].sum(), u, v, y[-4::-2].sum()


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
