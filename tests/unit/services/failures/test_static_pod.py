"""Ground truth of a static pod: parts that it does not have neither fail nor can be broken by hand."""

import pytest

from schemas.config.failures import FailuresConfig, StaticFailuresConfig
from schemas.config.pods import StaticPodConfig
from schemas.messages.failures import FaultBegan, FaultRefused
from schemas.messages.operator import InjectFault
from schemas.names import FaultKind
from services.failures.service import SERVICE
from services.failures.state import FailuresState
from shared.basics.units import US_PER_DAY
from shared.engine.state_codec import decode_state, encode_state
from tests.support.rig import Bench, bodies

OFTEN = StaticFailuresConfig(host_per_day=0.05, link_per_day=0.01, until_days=20)


def test_only_hosts_and_links_fail_by_themselves() -> None:
    bench = Bench([SERVICE], StaticPodConfig(seed=3, failures=OFTEN))
    faults = bodies(bench.run(100 * US_PER_DAY), FaultBegan)
    assert {fault.kind for fault in faults} == {"host", "link"}
    # 1,024 hosts and 6,144 link ends over 20 days: 1,024 and 1,229 faults in the mean, minus repeats.
    counts = [sum(fault.kind == kind for fault in faults) for kind in ("host", "link")]
    assert 550 < counts[0] < 1024
    assert 950 < counts[1] < 1229
    assert bench.now_us <= 20 * US_PER_DAY


KINDS = (
    "host, chip, cable, cube-power, cooling, link, connector, fibre, laser, receiver, transmitter, flap, "
    "circulator, heat, calibration, stuck, late, lying, batch"
)


@pytest.mark.parametrize(("kind", "target"), [("ocs", "pod-0/ocs-17"), ("port", "pod-0/ocs-17/N24")])
def test_a_fault_of_a_missing_part_is_refused(kind: FaultKind, target: str) -> None:
    bench = Bench([SERVICE], StaticPodConfig())
    (refused,) = bodies(bench.say(InjectFault(kind=kind, target=target), 5))
    assert refused == FaultRefused(
        subject=target,
        reason=f"kind: {kind!r} strikes no part of pod-0; must be one of {KINDS}",
    )


def test_existing_parts_can_be_broken_by_hand() -> None:
    bench = Bench([SERVICE], StaticPodConfig())
    (fault_began,) = bodies(bench.say(InjectFault(kind="connector", target="pod-0/cube-63/-z/15"), 5))
    assert isinstance(fault_began, FaultBegan)


def test_the_state_survives_storage() -> None:
    stored = encode_state(Bench([SERVICE], StaticPodConfig(failures=OFTEN)).state("failures"))
    loaded = decode_state(SERVICE.state, stored)
    assert isinstance(loaded, FailuresState)
    assert encode_state(loaded) == stored
    assert isinstance(loaded.config, FailuresConfig)
    assert loaded.config.ocs_per_day == 0.0
