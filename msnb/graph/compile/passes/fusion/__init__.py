"""The pass that groups operations into kernels, with horizontal fusion and rematerialization."""
