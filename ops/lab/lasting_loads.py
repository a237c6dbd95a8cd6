"""Loads that change during a run: those that act for long enough to count.

A short overload leaves a backlog that is soon gone. How long it takes is that of a fluid: work arrives at a
constant rate, and is done at another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.models.reliability.server_load import ServerLoad

SHORT_SHARE = 0.1
"""Share of a run up to which a load, or a backlog that it leaves, does not count."""


@dataclass(frozen=True, slots=True)
class LoadPiece:
    """A load that acts from a day of the runs to another."""

    load: ServerLoad
    from_days: float
    to_days: float

    @property
    def days(self) -> float:
        """How long it acts."""
        return self.to_days - self.from_days


def lasting_loads(pieces: Sequence[LoadPiece], whole_days: float) -> list[LoadPiece]:
    """The pieces of one load that count, equal neighbours as one; all of them if none lasts. Of overloads,
    all count if there is a backlog for more than SHORT_SHARE of the days, and none otherwise."""
    joined = list[LoadPiece]()
    for one in pieces:
        if joined and joined[-1].load == one.load:
            joined[-1] = replace(joined[-1], to_days=one.to_days)
        else:
            joined.append(one)
    least_days = SHORT_SHARE * whole_days
    is_overloaded = overloaded_days(joined) > least_days
    found = [one for one in joined if (is_overloaded if one.load.is_overloaded else one.days > least_days)]
    return found or joined


def overloaded_days(pieces: Sequence[LoadPiece]) -> float:
    """Days with a backlog that an overload left, as of a fluid."""
    waiting, days = 0.0, 0.0
    for one in pieces:
        growth = one.load.arrivals_per_day * one.load.work_days - one.load.servers
        gone_days = math.inf if growth >= 0.0 else waiting / -growth
        if waiting > 0.0 or one.load.is_overloaded:
            days += min(one.days, gone_days)
        waiting = max(0.0, waiting + growth * one.days)
    return days
