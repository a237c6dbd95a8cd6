"""What something else changed in the store of a live twin: who refuses it, and how it is rebuilt."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import pytest

from ops.live.parallel_fold import served_services
from ops.sites.configuration import superpod_config
from schemas.messages.operator import DrainCube
from shared.basics.errors import StateRefused
from shared.basics.units import US_PER_HOUR
from shared.runtimes.live.partition_replay import PartitionReplay
from shared.runtimes.live.refused_states import (
    check_partition,
    close_refusal,
    note_refusal,
    open_refusals,
    readable_generation,
    rebuilt_notes,
)
from shared.runtimes.live.sequencer.partition_sequencer import PartitionSequencer
from shared.runtimes.live.sequencer.sequencer_loop import SequencerLoop
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.live.worker.partition_fold import PartitionFold
from shared.runtimes.live.worker.worker_folds import WorkerFolds
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import sealed_image
from shared.storage.store.state_store import PartitionSnapshot
from tests.support.live_swarm import DIGESTS, PARTITIONS, TWIN, LiveSwarm
from tests.support.memory_operations import MemoryOperations

SITES = {"pod-0": {"pod-0": superpod_config(["pod.cubes=4"])}}
POD = "pod-0"


def lived(hours: int) -> LiveSwarm:
    swarm = LiveSwarm(4, SITES)
    for hour in range(1, hours + 1):
        go_on(swarm, hour)
    return swarm


def go_on(swarm: LiveSwarm, hour: int) -> None:
    swarm.now_us = hour * US_PER_HOUR
    swarm.request(POD, DrainCube(cube=f"{POD}/cube-{hour}"))
    swarm.run_out()


def change_state(store: MemoryStore) -> None:
    store._partitions[0].states["workload", POD]["seed"] = b"1"


def change_document(store: MemoryStore) -> None:
    store._partitions[0].documents[POD, "cubes"][f"{POD}/cube-1"] = b"{}"


def change_due(store: MemoryStore) -> None:
    kept = store._partitions[0].progress
    kept["jobs", POD] = replace(kept["jobs", POD], due_us=1)


def add_entry(store: MemoryStore) -> None:
    kept = store._partitions[0]
    last = kept.outbox[max(kept.outbox)]
    kept.outbox[last.position, POD, "ocs", 99] = replace(last, service="ocs", index=99)


def loaded(swarm: LiveSwarm, service: str) -> None:
    served = next(one for one in swarm.served if one.name == service)
    PartitionFold(served, 0, TWIN, swarm.store, digests=DIGESTS).load()


@pytest.mark.parametrize(
    ("change", "service", "sentence"),
    [
        (change_state, "workload", "workload of pod-0: its state in Redis was changed"),
        (change_document, "cubes", "cubes of pod-0: the document pod-0/cube-1 of kind cubes in Redis was"),
        (change_due, "jobs", "jobs of pod-0 in partition 0: its position, progress or digests"),
    ],
)
def test_a_worker_refuses_what_was_changed(
    change: Callable[[MemoryStore], None], service: str, sentence: str
) -> None:
    swarm = lived(1)
    check_partition(swarm.store, DIGESTS, 0)
    loaded(swarm, service)
    change(swarm.store)
    with pytest.raises(StateRefused, match=rf"{sentence}.*; `lightwave live rebuild`"):
        loaded(swarm, service)
    noted: list[tuple[int, str]] = []
    served = next(one for one in swarm.served if one.name == service)
    folds = WorkerFolds(
        served,
        TWIN,
        swarm.store,
        digests=DIGESTS,
        on_refused=lambda partition, text: noted.append((partition, text)),
    )
    with pytest.raises(StateRefused):
        folds.begin([0])
    assert [(partition, text[: len(sentence)]) for partition, text in noted] == [(0, sentence)]


def test_a_refusal_of_a_head_that_cannot_be_read_is_open_until_it_is_replaced() -> None:
    class Unreadable(MemoryStore):
        is_broken = True

        def snapshot(
            self, partition: int, states: Sequence[tuple[str, str]], *, whole: bool = False
        ) -> PartitionSnapshot:
            if self.is_broken:
                raise StateRefused("partition 0: Redis has a field; a rebuild replaces it")
            return super().snapshot(partition, states, whole=whole)

    store = Unreadable()
    note_refusal(store, 0, "partition 0: Redis has a field")
    assert open_refusals(store)[0].generation == readable_generation(store, 0) == 0
    assert store.stage(lived(1).store.image(0), "")
    assert store.promote_staged(0)
    store.is_broken = False
    assert readable_generation(store, 0) > open_refusals(store)[0].generation


def test_documents_of_another_build_are_written_again_with_the_next_commit() -> None:
    swarm = lived(1)
    change_document(swarm.store)  # as another build may have written it
    served = next(one for one in swarm.served if one.name == "cubes")
    fold = PartitionFold(served, 0, TWIN, swarm.store, digests=DIGESTS, software="1.0+two")
    start = fold.load()
    assert fold.take(swarm.log.records[0][:start])
    swarm.now_us = 2 * US_PER_HOUR
    swarm.request(POD, DrainCube(cube=f"{POD}/cube-2"))
    swarm.folds = {(0, "cubes", 0): fold}
    swarm.run_out()
    assert swarm.store.one(POD, "cubes", f"{POD}/cube-1") != b"{}"
    PartitionFold(served, 0, TWIN, swarm.store, digests=DIGESTS, software="1.0+two").load()


def test_a_sequencer_appends_nothing_from_a_changed_partition() -> None:
    swarm = lived(1)
    records = list(swarm.log.records[0])
    change_due(swarm.store)
    sequencer = PartitionSequencer(0, TWIN, swarm.services_of, swarm.store, swarm.log, digests=DIGESTS)
    for _ in range(2):
        with pytest.raises(StateRefused, match="jobs of pod-0 in partition 0"):
            asyncio.run(sequencer.step(Epoch(2 * US_PER_HOUR, 0, 1.0, paused=True)))
    assert swarm.log.records[0] == records


def test_a_sequencer_appends_no_entry_that_no_service_emitted() -> None:
    swarm = lived(1)
    swarm.now_us = 2 * US_PER_HOUR
    swarm.request(POD, DrainCube(cube=f"{POD}/cube-2"))
    while not swarm.store._partitions[0].outbox:
        swarm.step(faults=False)
    records = list(swarm.log.records[0])
    add_entry(swarm.store)
    sequencer = PartitionSequencer(0, TWIN, swarm.services_of, swarm.store, swarm.log, digests=DIGESTS)
    with pytest.raises(StateRefused, match=r"partition 0: an outbox entry \(.*ocs of pod-0"):
        asyncio.run(sequencer.step(Epoch(swarm.now_us, 0, 1.0, paused=True)))
    assert swarm.log.records[0] == records


def test_after_a_rebuild_the_log_goes_on_as_if_nothing_had_been_changed() -> None:
    untouched, swarm = lived(3), lived(2)
    change_state(swarm.store)
    swarm.folds.clear()
    replay = PartitionReplay(0, TWIN, served_services())
    replay.take(swarm.log.records[0])
    swarm.store.stage(sealed_image(DIGESTS, replay.image()), "")
    swarm.store.promote_staged(0)
    check_partition(swarm.store, DIGESTS, 0)
    go_on(swarm, 3)
    assert swarm.messages(POD) == untouched.messages(POD)


def test_a_sequencer_process_rebuilds_what_is_still_refused() -> None:
    swarm = lived(1)
    store, rebuilds = swarm.store, []

    def rebuild(_is_stopping: Callable[[], bool]) -> None:
        rebuilds.append({partition: one.sentence for partition, one in open_refusals(store).items()})
        replay = PartitionReplay(0, TWIN, served_services())
        replay.take(swarm.log.records[0])
        store.stage(sealed_image(DIGESTS, replay.image()), "")
        store.promote_staged(0)
        close_refusal(store, 0, rebuilt=True)
        relay.stop()

    twin = TwinRecord(TWIN, PARTITIONS, "topic")
    relay = SequencerLoop(
        twin,
        swarm.services_of,
        cast(RedisStore, store),  # the loop calls only what both stores have
        swarm.log,
        MemoryOperations(),
        digests=DIGESTS,
        rebuild=rebuild,
    )
    note_refusal(store, 0, "of a worker that saw the states before a rebuild")
    store.stage(sealed_image(DIGESTS, store.image(0)), "")
    store.promote_staged(0)
    assert relay._still_refused() is None
    assert open_refusals(store) == {}, "the states were replaced"
    change_state(store)
    note_refusal(store, 0, "workload of pod-0: its state in Redis was changed; advice")
    asyncio.run(relay._rebuild_refused())
    assert rebuilds == [{0: "workload of pod-0: its state in Redis was changed; advice"}]
    assert relay._still_refused() is None
    assert rebuilt_notes(store) == [
        "workload of pod-0: its state in Redis was changed; its states were rebuilt from the log"
    ]
    check_partition(store, DIGESTS, 0)
