"""PyTorch in: FX graphs of core ATen operators become HLO modules."""

from compiler.frontend.torch.decompositions import decompositions
from compiler.frontend.torch.graph import LoweredGraph, is_lowered, lower_graph
from compiler.frontend.torch.recurrent import keep_dropout

__all__ = ["LoweredGraph", "decompositions", "is_lowered", "keep_dropout", "lower_graph"]
