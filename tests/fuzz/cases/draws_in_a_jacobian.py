# All columns of a Jacobian meet the draws of one run.
import numpy as np

import msnb as ms
from msnb import ops

F = np.float64


def main(x, y, t):
    return ms.jacfwd(lambda v: ops.rand(3, dtype=ms.float64) * v * v)(y), ms.jacrev(lambda v: ops.dropout(v, 0.5))(y)


def state():
    return {}


CALLS = [
    ([[0.7, -0.8, -1.3], [0.9, -0.3, -0.9]], [0.4, 0.05, 1.1], 1.3),
    ([[-0.2, -1.1, -0.4], [0.8, 0.02, 0.24]], [-0.9, 0.5, -0.6], -1.0),
]
