"""Kernels along one axis: indices of extremes, running totals, sorting, search."""
