"""Whether the simulated time of fabrics advances, by the Ticks of their services."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FabricProgress:
    """The number of Ticks that the services of a fabric have taken, its site, and whether one of them is due
    by the furthest time of the site."""

    ticks: int
    site: int
    is_due: bool


def standing(
    before: Mapping[str, FabricProgress], now: Mapping[str, FabricProgress], further: int
) -> list[str]:
    """Fabrics whose time has not advanced by this number of Ticks, of their own or, if nothing of them is
    due, of their site. A fabric that is new has had its first."""
    gained: dict[int, int] = {}
    own = {name: one.ticks - before[name].ticks if name in before else further for name, one in now.items()}
    for name, one in now.items():
        gained[one.site] = gained.get(one.site, 0) + own[name]
    return [
        name
        for name, one in now.items()
        if own[name] < further and (one.is_due or gained[one.site] < further)
    ]
