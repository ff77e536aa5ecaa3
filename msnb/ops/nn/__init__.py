"""Activations, losses, normalization, attention."""
