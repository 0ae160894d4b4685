"""Results that the caller must find in the place of a donated parameter are there, always."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.buffers.assign import assign
from compiler.buffers.returning import CopiedBack
from compiler.hlo.evaluate import evaluate
from compiler.hlo.text import parse_module
from compiler.hlo.verify import verify
from compiler.journal import Journal
from compiler.options import Options
from compiler.pipeline import run_hlo_passes
from tests.buffers.arena import Arena
from tests.buffers.test_assign import check_places
from tests.passes.helpers import assert_same_bits

SHAPE = "f32[8,8]"
PROGRAMS = {
    "read_too_late": (
        "{0}: (0, {}, must-alias)",
        "r = S reverse(x), dimensions={0}\n  q = S cholesky(x)\n  ROOT t = (S, S) tuple(r, q)",
    ),
    "returned_itself": (
        "{0}: (0, {}, must-alias)",
        "r = S reverse(x), dimensions={0}\n  ROOT t = (S, S) tuple(r, x)",
    ),
    "swapped": (
        "{0}: (0, {}, must-alias), {1}: (1, {}, must-alias)",
        "ROOT t = (S, S) tuple(y, x)",
    ),
    "swapped_and_read": (
        "{0}: (0, {}, must-alias), {1}: (1, {}, must-alias)",
        "a = S add(x, y)\n  ROOT t = (S, S, S) tuple(y, x, a)",
    ),
    "constant": (
        "{}: (0, {}, must-alias)",
        "c = f32[] constant(3)\n  ROOT b = S broadcast(c), dimensions={}",
    ),
    "twice": (
        "{0}: (0, {}, must-alias), {1}: (1, {}, must-alias)",
        "a = S subtract(x, y)\n  ROOT t = (S, S) tuple(a, a)",
    ),
    "nested": (
        "{0,1}: (0, {}, must-alias)",
        "r = S reverse(x), dimensions={1}\n  i = (S, S) tuple(x, r)\n"
        "  ROOT t = ((S, S), S) tuple(i, y)",
    ),
    "overwritten_before": (
        "{0}: (0, {}, must-alias), {1}: (1, {})",
        "a = S negate(x)\n  b = S reverse(a), dimensions={0}\n  ROOT t = (S, S) tuple(b, a)",
    ),
    "whole": ("{}: (1, {}, must-alias)", "ROOT r = S reverse(y), dimensions={0}"),
}


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_result_lies_where_the_caller_insists_on_having_it(name: str, fuse: bool) -> None:
    aliases, body = PROGRAMS[name]
    text = (
        f"HloModule m, input_output_alias={{ {aliases} }}\nENTRY e {{\n"
        f"  x = S parameter(0)\n  y = S parameter(1)\n  {body}\n}}"
    )
    program = verify(parse_module(text.replace("S ", f"{SHAPE} ").replace("S,", f"{SHAPE},")
                                  .replace("S)", f"{SHAPE})")))  # fmt: skip
    module = verify(run_hlo_passes(program, Options(fuse=fuse), Journal()))
    found = assign(module, Options(), Journal())
    check_places(found)
    outputs = {b.path: b.slice for b in found.outputs}
    for alias in module.aliases:
        if alias.must:
            assert outputs[alias.output_index] == found.parameters[alias.parameter].slice
    numbers = np.random.default_rng(1)
    x = numbers.standard_normal((8, 8)).astype(np.float32)
    arrays = [x @ x.T + 8 * np.eye(8, dtype=np.float32), x]
    wanted = evaluate(program, *arrays)
    assert_same_bits(Arena(module, found, by_rows=False).run(arrays), wanted, name)


def test_a_copy_is_made_only_where_the_result_could_not_be_written_and_is_told() -> None:
    text = """HloModule m, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}, must-alias) }
    ENTRY e {
      x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      a = f32[8] reverse(x), dimensions={0}
      b = f32[8] negate(y)
      c = f32[8] subtract(x, a)
      ROOT t = (f32[8], f32[8], f32[8]) tuple(a, b, c)
    }"""
    journal = Journal()
    module = run_hlo_passes(parse_module(text), Options(fuse=False), journal)
    told = [e.decision for e in journal.entries if isinstance(e.decision, CopiedBack)]
    assert [(d.subject, d.chosen) for d in told] == [("a", "x")]
    assert sum(i.opcode.text == "copy" for i in module.entry_computation) == 1
