"""Local rewriting rules over LLVM IR; each keeps every bit of every result (NaN payloads aside)."""
