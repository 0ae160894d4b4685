"""Shifted QR steps that make Hessenberg matrices triangular, as LAPACK's xLAHQR takes them:
double shifts of real matrices, single ones of complex matrices.

Functions work in place on a matrix ``h`` and on ``z``, which gathers the reflections.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from compiler.hlo.evaluate.lapack import reflector

Array = np.ndarray

_EXCEPTIONAL = 10
"""Steps without convergence after which the shift is another than usual."""


def make_triangular(h: Array, z: Array, low: int, high: int) -> bool:
    """Works on the rows ``low`` to ``high``; the others are triangular. False if it gives up."""
    is_complex = h.dtype.kind == "c"
    if is_complex:
        for row in range(low + 1, high + 1):
            _make_real(h, z, row, high)
    step, block = (_single_step, 1) if is_complex else (_double_step, 2)
    end = high
    while end >= low:
        for tries in range(1, 30 * max(10, high - low + 1) + 2):
            start = _split(h, low, high, end)
            if start > low:
                h[start, start - 1] = 0
            if start > end - block:
                break
            step(h, z, start, end, tries)
        else:
            return False
        if start == end - 1:
            _standardize(h, z, start)
        end = start - 1
    return True


def _ulp(h: Array) -> float:
    return float(np.finfo(h.dtype).eps)


def _size(value: complex) -> float:
    return abs(value.real) + abs(value.imag)


def _split(h: Array, low: int, high: int, end: int) -> int:
    """The last row up to ``end`` before which the subdiagonal is negligible (Ahues & Tisseur)."""
    ulp = _ulp(h)
    tiny = float(np.finfo(h.dtype).tiny) * ((high - low + 1) / ulp)
    for k in range(end, low, -1):
        below = _size(h[k, k - 1])
        if below <= tiny:
            return k
        scale = _size(h[k - 1, k - 1]) + _size(h[k, k])
        if scale == 0:
            scale += _size(h[k - 1, k - 2]) if k - 2 >= low else 0.0
            scale += _size(h[k + 1, k]) if k + 1 <= high else 0.0
        if below <= ulp * scale:
            above, difference = _size(h[k - 1, k]), _size(h[k - 1, k - 1] - h[k, k])
            larger, smaller = max(below, above), min(below, above)
            wide, narrow = max(_size(h[k, k]), difference), min(_size(h[k, k]), difference)
            total = wide + larger
            if smaller * (larger / total) <= max(tiny, ulp * (narrow * (wide / total))):
                return k
    return low


def _reflect(h: Array, z: Array, k: int, end: int, tau: complex, vector: Array) -> None:
    """The reflection of the rows from ``k`` on, from both sides."""
    count = len(vector)
    rows, columns = h[k : k + count, k:], h[: min(k + count, end) + 1, k : k + count]
    rows -= np.conj(tau) * np.outer(vector, np.conj(vector) @ rows)
    columns -= tau * np.outer(columns @ vector, np.conj(vector))
    sides = z[:, k : k + count]
    sides -= tau * np.outer(sides @ vector, np.conj(vector))


def _double_step(h: Array, z: Array, start: int, end: int, tries: int) -> None:
    first, last = _double_shift(h, start, end, tries)
    for top in range(end - 2, start - 1, -1):
        column = _double_column(h, top, first, last)
        if top == start:
            break
        around = abs(h[top - 1, top - 1]) + abs(h[top, top]) + abs(h[top + 1, top + 1])
        beyond = abs(h[top, top - 1]) * (abs(column[1]) + abs(column[2]))
        if beyond <= _ulp(h) * abs(column[0]) * around:
            break
    for k in range(top, end):
        count = min(3, end - k + 1)
        if k > top:
            column = h[k : k + count, k - 1].copy()
        beta, tau, vector = reflector(column)
        if k > top:
            h[k, k - 1] = beta
            h[k + 1 : k + count, k - 1] = 0
        elif top > start:
            h[k, k - 1] *= 1 - tau
        _reflect(h, z, k, end, tau, vector)


def _double_shift(h: Array, start: int, end: int, tries: int) -> tuple[complex, complex]:
    """The eigenvalues of the last two rows if conjugate, else twice the one nearer to the end."""
    if tries % _EXCEPTIONAL == 0:
        at_end = tries % (2 * _EXCEPTIONAL) == 0
        row = end - 1 if at_end else start + 1
        size = abs(h[row + 1, row]) + abs(h[row, row - 1])
        corner = float(h[end, end] if at_end else h[start, start])
        block = 0.75 * size + corner, -0.4375 * size, size, 0.75 * size + corner
    else:
        a, b, c, d = map(float, h[end - 1 : end + 1, end - 1 : end + 1].ravel())
        block = a, b, c, d
    scale = sum(map(abs, block))
    if scale == 0:
        return 0, 0
    h11, h12, h21, h22 = (value / scale for value in block)
    middle = (h11 + h22) / 2
    determinant = (h11 - middle) * (h22 - middle) - h12 * h21
    root = math.sqrt(abs(determinant))
    if determinant >= 0:
        shift = complex(middle, root) * scale
        return shift, shift.conjugate()
    nearer = min(middle + root, middle - root, key=lambda value: abs(value - h22)) * scale
    return nearer, nearer


def _double_column(h: Array, k: int, first: complex, last: complex) -> Array:
    """A multiple of the first column of (h - first)(h - last), from row ``k`` on."""
    scale = abs(h[k, k] - last.real) + abs(last.imag) + abs(h[k + 1, k])
    below = h[k + 1, k] / scale
    column = np.array(
        [
            below * h[k, k + 1]
            + (h[k, k] - first.real) * ((h[k, k] - last.real) / scale)
            - first.imag * (last.imag / scale),
            below * (h[k, k] + h[k + 1, k + 1] - first.real - last.real),
            below * h[k + 2, k + 1],
        ]
    )
    return np.asarray(column / np.abs(column).sum())


def _standardize(h: Array, z: Array, k: int) -> None:
    """Turns the block of rows ``k`` and ``k + 1`` triangular, or its diagonal equal (xLANV2)."""
    a, b, c, d = map(float, h[k : k + 2, k : k + 2].ravel())
    block, cosine, sine = _standard(a, b, c, d, _ulp(h))
    h[k : k + 2, k : k + 2] = block
    turn = np.array([[cosine, sine], [-sine, cosine]])
    h[k : k + 2, k + 2 :] = turn @ h[k : k + 2, k + 2 :]
    h[:k, k : k + 2] = h[:k, k : k + 2] @ turn.T
    z[:, k : k + 2] = z[:, k : k + 2] @ turn.T


def _standard(
    a: float, b: float, c: float, d: float, ulp: float
) -> tuple[list[list[float]], float, float]:
    """The block after its rotation, and the rotation's cosine and sine."""
    if c == 0:
        return [[a, b], [0, d]], 1, 0
    if b == 0:
        return [[d, -c], [0, a]], 0, 1
    if a == d and (b > 0) != (c > 0):
        return [[a, b], [c, d]], 1, 0
    half = 0.5 * (a - d)
    larger = max(abs(b), abs(c))
    smaller = math.copysign(min(abs(b), abs(c)), b) * math.copysign(1, c)
    scale = max(abs(half), larger)
    discriminant = (half / scale) * half + (larger / scale) * smaller
    if discriminant >= 4 * ulp:
        root = half + math.copysign(math.sqrt(scale) * math.sqrt(discriminant), half)
        length = math.hypot(c, root)
        return [[d + root, b - c], [0, d - (larger / root) * smaller]], root / length, c / length
    return _equal_diagonal(a, b, c, d)


def _equal_diagonal(
    a: float, b: float, c: float, d: float
) -> tuple[list[list[float]], float, float]:
    length = math.hypot(b + c, a - d)
    cosine = math.sqrt(0.5 * (1 + abs(b + c) / length))
    sine = -(0.5 * (a - d) / (length * cosine)) * math.copysign(1, b + c)
    aa, bb = a * cosine + b * sine, b * cosine - a * sine
    cc, dd = c * cosine + d * sine, d * cosine - c * sine
    a, b = aa * cosine + cc * sine, bb * cosine + dd * sine
    c, d = cc * cosine - aa * sine, dd * cosine - bb * sine
    middle = 0.5 * (a + d)
    if c == 0:
        return [[middle, b], [0, middle]], cosine, sine
    if b == 0:
        return [[middle, -c], [0, middle]], -sine, cosine
    if (b > 0) != (c > 0):
        return [[middle, b], [c, middle]], cosine, sine
    high, low = math.sqrt(abs(b)), math.sqrt(abs(c))
    apart = math.copysign(high * low, c)
    inverse = 1 / math.sqrt(abs(b + c))
    more, less = high * inverse, low * inverse
    block = [[middle + apart, b - c], [0, middle - apart]]
    return block, cosine * more - sine * less, cosine * less + sine * more


def _single_step(h: Array, z: Array, start: int, end: int, tries: int) -> None:
    shift = _single_shift(h, start, end, tries)
    for top in range(end - 1, start - 1, -1):
        first, below = h[top, top] - shift, h[top + 1, top].real
        scale = _size(first) + abs(below)
        column = np.array([first / scale, below / scale])
        if top == start:
            break
        around = _size(column[0]) * (_size(h[top, top]) + _size(h[top + 1, top + 1]))
        if abs(h[top, top - 1].real) * abs(column[1]) <= _ulp(h) * around:
            break
    for k in range(top, end):
        if k > top:
            column = h[k : k + 2, k - 1].copy()
        beta, tau, vector = reflector(column)
        if k > top:
            h[k, k - 1], h[k + 1, k - 1] = beta, 0
        _reflect(h, z, k, end, tau, vector)
        if k == top and top > start:
            _turn_from(h, z, top, end, (1 - tau) / abs(1 - tau))
    corner = h[end, end - 1]
    if corner.imag != 0:
        h[end, end - 1] = abs(corner)
        _turn(h, z, end, np.conj(corner / abs(corner)))


def _turn_from(h: Array, z: Array, top: int, end: int, factor: complex) -> None:
    """Keeps the subdiagonal real after a reflection that began within the matrix."""
    h[top + 1, top] *= np.conj(factor)
    if top + 2 <= end:
        h[top + 2, top + 1] *= factor
    for row in range(top, end + 1):
        if row != top + 1:
            _turn(h, z, row, factor)


def _turn(h: Array, z: Array, row: int, factor: complex) -> None:
    """Multiplies a row right of the diagonal, and its column above it by the conjugate."""
    h[row, row + 1 :] *= factor
    h[:row, row] *= np.conj(factor)
    z[:, row] *= np.conj(factor)


def _make_real(h: Array, z: Array, row: int, high: int) -> None:
    below = h[row, row - 1]
    if below.imag == 0:
        return
    factor = np.conj(below / abs(below))
    h[row, row - 1] = abs(below)
    _turn(h, z, row, factor)
    if row < high:
        h[row + 1, row] *= np.conj(factor)


def _single_shift(h: Array, start: int, end: int, tries: int) -> complex:
    """The eigenvalue of the last two rows that is nearer to the last (Wilkinson's shift)."""
    if tries % (2 * _EXCEPTIONAL) == 0:
        return complex(0.75 * abs(h[end, end - 1].real) + h[end, end])
    if tries % _EXCEPTIONAL == 0:
        return complex(0.75 * abs(h[start + 1, start].real) + h[start, start])
    last = complex(h[end, end])
    product = cmath.sqrt(h[end - 1, end]) * cmath.sqrt(h[end, end - 1])
    if product == 0:
        return last
    half = 0.5 * (complex(h[end - 1, end - 1]) - last)
    scale = max(_size(product), _size(half))
    root = scale * cmath.sqrt((half / scale) ** 2 + (product / scale) ** 2)
    if half.real * root.real + half.imag * root.imag < 0:
        root = -root
    return last - product * (product / (half + root))
