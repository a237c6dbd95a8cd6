"""The fabrics in a partition of the log, as its store records them.

A fabric is recorded when it is commissioned or retires, in the same transaction as its services' changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from shared.basics.errors import StateRefused
from shared.engine.message_order import ServiceProgress, earliest_due
from shared.storage.store.state_store import FabricPlace

REGISTRATION_PREFIX = "fabric:"


class NamedService(Protocol):
    """A service, used here by its name only."""

    @property
    def name(self) -> str: ...


ServiceNamesOf = Callable[[str], Sequence[NamedService]]
"""Kind of fabric → its services; only their names are used."""


@dataclass(frozen=True, slots=True)
class FabricRegistration:
    """A fabric of a partition: the site whose log it shares, its kind, and the simulated time at which it
    retired (None while active)."""

    site: str
    kind: str
    retired_us: int | None = None

    @property
    def is_retired(self) -> bool:
        return self.retired_us is not None

    @property
    def text(self) -> str:
        """The encoding in a store."""
        return " ".join([self.site, self.kind, *([] if self.retired_us is None else [str(self.retired_us)])])


@dataclass(frozen=True, slots=True)
class SiteClock:
    """The progress of a site: its simulated time, the next due Tick, and the time of the last one."""

    now_us: int
    due: ServiceProgress | None
    ticked_us: int = 0


def registration_from(
    message: Envelope, registered: Mapping[str, FabricRegistration]
) -> FabricRegistration | None:
    """A fabric's registration after a message that commissions or retires it; None for any other message.
    `registered` has those before."""
    body = message.body
    if type(body) is FabricCommissioned:
        return FabricRegistration(body.site, body.kind)
    if type(body) is not FabricRetired:
        return None
    known = registered.get(message.fabric)
    return replace(known, retired_us=message.at_us) if known is not None and not known.is_retired else None


def registration_value(fabric: str, registration: FabricRegistration) -> dict[str, str]:
    """The value that registers a fabric in its partition."""
    return {f"{REGISTRATION_PREFIX}{fabric}": registration.text}


def fabric_place(partition: int, registration: FabricRegistration) -> FabricPlace:
    """The place of a registered fabric, for the whole twin."""
    return FabricPlace(partition, registration.site, registration.kind, registration.retired_us)


def registration_values(values: Mapping[str, str]) -> dict[str, str]:
    """The values of a partition that register fabrics."""
    return {name: text for name, text in values.items() if name.startswith(REGISTRATION_PREFIX)}


def registered_fabrics(values: Mapping[str, str]) -> dict[str, FabricRegistration]:
    """Fabric → registration, from the values of a partition. StateRefused if one is not as the twin writes
    it."""
    registered = {}
    for name, text in registration_values(values).items():
        fabric = name.removeprefix(REGISTRATION_PREFIX)
        try:
            site, kind, *retired = text.split(" ")
            registered[fabric] = FabricRegistration(site, kind, *map(int, retired))
        except (TypeError, ValueError):
            raise StateRefused(
                f"fabric {fabric}: its registration in Redis was changed outside of the twin; "
                "`lightwave live rebuild` or `lightwave up --rebuild` rebuilds it from the log"
            ) from None
    return registered


def services_in_partition(
    registered: Mapping[str, FabricRegistration], services_of: ServiceNamesOf
) -> tuple[str, ...]:
    """The services of all fabrics of a partition, in order. The partition is quiet when they have read
    everything."""
    kinds = {registration.kind for registration in registered.values()}
    return tuple(sorted({service.name for kind in kinds for service in services_of(kind)}))


def site_clocks(
    registered: Mapping[str, FabricRegistration], progress: Mapping[tuple[str, str], ServiceProgress]
) -> dict[str, SiteClock]:
    """Site → its progress, in order of name."""
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
