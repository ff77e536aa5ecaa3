"""The GPU's code generator: kernel IR to LLVM IR in which every thread has its own points."""
