"""From strategies to an SPMD program, and its simulated time."""
