"""What LLVM's own back ends print for one operation, our cards read as that operation.

The witness is LLVM's instruction selection: a function of one IR operation is compiled for AArch64
and for PTX, every line of its body must be an instruction of ours, and one of them must have the
operation as its effect.
"""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

import isas
from isas.effects import Apply, Effect, walk
from isas.flags import meaning
from isas.model import Isa, Syntax
from isas.parsing import parse_instruction
from isas.program import ProgramInstruction

FLOATS = ("float", "double")
INTS = ("i32", "i64")
FLOAT_VECTORS = ("<4 x float>", "<2 x double>")
INT_VECTORS = ("<4 x i32>", "<2 x i64>")
INTRINSIC_NAMES = {
    "sqrt": Effect.SQRT,
    "fabs": Effect.FABS,
    "floor": Effect.FLOOR,
    "ceil": Effect.CEIL,
    "trunc": Effect.FTRUNC,
    "roundeven": Effect.ROUNDEVEN,
}


def _mangled(type_: str) -> str:
    names = {"float": "f32", "double": "f64", "<4 x float>": "v4f32", "<2 x double>": "v2f64"}
    names |= {"<4 x i32>": "v4i32", "<2 x i64>": "v2i64"}
    return names.get(type_, type_)


def _binary(operation: str, type_: str) -> str:
    return f"define {type_} @f({type_} %a, {type_} %b) {{ %r = {operation} {type_} %a, %b ret {type_} %r }}"  # noqa: E501


def _intrinsic(name: str, type_: str, arguments: int) -> str:
    full = f"@llvm.{name}.{_mangled(type_)}"
    typed = ", ".join(f"{type_} %{'abc'[i]}" for i in range(arguments))
    types = ", ".join([type_] * arguments)
    return (
        f"declare {type_} {full}({types})\n"
        f"define {type_} @f({typed}) {{ %r = call {type_} {full}({typed}) ret {type_} %r }}"
    )


def _convert(operation: str, source: str, target: str) -> str:
    return f"define {target} @f({source} %a) {{ %r = {operation} {source} %a to {target} ret {target} %r }}"  # noqa: E501


def _select(compare: str, type_: str) -> str:
    return (
        f"define {type_} @f({type_} %a, {type_} %b, {type_} %x, {type_} %y) {{\n"
        f"%c = {compare} {type_} %a, %b\n%r = select i1 %c, {type_} %x, {type_} %y\n"
        f"ret {type_} %r }}"
    )


def _both() -> list[tuple[str, Effect]]:
    """Cases for scalar types, which both ISAs have."""
    cases = [
        (_binary(name, type_), Effect[name.upper()])
        for name in ("fadd", "fsub", "fmul", "fdiv")
        for type_ in FLOATS
    ]
    cases += [
        (_binary(name, type_), Effect[name.upper()])
        for name in ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "sdiv", "udiv")
        for type_ in INTS
    ]
    cases += [
        (_intrinsic(name, type_, 1), effect)
        for name, effect in INTRINSIC_NAMES.items()
        for type_ in FLOATS
    ]
    cases += [(_intrinsic("fma", type_, 3), Effect.FMA) for type_ in FLOATS]
    cases += [
        (_intrinsic(name, type_, 2), Effect[name.upper()])
        for name in ("minnum", "maxnum")
        for type_ in FLOATS
    ]
    cases += [
        (_convert("sitofp", i, f), Effect.SITOFP) for i in INTS for f in FLOATS
    ]  # fmt: skip
    cases += [(_convert("uitofp", i, f), Effect.UITOFP) for i in INTS for f in FLOATS]
    cases += [(_convert("fptosi", f, i), Effect.FPTOSI) for i in INTS for f in FLOATS]
    cases += [(_convert("fptoui", f, i), Effect.FPTOUI) for i in INTS for f in FLOATS]
    cases += [
        (_convert("fpext", "float", "double"), Effect.FPEXT),
        (_convert("fptrunc", "double", "float"), Effect.FPTRUNC),
    ]
    return cases


def _vectors() -> list[tuple[str, Effect]]:
    cases = [
        (_binary(name, type_), Effect[name.upper()])
        for name in ("fadd", "fsub", "fmul", "fdiv")
        for type_ in FLOAT_VECTORS
    ]
    cases += [
        (_binary(name, type_), Effect[name.upper()])
        for name in ("add", "sub", "and", "or", "xor", "shl")
        for type_ in INT_VECTORS
    ]
    cases += [
        (_intrinsic(name, type_, 1), effect)
        for name, effect in INTRINSIC_NAMES.items()
        for type_ in FLOAT_VECTORS
    ]
    cases += [(_intrinsic("fma", type_, 3), Effect.FMA) for type_ in FLOAT_VECTORS]
    cases += [
        (_intrinsic(name, type_, 2), Effect[name.upper()])
        for name in ("minimum", "maximum", "minnum", "maxnum")
        for type_ in (*FLOATS, *FLOAT_VECTORS)
    ]
    cases += [
        (_intrinsic(name, "<4 x i32>", 2), Effect[name.upper()])
        for name in ("smin", "smax", "umin", "umax")
    ]
    cases += [
        (_convert("sitofp", "<4 x i32>", "<4 x float>"), Effect.SITOFP),
        (_convert("fptosi", "<4 x float>", "<4 x i32>"), Effect.FPTOSI),
        (_convert("sext", "i32", "i64"), Effect.SEXT),
        (_convert("zext", "<4 x i16>", "<4 x i32>"), Effect.ZEXT),
        (_convert("sext", "<8 x i8>", "<8 x i16>"), Effect.SEXT),
        (_convert("trunc", "<4 x i32>", "<4 x i16>"), Effect.TRUNC),
        (_convert("fpext", "<2 x float>", "<2 x double>"), Effect.FPEXT),
    ]
    return cases


INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("oeq", "olt", "ole", "ogt", "oge", "ord", "une", "ult", "ule", "ugt", "uge", "uno")  # fmt: skip # noqa: E501


def _body(triple: str, cpu: str, ir: str) -> list[str]:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=2)
    module = llvm.parse_assembly(f'target triple = "{triple}"\n' + ir.replace(" ret ", "\nret "))
    lines = [
        line.strip().split("//")[0].strip() for line in machine.emit_assembly(module).splitlines()
    ]
    return [line for line in lines if line and not line.startswith((".", "{", "}", ")", "f:", "$"))]


def _instructions(isa: Isa, cpu: str, ir: str) -> list[ProgramInstruction]:
    lines = _body(isa.triple, cpu, ir)
    if isa.syntax is Syntax.PTX:
        # LLVM names registers by type; ours are untyped: %f1, %rl1 become %r1, %rd2.
        lines = [_ptx(line) for line in lines if "param" not in line]
    return [parse_instruction(isa, line) for line in lines]


def _ptx(line: str) -> str:
    words = line.replace(",", " ,").replace(";", " ;").split()
    return " ".join(_ptx_register(word) for word in words).replace(" ,", ",").replace(" ;", ";")


def _ptx_register(word: str) -> str:
    name = word.lstrip("%")
    digits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    if not word.startswith("%") or not digits.isdecimal():
        return word
    if name.startswith(("rd", "rl", "fd")):
        return f"%rd{2 * int(digits)}"
    return f"%p{digits}" if name.startswith("p") else f"%r{digits}"


def _effects(instructions: list[ProgramInstruction]) -> set[Effect]:
    return {
        node.effect
        for instruction in instructions
        for pattern in instruction.shape.patterns
        for node in walk(pattern.expression)
        if isinstance(node, Apply)
    }


@pytest.mark.parametrize("name", ["arm", "simt"])
def test_scalar_operations_as_llvm_prints_them_have_that_effect(name: str) -> None:
    isa = isas.load_isa(name)
    for ir, effect in _both():
        instructions = _instructions(isa, "" if name == "arm" else "sm_75", ir)
        assert effect in _effects(instructions), ir


def test_vector_operations_as_llvm_prints_them_have_that_effect() -> None:
    isa = isas.load_isa("arm")
    for ir, effect in _vectors():
        assert effect in _effects(_instructions(isa, "", ir)), ir


def _conditions(instructions: list[ProgramInstruction]) -> set[Effect]:
    """Comparisons that flag producers and conditions of the instructions make together."""
    effects = _effects(instructions)
    pairs = [meaning(producer, condition) for producer in effects for condition in effects]
    return {pair.predicate for pair in pairs if pair is not None and not pair.of_result} | effects


SWAPPED = {"slt": "sgt", "sle": "sge", "ult": "ugt", "ule": "uge", "olt": "ogt", "ole": "oge"}
SWAPPED |= {value: key for key, value in SWAPPED.items()}


@pytest.mark.parametrize("name", ["arm", "simt"])
@pytest.mark.parametrize("kind", ["icmp", "fcmp"])
def test_comparisons_as_llvm_prints_them_mean_the_same_predicate(name: str, kind: str) -> None:
    isa = isas.load_isa(name)
    predicates = INTEGER_PREDICATES if kind == "icmp" else FLOAT_PREDICATES
    for predicate in predicates:
        for type_ in INTS if kind == "icmp" else FLOATS:
            ir = _select(f"{kind} {predicate}", type_)
            found = _conditions(_instructions(isa, "" if name == "arm" else "sm_75", ir))
            wanted = {
                Effect[f"{kind}_{p}".upper()]
                for p in (predicate, SWAPPED.get(predicate, predicate))
            }
            assert wanted & found, ir
