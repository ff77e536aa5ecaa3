"""LLVM text and the JIT: emitter, math functions, loop builder, target."""
