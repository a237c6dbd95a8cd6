"""When something that happened had become inevitable: futures from several moments before it, each with other
draws, and how many of them come to the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ops.common.asks import Ask
from ops.common.workers import Workers
from ops.forecast.future import driven, plant_in
from ops.lab.log_lines import type_in
from schemas.registry import decode
from services.fleet import services_of
from shared.basics.units import US_PER_MIN
from shared.engine.site import Site
from shared.models.naming import about, named_fields
from shared.models.statistics.means import Interval
from shared.models.statistics.shares import wilson_share
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes

LAST_US = US_PER_MIN
"""The last moment that is looked at is so long before what happened."""
SURE = 0.5
"""What is inevitable happens more often than not."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: a message of this type about this thing of a fabric."""

    at_us: int
    fabric: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class Start:
    """A moment from which it is looked at, with what people asked for from then until it happened."""

    before_us: int
    held: bytes
    from_us: int
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """In how many of so many `futures` from a moment, `before_us` before it, the `same` happened by its time
    and a `within` more, and in how many something of its type (`any`), with the shares."""

    before_us: int
    futures: int
    same: int
    any: int
    same_share: Interval
    any_share: Interval


def moments_before(back_us: int, count: int) -> list[int]:
    """So many spans before what happened, from the longest to a minute, each the same times shorter."""
    if count == 1:
        return [back_us]
    shrinks = (LAST_US / back_us) ** (1 / (count - 1))
    spans = [
        max(LAST_US, round(back_us * shrinks**place / US_PER_MIN) * US_PER_MIN) for place in range(count)
    ]
    return list(dict.fromkeys([back_us, *spans[1:]]))


def tried(
    event: Event, starts: Sequence[Start], futures: int, within_us: int, workers: Workers
) -> list[Tried]:
    """From each start, in their order."""
    cases = [(start, salt) for start in starts for salt in range(1, futures + 1)]
    found = list(workers.each(partial(_happens, event, event.at_us + within_us), cases))
    return [
        _tried(start, found[place * futures : (place + 1) * futures]) for place, start in enumerate(starts)
    ]


def _tried(start: Start, found: Sequence[tuple[bool, bool]]) -> Tried:
    same, some = sum(one for one, _ in found), sum(one for _, one in found)
    times = len(found)
    return Tried(start.before_us, times, same, some, wilson_share(same, times), wilson_share(some, times))


def since(rows: Sequence[Tried]) -> Tried | None:
    """The earliest moment from which on all that were looked at come to the same more often than not, surely;
    None if there is none."""
    found = None
    for row in reversed(rows):
        if row.same_share.low <= SURE:
            break
        found = row
    return found


def _happens(event: Event, until_us: int, case: tuple[Start, int]) -> tuple[bool, bool]:
    start, salt = case
    return happens(event, start, until_us, salt)


def happens(event: Event, start: Start, until_us: int, salt: int) -> tuple[bool, bool]:
    """Whether the same happens in one future by then, and whether something of its type does."""
    held: SiteSnapshot = from_bytes(start.held)
    site = held.restored(services_of)
    watch = _Watch(site, event)
    driven(site, start.from_us, until_us, start.asks, salt, watch.take, watch.is_over)
    return watch.same, watch.any


class _Watch:
    """Reads a future's log for what happened once."""

    def __init__(self, site: Site, event: Event) -> None:
        self.same = False
        self.any = False
        self._event = event
        self._plant = plant_in(site, event.fabric)
        self._type = event.type.encode()

    def is_over(self) -> bool:
        return self.same

    def take(self, lines: bytes) -> None:
        for line in lines.splitlines():
            if type_in(line) == self._type:
                self._look(line)

    def _look(self, line: bytes) -> None:
        message = decode(line)
        if message.fabric == self._event.fabric:
            self.any = True
            fields = named_fields(type(message.body), message.body.__dict__, self._plant, message.fabric)
            self.same = self.same or self._event.about in about(fields)
