"""The check for code generation names the first thing it does not cover."""

from __future__ import annotations

import pytest

from compiler.hlo.support import codegen_support
from compiler.hlo.text import parse_module
from isas.errors import UnsupportedError
from tests.passes.helpers import case

COMPILED = (
    *("element_wise_chain", "ew_chain", "ew_fma", "gelu_tanh", "logsumexp", "softmax"),
    *("layernorm", "matmul", "mlp_fwd", "attention", "where_select", "reductions"),
    "transcendentals",
)


@pytest.mark.parametrize("name", COMPILED)
def test_the_programs_that_must_compile_are_covered(name: str) -> None:
    codegen_support(case(name))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("sort", "operation sort"),
        ("f64_mlp", "element type f64"),
        ("fibonacci", "operation while"),
        ("conv2d_bias_relu", "operation convolution"),
    ],
)
def test_what_is_not_covered_is_named_with_its_line(name: str, what: str) -> None:
    with pytest.raises(UnsupportedError, match=what) as caught:
        codegen_support(case(name))
    assert f"{name}.hlo:" in (caught.value.where or "")


def test_the_first_line_is_named() -> None:
    text = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] fft(x), fft_type=FFT, fft_length={4}
  ROOT b = f32[4] cholesky(a)
}"""
    with pytest.raises(UnsupportedError) as caught:
        codegen_support(parse_module(text))
    assert caught.value.message.startswith("a: ")
    assert (caught.value.where or "").endswith(":4")
