"""The nodes that pull rows: map, batch, shuffle, prefetch; samplers; settings."""
