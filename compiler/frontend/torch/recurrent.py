"""Recurrent layers: what PyTorch's own decompositions of `nn.LSTM`, `nn.GRU`, `nn.RNN` leave.

They drop the dropout between layers, and end in an operator of oneDNN's where no gradient is asked
for. Functions here are written in PyTorch, for AOTAutograd to trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Function = Callable[..., Any]


def mkldnn_rnn_layer(
    x: Any, w_input: Any, w_hidden: Any, b_input: Any, b_hidden: Any, hidden: Any, cell: Any,
    reverse: bool, *_settings: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """One LSTM layer in one direction: x is (time, batch, features), the state (1, batch, width).

    Yields all hidden states, the last state, and oneDNN's workspace (nothing).
    """
    import torch

    functional = torch.nn.functional
    projected = functional.linear(x, w_input, b_input)
    steps = projected.unbind(0)
    h, c = hidden.squeeze(0), cell.squeeze(0)
    found = []
    for step in reversed(steps) if reverse else steps:
        gates = step + functional.linear(h, w_hidden, b_hidden)
        enter, forget, new, leave = gates.chunk(4, -1)
        c = forget.sigmoid() * c + enter.sigmoid() * new.tanh()
        h = leave.sigmoid() * c.tanh()
        found.append(h)
    states = torch.stack(found[::-1] if reverse else found)
    return states, h.unsqueeze(0), c.unsqueeze(0), x.new_empty(0)


def with_dropout(function: Function) -> Function:
    """`torch.lstm`, `torch.gru`, ... layer by layer, with dropout on what goes between layers."""

    def layers(
        x: Any, state: Any, weights: Sequence[Any], has_biases: bool, count: int, dropout: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        import torch

        x = x.transpose(0, 1) if batch_first else x
        states = state if isinstance(state, list | tuple) else [state]
        directions, share = 1 + bidirectional, len(weights) // count
        finals = []
        for i in range(count):
            own = [s[i * directions : (i + 1) * directions] for s in states]
            given = own if isinstance(state, list | tuple) else own[0]
            layer = weights[i * share : (i + 1) * share]
            x, *last = function(x, given, layer, has_biases, 1, 0.0, train, bidirectional, False)
            x = torch.dropout(x, dropout, True) if i < count - 1 else x
            finals.append(last)
        joined = [torch.cat(parts) for parts in zip(*finals, strict=True)]
        return (x.transpose(0, 1) if batch_first else x, *joined)

    return layers


def keep_dropout(graph_module: Any) -> None:
    """Makes the recurrent layers of a traced graph that have dropout keep it."""
    for node in graph_module.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op != "call_function" or name not in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            continue
        is_plain = len(node.args) == 9 and not node.kwargs and isinstance(node.args[4], int)
        if is_plain and node.args[4] > 1 and node.args[5] and node.args[6]:
            node.target = with_dropout(node.target)
    graph_module.recompile()
