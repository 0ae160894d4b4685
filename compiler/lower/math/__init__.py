"""Elementary functions as branch-free arithmetic that a vectoriser can widen, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from compiler.hlo.opcodes import Opcode
from compiler.llvm.ir import Value
from compiler.lower.arithmetic import Arithmetic

UNARY: Mapping[Opcode, Callable[[Arithmetic, Value], Value]] = MappingProxyType({})
BINARY: Mapping[Opcode, Callable[[Arithmetic, Value, Value], Value]] = MappingProxyType({})
