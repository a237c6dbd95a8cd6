"""Which fabrics live in a partition of the log, as its store knows: noted when a fabric is commissioned or
retires, in the same transaction as what its services made of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned, FabricRetired
from shared.engine.roots import ServiceClock, earliest
from shared.storage.store import FabricPlace

PREFIX = "fabric:"


class Named(Protocol):
    """As much of a service as matters to those who wait for it."""

    @property
    def name(self) -> str: ...


NamesOf = Callable[[str], Sequence[Named]]
"""Kind of fabric → its services, of which only the names matter here."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A fabric of a partition: the site whose log it shares, its kind, and the simulated time at which it
    retired, None while it lives."""

    site: str
    kind: str
    retired_us: int | None = None

    @property
    def is_retired(self) -> bool:
        return self.retired_us is not None

    @property
    def text(self) -> str:
        """The same as stores write it down."""
        return " ".join([self.site, self.kind, *([] if self.retired_us is None else [str(self.retired_us)])])


@dataclass(frozen=True, slots=True)
class SiteClock:
    """How far a site has come: its simulated time, whose Tick is due first, and when its last one was."""

    now_us: int
    due: ServiceClock | None
    ticked_us: int = 0


def resident_of(message: Envelope, living: Mapping[str, Resident]) -> Resident | None:
    """What a fabric becomes with a message that begins or ends it, None with any other; `living` are those
    of before."""
    body = message.body
    if type(body) is FabricCommissioned:
        return Resident(body.site, body.kind)
    if type(body) is not FabricRetired:
        return None
    lives = living.get(message.fabric)
    return replace(lives, retired_us=message.at_us) if lives is not None and not lives.is_retired else None


def note_of(fabric: str, resident: Resident) -> dict[str, str]:
    """The value by which a partition knows a fabric."""
    return {f"{PREFIX}{fabric}": resident.text}


def place_of(partition: int, resident: Resident) -> FabricPlace:
    """Where a resident of a partition lives, as all of the twin may know."""
    return FabricPlace(partition, resident.site, resident.kind, resident.retired_us)


def notes(values: Mapping[str, str]) -> dict[str, str]:
    """The values of a partition by which it knows its fabrics."""
    return {name: text for name, text in values.items() if name.startswith(PREFIX)}


def residents(values: Mapping[str, str]) -> dict[str, Resident]:
    """Fabric → resident, from the values of a partition."""
    found = {}
    for name, text in notes(values).items():
        site, kind, *retired = text.split(" ")
        found[name.removeprefix(PREFIX)] = Resident(site, kind, *map(int, retired))
    return found


def awaited(living: Mapping[str, Resident], services_of: NamesOf) -> tuple[str, ...]:
    """The services of all kinds that live here, in order: a partition is quiet when they have read all."""
    kinds = {resident.kind for resident in living.values()}
    return tuple(sorted({service.name for kind in kinds for service in services_of(kind)}))


def site_clocks(
    living: Mapping[str, Resident], progress: Mapping[tuple[str, str], ServiceClock]
) -> dict[str, SiteClock]:
    """Site → how far it has come, in order of name."""
    rows: dict[str, list[ServiceClock]] = {resident.site: [] for resident in living.values()}
    for row in progress.values():
        resident = living.get(row.fabric)
        if resident is not None:
            rows[resident.site].append(row)
    return {
        site: SiteClock(
            max((row.now_us for row in found), default=0),
            earliest(sorted(found, key=lambda row: row.order)),
            max((row.ticked_us for row in found), default=0),
        )
        for site, found in sorted(rows.items())
    }
