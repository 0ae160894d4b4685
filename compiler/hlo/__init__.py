"""HLO: shapes, opcodes and modules, their text, verifier, shape inference and NumPy evaluator."""
