"""How a live twin stands as a whole: what each service has come to, who holds it, and what is wrong."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.redis_store import RedisStore


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service in one partition: `lag` is how many messages it has not read, `holder` the process that
    reads them or None, `stopped` the sentence with which it stopped or None."""

    service: str
    position: int
    lag: int
    holder: str | None
    stopped: str | None


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    partition: int
    fabrics: tuple[str, ...]
    end: int
    waiting: int
    services: tuple[ServiceStatus, ...]


def standing(store: RedisStore, twin: TwinRecord, rows: Sequence[dict[str, Any]]) -> list[PartitionStatus]:
    """Every partition that holds a fabric; `rows` are the processes as `presence.processes` gives them."""
    inside: dict[int, list[str]] = {}
    for fabric, partition in store.fabrics().items():
        inside.setdefault(partition, []).append(fabric)
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
        for service in twin.services:
            position = snapshot.positions.get(service, 0)
            stopped = json.loads(snapshot.values.get(f"stopped:{service}", "{}")).get("sentence")
            holder = holders.get((service, partition))
            services.append(ServiceStatus(service, position, end - position, holder, stopped))
        found.append(PartitionStatus(partition, tuple(fabrics), end, store.size(partition), tuple(services)))
    return found


def problems_of(store: RedisStore, twin: TwinRecord, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Why simulated time stands still somewhere, in one sentence each; empty if all is well."""
    found = []
    sequencers = [row for row in rows if row["kind"] == "sequencer" and row["alive"]]
    if not sequencers:
        found.append("no sequencer runs: simulated time stands still")
    for row in sequencers:
        found += [problem for problem in row["problems"] if problem not in found]
    for place in standing(store, twin, rows):
        names = ", ".join(place.fabrics)
        for service in place.services:
            if service.stopped is not None:
                found.append(f"{service.stopped}; `lightwave live skip {place.fabrics[0]}` passes over it")
            elif service.holder is None:
                found.append(f"no worker of {service.service} holds {names}: its time stands still")
    return found
