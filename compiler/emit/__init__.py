"""The last steps of code generation: frames, branches, programs and assembly text."""

from compiler.emit.assembly import assembly
from compiler.emit.emit import emit

__all__ = ["assembly", "emit"]
