"""The tensor-level passes, each with `run(module, context) -> module`; see `compiler.pipeline`."""
