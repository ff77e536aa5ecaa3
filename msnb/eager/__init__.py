"""The eager engine: every op runs at once; while a gradient is wanted it is also recorded."""
