"""Reductions and scans: operators along axes that vanish or accumulate."""
