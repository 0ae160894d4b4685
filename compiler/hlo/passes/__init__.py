"""The tensor-level passes, one file each: `run(module, context) -> module`. `compiler.pipeline` orders them."""
