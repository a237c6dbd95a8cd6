"""A site of several fabrics writes the same log in the lab and, message by message, in the live runtime."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.pods import FabricConfig, SuperpodConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from schemas.registry import decode
from shared.engine.message_order import is_root
from shared.engine.replay import Replay
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance
from shared.runtimes.lab import Lab
from shared.runtimes.live.kafka.appender import Entry
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET
from tests.support.live_swarm import LiveSwarm
from tests.support.pods import commissioned
from tests.support.toy_services import PERIOD_US
from tests.support.toy_sites import (
    ANNOUNCED_EVERY_US,
    FABRICS,
    FLEET,
    FOR_ALL,
    NET,
    POD_2,
    POD_10,
    SITE,
    ToyAsked,
    ToynetConfig,
    services_of,
    toys_registered,
)


@pytest.fixture(autouse=True, scope="module")
def _toys() -> Iterator[None]:
    with toys_registered():
        yield


@dataclass(frozen=True)
class Asked:
    """Something that people do, so long after the last they did."""

    after_us: int
    fabric: str
    body: Body


NEWCOMERS: Mapping[str, FabricConfig] = {
    "pod-3": SuperpodConfig(seed=5),
    "dcn-1": ToynetConfig(seed=6),
    "pod-11": SuperpodConfig(seed=7),
}
PAUSES_US = st.sampled_from([0, 0, 1, 2, 10, 11, 12, 500, ANNOUNCED_EVERY_US - 11, PERIOD_US - 1, PERIOD_US])
REQUESTS = st.builds(ToyAsked, to=st.sampled_from([FOR_ALL, POD_2, POD_10, "pod-3", "pod-99"]))
EVENTS = st.one_of(
    st.builds(Asked, PAUSES_US, st.sampled_from([NET, NET, NET, POD_2]), REQUESTS),
    st.sampled_from([*NEWCOMERS]).flatmap(
        lambda fabric: st.builds(
            Asked, PAUSES_US, st.just(fabric), st.just(commissioned(NEWCOMERS[fabric], SITE))
        )
    ),
    st.builds(Asked, PAUSES_US, st.sampled_from([*FABRICS]), st.just(FabricRetired())),
)
SCRIPTS = st.lists(EVENTS, max_size=8, unique_by=lambda asked: asked.fabric if _joins(asked) else id(asked))
END_US = PERIOD_US + 2 * ANNOUNCED_EVERY_US


def _joins(asked: Asked) -> bool:
    return isinstance(asked.body, FabricCommissioned)


def live(
    script: list[Asked], beside: Mapping[str, Mapping[str, FabricConfig]]
) -> tuple[LiveSwarm, list[LabRequest]]:
    """The script played to folds and sequencers, and its requests with the numbers they got."""
    swarm = LiveSwarm(1, {SITE: FABRICS, **beside}, FLEET)
    requests: list[LabRequest] = []
    at_us = 0
    for asked in script:
        if asked.after_us:
            swarm.run_out()
            at_us += asked.after_us
            swarm.now_us = at_us - 1
            swarm.run_out()
            swarm.now_us = at_us
        if isinstance(asked.body, FabricCommissioned):
            swarm.place(SITE, asked.fabric, asked.body.config)
        number = swarm.request(asked.fabric, asked.body)
        requests.append(LabRequest(at_us, asked.fabric, asked.body, number))
    swarm.run_out()
    swarm.now_us = at_us + END_US
    swarm.run_out()
    return swarm, requests


def lab_of(
    site: str, fabrics: Mapping[str, FabricConfig], until_us: int, requests: list[LabRequest]
) -> tuple[list[Envelope], Site]:
    lines: list[bytes] = []
    lab = Lab(site, fabrics, services_of, lambda data: lines.extend(data.splitlines()))
    lab.run(until_us, requests)
    return [decode(line) for line in lines], lab.site


def first_difference(found: list[Envelope], wanted: list[Envelope]) -> tuple[int, object, object] | None:
    pairs = zip(found, wanted, strict=False)
    return next(((n, *pair) for n, pair in enumerate(pairs) if pair[0] != pair[1]), None)


def stored(swarm: LiveSwarm, site: Site) -> bool:
    """Whether the store contains the same states as the lab."""
    partition = swarm.partitions[site.name]
    return all(
        swarm.store.load(partition, instance.name, instance.fabric) == encode_instance(instance)
        for instance in site.instances
    )


@settings(max_examples=80, deadline=None)
@given(script=SCRIPTS, neighbours=st.integers(0, 2))
def test_for_any_requests_the_live_log_equals_the_lab_log(script: list[Asked], neighbours: int) -> None:
    """With sites that announce and answer as well, in another partition of the log or in the same."""
    beside: dict[str, Mapping[str, FabricConfig]] = {
        f"other-{n}": {f"dcn-{n}": ToynetConfig(), f"pod-{n}": SuperpodConfig()} for n in (7, 8)[:neighbours]
    }
    swarm, requests = live(script, beside)
    for site, fabrics, asked in [(SITE, FABRICS, requests), *((s, f, []) for s, f in beside.items())]:
        wanted, lab = lab_of(site, fabrics, swarm.now_us, asked)
        found = swarm.messages(site)
        assert first_difference(found, wanted) is None
        assert len(found) == len(wanted)
        assert stored(swarm, lab)
    assert swarm.log.buried == []


def test_a_repeated_message_is_not_read_by_fabrics_that_joined_since() -> None:
    """All messages are on the log once more, after a pod joined that would answer them."""
    swarm = LiveSwarm(1, {SITE: FABRICS}, FLEET)
    requests: list[LabRequest] = []
    swarm.place(SITE, "pod-3", NEWCOMERS["pod-3"])
    script: list[tuple[str, Body]] = [
        (NET, ToyAsked(to=FOR_ALL)),
        (NET, ToyAsked(to="pod-3")),
        ("pod-3", commissioned(NEWCOMERS["pod-3"], SITE)),
    ]
    for at_us, (fabric, body) in enumerate(script, 1):
        swarm.now_us = at_us
        requests.append(LabRequest(at_us, fabric, body, swarm.request(fabric, body)))
        swarm.run_out()
    partition = swarm.partitions[SITE]
    said = [record for record in swarm.log.records[partition] if EXPECTED_OFFSET not in record.headers]
    for record in said:
        swarm.log.put(partition, Entry(SITE, record.value, dict(record.headers)))
    swarm.now_us = END_US
    swarm.run_out()
    wanted, lab = lab_of(SITE, FABRICS, swarm.now_us, requests)
    assert first_difference(swarm.messages(SITE), wanted) is None
    assert stored(swarm, lab)
    assert {"ToyAnnounced", "ToyOffered"} <= {decode(record.value).type for record in said}


@pytest.mark.parametrize("seed", range(8))
def test_despite_any_failure_the_log_folds_and_every_request_is_read_at_most_once(seed: int) -> None:
    alone = {pod: {pod: SuperpodConfig()} for pod in ("pod-7", "pod-8")}
    swarm = LiveSwarm(seed, {SITE: FABRICS, **alone}, FLEET)
    asked: list[int] = []
    joining = iter(NEWCOMERS.items())
    for n in range(1, 10):
        swarm.now_us = n * ANNOUNCED_EVERY_US
        for _ in range(120):
            swarm.step(faults=True)
        asked.append(swarm.request(NET, ToyAsked(to=(FOR_ALL, POD_2, POD_10)[n % 3])))
        if n % 3 == 0:
            swarm.join(SITE, *next(joining))
        if n in (5, 7):
            swarm.request(POD_10, FabricRetired())
            swarm.request(POD_10, ToyAsked(to=FOR_ALL))
    swarm.request(POD_10, FabricRetired())  # a store that went back may have lost the others
    swarm.run_out()
    messages = swarm.messages(SITE)
    assert [m.fabric for m in messages if type(m.body) is FabricRetired] == [POD_10]
    assert [m.type for m in messages if m.fabric == POD_10][-1] == "FabricRetired"
    assert swarm.store.size(swarm.partitions[SITE]) == 0
    assert swarm.store.fabrics()[POD_10].retired_us is not None
    replay = Replay(Site(SITE, services_of))
    differences = [replay.feed(place, message) for place, message in enumerate(messages)]
    assert not any(differences), next(filter(None, differences))
    assert (len(replay.pending), replay.repeats) == (0, 0)
    assert stored(swarm, replay.site)
    taken = [m.seq for m in messages if m.source == f"operator@{SITE}"]
    assert taken == sorted(set(taken) & set(asked))
    assert len(taken) > 2
    assert swarm.log.buried == []


@pytest.mark.parametrize("seed", range(4))
def test_requests_and_due_ticks_take_turns_despite_kills(seed: int) -> None:
    """The clock is far ahead, so a Tick is always due. The memory of a process is lost again and again."""
    swarm = LiveSwarm(seed, {SITE: FABRICS}, FLEET)
    swarm.run_out()
    swarm.now_us = 100 * PERIOD_US
    for _ in range(15):
        swarm.request(NET, ToyAsked(to=POD_2))
    while swarm.store.size(0):
        swarm.step(faults=False)
        if swarm.chance.random() < 0.2:
            swarm.folds.clear()
            swarm.sequencers.clear()
    roots = [m.type for m in swarm.messages(SITE) if is_root(m) and m.type != "FabricCommissioned"]
    assert roots[: 2 * 15 - 1] == ["ToyAsked", "Tick"] * 14 + ["ToyAsked"]
