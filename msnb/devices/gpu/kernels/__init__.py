"""Kernels written by hand for the GPU: what loops over an index space do not say."""
