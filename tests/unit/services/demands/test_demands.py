"""When the demand of a network changes, by itself and with multislice jobs, message by message."""

import numpy as np
import pytest

from schemas.config.dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.scheduler import PodsJoined, PodsParted, PodsRunning
from services.demands.service import SERVICE
from services.demands.state import DemandsState
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.dcn.routing.carried_traffic import demand_of
from tests.support.rig import Bench, bodies

JOB = "pod-1/slice-3"
STEP_US, GRADIENTS = 8 * US_PER_S, 10**12
MBPS = {2: 1_000_000, 3: 1_333_333}
"""Mean traffic of each of N pods: 2·(P − 1)/P of the gradients per step."""


def network(interval_s: int = 3_600, at_us: int = 0) -> Bench:
    """Pods 1, 2 and 3 are connected to blocks 0, 2 and 3."""
    config = DcnConfig.model_validate(
        {
            "network": {
                "racks": 4,
                "racks_full": 4,
                "switches": 1,
                "blocks": (
                    {"generation": 100, "uplinks": 256, "pod": "pod-1"},
                    {"generation": 400, "uplinks": 256},
                    {"generation": 100, "uplinks": 256, "pod": "pod-2"},
                    {"generation": 100, "uplinks": 256, "pod": "pod-3"},
                ),
            },
            "demand": {"interval_s": interval_s},
        }
    )
    return Bench([SERVICE], config, at_us)


def joined(*pods: str, job: str = JOB) -> PodsJoined:
    slices = tuple(f"{pod}/slice-3" for pod in pods)
    return PodsJoined(job=job, slices=slices, chips=64, gradient_bytes=GRADIENTS, step_us=STEP_US)


def parted(job: str = JOB) -> PodsParted:
    return PodsParted(job=job, slice=job, ends="finished", reason="")


def moved(log: list[Envelope]) -> DemandMoved:
    (body,) = bodies(log, DemandMoved)
    assert isinstance(body, DemandMoved)
    return body


@pytest.mark.parametrize(
    ("interval_s", "hours"),
    [(3_600, [0, 1, 2, 3, 4]), (1_800, [0, 0, 1, 1, 2, 2, 3, 3, 4]), (7_200, [0, 2, 4])],
)
@pytest.mark.parametrize("at_us", [0, 5 * US_PER_HOUR + 7])
def test_demand_moves_every_interval_and_counts_hours_from_its_commissioning(
    interval_s: int, hours: list[int], at_us: int
) -> None:
    bench = network(interval_s, at_us)
    log = bench.run(at_us + 4 * US_PER_HOUR)
    moves = [(m.at_us, m.body) for m in log if isinstance(m.body, DemandMoved)]
    times = [at_us + number * interval_s * US_PER_S for number in range(len(hours))]
    assert [(when_us, body.hour) for when_us, body in moves] == list(zip(times, hours, strict=True))
    bench.assert_documents_hold()


def test_blocks_send_the_demand_drawn_for_the_hour_plus_the_traffic_of_jobs() -> None:
    bench = network()
    bench.run(0)
    hour_1 = moved(bench.run(US_PER_HOUR))
    state = bench.state("demands")
    assert isinstance(state, DemandsState)
    drawn = demand_of(state.model, 1, ())
    assert hour_1.sent == tuple(drawn.sum(axis=1).tolist())
    body = moved(bench.say(joined("pod-2", "pod-1")))
    job_mbps = np.array([MBPS[2], 0, MBPS[2], 0])
    assert (body.hour, body.sent) == (1, tuple((drawn.sum(axis=1) + job_mbps).tolist()))


def test_a_job_sends_around_its_ring_in_both_directions_until_it_parts() -> None:
    bench = network()
    bench.run(0)
    body = moved(bench.say(joined("pod-3", "pod-1", "pod-2")))
    assert body.rings == ((JOB, (3, 0, 2), MBPS[3]),)
    half = round(MBPS[3] / 2)
    assert {flow[:2] for flow in body.jobs} == {(3, 0), (0, 3), (0, 2), (2, 0), (2, 3), (3, 2)}
    assert all(flow[2] == pytest.approx(half, abs=1) for flow in body.jobs)
    body = moved(bench.say(parted()))
    assert (body.rings, body.jobs) == ((), ())
    assert bench.say(parted()) == [], "a repeat: it has parted already"


def test_each_of_several_jobs_parts_on_its_own() -> None:
    bench = network()
    bench.run(0)
    bench.say(joined("pod-1", "pod-2"))
    both = moved(bench.say(joined("pod-2", "pod-1", job="pod-2/slice-3")))
    assert [ring[0] for ring in both.rings] == [JOB, "pod-2/slice-3"]
    assert {(a, b): mbps for a, b, mbps in both.jobs} == {(0, 2): 2 * MBPS[2], (2, 0): 2 * MBPS[2]}
    assert [ring[0] for ring in moved(bench.say(parted())).rings] == ["pod-2/slice-3"]


@pytest.mark.parametrize("pods", [("pod-1", "pod-7"), ("pod-7", "pod-8")])
def test_pods_without_a_block_here_are_joined_by_another_network(pods: tuple[str, ...]) -> None:
    bench = network()
    bench.run(0)
    assert bench.say(joined(*pods)) == []
    assert bench.say(parted()) == []


def test_a_job_that_joins_between_two_moves_is_added_to_the_demand_of_the_hour() -> None:
    bench = network(interval_s=4 * 3_600)
    bench.run(0)
    assert moved(bench.say(joined("pod-1", "pod-2"), 3 * US_PER_HOUR)).hour == 0
    (later,) = bodies(bench.run(4 * US_PER_HOUR), DemandMoved)
    assert isinstance(later, DemandMoved)
    assert (later.hour, len(later.rings)) == (4, 1)


def test_a_job_that_joins_before_the_first_hour_is_reported_with_it() -> None:
    bench = network()
    assert bench.say(joined("pod-1", "pod-2"), 0) == []
    assert moved(bench.run(0)).rings == ((JOB, (0, 2), MBPS[2]),)


def test_documents_show_the_jobs_before_the_first_hour() -> None:
    bench = network()
    for body, mbps in ((joined("pod-1", "pod-2"), 2 * MBPS[2]), (parted(), 0)):
        assert bench.say(body, 0) == []
        assert bench.documents["summaries", "pod-0/demands"].jobs_mbps == mbps
        bench.assert_documents_hold()


def test_a_job_older_than_the_network_is_reported_with_the_first_hour() -> None:
    bench = network()
    slices = ("pod-3/slice-3", "pod-1/slice-3")
    ran = PodsRunning(dcn="pod-0", job=JOB, slices=slices, gradient_bytes=GRADIENTS, step_us=STEP_US)
    assert bench.say(ran, 0) == []
    assert moved(bench.run(0)).rings == ((JOB, (3, 0), MBPS[2]),)


def test_messages_to_another_network_are_ignored() -> None:
    bench = network()
    slices = ("pod-3/slice-3", "pod-1/slice-3")
    ran = PodsRunning(dcn="dcn-7", job=JOB, slices=slices, gradient_bytes=GRADIENTS, step_us=STEP_US)
    assert bench.say(ran, 0) == []
    assert moved(bench.run(0)).rings == ()
