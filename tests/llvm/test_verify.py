"""The verifier names the function, block and instruction of each kind of fault."""

from __future__ import annotations

import pytest

from compiler.llvm.ir import Constant, Function, Instruction, Opcode
from compiler.llvm.parse import parse
from compiler.llvm.types import F32, I1, I64
from compiler.llvm.verify import verify_function
from isas.errors import InternalError


def function(body: str) -> Function:
    return parse(f"define void @k(ptr %a, i1 %c) {{\n{body}\n}}").functions[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("e:\n br label %l\nl:\n %n = fadd float %n, 1.0\n ret void", "%n does not dominate"),
        (
            "e:\n br i1 %c, label %x, label %y\nx:\n %v = add i64 1, 2\n br label %y\n"
            "y:\n %w = add i64 %v, 1\n ret void",
            "%v does not dominate",
        ),
        (
            "e:\n br i1 %c, label %x, label %y\nx:\n br label %y\n"
            "y:\n %p = phi i64 [ 1, %x ]\n ret void",
            "predecessors %e, %x",
        ),
        ("e:\n br label %l\nl:\n %s = alloca float\n ret void", "alloca outside"),
        ("e:\n %v = add i64 1, 2\n", "no terminator"),
        ("e:\n br label %e", "branch to the entry"),
        ("e:\n %v = fadd i64 1, 2\n ret void", "fadd of i64"),
        ("e:\n %v = trunc i32 1 to i64\n ret void", "trunc of i32 to i64"),
        ("e:\n %v = call float @llvm.sqrt.f32(double 1.0)\n ret void", "llvm.sqrt.f32 of double"),
        ("e:\n ret void\n ret void", "a terminator inside"),
        ("e:\n %v = fcmp slt float 1.0, 2.0\n ret void", "the predicate"),
        ("e:\n %v = load float, i64 5\n ret void", "the address is i64"),
    ],
)
def test_each_fault_is_named(body: str, message: str) -> None:
    with pytest.raises(InternalError) as caught:
        verify_function(function(body))
    assert message in str(caught.value)
    assert "@k" in str(caught.value)


def test_a_stale_user_list_is_found() -> None:
    broken = function("e:\n %v = add i64 1, 2\n %w = add i64 %v, %v\n ret void")
    verify_function(broken)
    value, user, _ = broken.entry.instructions
    value.users.remove(user)
    with pytest.raises(InternalError, match="2 times, it knows of 1"):
        verify_function(broken)


def test_a_user_outside_the_function_is_found() -> None:
    broken = function("e:\n %v = add i64 1, 2\n ret void")
    Instruction(Opcode.ADD, I64, (broken.entry.instructions[0], Constant(I64, 1)), "lost")
    with pytest.raises(InternalError, match="lists a user"):
        verify_function(broken)


def test_duplicate_and_missing_names_are_found() -> None:
    broken = function("e:\n %v = add i64 1, 2\n %w = add i64 1, 2\n ret void")
    broken.entry.instructions[1].name = "v"
    with pytest.raises(InternalError, match="names two values"):
        verify_function(broken)


def test_a_constant_of_the_wrong_python_type_is_found() -> None:
    broken = function("e:\n %v = fadd float 1.0, 2.0\n ret void")
    broken.entry.instructions[0].set_operand(0, Constant(F32, 1))
    with pytest.raises(InternalError, match="holds"):
        verify_function(broken)
    assert I1.is_bool
