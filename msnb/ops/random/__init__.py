"""Draws of the counter-based random number generator (Philox)."""
