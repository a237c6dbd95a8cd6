"""One future of a site: it is driven on from a snapshot, asked for what somebody would ask, and looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.forecast.forecast_measures import LogObserver, MeasureValues, count_totals, measure_between
from ops.requests.timed_requests import TimedRequest, lab_requests, live_fabrics
from ops.twin.notable_events import NOTABLE
from schemas.registry import decode
from services.failures.state import FailuresState
from services.fleet import services_of
from services.gateway.text.messages import message_line
from shared.engine.roots import operator_source
from shared.engine.site import Site
from shared.models.plant.naming import mentions_by_field
from shared.models.plant.plant import Plant
from shared.runtimes.lab import Lab, Sink, Stop
from shared.storage.snapshots.site_snapshot import SiteSnapshot


@dataclass(frozen=True, slots=True)
class NotableMessage:
    """A message, in words."""

    at_us: int
    fabric: str
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class FutureRun:
    """What came of it: the figures of `FIGURES` by name, None where there is nothing to tell one by; what was
    `refused` of what was asked, in words; and, where somebody wanted to see it, what is notable of what
    `happened`."""

    figures: MeasureValues
    refused: tuple[str, ...]
    messages: int
    log_sha256: str
    notable: tuple[NotableMessage, ...] = ()


def run_future(
    snapshot: SiteSnapshot,
    from_us: int,
    for_us: int,
    requests: Sequence[TimedRequest] = (),
    *,
    salt: int | None = None,
    keep: bool = False,
) -> FutureRun:
    """Drive a copy of a site on from a moment for so long; up to the moment it lives what the twin does. With
    a salt all that is random in its world is drawn anew from the moment on; without one it lives what the
    twin will live if nobody asks for anything else."""
    site = snapshot.restored(services_of)
    Lab.resume(site).run(from_us - 1)
    seen = LogObserver(site, keep=keep)
    living = live_fabrics(site)
    until_us = from_us + for_us
    before = count_totals(site, living, from_us)
    lab = drive_site(site, from_us, until_us, requests, salt, seen.take)
    after = count_totals(site, living, until_us)
    found = measure_between(living, before, after, seen, until_us)
    return FutureRun(
        found, tuple(seen.refused), lab.messages, lab.log_sha256, _notable_messages(site, seen.lines)
    )


def drive_site(
    site: Site,
    from_us: int,
    until_us: int,
    requests: Sequence[TimedRequest],
    salt: int | None,
    sink: Sink,
    stop: Stop | None = None,
) -> Lab:
    """Drive a site on up to a moment, or until it shall stop, with what is asked of it from a moment on."""
    lab = Lab.resume(site, sink)
    lab.run(until_us, lab_requests(site, from_us, requests, salt), stop)
    return lab


def plant_of_fabric(site: Site, fabric: str) -> Plant:
    """What a fabric of a site is made of."""
    state = site.instance(fabric, "failures").state
    if not isinstance(state, FailuresState):
        raise TypeError(f"{fabric} has no failures")
    return state.plant


def _notable_messages(site: Site, lines: Sequence[bytes]) -> tuple[NotableMessage, ...]:
    found = []
    for message in map(decode, lines):
        if message.type in NOTABLE or message.source == operator_source(site.name):
            body, plant = message.body, plant_of_fabric(site, message.fabric)
            fields = mentions_by_field(type(body), body.__dict__, plant, message.fabric)
            text = message_line(body.__dict__, fields)
            found.append(NotableMessage(message.at_us, message.fabric, message.type, text))
    return tuple(found)
