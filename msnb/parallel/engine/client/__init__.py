"""Processes of ranks, seen from outside: client, launcher, remote plans."""
