"""What AOTAutograd breaks operators into before a graph is lowered.

PyTorch's own decompositions into core ATen, its other ones for what is neither core nor lowered
here, and our own for what has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.frontend.torch.bags import BAGS
from compiler.frontend.torch.composed import COMPOSED
from compiler.frontend.torch.distances import DISTANCES
from compiler.frontend.torch.graph import is_lowered
from compiler.frontend.torch.recurrent import mkldnn_rnn_layer

Function = Callable[..., Any]


def decompositions() -> dict[Any, Function]:
    """The table for `aot_autograd`. Imports torch."""
    import torch
    from torch._decomp import core_aten_decompositions, decomposition_table

    found: dict[Any, Function] = dict(core_aten_decompositions())
    for operator, function in decomposition_table.items():
        if operator not in found and _is_functional(operator) and not is_lowered(operator):
            found[operator] = function
    found[torch.ops.aten._native_multi_head_attention.default] = multi_head_attention
    found[torch.ops.aten._transformer_encoder_layer_fwd.default] = encoder_layer
    for name, function in OWN.items():
        operator = _operator(torch.ops.aten, name)
        if operator is not None:
            found[operator] = function
    return found


OWN: dict[str, Function] = {
    **COMPOSED, **BAGS, **DISTANCES, "mkldnn_rnn_layer": mkldnn_rnn_layer,
}  # fmt: skip
"""Decompositions that PyTorch does not have, by operator of `aten`."""


def _operator(aten: Any, name: str) -> Any:
    """`median.dim` as an overload; None where this PyTorch has no such operator."""
    packet, _dot, overload = name.partition(".")
    return getattr(getattr(aten, packet, None), overload or "default", None)


def _is_functional(operator: Any) -> bool:
    """Operators in place are made functional first; their decompositions are not."""
    schema = getattr(operator, "_schema", None)
    return schema is not None and not schema.is_mutable


def multi_head_attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any,
    qkv_bias: Any, proj_weight: Any, proj_bias: Any, mask: Any = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention from one packed projection; arrays are (batch, length, features)."""
    import torch

    head = embed_dim // num_head
    packed = zip((query, key, value), qkv_weight.split(embed_dim), qkv_bias.split(embed_dim))
    q, k, v = (
        (x @ w.t() + bias).unflatten(-1, (num_head, head)).transpose(1, 2) for x, w, bias in packed
    )
    scores = (q * head**-0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(_forbidden(mask, mask_type), -float("inf"))
    weights = torch.softmax(scores, -1)
    joined = (weights @ v).transpose(1, 2).flatten(2)
    result = joined @ proj_weight.t() + proj_bias
    if not need_weights:
        return result, weights.new_empty((0,))
    return result, weights.mean(1) if average_attn_weights else weights


def _forbidden(mask: Any, mask_type: int | None) -> Any:
    """True where attention is forbidden, as (batch, head, query, key). The types are PyTorch's:
    0 (query, key), 1 (batch, key), 2 (batch, head, query, key). A mask that is no truth value
    forbids where it is not zero, as the fused kernel has it."""
    import torch

    mask = mask if mask.dtype is torch.bool else mask != 0
    return mask[:, None, None, :] if mask_type == 1 else mask


def encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any,
    norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any,
    ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """`nn.TransformerEncoderLayer` as its inference path fuses it."""
    import torch

    functional = torch.nn.functional
    width = (embed_dim,)

    def attend(x: Any) -> Any:
        return multi_head_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
            False, True, mask_type,
        )[0]  # fmt: skip

    def feed(x: Any) -> Any:
        inner = x @ ffn_weight_1.t() + ffn_bias_1
        inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return inner @ ffn_weight_2.t() + ffn_bias_2

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return functional.layer_norm(x, width, weight, bias, eps)

    if norm_first:
        x = src + attend(norm(src, norm_weight_1, norm_bias_1))
        return x + feed(norm(x, norm_weight_2, norm_bias_2))
    x = norm(src + attend(src), norm_weight_1, norm_bias_1)
    return norm(x + feed(x), norm_weight_2, norm_bias_2)
