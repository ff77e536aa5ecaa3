"""Threads and processes that make rows: reading ahead, a pool of worker processes, how rows travel to them."""
