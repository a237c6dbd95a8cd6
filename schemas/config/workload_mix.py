"""Mixes of slices as text: `4x4x4=14,4x4x8t=16`, a share for each shape, with `t` for a twisted one."""

import re
from functools import lru_cache

from schemas.limits import QUOTED_MAX
from schemas.names import Shape

SHAPES_MAX = 1_000
"""Maximum number of shapes of a mix."""
MIX_ALLOWED = (
    "shape=share with a share above 0, as 4x4x4=14 or, twisted, 4x4x8t=16; sides have up to 3 digits, shares "
    "up to 9 before and after the point"
)
_SHARE = re.compile(r"([0-9]{1,3})x([0-9]{1,3})x([0-9]{1,3})(t?)=([0-9]{1,9}(?:\.[0-9]{1,9})?)")


@lru_cache(maxsize=64)
def parse_mix(text: str) -> tuple[tuple[Shape, bool, float], ...]:
    """Parse (shape, twisted, share) in the order of the text; shares are relative to their sum.

    Raises ValueError with one sentence about the error. The pod determines which shapes are legal.
    """
    found: dict[tuple[Shape, bool], float] = {}
    parts = text.split(",") if text else []
    if len(parts) > SHAPES_MAX:
        raise ValueError(f"{len(parts):,} shapes are not allowed; must be at most {SHAPES_MAX:,}")
    for part in parts:
        match = _SHARE.fullmatch(part.strip())
        if match is None or float(match[5]) == 0:
            raise ValueError(f"{part[:QUOTED_MAX]!r} is not allowed; must be {MIX_ALLOWED}")
        kind = (int(match[1]), int(match[2]), int(match[3])), bool(match[4])
        if kind in found:
            raise ValueError(f"{part.partition('=')[0]} is given twice; leave one of them out")
        found[kind] = float(match[5])
    return tuple((shape, twisted, share) for (shape, twisted), share in found.items())
