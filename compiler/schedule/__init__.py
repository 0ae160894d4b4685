"""Instruction scheduling: the order of instructions inside each block, before and after
allocation.
"""
