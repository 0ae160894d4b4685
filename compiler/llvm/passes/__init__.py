"""Passes over LLVM IR, one file each: `run(function, context) -> bool` (whether anything
changed)."""
