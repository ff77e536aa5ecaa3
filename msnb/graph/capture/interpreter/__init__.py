"""What converted code calls: calls, reads, writes, branches, loops and effects under capture."""
