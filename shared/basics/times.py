"""Simulated times and spans as people like to read them."""

from shared.basics.units import US_PER_S


def span(us: int | float | None) -> str:
    """A span of simulated time in its two largest units: `2h3m`."""
    if us is None:
        return "-"
    seconds = int(us // US_PER_S)
    for unit, size, small, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}{rest}{small}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"


def moment(us: int | None) -> str:
    """A moment of a site's simulated time: `3d02:15:04`."""
    if us is None:
        return "-"
    minutes, second = divmod(us // US_PER_S, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}d{hours % 24:02d}:{minute:02d}:{second:02d}"


def moment_ms(us: int) -> str:
    """The same to the millisecond, for messages: `3d02:15:04.123`."""
    return f"{moment(us)}.{us % US_PER_S // 1000:03d}"
