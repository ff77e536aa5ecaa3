"""Attention tile by tile on the matrix unit: the scores never leave the registers."""
