"""ModRM and SIB bytes of x86 operands. Source: Intel SDM volume 2, 2.1.3, tables 2-2 and 2-3."""

from __future__ import annotations

from dataclasses import dataclass

from isas.program import MemoryOperand

_RSP, _RBP = 4, 5


@dataclass(frozen=True, slots=True)
class ModRm:
    """An r/m operand: mod and rm fields, what follows them, and the two high register bits."""

    mod: int
    rm: int
    after: bytes = b""
    high_index: int = 0
    high_base: int = 0

    def data(self, reg: int) -> bytes:
        """ModRM with `reg` in its middle, then SIB and displacement."""
        return bytes([self.mod << 6 | reg << 3 | self.rm]) + self.after


def register_modrm(index: int) -> ModRm:
    """A register as r/m."""
    return ModRm(3, index & 7, high_base=index >> 3 & 1)


def memory_modrm(address: MemoryOperand) -> ModRm:
    """An address as r/m; a symbol is relative to the instruction pointer, left to the linker."""
    displacement = address.displacement
    if address.symbol is not None:
        return ModRm(0, _RBP, _four_bytes(displacement))
    base = None if address.base is None else address.base.index
    index = None if address.index is None else address.index.index
    if base is None:
        sib = _sib(address.scale, _RSP if index is None else index, _RBP)
        high = 0 if index is None else index >> 3 & 1
        return ModRm(0, _RSP, bytes([sib]) + _four_bytes(displacement), high)
    mod, tail = _displacement(displacement, base)
    high_base = base >> 3 & 1
    if index is None and base & 7 != _RSP:
        return ModRm(mod, base & 7, tail, high_base=high_base)
    sib = _sib(address.scale, _RSP if index is None else index, base)
    high_index = 0 if index is None else index >> 3 & 1
    return ModRm(mod, _RSP, bytes([sib]) + tail, high_index, high_base)


def _displacement(displacement: int, base: int) -> tuple[int, bytes]:
    if displacement == 0 and base & 7 != _RBP:
        return 0, b""
    if -128 <= displacement <= 127:
        return 1, bytes([displacement & 0xFF])
    return 2, _four_bytes(displacement)


def _four_bytes(displacement: int) -> bytes:
    return (displacement & 0xFFFFFFFF).to_bytes(4, "little")


def _sib(scale: int, index: int, base: int) -> int:
    return (scale.bit_length() - 1) << 6 | (index & 7) << 3 | (base & 7)
