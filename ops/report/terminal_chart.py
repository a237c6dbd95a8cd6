"""Line charts in the terminal, drawn with Braille dots: two columns and four rows per character."""

from collections.abc import Callable, Sequence

BLANK = 0x2800
DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of a dot in the pattern, by row from the top and column."""
CROSS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""The dots of the mark of a point, from its middle."""
TICKS = 5
"""Number of labelled lines on the vertical axis, without the one at the top."""


def braille_chart(
    points: Sequence[tuple[float, float]],
    width: int,
    height: int,
    label: Callable[[float], str],
    *,
    marks: bool = False,
) -> list[str]:
    """Draw points in order of x, joined by a line. Return lines of text: an axis with labels at the left,
    then `width` columns and `height` rows. A flat line runs through the middle. With `marks`, each point is a
    cross, so that samples differ from the line between them."""
    left, right = points[0][0], points[-1][0]
    low, high = (fold(y for _, y in points) for fold in (min, max))
    if high == low:
        margin = abs(low) / 100.0 or 1.0
        low, high = low - margin, high + margin
    columns, rows = 2 * width - 1, 4 * height - 1
    dots = [
        (
            round((x - left) / (right - left) * columns) if right > left else columns // 2,
            round((high - y) / (high - low) * rows),
        )
        for x, y in points
    ]
    cells = [[0] * width for _ in range(height)]
    for before, after in zip([dots[0], *dots], dots, strict=False):
        for column, row in _line(before, after):
            cells[row // 4][column // 2] |= DOT_BITS[row % 4][column % 2]
    for column, row in [(x + right, y + down) for x, y in dots for right, down in CROSS] if marks else ():
        if 0 <= column <= columns and 0 <= row <= rows:
            cells[row // 4][column // 2] |= DOT_BITS[row % 4][column % 2]
    every = max(1, (height - 1) // TICKS)
    labels = [
        label(high - (high - low) * row / (height - 1)) if row % every == 0 or row == height - 1 else ""
        for row in range(height)
    ]
    wide = max(map(len, labels))
    drawn = ["".join(chr(BLANK + cell) if cell else " " for cell in line).rstrip() for line in cells]
    return [f"{text:>{wide}} {'┤' if text else '│'}{line}" for text, line in zip(labels, drawn, strict=True)]


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Return all dots from one point to another."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (
            round(start[0] + (end[0] - start[0]) * step / steps),
            round(start[1] + (end[1] - start[1]) * step / steps),
        )
        for step in range(steps + 1)
    ]
