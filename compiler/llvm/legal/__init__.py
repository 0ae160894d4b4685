"""Rules that rewrite IR operations into ones a machine has; each keeps every result bit for bit."""
