"""The IR's text: real LLVM takes it, reading it back gives the same text, values survive
exactly."""

from __future__ import annotations

import math
import struct

import llvmlite.binding as llvm
import pytest

from compiler.llvm.ir import Constant, Instruction, Module, Opcode
from compiler.llvm.numbers import float_bits, float_from_bits, float_literal, parse_float_literal
from compiler.llvm.parse import parse
from compiler.llvm.text import constant_text, document, text
from compiler.llvm.types import BF16, F16, F32, F64, I1, I8, I32, PTR
from compiler.llvm.verify import verify
from isas.errors import InputError, UnsupportedError

PROGRAM = """; ModuleID = 'demo'
target triple = "x86_64-unknown-linux-gnu"

define void @fusion.1(ptr noalias readonly align 64 dereferenceable(256) %a, ptr %"a b") nounwind {
entry:
  %s = alloca float, i64 4, align 16
  %v = alloca <8 x float>, align 32
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = getelementptr inbounds nuw float, ptr %a, i64 %i
  %x = load <8 x float>, ptr %p, align 4                         ; %subtract.7, %exp.2
  %y = fadd reassoc contract <8 x float> %x, splat (float 0x7FF8000000000000)
  %n = fmul <2 x float> <float 0x8000000000000000, float 0xFFF0000000000000>, zeroinitializer
  %c = fcmp nsz ule <8 x float> %y, zeroinitializer
  %z = select <8 x i1> %c, <8 x float> %y, <8 x float> poison
  %f = call contract <8 x float> @llvm.fma.v8f32(<8 x float> %z, <8 x float> %z, <8 x float> %y)
  %w = shufflevector <8 x float> %f, <8 x float> poison, <4 x i32> <i32 0, i32 poison, i32 9, i32 1>
  %w0 = shufflevector <4 x float> %w, <4 x float> %w, <8 x i32> zeroinitializer
  %e = extractelement <8 x float> %w0, i64 2
  %ins = insertelement <8 x float> %w0, float %e, i64 0
  store <8 x float> %ins, ptr %"a b", align 4
  %h = fptrunc float %e to half
  %h2 = fadd half %h, 0xH3C00
  %b = fptrunc float %e to bfloat
  %b2 = fdiv bfloat %b, 0xR7FC0
  %neg = fneg float %e
  %d = fpext float %neg to double
  %int = fptosi double %d to i32
  %bits = bitcast float %e to i32
  %abs = call i32 @llvm.abs.i32(i32 %int, i1 false)
  %frozen = freeze i32 %abs
  %t = trunc nuw i32 %frozen to i8
  %zx = zext nneg i8 %t to i64
  %q = sdiv exact i64 %zx, -3
  %i.next = add nuw nsw i64 %i, 8
  %go = icmp ult i64 %i.next, 64
  br i1 %go, label %loop, label %done

done:
  ret void
}

declare i32 @llvm.abs.i32(i32, i1)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
"""


def accepted_by_llvm(source: str) -> llvm.ModuleRef:
    module = llvm.parse_assembly(source)
    module.verify()
    return module


def test_text_reads_back_to_itself_and_llvm_accepts_it() -> None:
    module = parse(PROGRAM)
    verify(module)
    assert text(module) == PROGRAM
    accepted_by_llvm(PROGRAM)


def test_what_llvm_prints_of_our_text_reads_back_as_the_same_function() -> None:
    theirs = str(accepted_by_llvm(PROGRAM))
    ours, back = parse(PROGRAM), parse(theirs)
    for function in (*ours.functions, *back.functions):
        function.attributes = ()
        for instruction in function.instructions():
            instruction.origins = ()
    assert str(document(back.functions[0])) == str(document(ours.functions[0]))


def test_numbered_values_and_blocks_of_llvm_are_read() -> None:
    source = """
    define void @f(ptr nocapture noundef writeonly %0, ptr captures(none) %1) #0 {
      %3 = load float, ptr %1, align 4, !tbaa !5
      br label %4

    4:                                                ; preds = %4, %2
      %5 = phi float [ %3, %2 ], [ %6, %4 ]
      %6 = tail call fast float @llvm.sqrt.f32(float noundef %5) #1
      %7 = fcmp olt float %6, 2.500000e-01
      br i1 %7, label %4, label %8, !llvm.loop !7

    8:
      %9 = getelementptr [16 x float], ptr %0, i64 0, i64 3
      store float %6, ptr %9, align 4
      ret void
    }
    attributes #0 = { nounwind }
    !5 = !{!"a"}
    !7 = distinct !{!7, !8}
    !8 = !{!"llvm.loop.mustprogress"}
    """
    module = parse(source)
    verify(module)
    accepted_by_llvm(text(module))
    sqrt = next(i for i in module.functions[0].instructions() if i.opcode is Opcode.CALL)
    assert "reassoc" in sqrt.flags and "nnan" in sqrt.flags


def test_every_line_knows_its_subject_and_origins() -> None:
    lines = document(parse(PROGRAM)).lines
    load = next(line for line in lines if "load <8" in line.text)
    assert load.subject == "fusion.1/%x"
    assert load.origins == ("subtract.7", "exp.2")
    store = next(line for line in lines if line.text.startswith("  store"))
    assert store.subject == "fusion.1/loop:12"


@pytest.mark.parametrize("type", [F16, BF16, F32, F64])
def test_float_bits_round_trip_and_match_llvm_literals(type) -> None:  # type: ignore[no-untyped-def]
    patterns = [(n * 0x9E3779B97F4A7C15) >> 5 & ((1 << type.bits) - 1) for n in range(2000)]
    for bits in patterns:
        value = float_from_bits(bits, type)
        assert float_bits(value, type) == bits
        assert float_bits(parse_float_literal(float_literal(value, type), type), type) == bits


def test_rounding_into_f32_is_the_hardware_rounding() -> None:
    for n in range(3000):
        bits = (n * 0x9E3779B97F4A7C15) & (2**64 - 1)
        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
        if math.isnan(value) or abs(value) > 3e38:
            continue
        assert float_bits(value, F32) == struct.unpack("<I", struct.pack("<f", value))[0]
    assert float_bits(3.5e38, F32) == 0x7F800000


def test_special_constants_have_llvms_spelling() -> None:
    assert constant_text(Constant(F32, math.nan)) == "0x7FF8000000000000"
    assert constant_text(Constant(F32, -math.inf)) == "0xFFF0000000000000"
    assert constant_text(Constant(F32.with_lanes(4), (-0.0,) * 4)) != "zeroinitializer"
    assert constant_text(Constant(I8.with_lanes(2), (255, 255))) == "splat (i8 -1)"
    assert constant_text(Constant(I1, -1)) == "true"
    assert constant_text(Constant(PTR, 0)) == "null"
    assert constant_text(Constant(I32, None)) == "poison"


def test_an_empty_module_prints() -> None:
    accepted_by_llvm(text(Module("empty")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%x = frob float 1.0, 2.0", "'frob'"),
        ("%x = fadd float %nowhere, 2.0", "never defined"),
        ("%x = fadd quux 1.0, 2.0", "'quux' is not a type"),
        ("store float 1.0 ptr null", "expected ','"),
        ("%x = add i32 1.5, 2", "not a constant of type i32"),
    ],
)
def test_malformed_text_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises((InputError, UnsupportedError)) as caught:
        parse(f"define void @f() {{\nentry:\n  {line}\n  ret void\n}}\n")
    assert message in str(caught.value)
    assert "LLVM IR line" in str(caught.value)


def test_unused_instruction_argument_names_do_not_collide() -> None:
    function = parse("define void @f(ptr %x) {\nentry:\n  ret void\n}").functions[0]
    assert function.fresh_name("x") == "x.1"
    assert isinstance(function.entry.instructions[0], Instruction)
