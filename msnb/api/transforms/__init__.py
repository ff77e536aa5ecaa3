"""Transforms of functions: gradients, vjp, jvp, vmap, jacobians, custom gradients, scan, recompute."""
