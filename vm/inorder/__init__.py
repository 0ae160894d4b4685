"""In-order timing: `model.time_run` turns events into a timeline."""
