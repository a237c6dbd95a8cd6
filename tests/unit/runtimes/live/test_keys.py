"""A key is one request on the log, whatever happens to the store that knew it."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import SuperpodConfig
from schemas.messages.operator import DrainCube
from schemas.request_metadata import idempotency_key
from shared.basics.errors import InvalidInput
from shared.runtimes.live.kafka.appender import Entry
from shared.runtimes.live.sequencer.partition_sequencer import PartitionSequencer
from shared.runtimes.simulated_clock import Epoch
from shared.storage.inbox.request_inbox import CancelOutcome
from shared.storage.store.state_store import SequencerView
from tests.support.live_swarm import TWIN, FlakyStore, LiveSwarm
from tests.support.pods import with_key
from tests.support.toy_services import CUBES_TOY, OCS_TOY

FLEET = {"superpod": (CUBES_TOY, OCS_TOY)}
PODS = ("pod-0", "pod-1")
SITES = {pod: {pod: SuperpodConfig()} for pod in PODS}
KEYS = 6
STOPPED = Epoch(0, 0, 1.0, paused=True)


def swarm_of(seed: int) -> LiveSwarm:
    return LiveSwarm(seed, SITES, FLEET)


def request_of(n: int) -> tuple[str, DrainCube]:
    """The request of the n-th key, and its pod."""
    pod = PODS[n % len(PODS)]
    return pod, with_key(f"key-{n}", DrainCube(cube=f"{pod}/cube-{n}"))


def on_log(swarm: LiveSwarm) -> dict[str, list[str]]:
    """Key → the ids under which its request is on the log."""
    found: dict[str, list[str]] = {}
    for pod in PODS:
        for message in swarm.messages(pod):
            if (key := idempotency_key(message.body)) is not None:
                found.setdefault(key, []).append(message.id)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_key_is_on_the_log_once_despite_failures_and_rollbacks(seed: int) -> None:
    swarm = swarm_of(seed)
    swarm.run_out()
    for _ in range(250):
        swarm.step(faults=True)
        if swarm.chance.random() < 0.1:
            swarm.request(*request_of(swarm.chance.randrange(KEYS)))
    swarm.run_out()
    before = on_log(swarm)
    assert all(len(ids) == 1 for ids in before.values())
    answered = {n: swarm.request(*request_of(n)) for n in range(KEYS)}
    swarm.run_out()
    after = on_log(swarm)
    assert after == {
        f"key-{n}": [f"operator@{PODS[n % len(PODS)]}/{number}"] for n, number in answered.items()
    }
    assert before.items() <= after.items(), "what was on the log is answered with its own id"
    assert [swarm.store.size(partition) for partition in (0, 1)] == [0, 0]
    with pytest.raises(InvalidInput, match="was used for another request"):
        swarm.request("pod-1", request_of(0)[1])


def test_a_store_that_lost_everything_learns_its_keys_from_the_log() -> None:
    swarm = swarm_of(1)
    empty = swarm.store.picture(0)
    number = swarm.request(*request_of(0))
    swarm.run_out()
    swarm.store.roll_back(0, empty)
    swarm.folds.clear()
    assert swarm.store.find("key-0") is None
    late = swarm.request(*request_of(0))
    assert late != number
    swarm.run_out()
    assert swarm.request(*request_of(0)) == number
    assert on_log(swarm) == {"key-0": [f"operator@pod-0/{number}"]}
    assert swarm.store.size(0) == 0


def test_unreported_records_of_another_sequencer_are_read() -> None:
    """The request was appended, its sequencer stopped, and the store went back to before the request."""
    swarm = swarm_of(1)
    swarm.run_out()
    before = swarm.store.picture(0)
    number = swarm.request(*request_of(0))

    class Silent(FlakyStore):
        def view(self, partition: int, waiting: int) -> SequencerView:
            return swarm.store.view(partition, waiting)

        def take(self, partition: int, numbers: object) -> list[int]:
            return [number]

    other = PartitionSequencer(0, TWIN, swarm.services_of, Silent(random.Random(0)), swarm.log)
    assert asyncio.run(other.step(STOPPED))
    swarm.store.roll_back(0, before)
    late = swarm.request(*request_of(0))
    swarm.run_out()
    assert late != number
    assert on_log(swarm) == {"key-0": [f"operator@pod-0/{number}"]}


class Cancelling:
    """Clients cancel waiting requests at any time, also while a sequencer is about to append them."""

    def __init__(self, swarm: LiveSwarm, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: dict[int, CancelOutcome] = {}
        self._swarm = swarm
        store, log = swarm.store, swarm.log
        view, append = store.view, log.append

        def viewed(partition: int, waiting: int) -> SequencerView:
            found = view(partition, waiting)
            self.cancel(partition, found)
            return found

        async def appended(partition: int, entries: Sequence[Entry]) -> list[int]:
            self.cancel(partition, view(partition, KEYS))
            return await append(partition, entries)

        monkeypatch.setattr(store, "view", viewed)
        monkeypatch.setattr(log, "append", appended)

    def cancel(self, partition: int, seen: SequencerView) -> None:
        for request in seen.waiting:
            if self._swarm.chance.random() < 0.4:
                self.told[request.number] = self._swarm.store.cancel(partition, request.number)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cancelled_request_is_never_on_the_log_and_any_other_is(seed: int) -> None:
    swarm = swarm_of(seed)
    swarm.run_out()
    with pytest.MonkeyPatch.context() as patch:
        people = Cancelling(swarm, patch)
        request = {f"key-{n}": swarm.request(*request_of(n)) for n in range(KEYS)}
        for _ in range(150):
            swarm.step(faults=False)
            swarm.log.fail = 0.2
    swarm.run_out()
    cancelled = {key for key, number in request.items() if people.told.get(number) is CancelOutcome.DONE}
    assert on_log(swarm).keys() == request.keys() - cancelled
