"""Fourier transforms in generated code: butterflies, plans, kernels."""
