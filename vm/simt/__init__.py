"""SIMT timing: `model.time_run` turns a stream of warps into a timeline."""
