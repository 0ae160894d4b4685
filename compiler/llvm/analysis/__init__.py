"""Facts about a function that passes ask for: dominance, loops, trip counts, affine addresses."""
