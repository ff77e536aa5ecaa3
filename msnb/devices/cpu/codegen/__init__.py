"""The CPU's code generator: kernel IR to LLVM IR to machine code."""
