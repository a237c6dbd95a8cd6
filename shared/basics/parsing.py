"""Syntax and bounds of durations, shapes and owners, shared by the command line and the HTTP API. Every
command imports this module, so it imports nothing slow."""

import re

from schemas.limits import DURATION_S_MAX, OWNER_PATTERN

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

# Ten digits are more than a century of seconds, so longer numbers are rejected without arithmetic.
_DURATION = re.compile(r"(?:[0-9]{1,10}[smhd])+")
_PART = re.compile(r"([0-9]+)([smhd])")
_SHAPE = re.compile(r"(\d{1,4})[xX×](\d{1,4})[xX×](\d{1,4})", re.ASCII)
_OWNER = re.compile(OWNER_PATTERN)


def parse_duration_s(text: str) -> int | None:
    """`30s`, `15m`, `2h`, `1d12h` in seconds; None if it is not a duration, or is over a century."""
    if _DURATION.fullmatch(text) is None:
        return None
    total_s = sum(int(number) * UNITS_S[unit] for number, unit in _PART.findall(text))
    return total_s if total_s <= DURATION_S_MAX else None


def parse_sides(text: str) -> tuple[int, int, int] | None:
    """The three sides of `4x4x8` or `4×4×8`, legal or not; None if it is not three numbers."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def is_owner_name(text: str) -> bool:
    """Whether the text has the form of an owner's name. The fabric knows which owners exist."""
    return _OWNER.fullmatch(text) is not None
