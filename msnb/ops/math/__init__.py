"""Sorting, quantiles, clipping and norms, as functions of operators."""
