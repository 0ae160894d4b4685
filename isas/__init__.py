"""What machines are: instruction cards, registers, cores and programs, loaded from YAML folders."""

from __future__ import annotations

from isas.catalogue import load_isa, load_machine, machine_names

__all__ = ["load_isa", "load_machine", "machine_names"]
