"""Lowering: operations of StableHLO and CHLO become HLO instructions, regions computations."""
