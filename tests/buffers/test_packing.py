"""Packing: blocks never meet while both are alive, and the arena is near the largest live set."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.buffers.liveness import Array, Block, Role, aligned
from compiler.buffers.packing import live_bytes, lower_bound, pack


def block(name: str, size: int, start: int, end: int) -> Block:
    return Block((Array((name, ()), size, Role.TEMPORARY, start, end),))


@st.composite
def block_lists(draw: st.DrawFn) -> list[Block]:
    found = []
    for number in range(draw(st.integers(0, 25))):
        start = draw(st.integers(-1, 12))
        size = draw(st.integers(0, 1000))
        found.append(block(f"b{number}", size, start, start + draw(st.integers(0, 8))))
    return found


@settings(max_examples=200, deadline=None, derandomize=True)
@given(block_lists())
def test_blocks_that_live_together_lie_apart(blocks: list[Block]) -> None:
    packing = pack(blocks)
    for i, one in enumerate(blocks):
        for j in range(i):
            other = blocks[j]
            if one.overlaps(other) and one.size_bytes and other.size_bytes:
                low, high = packing.offsets[i], packing.offsets[j]
                apart = low + one.size_bytes <= high or high + other.size_bytes <= low
                assert apart
    assert all(offset % 64 == 0 for offset in packing.offsets)
    assert packing.size_bytes >= lower_bound(blocks)
    assert packing.size_bytes <= sum(aligned(b.size_bytes) for b in blocks)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(block_lists())
def test_the_lower_bound_is_the_largest_sum_of_any_step(blocks: list[Block]) -> None:
    steps = range(-1, 25)
    naive = [
        sum(aligned(b.size_bytes) for b in blocks if b.start <= step <= b.end) for step in steps
    ]
    assert lower_bound(blocks) == max(naive)
    assert max(live_bytes(blocks), default=0) == max(naive)


def test_a_gap_is_used_and_the_tightest_one_first() -> None:
    blocks = [
        block("whole life", 64, 0, 9),
        block("large", 256, 0, 3),
        block("small", 128, 0, 3),
        block("late small", 128, 5, 6),
        block("late large", 256, 5, 6),
    ]
    packing = pack(blocks)
    assert packing.size_bytes == lower_bound(blocks) == 64 + 256 + 128
