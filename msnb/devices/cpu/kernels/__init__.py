"""Kernels written by hand in LLVM IR, for what neither a library nor the code generator does well."""
