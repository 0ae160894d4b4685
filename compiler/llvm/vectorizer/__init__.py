"""Turns counted loops into vector loops: what may be widened, what pays, and the widening
itself."""
