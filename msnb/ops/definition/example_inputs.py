"""Arrays for the examples of op records: small, double precision, away from kinks, poles and ties."""

import numpy as np

SIGNED = np.array([[0.5, -1.25, 2.1], [1.5, 0.25, -0.75]])
OTHER = np.array([[1.7, 0.75, -2.25], [0.8, 1.35, 2.5]])
ROW = np.array([0.6, 1.6, 2.6])
COLUMN = np.array([[0.7], [-1.1]])
POSITIVE = np.array([[0.5, 1.25, 2.0], [3.5, 0.25, 0.75]])
UNIT = np.array([[0.5, -0.25, 0.875], [-0.75, 0.125, 0.375]])
ABOVE_ONE = np.array([[1.5, 2.25, 4.0], [1.125, 3.0, 1.75]])
SCALAR = np.array(0.7)
EMPTY = np.zeros((0, 3))
INTS = np.array([[3, -5, 2], [7, 1, -4]])
DIVISORS = np.array([[2, 3, -4], [-3, 5, 6]])
COUNTS = np.array([[0, 1, 2], [3, 1, 2]])
BOOLS = np.array([[True, False, True], [False, False, True]])
NARROW = np.array([[True, False], [False, True]])
CUBE = np.array([[[0.5, -1.25, 2.0, 0.3], [1.5, 0.25, -0.75, -2.2]], [[1.1, -0.4, 0.9, -1.6], [0.15, 2.4, -0.95, 1.7]]])
COMPLEX = np.array([[0.5 + 1.0j, -1.25 + 0.5j], [2.0 - 0.25j, 0.75 - 1.5j]])
