"""Instruction selection: covers LLVM IR with the tiles that instruction cards' own effects make."""

from compiler.select.select import select
from compiler.select.target import target_of

__all__ = ["select", "target_of"]
