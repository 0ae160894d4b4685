"""From tensor programs to machine programs: HLO, LLVM IR, selection, scheduling, registers."""
