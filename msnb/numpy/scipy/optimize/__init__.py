"""Minimization of functions of tensors, and assignments."""

from msnb.numpy.scipy.optimize.linear_assignment import linear_sum_assignment
from msnb.numpy.scipy.optimize.minimization import OptimizeResults, minimize
from msnb.numpy.scipy.optimize.wolfe_search import LineSearchResults, line_search

__all__ = ["LineSearchResults", "OptimizeResults", "line_search", "linear_sum_assignment", "minimize"]
