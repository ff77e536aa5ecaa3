"""Operators that work position by position."""
