"""Kernel IR from fused groups and from moves of elements, for every code generator."""
