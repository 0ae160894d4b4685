"""Experiments on top of compiler and machine: the road from file to report, witnesses, sweeps,
exams."""
