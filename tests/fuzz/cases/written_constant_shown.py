# A tensor that the program made of numbers and wrote into is shown and copied as it is by then.
import numpy as np

from msnb import Tensor

F = np.float16

def main(x, y, t):
    j23 = Tensor(np.array([2, 0, 237], np.uint8))
    j23[::2] = 3
    print("p24", j23)

def state():
    pass
CALLS = [
    ([[1.0, 0.5, 0.25], [-0.5, -0.75, 0.5]], [-0.25, 0.5, 0.75], -0.25),
    ([[-0.5, -0.75, -0.25], [0.5, 0.75, 1.0]], [-0.75, -1.25, -0.5], 0.5),
]
