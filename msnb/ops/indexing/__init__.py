"""Gather, scatter, subscripts, permutations, padding."""
