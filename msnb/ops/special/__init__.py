"""Special functions, Fourier transforms and window functions."""
