"""Reports of mistakes."""
