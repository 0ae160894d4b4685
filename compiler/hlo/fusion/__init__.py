"""The parts of tensor-level fusion: groups, trials of a group, decisions, and output."""
