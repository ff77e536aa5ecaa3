"""Single operations on the GPU: one generated kernel, or one call of a library, for each."""
