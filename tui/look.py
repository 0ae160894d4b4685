"""The look: Okabe and Ito's colours on a dark ground, and the styles that screens share.

Colour is never alone: every stage has its letter, every state its glyph, the cursor its brackets.
Source of the colours: M. Okabe and K. Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from rich.style import Style

GROUND = "#16181d"
RAISED = "#20242c"
INK = "#d6d9de"
FAINT = "#8b929e"
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"

PLAIN = Style(color=INK, bgcolor=GROUND)
DIM = Style(color=FAINT, bgcolor=GROUND)
STRONG = Style(color="#ffffff", bgcolor=GROUND, bold=True)
CURSOR = Style(color="#000000", bgcolor="#ffffff", bold=True)
ROW = Style(color="#ffffff", bgcolor="#2f3642", bold=True)
CULPRIT = Style(color="#000000", bgcolor=PURPLE, bold=True)
LINKED = Style(color="#ffffff", bgcolor="#123f5c")
RELATED = Style(color=INK, bgcolor="#262b35")
FOUND = Style(color="#000000", bgcolor=YELLOW)
CHANGED = Style(color=YELLOW, bgcolor=GROUND, bold=True)
ADDED = Style(color=SKY, bgcolor=GROUND)
GONE = Style(color=ORANGE, bgcolor=GROUND)
WARNING = Style(color=ORANGE, bgcolor=GROUND, bold=True)

STAGES: tuple[Style, ...] = (
    Style(color=FAINT, bgcolor=GROUND),
    Style(color="#000000", bgcolor=SKY),
    Style(color="#ffffff", bgcolor=BLUE),
    Style(color=VERMILION, bgcolor="#2b1c14", bold=True),
    Style(color=YELLOW, bgcolor="#2b2914", bold=True),
    Style(color="#000000", bgcolor=ORANGE),
    Style(color="#ffffff", bgcolor="#00654a"),
    Style(color=FAINT, bgcolor=RAISED),
    Style(color="#000000", bgcolor=PURPLE),
)
"""By `vm.diagram.Stage`: absent, fetch, dispatch, waiting for data and for a resource, issue,
execute, done, retire."""
