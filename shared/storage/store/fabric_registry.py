"""Which fabrics live in a partition of the log, as its store knows: noted when a fabric is commissioned or
retires, in the same transaction as what its services made of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from shared.engine.roots import ServiceProgress, earliest_due
from shared.storage.store.state_store import FabricPlace

REGISTRATION_PREFIX = "fabric:"


class NamedService(Protocol):
    """As much of a service as matters to those who wait for it."""

    @property
    def name(self) -> str: ...


ServiceNamesOf = Callable[[str], Sequence[NamedService]]
"""Kind of fabric → its services, of which only the names matter here."""


@dataclass(frozen=True, slots=True)
class FabricRegistration:
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
    due: ServiceProgress | None
    ticked_us: int = 0


def registration_from(
    message: Envelope, registered: Mapping[str, FabricRegistration]
) -> FabricRegistration | None:
    """What a fabric becomes with a message that begins or ends it, None with any other; `living` are those
    of before."""
    body = message.body
    if type(body) is FabricCommissioned:
        return FabricRegistration(body.site, body.kind)
    if type(body) is not FabricRetired:
        return None
    known = registered.get(message.fabric)
    return replace(known, retired_us=message.at_us) if known is not None and not known.is_retired else None


def registration_value(fabric: str, registration: FabricRegistration) -> dict[str, str]:
    """The value by which a partition knows a fabric."""
    return {f"{REGISTRATION_PREFIX}{fabric}": registration.text}


def fabric_place(partition: int, registration: FabricRegistration) -> FabricPlace:
    """Where a resident of a partition lives, as all of the twin may know."""
    return FabricPlace(partition, registration.site, registration.kind, registration.retired_us)


def registration_values(values: Mapping[str, str]) -> dict[str, str]:
    """The values of a partition by which it knows its fabrics."""
    return {name: text for name, text in values.items() if name.startswith(REGISTRATION_PREFIX)}


def registered_fabrics(values: Mapping[str, str]) -> dict[str, FabricRegistration]:
    """Fabric → resident, from the values of a partition."""
    found = {}
    for name, text in registration_values(values).items():
        site, kind, *retired = text.split(" ")
        found[name.removeprefix(REGISTRATION_PREFIX)] = FabricRegistration(site, kind, *map(int, retired))
    return found


def services_in_partition(
    registered: Mapping[str, FabricRegistration], services_of: ServiceNamesOf
) -> tuple[str, ...]:
    """The services of all kinds that live here, in order: a partition is quiet when they have read all."""
    kinds = {registration.kind for registration in registered.values()}
    return tuple(sorted({service.name for kind in kinds for service in services_of(kind)}))


def site_clocks(
    registered: Mapping[str, FabricRegistration], progress: Mapping[tuple[str, str], ServiceProgress]
) -> dict[str, SiteClock]:
    """Site → how far it has come, in order of name."""
    rows: dict[str, list[ServiceProgress]] = {registration.site: [] for registration in registered.values()}
    for row in progress.values():
        registration = registered.get(row.fabric)
        if registration is not None:
            rows[registration.site].append(row)
    return {
        site: SiteClock(
            max((row.now_us for row in found), default=0),
            earliest_due(sorted(found, key=lambda row: row.order)),
            max((row.ticked_us for row in found), default=0),
        )
        for site, found in sorted(rows.items())
    }
