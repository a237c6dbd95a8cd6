"""When routing weights are solved again, how carried demand is reported, and the bandwidth reported to
multislice jobs, message by message."""

import numpy as np
import pytest

from schemas.config.dcn import DcnConfig
from schemas.documents.dcn import TrafficSummary
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.sequencer import Tick
from schemas.messages.traffic import JobBandwidthSet, TrafficCarried
from schemas.messages.trunks import TrunksChanged
from services.traffic.logic import carried_with_new_weights
from services.traffic.service import SERVICE
from services.traffic.state import TrafficState
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.state_codec import encode_state
from tests.support.rig import Bench, bodies

BLOCKS, LINKS, GBPS = 4, 80, 100
TRUNK_MBPS = LINKS * GBPS * 1_000
FULL = 1_000_000
"""A use or share of 1, in parts per million."""
EVEN = np.where(np.eye(BLOCKS), 0, 0.5)
LOPSIDED = np.array([[0, 1.4, 0.1, 0], [1.4, 0, 0, 0.1], [0.1, 0, 0, 1.4], [0, 0.1, 1.4, 0]])
"""The shares of a trunk that pairs request. Every block sends the same amount in both; one pattern is best
carried directly, the other over transit blocks."""
NEVER = 10.0
REACT_US = 30 * US_PER_S
RING = ("pod-0/slice-3", (0, 1), 400_000)

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def network(slack: float = 0.05, wired: bool = True, telemetry_interval_s: int = 0) -> Bench:
    """Four equal blocks with a trunk between each pair. Nothing is drawn; the demand is the given one."""
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
    """The number of links between any two blocks, or between one block and the others."""
    pairs = [(one, other) for one in range(BLOCKS) for other in range(one + 1, BLOCKS)]
    changed = [(*pair, links) for pair in pairs if block is None or block in pair]
    return bench.say(TrunksChanged(links=tuple(changed), planned=planned), bench.now_us + 1)


def want(
    bench: Bench, shares: Matrix, at_us: int | None = None, rings: tuple[object, ...] = ()
) -> list[Envelope]:
    """Every pair requests the given share of its trunk."""
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
    """The messages emitted when weights are solved, some time after the change."""
    body = carried(bench.step())
    assert (body.solved, body.pending) == (True, False)
    return body


def summary(bench: Bench) -> TrafficSummary:
    found = SERVICE.document(bench.state("traffic"), ("summaries", "pod-0/traffic"))
    assert isinstance(found, TrafficSummary)
    return found


def reported(log: list[Envelope]) -> list[int]:
    return [body.mbps for body in bodies(log, JobBandwidthSet)]


def test_before_any_demand_nothing_is_carried() -> None:
    bench = network()
    assert wire(bench, 70) == []
    assert carried(want(bench, EVEN)).solved


def test_weights_stay_while_all_want_more_alike() -> None:
    """The use doubles, and so does the bound that no weights can improve."""
    bench = network(slack=0.0)
    first, second = carried(want(bench, EVEN)), carried(want(bench, 2.0 * EVEN))
    assert (first.solved, first.weights, second.solved, second.weights) == (True, 1, False, 1)
    assert first.use_ppm == pytest.approx(FULL / 2, rel=0.02)
    assert second.use_ppm == pytest.approx(FULL, rel=0.02)


@pytest.mark.parametrize("slack", [0.0, 0.05, 0.3, 1.0])
def test_weights_are_solved_again_only_if_the_use_grows_by_more_than_the_slack(
    slack: float,
) -> None:
    """The use with the old weights equals that of a network that never solves again, until weights are
    solved. The bound is the traffic that leaves a block over the capacity of its trunks."""
    outcomes = set()
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
        assert summary(asked).solve_above_ppm == pytest.approx(limit_ppm, abs=5)
        if abs(old.use_ppm - limit_ppm) > 5:  # reported values are rounded
            assert found.pending == (old.use_ppm > limit_ppm), part
        if found.pending:
            solved_again = solved(asked)
            assert (solved_again.weights, solved_again.use_ppm < old.use_ppm) == (2, True)
        assert asked.due_us() is None
        outcomes.add(found.pending)
    assert outcomes == {False, True}


def test_the_summary_has_the_time_of_the_last_and_of_the_next_solution() -> None:
    bench = network(NEVER)
    assert (summary(bench).solved_us, summary(bench).next_solve_us) == (None, None)
    want(bench, EVEN)
    first_us = bench.now_us
    assert (summary(bench).solved_us, summary(bench).next_solve_us) == (first_us, None)
    want(bench, LOPSIDED)
    assert (summary(bench).solved_us, summary(bench).next_solve_us) == (first_us, None)
    wire(bench, 79)
    next_us = bench.now_us + REACT_US
    assert (summary(bench).solved_us, summary(bench).next_solve_us) == (first_us, next_us)
    solved(bench)
    assert (summary(bench).solved_us, summary(bench).next_solve_us) == (next_us, None)


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_new_weights_are_computed_as_they_would_be_solved_and_change_nothing(part: float) -> None:
    bench, asked = network(NEVER), network(NEVER)
    assert carried_with_new_weights(bench.state("traffic")) is None
    shares = (1.0 - part) * EVEN + part * LOPSIDED
    for one in (bench, asked):
        want(one, EVEN)
        want(one, shares)
    kept = encode_state(bench.state("traffic"))
    new = carried_with_new_weights(bench.state("traffic"))
    assert encode_state(bench.state("traffic")) == kept
    wire(asked, 79)
    wire(asked, LINKS)
    later = solved(asked)
    assert new is not None
    assert (new.use_ppm, new.served_ppm, new.direct_ppm) == (
        later.use_ppm,
        later.served_ppm,
        later.direct_ppm,
    )
    assert new.use_ppm <= summary(bench).use_ppm


def test_weights_are_solved_again_whenever_trunks_change() -> None:
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
    """Later changes do not restart the wait. Otherwise, nothing would ever be solved under steady change."""
    bench = network(NEVER)
    want(bench, EVEN)
    first_us = bench.now_us + 1
    for links in (79, 78, 77):
        assert carried(wire(bench, links)).pending
    solved(bench)
    assert bench.now_us == first_us + REACT_US
    assert bench.due_us() is None


def test_weights_for_a_stage_of_a_rewiring_are_ready_before_it() -> None:
    bench = network(NEVER)
    want(bench, EVEN)
    assert carried(wire(bench, 70)).pending
    body = carried(wire(bench, 60, planned=True))
    assert (body.solved, body.pending, body.weights) == (True, False, 2)
    assert bench.due_us() is None, "they know the change that nobody planned, too"


def test_traffic_leaves_a_broken_trunk_at_once_and_evenly_only_with_new_weights() -> None:
    """Block 0 loses most of its links to block 1; its traffic continues over the remaining ones."""
    bench = network()
    first = carried(want(bench, EVEN))
    at_once = carried(bench.say(TrunksChanged(links=((0, 1, 8),), planned=False), bench.now_us + 1))
    solved_again = solved(bench)
    assert first.use_ppm < solved_again.use_ppm < at_once.use_ppm
    assert first.served_ppm == solved_again.served_ppm == FULL > at_once.served_ppm


def test_frames_and_weights_are_due_independently() -> None:
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


def test_requested_and_served_traffic_are_summed_over_time() -> None:
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


def test_a_job_is_notified_of_its_bandwidth_only_if_it_changed() -> None:
    bench = network(NEVER)
    (first,) = reported(want(bench, EVEN, rings=(RING,)))
    assert reported(want(bench, 1.02 * EVEN, rings=(RING,))) == [], "within a twentieth"
    # Changes are measured against the last reported value, not the last one, so small steps add up.
    steps = [reported(want(bench, (1.02 + 0.01 * step) * EVEN, rings=(RING,))) for step in range(1, 8)]
    news = [mbps for step in steps for mbps in step]
    assert 0 < len(news) < len(steps)
    assert first > news[0] > 0.9 * first


def test_a_job_that_is_cut_off_gets_nothing_and_is_notified_once() -> None:
    bench = network()
    want(bench, EVEN, rings=(RING,))
    assert reported(wire(bench, 0, block=1)) == [0]
    assert reported(wire(bench, 0, block=1)) == []
    (back,) = reported(wire(bench, LINKS, block=1))
    assert back > 0


def test_a_job_that_returns_is_notified_again() -> None:
    bench = network()
    (first,) = reported(want(bench, EVEN, rings=(RING,)))
    assert reported(want(bench, EVEN)) == []
    assert reported(want(bench, EVEN, rings=(RING,))) == [first]
