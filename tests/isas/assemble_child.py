"""A child process: real LLVM assembles the lines on stdin (it aborts the process on a mistake).

Arguments: target triple, features. Standard input: assembly text. Prints the text section's bytes
in hexadecimal.
"""

from __future__ import annotations

import json
import sys

import llvmlite.binding as llvm


def main() -> None:
    """Assemble standard input as module-level assembly."""
    triple, features = sys.argv[1:3]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    lines = sys.stdin.read().splitlines()
    text = [f'target triple = "{triple}"']
    text += [f"module asm {json.dumps(line)}" for line in lines]
    module = llvm.parse_assembly("\n".join(text))
    machine = llvm.Target.from_triple(triple).create_target_machine(features=features)
    sections = llvm.ObjectFileRef.from_data(machine.emit_object(module)).sections()
    print(next(section.data().hex() for section in sections if section.name() == b".text"))


if __name__ == "__main__":
    main()
