"""Layouts that make a move free: how a transposed or reshaped array can lie where it came from."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.hlo.shape import ArrayShape, Layout, Shape, TupleShape, row_major


def is_simple(layout: Layout | None) -> bool:
    """True of a dense layout without tiles, packed elements or another memory space."""
    return layout is None or layout == Layout(layout.minor_to_major)


def without_layouts(shape: Shape) -> Shape:
    """The shape with its simple layouts left out."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(without_layouts, shape.elements)))
    if isinstance(shape, ArrayShape) and shape.layout is not None and is_simple(shape.layout):
        return shape.with_layout(None)
    return shape


def with_layouts(shape: Shape) -> Shape:
    """The shape with a row-major layout wherever an array has none; a scalar needs none."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(with_layouts, shape.elements)))
    if isinstance(shape, ArrayShape) and shape.layout is None and shape.rank:
        return shape.with_layout(row_major(shape.rank))
    return shape


def row_major_shape(shape: Shape) -> Shape:
    """The shape with all simple layouts row-major; a scalar has none."""
    return with_layouts(without_layouts(shape))


def major_to_minor(shape: ArrayShape) -> tuple[int, ...]:
    return tuple(reversed(shape.minor_to_major))


def of_transpose(operand: ArrayShape, order: Sequence[int]) -> Layout:
    """The layout under which the transpose of an array lies exactly like the array."""
    places = {dimension: place for place, dimension in enumerate(order)}
    return Layout(tuple(places[d] for d in operand.minor_to_major))


def of_reshape(operand: ArrayShape, dimensions: Sequence[int]) -> Layout | None:
    """The layout under which a reshaped array lies exactly like the array, if there is one.

    Dimensions fall into groups of equal product; a group that is split or joined must lie in
    memory in one piece and in logical order.
    """
    groups = _groups(operand.dimensions, dimensions)
    if groups is None:
        return None
    physical = [d for d in major_to_minor(operand) if operand.dimensions[d] != 1]
    order: list[int] = []
    place = 0
    while place < len(physical):
        olds, news = next(g for g in groups if physical[place] in g[0])
        if physical[place : place + len(olds)] != olds:
            return None
        order.extend(news)
        place += len(olds)
    units = [d for d, e in enumerate(dimensions) if e == 1]
    if order == sorted(order):
        return row_major(len(dimensions))
    return Layout(tuple(reversed(units + order)))


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """Runs of old and new dimensions with equal products, those of extent 1 left out."""
    olds = [d for d, e in enumerate(old) if e != 1]
    news = [d for d, e in enumerate(new) if e != 1]
    if 0 in old or 0 in new:
        return None
    groups: list[tuple[list[int], list[int]]] = []
    while olds or news:
        if not (olds and news):
            return None
        left, right = [olds.pop(0)], [news.pop(0)]
        one, other = old[left[0]], new[right[0]]
        while one != other:
            if one < other and olds:
                left.append(olds.pop(0))
                one *= old[left[-1]]
            elif other < one and news:
                right.append(news.pop(0))
                other *= new[right[-1]]
            else:
                return None
        groups.append((left, right))
    return groups


def without_dimensions(operand: ArrayShape, dropped: Sequence[int]) -> Layout:
    """The layout of an array some of whose dimensions are gone, the others lying as before."""
    kept = [d for d in range(operand.rank) if d not in dropped]
    places = {dimension: place for place, dimension in enumerate(kept)}
    return Layout(tuple(places[d] for d in operand.minor_to_major if d in places))
