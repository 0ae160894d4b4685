"""The command palette's entries: title, meaning, action."""

from __future__ import annotations

COMMANDS_IN_PALETTE: tuple[tuple[str, str, str], ...] = (
    ("Start", "examples, machines and recent files", "go('start')"),
    ("Compile", "every stage of the road, two at a time", "go('compile')"),
    ("Registers", "live intervals and the allocator, step by step", "go('registers')"),
    ("Run", "the pipeline, cycle by cycle", "go('run')"),
    ("Program", "open another file", "program"),
    ("Machine", "choose another machine", "machine"),
    ("Register limits", "how many registers the allocator may use", "limits"),
    ("Fusion", "join operations into kernels, or not", "option('fuse')"),
    ("Strict order", "add up in program order, or not", "option('strict_order')"),
    ("Contraction", "multiply and add become one operation, or not", "option('contract')"),
    ("Scheduling", "reorder instructions, or leave them", "option('schedule')"),
    ("Fast math", "rewrite as if without NaN, infinities, -0, or not", "option('fast_math')"),
    ("Earlier runs", "go back to a run of this session", "history"),
    ("Language", "English or Chinese", "language"),
    ("Help", "the keys of this screen", "help"),
    ("Quit", "leave Hob", "quit"),
)
