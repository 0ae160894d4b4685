"""Instruction selection: covers LLVM IR with the tiles that instruction cards' own effects make."""

from compiler.select.select import select

__all__ = ["select"]
