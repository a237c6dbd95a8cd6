"""`lightwave audit --live`: replay the root messages of the log on Kafka in the lab, and compare the result
with that log and with every state in Redis."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ops.live.settings import LiveSettings
from ops.twin.operation_notes import refusals
from ops.twin.site_audit import AuditReport, SiteAudit, SiteAuditReport, readers_of
from schemas.envelope import Envelope
from schemas.messages.sequencer import MessageSkipped
from schemas.registry import Unreadable
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.site import Site, Skip
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import SKIP_TYPE, Record, open_record
from shared.runtimes.live.twin_record import TwinRecord, read_twin
from shared.storage.snapshots.fold_start import RulesChange, rules_upgrade_in
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_copies import quiet_snapshot
from shared.storage.store.state_store import FabricPlace, PartitionSnapshot

QUIET_S_MAX = 30.0
"""How long the audit waits until every service has read the whole log."""


@dataclass(slots=True)
class _RecordCounts:
    """Counts of records in a partition that readers skip, left by faults or foreign writers."""

    voids: int = 0
    repeats: int = 0
    unreadable: int = 0


def audit_live(settings: LiveSettings, wanted: str | None = None) -> AuditReport:
    """Audit the live twin, running or not; `clean` in the report is True if everything agrees.

    Raises OperationFailed if the twin of the settings is not `wanted`.
    """
    store = settings.store()
    store.check()
    twin = read_twin(store)
    if wanted not in (None, twin.twin):
        raise OperationFailed(
            f"Redis at {store.name}: holds twin {twin.twin}, but the twin at LIGHTWAVE_URL is {wanted}; "
            "set LIGHTWAVE_KAFKA and LIGHTWAVE_REDIS of that twin"
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
    return {"clean": clean, "refused": refusals(KafkaOperations(settings.endpoints)), "sites": sites}


def _audit_partition(
    settings: LiveSettings,
    store: RedisStore,
    twin: TwinRecord,
    partition: int,
    places: Mapping[str, FabricPlace],
) -> list[SiteAuditReport]:
    snapshot, position = _quiet_states(store, partition, places)
    skips = skips_in_log(settings, twin, partition)
    living: dict[str, list[str]] = {}
    for fabric, place in places.items():
        living.setdefault(place.site, []).append(fabric)
    begins = {site: _fold_start(settings, twin, partition, site) for site in living}
    audits = {
        site: SiteAudit(
            site, fabrics, snapshot.states, skips, start=begins[site].site, documents=snapshot.documents
        )
        for site, fabrics in living.items()
    }
    counts = dict.fromkeys(audits, 0)
    traces = _RecordCounts()
    end = 0
    for record in _records(settings, partition):
        end = record.offset + 1
        message = _open_record(record, twin, traces)
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
            audit.differing.append(f"services have read {position} messages, but Kafka holds {end}")
        elif not position:
            audit.differing.append(f"{site}: nothing is committed")
        traces.repeats += audit.replay.repeats
    rows = []
    for site, audit in audits.items():
        row = audit.report(counts[site] - audit.replay.repeats, position)
        row["partition"] = partition
        row["dead_letters"] = traces.unreadable
        row["voids"] = traces.voids
        row["repeats"] = audit.replay.repeats
        row["skipped"] = len(skips)
        row["since"] = begins[site].reported
        rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class _FoldStart:
    """The start of a site's fold: the states of its last upgrade to other rules, or none."""

    offset: int = 0
    site: Site | None = None
    reported: RulesChange | None = None


def _fold_start(settings: LiveSettings, twin: TwinRecord, partition: int, site: str) -> _FoldStart:
    """Start from the newest upgrade snapshot that the log records.

    Raises SnapshotRefused if that snapshot has other rules than this version.
    """
    upgrades = settings.snapshots_folder(twin.twin, site).kept_upgrades
    for found in upgrades.good():
        offset = found.offset or 0
        endpoints = settings.endpoints
        batches = read_partition(endpoints.kafka, endpoints.topics.log, partition, offset - 1, offset)
        batch = next(batches, []) if offset else []
        base = rules_upgrade_in(batch[0].value, found.position) if batch else None
        if base is not None and base.body.state_sha256 == found.digest:
            return _FoldStart(offset, found.restored(services_of), base.as_report())
    return _FoldStart()


def _quiet_states(
    store: RedisStore, partition: int, places: Mapping[str, FabricPlace]
) -> tuple[PartitionSnapshot, int]:
    """The states at a quiet time, and the position that every service had reached then."""
    snapshot = quiet_snapshot(store, partition, readers_of(places), QUIET_S_MAX, whole=True)
    return snapshot, min(snapshot.positions.get(service, 0) for service, _ in readers_of(places))


def _records(settings: LiveSettings, partition: int) -> Iterator[Record]:
    endpoints = settings.endpoints
    for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition):
        yield from batch


def _open_record(record: Record, twin: TwinRecord, traces: _RecordCounts) -> Envelope | None:
    try:
        message = open_record(record, twin.twin)
    except Unreadable:
        traces.unreadable += 1
        return None
    traces.voids += message is None
    return message


def skips_in_log(settings: LiveSettings, twin: TwinRecord, partition: int) -> frozenset[Skip]:
    """Messages that operators let services skip. The log records a skip only after the message."""
    found = set()
    for record in _records(settings, partition):
        if record.header("type") == SKIP_TYPE:
            message = _open_record(record, twin, _RecordCounts())
            if message is not None and isinstance(message.body, MessageSkipped):
                found.add((message.fabric, message.body.service, message.body.message))
    return frozenset(found)
