"""The log of a live twin equals the lab's and each request is applied once, whatever is killed, repeated or
rolled back."""

import random

import pytest

from ops.sites.configuration import superpod_config
from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube, InjectFault, ReleaseSlice, RequestSlice, UndrainCube
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.engine.replay import Replay
from shared.engine.site import Site
from shared.engine.state_codec import encode_instance
from tests.support.changed_parameters import OF_PODS, drawn_change
from tests.support.live_swarm import LiveSwarm
from tests.support.seeds import explored, sliced

CONFIG = superpod_config(
    ["pod.cubes=8", "failures.host_per_day=0.5", "failures.link_per_day=0.01", "failures.ocs_per_day=0.1"],
    seed=3,
)
PODS = tuple(f"pod-{number}" for number in range(3))
SEEDS = 12
EXPLORED = 3
"""Random seeds of `make test-all`."""
FAILED_ONCE: tuple[int, ...] = ()
"""Random seeds that failed before, which stay in the gate."""
SITES = {pod: {pod: CONFIG} for pod in PODS}
"""Independent pods, two of them in one partition."""


def some_request(chance: random.Random, fabric: str) -> Body:
    cube = chance.randrange(8)
    return chance.choice(
        (
            DrainCube(cube=f"{fabric}/cube-{cube}"),
            UndrainCube(cube=f"{fabric}/cube-{cube}"),
            InjectFault(kind="host", target=f"{fabric}/cube-{cube}/host-{chance.randrange(16)}"),
            RequestSlice(shape=(4, 4, 4), duration_us=US_PER_HOUR),
            ReleaseSlice(slice=f"{fabric}/slice-{chance.randrange(4)}"),
            drawn_change(chance, OF_PODS),
        )
    )


def folded_again(site: str, messages: list[Envelope]) -> Site:
    """Fold the root messages in a lab, check that it writes the same log, and return its site."""
    replay = Replay(Site(site, services_of))
    differences = [replay.feed(place, message) for place, message in enumerate(messages)]
    assert not any(differences), next(filter(None, differences))
    assert not replay.pending
    assert not replay.repeats
    return replay.site


@pytest.mark.parametrize("seed", [*sliced(SEEDS, always=FAILED_ONCE), *explored(EXPLORED, "live")])
def test_the_log_of_a_seed_of_this_commit_equals_the_labs(seed: int) -> None:
    check_log_is_the_labs(seed)


@pytest.mark.slow("twelve live twins of 1,800 steps each, every fold with its own copy of a state")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_log_equals_the_labs_whatever_happens(seed: int) -> None:
    check_log_is_the_labs(seed)


def check_log_is_the_labs(seed: int) -> None:
    swarm = LiveSwarm(seed, SITES)
    chance = random.Random(seed)
    requests: dict[str, set[int]] = {pod: set() for pod in PODS}
    for hour in range(1, 7):
        swarm.now_us = hour * US_PER_HOUR
        for _ in range(300):
            swarm.step(faults=True)
            if chance.random() < 0.05:
                fabric = PODS[chance.randrange(len(PODS))]
                requests[fabric].add(swarm.request(fabric, some_request(chance, fabric)))
    swarm.run_out()
    for fabric, numbers in requests.items():
        messages = swarm.messages(fabric)
        lab = folded_again(fabric, messages)
        due = lab.earliest()
        assert due is not None
        assert due.due_us is not None
        assert due.due_us > swarm.now_us
        taken = [m.seq for m in messages if m.body.writer == "operator"]
        assert taken == sorted(set(taken))
        assert set(taken) <= numbers
        partition = swarm.partitions[fabric]
        for instance in lab.instances:
            assert swarm.store.load(partition, instance.service.name, fabric) == encode_instance(instance)
    assert swarm.log.buried == []
    records = sum(len(rows) for rows in swarm.log.records.values())
    assert records > sum(len(swarm.messages(fabric)) for fabric in requests)  # faults left repeats behind


def test_without_rollback_no_request_is_lost() -> None:
    swarm = LiveSwarm(5, SITES)
    chance = random.Random(5)
    swarm.pictures.clear()
    requests = []
    for hour in range(1, 7):
        swarm.now_us = hour * US_PER_HOUR
        for _ in range(16):  # below the limit of a hundred pending requests per name
            swarm.step(faults=True)
            swarm.pictures.clear()
            requests.append(swarm.request("pod-1", some_request(chance, "pod-1")))
    swarm.run_out()
    taken = [m.seq for m in swarm.messages("pod-1") if m.body.writer == "operator"]
    assert taken == requests
