"""Threads and locks that a fork or an interrupt of the main thread leaves whole."""
