"""HLO's own text format: `parse_module`, `read_module` and `print_module`."""

from compiler.hlo.text.parser import parse_module
from compiler.hlo.text.printer import (
    module_document,
    print_computation,
    print_instruction,
    print_module,
)
from compiler.hlo.text.reader import read_module, read_text

__all__ = [
    "module_document",
    "parse_module",
    "print_computation",
    "print_instruction",
    "print_module",
    "read_module",
    "read_text",
]
