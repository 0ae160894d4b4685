"""PyTorch in: FX graphs of core ATen operators become HLO modules."""

from compiler.frontend.torch.decompositions import decompositions
from compiler.frontend.torch.graph import LoweredGraph, is_lowered, lower_graph

__all__ = ["LoweredGraph", "decompositions", "is_lowered", "lower_graph"]
