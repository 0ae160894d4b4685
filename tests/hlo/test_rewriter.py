"""The rewriter shares what is unchanged, keeps operands before users, and records origins."""

from __future__ import annotations

import pytest

from compiler.hlo.attributes import Attributes
from compiler.hlo.module import Computation, Instruction
from compiler.hlo.opcodes import Opcode
from compiler.hlo.rewriter import Names, Rewriter, in_topological_order
from compiler.hlo.shape import ArrayShape, ElementType
from compiler.hlo.text import parse_module, print_module
from compiler.hlo.verify import verify
from isas.errors import InternalError

TEXT = """
HloModule m
helper { x = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(x) }
ENTRY e {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} abs(p)
  b = f32[4]{0} add(a, p)
  c = f32[4]{0} multiply(b, a), control-predecessors={a}
  ROOT d = f32[4]{0} call(c), to_apply=helper
}
"""
SHAPE = ArrayShape(ElementType.F32, (4,))


def test_nothing_changed_gives_the_same_object():
    module = parse_module(TEXT)
    rewriter = Rewriter(module)
    rewriter.edit("e")
    assert rewriter.build() is module


def test_unchanged_computations_are_shared():
    module = parse_module(TEXT)
    rewriter = Rewriter(module)
    rewriter.edit("e").replace("a", "p")
    changed = rewriter.build()
    assert changed.computation("helper") is module.computation("helper")
    entry = verify(changed).entry_computation
    assert "a" not in entry
    assert entry.instruction("b").operands == ("p", "p")
    assert entry.instruction("c").control_predecessors == ("p",)


def test_replacements_chain():
    rewriter = Rewriter(parse_module(TEXT))
    editor = rewriter.edit("e")
    editor.replace("c", "b")
    editor.replace("b", "a")
    entry = verify(rewriter.build()).entry_computation
    assert entry.instruction("d").operands == ("a",)
    assert [i.name for i in entry] == ["p", "a", "d"]


def test_a_replacement_that_would_be_a_cycle_is_refused():
    editor = Rewriter(parse_module(TEXT)).edit("e")
    editor.replace("b", "a")
    with pytest.raises(InternalError):
        editor.replace("a", "b")


def test_additions_get_fresh_names_origins_and_a_place_before_their_users():
    module = parse_module(TEXT)
    rewriter = Rewriter(module)
    editor = rewriter.edit("e")
    sources = [module.entry_computation.instruction(name) for name in ("b", "c")]
    name = editor.add(Opcode.ADD, SHAPE, ("a", "p"), sources=sources, name="b.7")
    editor.replace("b", name)
    entry = verify(rewriter.build()).entry_computation
    assert name == "b.1"
    assert entry.instruction(name).origins == ("b", "c")
    assert [i.name for i in entry] == ["p", "a", "b.1", "c", "d"]


def test_a_new_root_and_a_new_computation():
    module = parse_module(TEXT)
    rewriter = Rewriter(module)
    x = Instruction("q", Opcode.PARAMETER, SHAPE, attributes=Attributes(parameter_number=0))
    rewriter.add_computation(Computation(rewriter.names.fresh("helper"), (x,), "q"))
    rewriter.edit("e").set_root("c")
    changed = verify(rewriter.build())
    assert [c.name for c in changed.computations] == ["helper", "helper.1", "e"]
    assert changed.entry_computation.root == "c"
    assert parse_module(print_module(changed)) == changed


def test_fresh_names_never_repeat():
    names = Names(["add", "add.1", "mul.3"])
    assert [names.fresh("add.9") for _ in range(2)] == ["add.2", "add.3"]
    assert [names.fresh("mul"), names.fresh("mul")] == ["mul", "mul.1"]


def test_a_cycle_is_an_internal_error():
    one = Instruction("one", Opcode.NEGATE, SHAPE, ("two",))
    two = Instruction("two", Opcode.NEGATE, SHAPE, ("one",))
    with pytest.raises(InternalError):
        in_topological_order([one, two])


def test_a_long_chain_is_ordered_without_recursion():
    chain = [Instruction(f"v{i}", Opcode.NEGATE, SHAPE, (f"v{i + 1}",)) for i in range(5000)]
    assert [i.name for i in in_topological_order(chain)][:2] == ["v4999", "v4998"]


def test_computations_in_post_order_have_callees_first():
    module = parse_module(TEXT)
    assert [c.name for c in module.computations_post_order()] == ["helper", "e"]
    assert module.entry_computation.users("a") == ("b", "c")
