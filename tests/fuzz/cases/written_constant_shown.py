# A tensor that the program made of numbers and wrote into is shown and copied as it is by then.
import numpy as np
from msnb import Parameter, Tensor, nn, ops
F = np.float16

def main(x, y, t):
    j23 = Tensor(np.array([2, 0, 237], np.uint8))
    j23[::2] = 3
    print('p24', j23)

def state():
    pass
CALLS = [([[1.19371, 0.79371, 0.18371], [-0.17629, -0.73629, 0.48371]], [-0.05629, 0.54371, 0.68371], -0.29629), ([[-0.31629, -0.60629, -0.23629], [0.42371, 0.75371, 1.07371]], [-0.82629, -1.29629, -0.03629], 0.60371)]
