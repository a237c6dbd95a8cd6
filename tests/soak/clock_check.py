"""Compare every message of the log with the twin's clock at the time at which it was appended.

A site that is slow lags behind the clock and catches up faster than the clock's speed later. So its own
progress tells nothing. The operations log has every change of the clock, and so what the clock showed at any
wall time.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.basics.units import US_PER_S
from tests.soak.log_facts import AppendedMessage, LogRecord

CLOCK_CHANGED = "ClockChanged"
AHEAD_S_MAX = 2.0
"""Wall time by which a message may be ahead of the clock: a process stamps it before it is appended."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """From `wall_us` on, the clock runs from `anchor_us` with `speed`, or stands there."""

    wall_us: int
    who: str
    anchor_us: int
    speed: float
    paused: bool

    def reading_us(self, wall_us: int) -> float:
        return self.anchor_us + (0 if self.paused else self.speed * (wall_us - self.wall_us))


def clock_changes(records: Iterable[LogRecord]) -> list[ClockChange]:
    """The changes on the operations log, each once, by wall time."""
    found = {}
    for record in records:
        try:
            operation = json.loads(record.value)
            if operation["type"] == CLOCK_CHANGED:
                body = operation["body"]
                found[operation["id"]] = ClockChange(
                    operation["wall_us"], operation["who"], body["anchor_us"], body["speed"], body["paused"]
                )
        except (ValueError, KeyError, TypeError):
            continue  # a record that something else wrote
    return sorted(found.values(), key=lambda change: change.wall_us)


def check_clock(
    changes: Iterable[ClockChange], messages: Iterable[AppendedMessage], speed: float
) -> Iterator[str]:
    """The clock is never set to a time that it has not reached by running, and no message is ahead of the
    furthest time that it has shown. Yields the worst of each kind, in wall time at `speed`."""
    events: list[tuple[int, ClockChange | AppendedMessage]] = [
        *((change.wall_us, change) for change in changes),
        *((message.wall_us, message) for message in messages),
    ]
    events.sort(key=lambda event: event[0])
    clock: ClockChange | None = None
    furthest_us = 0.0
    sets: list[tuple[float, str]] = []
    ahead: list[tuple[float, str]] = []
    for wall_us, event in events:
        if clock is not None:
            furthest_us = max(furthest_us, clock.reading_us(wall_us))
        at_us = event.anchor_us if isinstance(event, ClockChange) else event.at_us
        excess_s = (at_us - furthest_us) / speed / US_PER_S
        if isinstance(event, ClockChange):
            clock = event
        if excess_s > AHEAD_S_MAX:
            when = time.strftime("%H:%M:%SZ", time.gmtime(wall_us / US_PER_S))
            if isinstance(event, ClockChange):
                sets.append((excess_s, f"{event.who} set the clock forward by {excess_s:.1f} s at {when}"))
            else:
                ahead.append((excess_s, f"{event.id} is {excess_s:.1f} s ahead of the clock at {when}"))
    for found in (sets, ahead):
        if found:
            yield f"{max(found)[1]}, in wall time at × {speed:g}; {len(found)} like it"
