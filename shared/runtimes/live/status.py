"""How a live twin stands as a whole: what each service has come to, who holds it, and what is wrong."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.storage.redis_store import RedisStore
from shared.storage.residents import NamesOf, awaited, residents


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service in one partition: `lag` is how many messages it has not read, `holder` the process that
    reads them or None, `stopped` the sentence with which it stopped or None, `stopped_in` the fabric where.
    """

    service: str
    position: int
    lag: int
    holder: str | None
    stopped: str | None
    stopped_in: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """`fabrics` maps each fabric that lives there to its site."""

    partition: int
    fabrics: Mapping[str, str]
    end: int
    waiting: int
    services: tuple[ServiceStatus, ...]


def standing(
    store: RedisStore, services_of: NamesOf, rows: Sequence[dict[str, Any]]
) -> list[PartitionStatus]:
    """Every partition that holds a fabric; `rows` are the processes as `presence.processes` gives them."""
    inside: dict[int, dict[str, str]] = {}
    for fabric, place in store.fabrics().items():
        inside.setdefault(place.partition, {})[fabric] = place.site
    holders = {
        (row["service"], partition): row["name"]
        for row in rows
        if row["alive"] and row["kind"] == "worker"
        for partition in row["partitions"]
    }
    found = []
    for partition, fabrics in sorted(inside.items()):
        snapshot = store.snapshot(partition, [])
        end = max([int(snapshot.values.get("end", 0)), *snapshot.positions.values()])
        services = []
        for service in awaited(residents(snapshot.values), services_of):
            position = snapshot.positions.get(service, 0)
            stopped = json.loads(snapshot.values.get(f"stopped:{service}", "{}"))
            holder = holders.get((service, partition))
            services.append(
                ServiceStatus(
                    *(service, position, end - position, holder),
                    *(stopped.get("sentence"), stopped.get("fabric")),
                )
            )
        found.append(PartitionStatus(partition, fabrics, end, store.size(partition), tuple(services)))
    return found


def problems_of(store: RedisStore, services_of: NamesOf, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Why simulated time stands still somewhere, in one sentence each; empty if all is well."""
    found = []
    sequencers = [row for row in rows if row["kind"] == "sequencer" and row["alive"]]
    if not sequencers:
        found.append("no sequencer runs: simulated time stands still")
    for row in sequencers:
        found += [problem for problem in row["problems"] if problem not in found]
    for place in standing(store, services_of, rows):
        names = ", ".join(place.fabrics)
        for service in place.services:
            if service.stopped is not None:
                found.append(
                    f"{service.stopped}; `lightwave live skip {service.stopped_in}` passes over it; "
                    f"until then the time of {names} stands still"
                )
            elif service.holder is None:
                found.append(f"no worker of {service.service} holds {names}: its time stands still")
    return found
