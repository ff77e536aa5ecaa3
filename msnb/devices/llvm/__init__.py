"""LLVM IR as text, for every target: emitter, scalar operations, elementary functions, loops."""
