"""Real LLVM as an independent witness of IR, native execution, assembly and PTX."""
