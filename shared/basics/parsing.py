"""Syntax and bounds of durations, shapes and owners, shared by the command line and the HTTP API. Every
command imports this module, so it imports nothing slow."""

import re

from schemas.limits import DURATION_S_MAX, OWNER_PATTERN

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

# Ten digits are more than a century of seconds, so longer numbers are rejected without arithmetic.
_DURATION = re.compile(r"(?:[0-9]{1,10}[smhd])+")
_PADDED = re.compile(r"0[0-9]")
_PART = re.compile(r"([0-9]+)([smhd])")
_SHAPE = re.compile(r"(\d{1,4})[xX×](\d{1,4})[xX×](\d{1,4})", re.ASCII)
_OWNER = re.compile(OWNER_PATTERN)


def parse_duration_s(text: str) -> int | None:
    """`30s`, `15m`, `2h`, `1d12h` in seconds; None if it is not a duration, is over a century, or has a zero
    in front, as `010s` has. Later parts may have one, as on a clock: `1h05m`."""
    if _DURATION.fullmatch(text) is None or _PADDED.match(text):
        return None
    total_s = sum(int(number) * UNITS_S[unit] for number, unit in _PART.findall(text))
    return total_s if total_s <= DURATION_S_MAX else None


def is_padded_duration(text: str) -> bool:
    """Whether a text would be a duration without the zeros in front."""
    return _PADDED.match(text) is not None and _DURATION.fullmatch(text) is not None


def parse_sides(text: str) -> tuple[int, int, int] | None:
    """The three sides of `4x4x8` or `4×4×8`, legal or not; None if it is not three numbers."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def is_owner_name(text: str) -> bool:
    """Whether the text has the form of an owner's name. The fabric knows which owners exist."""
    return _OWNER.fullmatch(text) is not None
