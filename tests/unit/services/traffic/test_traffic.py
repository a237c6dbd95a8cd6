"""When weights are solved anew, what is told of how demand is carried, and what jobs over several pods are
told that they get, message by message."""

import numpy as np
import pytest

from schemas.config.dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.sequencer import Tick
from schemas.messages.traffic import JobBandwidthSet, TrafficCarried
from schemas.messages.trunks import TrunksChanged
from services.traffic.service import SERVICE
from services.traffic.state import TrafficState
from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.support.rig import Bench, bodies

BLOCKS, LINKS, GBPS = 4, 80, 100
TRUNK_MBPS = LINKS * GBPS * 1_000
FULL = 1_000_000
"""A use or share of one, in parts of a million."""
EVEN = np.where(np.eye(BLOCKS), 0, 0.5)
LOPSIDED = np.array([[0, 1.4, 0.1, 0], [1.4, 0, 0, 0.1], [0.1, 0, 0, 1.4], [0, 0.1, 1.4, 0]])
"""Shares of a trunk that pairs want. Every block sends as much in both; the one is best carried directly, the
other over transit blocks."""
NEVER = 10.0
REACT_US = 30 * US_PER_S
RING = ("pod-0/slice-3", (0, 1), 400_000)

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def network(slack: float = 0.05, wired: bool = True, telemetry_interval_s: int = 0) -> Bench:
    """Four equal blocks with a trunk between any two, on which nothing is drawn: they want what they are told
    to."""
    config = DcnConfig.model_validate(
        {
            "network": {
                "racks": 4,
                "racks_full": 4,
                "switches": 1,
                "blocks": ({"count": BLOCKS, "generation": GBPS, "uplinks": 256},),
            },
            "demand": {"load": 1e-12, "hot_pairs": 0},
            "traffic": {"slack": slack, "telemetry_interval_s": telemetry_interval_s},
        }
    )
    bench = Bench([SERVICE], config)
    if wired:
        assert wire(bench, LINKS) == []
    return bench


def wire(bench: Bench, links: int, block: int | None = None, planned: bool = False) -> list[Envelope]:
    """So many links between any two blocks, or between one and the others."""
    pairs = [(one, other) for one in range(BLOCKS) for other in range(one + 1, BLOCKS)]
    changed = [(*pair, links) for pair in pairs if block is None or block in pair]
    return bench.say(TrunksChanged(links=tuple(changed), planned=planned), bench.now_us + 1)


def want(
    bench: Bench, shares: Matrix, at_us: int | None = None, rings: tuple[object, ...] = ()
) -> list[Envelope]:
    """Every pair wants such a share of its trunk."""
    mbps = np.rint(shares * TRUNK_MBPS).astype(np.int64)
    jobs = tuple((one, other, int(mbps[one, other])) for one, other in np.argwhere(mbps).tolist())
    sent = tuple(mbps.sum(axis=1).tolist())
    body = DemandMoved.model_validate({"hour": 0, "jobs": jobs, "rings": rings, "sent": sent})
    return bench.say(body, bench.now_us + 1 if at_us is None else at_us)


def carried(log: list[Envelope]) -> TrafficCarried:
    (body,) = bodies(log, TrafficCarried)
    assert isinstance(body, TrafficCarried)
    return body


def solved(bench: Bench) -> TrafficCarried:
    """What is told when weights are solved, some time after the change."""
    body = carried(bench.step())
    assert (body.solved, body.pending) == (True, False)
    return body


def reported(log: list[Envelope]) -> list[int]:
    return [body.mbps for body in bodies(log, JobBandwidthSet)]


def test_before_any_demand_nothing_is_carried() -> None:
    bench = network()
    assert wire(bench, 70) == []
    assert carried(want(bench, EVEN)).solved


def test_weights_stay_while_all_want_more_alike() -> None:
    """The use doubles, and so does what no weights can better."""
    bench = network(slack=0.0)
    first, second = carried(want(bench, EVEN)), carried(want(bench, 2.0 * EVEN))
    assert (first.solved, first.weights, second.solved, second.weights) == (True, 1, False, 1)
    assert first.use_ppm == pytest.approx(FULL / 2, rel=0.02)
    assert second.use_ppm == pytest.approx(FULL, rel=0.02)


@pytest.mark.parametrize("slack", [0.0, 0.05, 0.3, 1.0])
def test_weights_are_solved_again_just_where_the_use_is_nearer_to_full_by_more_than_the_slack(
    slack: float,
) -> None:
    """The use by the old weights is that of a network that never solves anew, and so it is until weights are
    solved; the bound is what leaves a block over what its trunks carry."""
    seen = set()
    for part in np.linspace(0.0, 1.0, 21):
        asked, never = network(slack), network(NEVER)
        first = carried(want(asked, EVEN))
        assert carried(want(never, EVEN)) == first
        shares = (1.0 - part) * EVEN + part * LOPSIDED
        found, old = carried(want(asked, shares)), carried(want(never, shares))
        assert (old.solved, old.pending, found.solved) == (False, False, False)
        assert found == old.model_copy(update={"pending": found.pending})
        bound_ppm = FULL * shares.sum(axis=1).max() / (BLOCKS - 1)
        ratio = first.use_ppm / (FULL * EVEN.sum(axis=1).max() / (BLOCKS - 1))
        limit_ppm = (1.0 + slack) * ratio * bound_ppm
        if abs(old.use_ppm - limit_ppm) > 5:  # what is told is rounded
            assert found.pending == (old.use_ppm > limit_ppm), part
        if found.pending:
            anew = solved(asked)
            assert (anew.weights, anew.use_ppm < old.use_ppm) == (2, True)
        assert asked.due_us() is None
        seen.add(found.pending)
    assert seen == {False, True}


def test_weights_are_solved_again_wherever_trunks_changed() -> None:
    bench = network(NEVER)
    want(bench, EVEN)
    for weights, links in enumerate((79, 81, 81), 1):
        at_us = bench.now_us + 1
        at_once = carried(wire(bench, links))
        assert (at_once.solved, at_once.pending, at_once.weights) == (False, True, weights)
        body = solved(bench)
        assert bench.now_us == at_us + REACT_US
        assert body.use_ppm == pytest.approx(FULL * LINKS / links / 2, rel=0.02)
        assert body.weights == weights + 1


def test_weights_follow_the_first_of_several_changes() -> None:
    """Not each of them anew: under steady change nothing would ever be solved."""
    bench = network(NEVER)
    want(bench, EVEN)
    first_us = bench.now_us + 1
    for links in (79, 78, 77):
        assert carried(wire(bench, links)).pending
    solved(bench)
    assert bench.now_us == first_us + REACT_US
    assert bench.due_us() is None


def test_weights_for_a_stage_of_a_rewiring_are_there_before_it() -> None:
    bench = network(NEVER)
    want(bench, EVEN)
    assert carried(wire(bench, 70)).pending
    body = carried(wire(bench, 60, planned=True))
    assert (body.solved, body.pending, body.weights) == (True, False, 2)
    assert bench.due_us() is None, "they know the change that nobody planned, too"


def test_what_breaks_is_left_at_once_and_well_only_by_new_weights() -> None:
    """Block 0 loses most of its links to block 1: what went there goes on over what is left."""
    bench = network()
    first = carried(want(bench, EVEN))
    at_once = carried(bench.say(TrunksChanged(links=((0, 1, 8),), planned=False), bench.now_us + 1))
    anew = solved(bench)
    assert first.use_ppm < anew.use_ppm < at_once.use_ppm
    assert first.served_ppm == anew.served_ppm == FULL > at_once.served_ppm


def test_frames_and_weights_fall_due_each_by_itself() -> None:
    bench = network(telemetry_interval_s=7)
    want(bench, EVEN, at_us=10 * US_PER_S)
    wire(bench, 70)
    log = bench.run(bench.now_us + REACT_US + 7 * US_PER_S)
    at_us = {type(message.body): message.at_us for message in log}
    assert [message.at_us for message in log if isinstance(message.body, TrafficCarried)] == [
        10 * US_PER_S + 1 + REACT_US
    ]
    ticks = [message.at_us for message in log if isinstance(message.body, Tick)]
    assert len(ticks) == 5 + 1
    assert [us for us in ticks if us % (7 * US_PER_S)] == [at_us[TrafficCarried]]


def test_a_pair_without_a_path_is_cut_off_and_not_served() -> None:
    bench = network()
    want(bench, EVEN)
    body = carried(wire(bench, 0, block=3))
    assert body.cut_off == 6
    assert body.served_ppm == FULL // 2
    assert solved(bench).cut_off == 6
    assert carried(wire(bench, LINKS, block=3)).cut_off == 0


def test_what_is_requested_and_served_is_summed_over_time() -> None:
    bench = network()
    times_us = [US_PER_HOUR * hour for hour in (1, 2, 5)]
    bodies_ = [
        carried(want(bench, by * EVEN, at_us)) for by, at_us in zip((1.0, 4.0, 0.1), times_us, strict=True)
    ]
    state = bench.state("traffic")
    assert isinstance(state, TrafficState)
    mbps = [round(by * EVEN.sum() * TRUNK_MBPS) for by in (1.0, 4.0)]
    assert state.demanded_mbit == 3_600 * mbps[0] + 3 * 3_600 * mbps[1]
    assert bodies_[0].served_ppm == FULL > bodies_[1].served_ppm
    served = 3_600 * mbps[0] + 3 * 3_600 * mbps[1] * bodies_[1].served_ppm / FULL
    assert state.served_mbit == pytest.approx(served, abs=2)
    bench.assert_documents_hold()


def test_a_job_is_reported_what_it_gets_where_that_is_news() -> None:
    bench = network(NEVER)
    (first,) = reported(want(bench, EVEN, rings=(RING,)))
    assert reported(want(bench, 1.02 * EVEN, rings=(RING,))) == [], "within a twentieth"
    # Against what was told, not against what it got the last time: small steps add up.
    steps = [reported(want(bench, (1.02 + 0.01 * step) * EVEN, rings=(RING,))) for step in range(1, 8)]
    news = [mbps for step in steps for mbps in step]
    assert 0 < len(news) < len(steps)
    assert first > news[0] > 0.9 * first


def test_a_job_that_is_cut_off_gets_nothing_and_receives_so_once() -> None:
    bench = network()
    want(bench, EVEN, rings=(RING,))
    assert reported(wire(bench, 0, block=1)) == [0]
    assert reported(wire(bench, 0, block=1)) == []
    (back,) = reported(wire(bench, LINKS, block=1))
    assert back > 0


def test_a_job_that_comes_again_is_reported_again() -> None:
    bench = network()
    (first,) = reported(want(bench, EVEN, rings=(RING,)))
    assert reported(want(bench, EVEN)) == []
    assert reported(want(bench, EVEN, rings=(RING,))) == [first]
