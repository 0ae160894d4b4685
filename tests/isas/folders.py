"""Small ISA folders for tests of the loader: a toy machine, with any file replaced."""

from __future__ import annotations

from pathlib import Path

REGISTERS = """\
title: toy
syntax: intel
pointer_bits: 64
fixed:
  flags: {bits: 5}
classes:
  gpr:
    count: 4
    bits: 64
    spill_view: x
    views:
      x: {bits: 64, write: zero, pattern: 'x{n}'}
      w: {bits: 32, write: zero, pattern: 'w{n}'}
"""
OPERANDS = """\
registers:
  x: {view: gpr.x}
  w: {view: gpr.w}
forms:
  any: {scales: [1, 4], min: -100, max: 100}
memory:
  m32: {bits: 32, form: any, pointer: 'dword ptr'}
immediates:
  imm: {bits: 32, min: -128, max: 127}
labels:
  label: {}
"""
CALLING = "arguments: [x0, x1]\nstack_alignment: 16\n"
CARDS = """\
add:
  asm: '{name} {d}, {a}'
  does: 'd = add(d, a)'
  unit: alu
  shapes:
    - {with: {d: x, a: x}}
    - {with: {d: w, a: w | m32 | imm}}
"""
CORE = """\
title: toy core
order: in-order
vector_bits: 0
clock_ghz: 1
fetch: 1
rename: 1
issue: 1
retire: 1
ports: [p0, p1]
l1: {size: 1024, ways: 2, line: 32, latency: 2}
memory_latency: 10
sources: made up
units:
  alu: {ports: p0 p1, latency: 1}
  load: {ports: p1, latency: 2, role: load}
"""
FILES = {
    "registers.yaml": REGISTERS,
    "operands.yaml": OPERANDS,
    "calling.yaml": CALLING,
    "instructions/all.yaml": CARDS,
    "cores/core.yaml": CORE,
}


def write_isa(folder: Path, **replaced: str) -> Path:
    """Write the toy ISA to `folder`/toy; keywords (registers, cards, core, ...) replace files."""
    names = {name.split("/")[-1].removesuffix(".yaml"): name for name in FILES}
    names["cards"] = names["all"]
    files = FILES | {names[key]: text for key, text in replaced.items()}
    for name, text in files.items():
        path = folder / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "toy"
