"""What a live sequencer reads of a site for a Tick, compared with the same reader on a fold of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ops.sites.configuration import superpod_config
from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube
from schemas.messages.sequencer import Tick
from schemas.site_readings import CountReading, SiteQuery, SiteReading
from services.fabric_kinds import FLEET
from shared.basics.errors import OperationFailed, StateRefused
from shared.basics.units import US_PER_HOUR
from shared.engine.message_order import is_root, tick_message
from shared.engine.service import AnyService, SiteReader
from shared.engine.site import Site
from shared.engine.state_codec import encode_instance, state_digest
from shared.runtimes.live.sequencer.tick_readings import TickReader, TickReadings
from shared.storage.store.fabric_registry import registered_fabrics
from tests.support.live_swarm import DIGESTS, LiveSwarm, Sites

POD, OTHER = "pod-0", "pod-1"
SITES: Sites = {
    POD: {POD: superpod_config(["pod.cubes=4"])},
    OTHER: {OTHER: superpod_config(["pod.cubes=4", "seed=5"])},
}


def digest_of(site: Site) -> str:
    """The digest of every state of a site as it would be stored."""
    return state_digest((one.source, encode_instance(one)) for one in site.instances)


def read_digest(site: Site, queries: Sequence[SiteQuery]) -> tuple[SiteReading, ...]:
    """A reader that answers every query with the digest of the whole site."""
    digest, counts = digest_of(site), (CountReading(what="instances", count=len(site.instances)),)
    return tuple(SiteReading(names=(digest, query.text), counts=counts) for query in queries)


def with_queries(service: AnyService, read_site: SiteReader = read_digest) -> AnyService:
    def queries(state: object) -> tuple[SiteQuery, ...]:
        now_us, fabric = state.now_us, state.fabric  # type: ignore[attr-defined]  # of any service
        # Not at every Tick, as a service that has nothing to query.
        return () if now_us // 7 % 5 == 0 else (SiteQuery(what="names", fabric=fabric, text=str(now_us)),)

    return replace(service, queries=queries, read_site=read_site)


Fleet = Mapping[str, Sequence[AnyService]]


def fleet_with_queries(read_site: SiteReader = read_digest) -> Fleet:
    services = FLEET["superpod"]
    return {"superpod": tuple(with_queries(s, read_site) if s.name in QUERYING else s for s in services)}


QUERYING = {"jobs", "workload"}
SERVICES = len(FLEET["superpod"])
QUERIES = fleet_with_queries()
READER = TickReader(QUERYING, lambda: QUERIES.__getitem__)


def new_swarm(seed: int, fleet: Fleet = QUERIES) -> LiveSwarm:
    return LiveSwarm(seed, SITES, fleet, tick_reader=TickReader(QUERYING, lambda: fleet.__getitem__))


def checked_readings(messages: Sequence[Envelope]) -> int:
    """Fold a site's log, and compare the readings of each Tick with those of the fold. The number of Ticks
    with readings."""
    site = Site(messages[0].fabric, QUERIES.__getitem__)
    found = 0
    for message in messages:
        if not is_root(message):
            continue
        body = message.body
        if isinstance(body, Tick):
            due = site.instance(message.fabric, body.service)
            queries = due.service.queries(due.state) if due.service.queries and due.state else ()
            expected = read_digest(site, queries) if queries else None
            assert body.readings == expected, message.id
            found += body.readings is not None
        site.cascade(message)
    return found


def live(swarm: LiveSwarm, hours: int) -> None:
    for hour in range(1, hours + 1):
        swarm.now_us = hour * US_PER_HOUR
        swarm.request(POD, DrainCube(cube=f"{POD}/cube-{hour % 4 + 1}"))
        swarm.run_out()


def test_readings_are_those_of_a_fold_and_load_only_what_changed() -> None:
    swarm = new_swarm(3)
    live(swarm, 12)
    ticks = checked_readings(swarm.messages(POD)) + checked_readings(swarm.messages(OTHER))
    assert ticks == swarm.read.ticks > 20
    # Every reading needs all nine states of its site; some are the same as at the reading before.
    assert ticks < swarm.read.loaded < SERVICES * ticks


@pytest.mark.parametrize("seed", range(4))
def test_after_faults_and_with_two_sequencers_the_readings_are_those_of_a_fold(seed: int) -> None:
    swarm = new_swarm(seed)
    for step in range(600):
        swarm.now_us = step * US_PER_HOUR // 30
        if step % 200 == 0:
            swarm.request(POD, DrainCube(cube=f"{POD}/cube-1"))
        swarm.step(faults=True)
    swarm.run_out()
    assert checked_readings(swarm.messages(POD)) + checked_readings(swarm.messages(OTHER)) > 10


def test_a_changed_state_is_refused_and_never_read() -> None:
    swarm = new_swarm(3)
    live(swarm, 2)
    swarm.now_us = 100 * US_PER_HOUR
    swarm.sequencers.clear()
    swarm.store._partitions[0].states["scheduler", POD]["seed"] = b"1"
    before = list(swarm.log.records[0])
    with pytest.raises(StateRefused, match=r"scheduler of pod-0: its state in Redis was changed"):
        swarm.run_out()
    ticks = swarm.log.records[0][len(before) :]
    assert not any(b'"readings"' in record.value for record in ticks)


def test_a_reader_that_fails_is_an_error_of_its_partition() -> None:
    def fails(_site: Site, _queries: Sequence[SiteQuery]) -> tuple[SiteReading, ...]:
        raise KeyError("cube-9")

    swarm = new_swarm(3, fleet_with_queries(fails))
    with pytest.raises(OperationFailed, match=r"partition 0: the queries of tick\.\w+@pod-0/\d+ cannot be"):
        live(swarm, 2)


def test_states_that_moved_on_are_not_read() -> None:
    swarm = new_swarm(3)
    live(swarm, 2)
    store = swarm.store
    readings = TickReadings(0, store, READER, DIGESTS)
    view = store.view(0, 1)
    registered = registered_fabrics(view.values)
    tick = tick_message(view.progress["jobs", POD], 2 * US_PER_HOUR)
    assert readings.may_have_queries(tick)
    read = readings.with_readings(tick, view, registered)
    assert read is not None
    assert isinstance(read.body, Tick)
    assert read.body.readings
    assert readings.counts.loaded == SERVICES
    assert readings.with_readings(tick, view, registered) == read
    assert readings.counts.loaded == SERVICES
    swarm.now_us = 3 * US_PER_HOUR
    swarm.request(POD, DrainCube(cube=f"{POD}/cube-1"))
    swarm.run_out()
    # The states are known; but those of another view would have to be loaded, and the store has newer ones.
    assert readings.with_readings(tick, view, registered) == read
    assert TickReadings(0, store, READER, DIGESTS).with_readings(tick, view, registered) is None
