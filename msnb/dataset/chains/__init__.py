"""Chains of image transforms that run over the rows of a batch at once: maps of pixels, tables of values, kernels."""
