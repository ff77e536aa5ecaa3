"""Ranks inside this process: in lockstep or as threads."""
