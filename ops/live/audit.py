"""`lightwave audit --live`: the lab on the root messages of the log that is on Kafka, compared with that log
and with every state in Redis."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.live.settings import LiveSettings
from ops.twin.site_audit import SiteAudit, readers_of
from schemas.envelope import Envelope
from schemas.registry import Unreadable
from schemas.sequencer import MessageSkipped
from services.fleet import services_of
from shared.basics.errors import OperationFailed
from shared.engine.site import Site, Skip
from shared.runtimes.live.kafka.records import SKIPS, Record, open_record
from shared.runtimes.live.kafka.scan import read_partition
from shared.runtimes.live.twin_record import TwinRecord, read_twin
from shared.storage.copies import quiet_snapshot
from shared.storage.redis_store import RedisStore
from shared.storage.snapshots.base import base_in
from shared.storage.store import FabricPlace, Snapshot

QUIET_S_MAX = 30.0
"""How long the audit waits for a moment at which every service has read all there is."""


@dataclass(slots=True)
class _Traces:
    """What faults and strangers left in a partition of the log; readers pass over it."""

    voids: int = 0
    repeats: int = 0
    unreadable: int = 0


def audit_live(settings: LiveSettings, wanted: str | None = None) -> dict[str, Any]:
    """Audit the live twin, running or not; the report's `clean` says whether all agreed. OperationFailed if
    the settings lead to another one than is wanted."""
    store = settings.store()
    store.check()
    twin = read_twin(store)
    if wanted not in (None, twin.twin):
        raise OperationFailed(
            f"Redis at {store.name}: holds twin {twin.twin}, and what answers at LIGHTWAVE_URL is {wanted}; "
            "give the settings of that one (LIGHTWAVE_KAFKA, LIGHTWAVE_REDIS)"
        )
    inside: dict[int, dict[str, FabricPlace]] = {}
    for fabric, place in store.fabrics().items():
        inside.setdefault(place.partition, {})[fabric] = place
    sites = [
        row
        for partition, places in sorted(inside.items())
        for row in _audit_partition(settings, store, twin, partition, places)
    ]
    clean = bool(sites) and all(row["log_clean"] and row["states_clean"] for row in sites)
    return {"clean": clean, "sites": sites}


def _audit_partition(
    settings: LiveSettings,
    store: RedisStore,
    twin: TwinRecord,
    partition: int,
    places: Mapping[str, FabricPlace],
) -> list[dict[str, Any]]:
    snapshot, position = _quiet_moment(store, partition, places)
    skips = skips_of(settings, twin, partition)
    living: dict[str, list[str]] = {}
    for fabric, place in places.items():
        living.setdefault(place.site, []).append(fabric)
    begins = {site: _begin(settings, twin, partition, site) for site in living}
    audits = {
        site: SiteAudit(site, fabrics, snapshot.states, skips, start=begins[site].site)
        for site, fabrics in living.items()
    }
    counts = dict.fromkeys(audits, 0)
    traces = _Traces()
    end = 0
    for record in _records(settings, partition):
        end = record.offset + 1
        message = _opened(record, twin, traces)
        if message is not None and message.fabric in places:
            site = places[message.fabric].site
            counts[site] += 1
            if record.offset >= begins[site].offset:
                audits[site].feed(record.offset, message)
            else:
                audits[site].replay.remember(message)
        if end == position:
            for audit in audits.values():
                audit.compare()
    for site, audit in audits.items():
        if end < position:
            audit.differing.append(f"services have read {position} messages, Kafka holds {end}")
        elif not position:
            audit.differing.append(f"{site}: nothing committed")
        traces.repeats += audit.replay.repeats
    return [
        audit.report(counts[site] - audit.replay.repeats, position)
        | {
            "partition": partition,
            "dead_letters": traces.unreadable,
            "voids": traces.voids,
            "repeats": audit.replay.repeats,
            "skipped": len(skips),
            "since": begins[site].told,
        }
        for site, audit in audits.items()
    ]


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where the fold of a site begins: with the states of its last upgrade to other rules, or with none."""

    offset: int = 0
    site: Site | None = None
    told: dict[str, object] | None = None


def _begin(settings: LiveSettings, twin: TwinRecord, partition: int, site: str) -> _Begin:
    """By the newest snapshot of an upgrade that the log knows of; SnapshotRefused where that is not of this
    version's rules."""
    upgrades = settings.snapshots_folder(twin.twin, site).kept_upgrades
    for found in upgrades.good():
        offset = found.offset or 0
        endpoints = settings.endpoints
        batches = read_partition(endpoints.kafka, endpoints.topics.log, partition, offset - 1, offset)
        batch = next(batches, []) if offset else []
        base = base_in(batch[0].value, found.position) if batch else None
        if base is not None and base.body.state_sha256 == found.digest:
            return _Begin(offset, found.restored(services_of), base.told())
    return _Begin()


def _quiet_moment(
    store: RedisStore, partition: int, places: Mapping[str, FabricPlace]
) -> tuple[Snapshot, int]:
    """The states of a quiet moment, and the position at which all services stood then."""
    snapshot = quiet_snapshot(store, partition, readers_of(places), QUIET_S_MAX)
    return snapshot, min(snapshot.positions.get(service, 0) for service, _ in readers_of(places))


def _records(settings: LiveSettings, partition: int) -> Iterator[Record]:
    endpoints = settings.endpoints
    for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition):
        yield from batch


def _opened(record: Record, twin: TwinRecord, traces: _Traces) -> Envelope | None:
    try:
        message = open_record(record, twin.twin)
    except Unreadable:
        traces.unreadable += 1
        return None
    traces.voids += message is None
    return message


def skips_of(settings: LiveSettings, twin: TwinRecord, partition: int) -> frozenset[Skip]:
    """What people let services pass over: the log says so only after the message."""
    found = set()
    for record in _records(settings, partition):
        if record.header("type") == SKIPS:
            message = _opened(record, twin, _Traces())
            if message is not None and isinstance(message.body, MessageSkipped):
                found.add((message.fabric, message.body.service, message.body.message))
    return frozenset(found)
