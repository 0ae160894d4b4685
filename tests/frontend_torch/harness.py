"""Traces a function, sends it through AOTAutograd and the evaluator, and compares with eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def compiled(function: Callable[..., Any], inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """The function as the backend compiles it; faster than torch.compile, which traces bytecode."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from lab.torch_backend import TorchBackend

    def flat(*arguments: Any) -> list[Any]:
        return as_list(function(*arguments))

    with torch.no_grad(), sdpa_kernel([SDPBackend.MATH]):
        graph = make_fx(flat, tracing_mode="fake")(*inputs)
        return TorchBackend(mode="evaluate")(graph, list(inputs))


def as_list(values: Any) -> list[Any]:
    if not isinstance(values, tuple | list):
        return [values]
    return [leaf for value in values for leaf in as_list(value)]


def agrees(
    function: Callable[..., Any], inputs: Sequence[Any], relative: float, absolute: float
) -> None:
    """Equal types, shapes and, within tolerance, values."""
    expected = as_list(function(*inputs))
    found = compiled(function, inputs)(*inputs)
    assert len(found) == len(expected)
    for number, (one, other) in enumerate(zip(found, expected)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"output {number}"
        close(one, other, relative, absolute, f"output {number}")


def close(one: Any, other: Any, relative: float, absolute: float, name: str) -> None:
    """Values within tolerance, a wider one for half precision."""
    if one.dtype.is_floating_point and one.dtype.itemsize < 4:
        one, other, relative, absolute = one.float(), other.float(), 1e-2, 1e-2
    one, other = (tensor.detach().resolve_conj().resolve_neg() for tensor in (one, other))
    np.testing.assert_allclose(one.numpy(), other.numpy(), relative, absolute, err_msg=name)
