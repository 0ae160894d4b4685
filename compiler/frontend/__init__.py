"""The ways in besides HLO's own text: StableHLO text, and what JAX and PyTorch users bring."""
