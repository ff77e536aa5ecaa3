"""Searches over a cost graph: exact dynamic programming, recursive halving, propagation, and checks by other means."""
