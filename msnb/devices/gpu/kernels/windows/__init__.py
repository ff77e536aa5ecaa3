"""Poolings: windows over images."""
