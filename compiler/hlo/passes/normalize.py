"""Takes layouts out of the program, so that the passes up to `layout` deal with numbers only.

Programs come in any layout. What the caller sees of them, the layouts of parameters and results, is
pinned to the module (`entry_computation_layout`); all others are dropped, for `layout` to
choose. A bitcast, whose meaning depends on layouts, is spelled out as transpose and reshape.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.hlo.attributes import Attributes
from compiler.hlo.layouts import is_simple, major_to_minor, with_layouts, without_layouts
from compiler.hlo.module import Computation, EntryLayout, Instruction, Module
from compiler.hlo.opcodes import Opcode
from compiler.hlo.passes.context import PassContext
from compiler.hlo.rewriter import ComputationEditor, Rewriter
from compiler.hlo.shape import ArrayShape, Shape, TupleShape


def run(module: Module, context: PassContext) -> Module:
    """Drops layouts and spells bitcasts out."""
    del context
    if _is_normal(module):
        return module
    pinned = replace(module, entry_layout=_entry_layout(module))
    rewriter = Rewriter(pinned)
    for computation in pinned.computations:
        _normalize(computation, rewriter.edit(computation.name))
    return rewriter.build()


def _is_normal(module: Module) -> bool:
    if module.entry_layout is None:
        return False
    return all(
        i.shape == without_layouts(i.shape) and not _is_plain_bitcast(c, i)
        for c in module.computations
        for i in c
    )


def _entry_layout(module: Module) -> EntryLayout:
    if module.entry_layout is not None:
        found = module.entry_layout
        parameters = tuple(map(_explicit, found.parameters))
        return EntryLayout(parameters, _explicit(found.result))
    entry = module.entry_computation
    parameters = tuple(_explicit(p.shape) for p in entry.parameters)
    return EntryLayout(parameters, _explicit(entry.shape))


def _explicit(shape: Shape) -> Shape:
    """Every array with a layout, scalars without one."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(_explicit, shape.elements)))
    if isinstance(shape, ArrayShape) and shape.is_scalar:
        return without_layouts(shape)
    return with_layouts(shape)


def _normalize(computation: Computation, editor: ComputationEditor) -> None:
    for instruction in computation:
        shape = without_layouts(instruction.shape)
        if _is_plain_bitcast(computation, instruction):
            _spell_out(computation, editor, instruction)
        elif shape != instruction.shape:
            editor.rewrite(replace(instruction, shape=shape))


def _is_plain_bitcast(computation: Computation, instruction: Instruction) -> bool:
    if instruction.opcode is not Opcode.BITCAST or not instruction.is_array:
        return False
    operand = computation.instruction(instruction.operands[0])
    if not operand.is_array or not (operand.array.is_static and instruction.array.is_static):
        return False
    same_size = operand.array.element_type.size_bytes == instruction.array.element_type.size_bytes
    return same_size and is_simple(operand.array.layout) and is_simple(instruction.array.layout)


def _spell_out(
    computation: Computation, editor: ComputationEditor, instruction: Instruction
) -> None:
    """Memory order of the operand, other extents and type, logical order of the result."""
    operand = computation.instruction(instruction.operands[0]).array
    result = instruction.array
    value = _transposed(editor, instruction, instruction.operands[0], operand, operand)
    physical = tuple(result.dimensions[d] for d in major_to_minor(result))
    value = editor.add(
        Opcode.RESHAPE,
        ArrayShape(operand.element_type, physical),
        (value,),
        sources=(instruction,),
        before=instruction.name,
    )
    if operand.element_type is not result.element_type:
        value = editor.add(
            Opcode.BITCAST_CONVERT,
            ArrayShape(result.element_type, physical),
            (value,),
            sources=(instruction,),
            before=instruction.name,
        )
    order = major_to_minor(result)
    back = tuple(order.index(d) for d in range(result.rank))
    editor.rewrite(
        replace(
            instruction,
            opcode=Opcode.TRANSPOSE,
            shape=ArrayShape(result.element_type, result.dimensions),
            operands=(value,),
            attributes=Attributes(dimensions=back),
            origin=instruction.origins,
        )
    )


def _transposed(
    editor: ComputationEditor,
    instruction: Instruction,
    name: str,
    shape: ArrayShape,
    operand: ArrayShape,
) -> str:
    order = major_to_minor(shape)
    if list(order) == sorted(order):
        return name
    extents = tuple(operand.dimensions[d] for d in order)
    return editor.add(
        Opcode.TRANSPOSE,
        ArrayShape(operand.element_type, extents),
        (name,),
        Attributes(dimensions=order),
        sources=(instruction,),
        before=instruction.name,
    )
