"""Simulated times and durations as text."""

import re

from shared.basics.units import US_PER_HOUR, US_PER_S


def format_duration(us: int | float | None) -> str:
    """A duration in its two largest units: `2h3m`."""
    if us is None:
        return "-"
    seconds = int(us // US_PER_S)
    for unit, size, small, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}{rest}{small}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"


def format_gap(us: int) -> str:
    """The distance between two times: `2h3m`, `4s`, `250ms` or `7us`; its sign is ignored."""
    size_us = abs(us)
    if size_us >= US_PER_S:
        return format_duration(size_us)
    return f"{size_us // 1000}ms" if size_us >= 1000 else f"{size_us}us"


def format_chip_hours(chip_us: float) -> str:
    """Chip-microseconds in chip-hours: `1,386.2`."""
    return f"{chip_us / US_PER_HOUR:,.1f}"


def format_time(us: int | None) -> str:
    """A simulated time of a site: `3d02:15:04`."""
    if us is None:
        return "-"
    minutes, second = divmod(us // US_PER_S, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}d{hours % 24:02d}:{minute:02d}:{second:02d}"


def format_time_ms(us: int) -> str:
    """The same to the millisecond, for messages: `3d02:15:04.123`."""
    return f"{format_time(us)}.{us % US_PER_S // 1000:03d}"


_TIME = re.compile(
    r"(0|[1-9][0-9]{0,4})d([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?"
)


def parse_time_us(text: str) -> tuple[int, int] | None:
    """(first, last) microsecond of a simulated time: `3d02:15`, `3d02:15:04` or `3d02:15:04.123`; None if the
    text is not valid."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds, rest = match.groups()
    first = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 * US_PER_S
    if seconds is None:
        return first, first + 60 * US_PER_S - 1
    first += int(seconds) * US_PER_S
    if rest is None:
        return first, first + US_PER_S - 1
    unit = 10 ** (6 - len(rest))
    first += int(rest) * unit
    return first, first + unit - 1
