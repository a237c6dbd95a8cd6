"""Quotas as text: `team-1=1024,team-2=25%`, chips or a share of the pod for each owner."""

import re
from functools import lru_cache

from schemas.limits import OWNER_PATTERN, OWNERS_MAX, QUOTED_MAX

CHIPS_PER_CUBE = 4**3
QUOTAS_ALLOWED = "owner=chips or owner=share%, as team-1=25%"
_QUOTA = re.compile(rf"({OWNER_PATTERN})=([0-9]{{1,6}})(%?)")


@lru_cache(maxsize=64)
def parse_quotas(text: str, cubes: int) -> dict[str, int]:
    """Parse owner → chips, in a pod of `cubes` cubes.

    Raises ValueError with one sentence about the error and the allowed form.
    """
    found: dict[str, int] = {}
    chips = cubes * CHIPS_PER_CUBE
    parts = text.split(",") if text else []
    if len(parts) > OWNERS_MAX:
        raise ValueError(f"{len(parts):,} owners are not allowed; must be at most {OWNERS_MAX:,}")
    for part in parts:
        match = _QUOTA.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part[:QUOTED_MAX]!r} is not allowed; must be {QUOTAS_ALLOWED}")
        owner, number, percent = match.groups()
        most = 100 if percent else chips
        if int(number) > most:
            raise ValueError(f"{part!r} is more than the pod has; must be at most {owner}={most}{percent}")
        if owner in found:
            raise ValueError(f"{owner} is given twice; leave one of them out")
        found[owner] = chips * int(number) // 100 if percent else int(number)
    if sum(found.values()) > chips:
        raise ValueError(
            f"{sum(found.values()):,} chips in all are more than the pod has; must be at most {chips:,}"
        )
    return found
