"""Kernels of the GPU that no loop nest describes: attention, reading and writing by index, poolings, draws, scans,
extremes."""
