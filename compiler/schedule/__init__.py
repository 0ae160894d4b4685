"""Instruction scheduling: the order of instructions inside each block, before and after
allocation.
"""

from __future__ import annotations

from compiler.schedule.schedule import AFTER_ALLOCATION, BEFORE_ALLOCATION, schedule

__all__ = ["AFTER_ALLOCATION", "BEFORE_ALLOCATION", "schedule"]
