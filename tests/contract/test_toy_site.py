"""A site whose third fabric reads two pods and sends an offer to one of them: the same log in every runtime.

The fleet is that of `tests/support/toy_sites.py`: a network that announces to all pods and offers to one of
them, agents in the pods that answer, and two different services of one name that read the answers.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ops.servers.local_servers import LocalKafka, LocalRedis
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_S
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from tests.contract.test_live_runtime import drive_live
from tests.contract.test_runtime import Driven, Script, as_requests, drive_embedded, drive_lab
from tests.soak.whole_twin import TwinOptions
from tests.support.pods import commissioned
from tests.support.toy_services import PERIOD_US
from tests.support.toy_sites import (
    FABRICS,
    FOR_ALL,
    NET,
    POD_2,
    POD_10,
    SITE,
    ToyAnswered,
    ToyAsked,
    ToyNoted,
    ToyOffered,
    toys_alone,
)

JOINING = "pod-11"
PLAN = SitePlan(site=SITE, fabrics=dict(FABRICS))
SCRIPT: Script = [
    (1 * US_PER_S, NET, ToyAsked(to=POD_2)),
    (1 * US_PER_S + 1, NET, ToyAsked(to=FOR_ALL)),
    (4 * US_PER_S, JOINING, commissioned(FABRICS[POD_2], SITE)),
    (5 * US_PER_S, NET, ToyAsked(to=JOINING)),
    (6 * US_PER_S, NET, ToyAsked(to="pod-3")),
]
END_US = 3 * PERIOD_US
PROGRAM = TwinOptions(
    program=(sys.executable, "-m", "tests.support.toy_program"),
    only=("agent", "clerk", "router"),
    doubled=("clerk",),
)

Drive = Callable[[SitePlan, Script], Driven]


@pytest.fixture(autouse=True)
def _toys() -> Iterator[None]:
    with toys_alone():
        yield


@pytest.fixture(
    params=[
        "memory",
        "redis",
        pytest.param("kafka", marks=[pytest.mark.live, pytest.mark.slow("starts a live twin")]),
    ]
)
def driven(request: pytest.FixtureRequest, tmp_path: Path) -> Driven:
    """Return the run of the script on one of the runtimes."""
    if request.param == "memory":
        return drive_embedded(tmp_path, MemoryStore(), PLAN, SCRIPT, END_US)
    if request.param == "redis":
        store = RedisStore(request.getfixturevalue("redis_url"))
        try:
            return drive_embedded(tmp_path, store, PLAN, SCRIPT, END_US)
        finally:
            store.close()
    kafka: LocalKafka = request.getfixturevalue("kafka")
    redis: LocalRedis = request.getfixturevalue("live_redis")
    return drive_live(tmp_path, kafka, redis, PLAN, SCRIPT, END_US, PROGRAM)


def test_writes_message_for_message_what_the_lab_writes(driven: Driven) -> None:
    lab = drive_lab(PLAN, as_requests(driven.messages), END_US)
    assert driven.log == lab.log
    assert driven.digest == lab.digest
    # In the lab's log, a pod answers an offer once and an announcement twice.
    offered = [m for m in lab.messages if isinstance(m.body, ToyOffered)]
    answers = {m.id: [a.fabric for a in lab.messages if a.cause == m.id] for m in offered}
    assert [m.body.addressee for m in offered] == [POD_2, JOINING, "pod-3"]
    assert [*answers.values()] == [[POD_2], [JOINING], []]
    announced = next(m for m in lab.messages if m.type == "ToyAnnounced")
    assert [a.fabric for a in lab.messages if a.cause == announced.id] == [POD_2, POD_2, POD_10, POD_10]
    assert {m.fabric for m in lab.messages if isinstance(m.body, ToyAnswered)} == {POD_2, POD_10, JOINING}
    assert {m.fabric for m in lab.messages if isinstance(m.body, ToyNoted)} == {NET, POD_2, POD_10, JOINING}
