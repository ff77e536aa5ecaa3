"""Contractions (matmul, einsum) and factorizations of matrices."""
