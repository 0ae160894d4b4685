"""Hob's own LLVM IR: a true subset of LLVM's, its printer, verifier, evaluator and passes."""
