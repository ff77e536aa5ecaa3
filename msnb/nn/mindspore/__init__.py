"""Layers that only MindSpore 1 has."""
