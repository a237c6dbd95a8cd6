"""One future of a site: it is driven on from a snapshot, asked for what somebody would ask, and looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.common.asks import Ask, living_in, requests_of
from ops.forecast.figures import Figures, Seen, counted, figures
from ops.twin.notable import NOTABLE
from schemas.registry import decode
from services.failures.state import FailuresState
from services.fleet import services_of
from services.gateway.telling import line
from shared.engine.roots import operator_source
from shared.engine.site import Site
from shared.models.naming import named_fields
from shared.models.plant import Plant
from shared.runtimes.lab import Lab, Sink, Stop
from shared.storage.snapshots.site_snapshot import SiteSnapshot


@dataclass(frozen=True, slots=True)
class Happened:
    """A message, in words."""

    at_us: int
    fabric: str
    type: str
    says: str


@dataclass(frozen=True, slots=True)
class Future:
    """What came of it: the figures of `FIGURES` by name, None where there is nothing to tell one by; what was
    `refused` of what was asked, in words; and, where somebody wanted to see it, what is notable of what
    `happened`."""

    figures: Figures
    refused: tuple[str, ...]
    messages: int
    log_sha256: str
    happened: tuple[Happened, ...] = ()


def future(
    held: SiteSnapshot,
    from_us: int,
    for_us: int,
    asks: Sequence[Ask] = (),
    *,
    salt: int | None = None,
    keep: bool = False,
) -> Future:
    """Drive a copy of a site on from a moment for so long; up to the moment it lives what the twin does. With
    a salt all that is random in its world is drawn anew from the moment on; without one it lives what the
    twin will live if nobody asks for anything else."""
    site = held.restored(services_of)
    Lab.going_on(site).run(from_us - 1)
    seen = Seen(site, keep=keep)
    living = living_in(site)
    until_us = from_us + for_us
    before = counted(site, living, from_us)
    lab = driven(site, from_us, until_us, asks, salt, seen.take)
    after = counted(site, living, until_us)
    found = figures(living, before, after, seen, until_us)
    return Future(found, tuple(seen.refused), lab.messages, lab.log_sha256, _happened(site, seen.lines))


def driven(
    site: Site,
    from_us: int,
    until_us: int,
    asks: Sequence[Ask],
    salt: int | None,
    sink: Sink,
    stop: Stop | None = None,
) -> Lab:
    """Drive a site on up to a moment, or until it shall stop, with what is asked of it from a moment on."""
    lab = Lab.going_on(site, sink)
    lab.run(until_us, requests_of(site, from_us, asks, salt), stop)
    return lab


def plant_in(site: Site, fabric: str) -> Plant:
    """What a fabric of a site is made of."""
    state = site.instance(fabric, "failures").state
    if not isinstance(state, FailuresState):
        raise TypeError(f"{fabric} has no failures")
    return state.plant


def _happened(site: Site, lines: Sequence[bytes]) -> tuple[Happened, ...]:
    found = []
    for message in map(decode, lines):
        if message.type in NOTABLE or message.source == operator_source(site.name):
            body, plant = message.body, plant_in(site, message.fabric)
            fields = named_fields(type(body), body.__dict__, plant, message.fabric)
            says = line(body.__dict__, fields)
            found.append(Happened(message.at_us, message.fabric, message.type, says))
    return tuple(found)
