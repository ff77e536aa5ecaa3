"""The host's LLVM: what its CPU has, and the JIT."""
