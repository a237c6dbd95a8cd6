"""The log of a live twin replayed in memory: the states that the workers reached, or a sentence that names
the first difference."""

import json
from dataclasses import replace

import pytest

from ops.live.parallel_fold import served_services
from schemas.messages.operator import DrainCube, InjectFault
from schemas.messages.sequencer import FabricRetired
from services.fabric_kinds import FLEET
from shared.basics.units import US_PER_HOUR
from shared.runtimes.live.kafka.records import Record, output_headers
from shared.runtimes.live.partition_replay import OutputMismatch, PartitionReplay
from shared.storage.store.fabric_registry import registered_fabrics
from shared.storage.store.sealed_values import MARK_PREFIX
from tests.simulation.test_live_swarm import PODS, SITES
from tests.support.live_swarm import PARTITIONS, TWIN, LiveSwarm

SLOW = pytest.mark.slow("folds a log again in many small parts")


@pytest.fixture(scope="module")
def swarm() -> LiveSwarm:
    """Three pods on two partitions, one of which retires; their log has the traces of faults."""
    swarm = LiveSwarm(4, SITES)
    for hour in range(1, 4):
        swarm.now_us = hour * US_PER_HOUR
        for fabric in PODS:
            swarm.request(fabric, InjectFault(kind="host", target=f"{fabric}/cube-{hour}/host-1"))
            swarm.request(fabric, DrainCube(cube=f"{fabric}/cube-{hour + 3}"))
        for _ in range(300):
            swarm.step(faults=True)
    swarm.request(PODS[0], FabricRetired())
    swarm.run_out()
    swarm.now_us += US_PER_HOUR
    swarm.run_out()
    return swarm


def refolded(records: list[Record], partition: int = 0, stride: int = 7) -> PartitionReplay:
    anew = PartitionReplay(partition, TWIN, served_services())
    for start in range(0, len(records), stride):
        anew.take(records[start : start + stride])
    return anew


@pytest.mark.parametrize("stride", [pytest.param(1, marks=SLOW), pytest.param(7, marks=SLOW), 10_000])
def test_the_replay_computes_the_states_of_the_workers(swarm: LiveSwarm, stride: int) -> None:
    for partition in range(PARTITIONS):
        records = swarm.log.records[partition]
        image = refolded(records, partition, stride).image()
        kept = swarm.store.image(partition)
        assert set(image.positions.values()) == {len(records)}
        assert {(s.service, s.fabric): s.written for s in image.states} == {
            (s.service, s.fabric): s.written for s in kept.states
        }
        assert set(image.documents) == set(kept.documents)
        assert set(image.progress) == set(kept.progress)
        assert (image.outbox, kept.outbox) == ((), ())
        unsealed = {name: text for name, text in kept.fields.items() if not name.startswith(MARK_PREFIX)}
        assert image.fields == {**unsealed, "end": str(len(records))}


def test_the_replay_knows_the_retired_fabrics(swarm: LiveSwarm) -> None:
    partition = swarm.store.fabrics()[PODS[0]].partition
    fields = refolded(swarm.log.records[partition], partition).image().fields
    anew = registered_fabrics({name: value for name, value in fields.items() if value is not None})
    places = swarm.store.fabrics()
    assert {name: at.retired_us for name, at in anew.items()} == {
        name: places[name].retired_us for name in anew
    }
    assert [name for name, at in anew.items() if at.is_retired] == [PODS[0]]


def test_messages_that_are_not_on_the_log_yet_are_left_to_the_sequencer(swarm: LiveSwarm) -> None:
    records = swarm.log.records[0]
    roots = [n for n, record in enumerate(records) if "level-at" in record.headers and not record.is_void]
    last_root = next(n for n in reversed(roots) if n + 1 < len(records) and n + 1 not in roots)
    cut = refolded(records[: last_root + 1]).image()
    assert [entry.line for entry in cut.outbox][:1] == [records[last_root + 1].value]


def outputs(records: list[Record]) -> list[int]:
    """The positions of the services' messages, the first one of each id."""
    seen: set[str] = set()
    found = []
    for n, record in enumerate(records):
        message_id = json.loads(record.value)["id"]
        if "level-at" not in record.headers and message_id not in seen:
            found.append(n)
        seen.add(message_id)
    return found


def test_a_service_that_shows_more_is_refused_by_name(swarm: LiveSwarm) -> None:
    """As if an older version that did not emit it had written the log."""
    read = {rule.body.__name__ for service in FLEET["superpod"] for rule in service.rules}
    records = list(swarm.log.records[0])
    answer = [json.loads(records[n].value) for n in outputs(records)]
    left_out = next(fields for fields in answer if fields["type"] not in read)
    gone = [
        replace(record, headers={**record.headers, "expected-offset": b"999999", "level-at": b"0"})
        if json.loads(record.value)["id"] == left_out["id"]
        else record
        for record in records
    ]
    service, fabric = left_out["source"].split("@")
    with pytest.raises(
        OutputMismatch,
        match=rf"^partition 0, offset \d+: {service} of {fabric} in this version emits {left_out['type']} "
        rf"{left_out['id']}, which is not on the log; nothing was changed",
    ):
        refolded(gone).image()


def test_a_service_with_missing_or_different_messages_is_refused_by_name(swarm: LiveSwarm) -> None:
    records = list(swarm.log.records[0])
    place = outputs(records)[20]
    fields = json.loads(records[place].value)
    other = {**fields, "at_us": fields["at_us"] + 1}
    changed = list(records)
    changed[place] = replace(records[place], value=json.dumps(other).encode())
    with pytest.raises(OutputMismatch, match=rf"^partition 0, offset {place}: .* where the log has"):
        refolded(changed)
    more = {**fields, "seq": 10**6, "id": f"{fields['source']}/{10**6}"}
    headers = output_headers(fields["type"], fields["source"], TWIN)
    records.append(Record(0, len(records), json.dumps(more).encode(), headers))
    with pytest.raises(
        OutputMismatch,
        match=rf"^partition 0, offset {len(records) - 1}: the log has {fields['type']} {more['id']}, which "
        rf"{fields['source']} of this version does not emit; nothing was changed",
    ):
        refolded(records)


def test_messages_without_readers_are_skipped(swarm: LiveSwarm) -> None:
    records = swarm.log.records[0]
    end = len(records)
    stranger = output_headers("CubeDrained", "cubes@pod-0", "another twin")
    strange = [b"{", b"\xff" * 10, b"[]", records[outputs(records)[3]].value]
    more = [Record(0, end + n, value, stranger) for n, value in enumerate(strange)]
    image = refolded([*records, *more]).image()
    assert {s.service: s.written for s in image.states} == {
        s.service: s.written for s in refolded(records).image().states
    }
    assert set(image.dead_letters) == set(range(end, end + len(more)))
