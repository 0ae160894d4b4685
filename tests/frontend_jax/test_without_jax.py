"""Where JAX is missing, the message says how to get it; nothing else needs it."""

from __future__ import annotations

import sys

import pytest

import hob


def test_the_command_that_installs_jax_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(hob.HobError, match=r"(?s)JAX is not installed.*pip install jax"):
        hob.jit(lambda x: x)
