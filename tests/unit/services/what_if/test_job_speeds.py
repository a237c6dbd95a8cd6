"""Predictions for multislice jobs and traffic come true: predict, change, compare."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from schemas.messages.scheduler import FULL_SPEED
from schemas.messages.traffic import TrafficCarried
from services.fabric_kinds import services_of
from services.jobs.service import SERVICE as JOBS
from services.what_if.job_speeds import JobSpeed, SpeedSample, job_effects, traffic_effects
from shared.basics.units import US_PER_S
from shared.storage.store.state_copies import StateCopies
from tests.support.gateway_twin import DrivenTwin
from tests.support.joined_twin import JOB, NETWORK, SLICES, WAIT, joined_twin

pytestmark = pytest.mark.integration

HALF, NOTHING = FULL_SPEED // 2, 0
UNTIL_US = 10
REACT_S = 30
"""Time until weights are solved for a part that broke or returned."""


@pytest.fixture(scope="module")
def campus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = joined_twin(tmp_path_factory.mktemp("twin"))
    yield twin
    twin.close()


def predicted(twin: DrivenTwin, path: str) -> dict[str, Any]:
    answer = twin.client().get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def pace(twin: DrivenTwin) -> tuple[float, float | None]:
    """(Gb/s, share of full speed) of the job, as reported by its first pod."""
    state = StateCopies(twin.store, services_of).state("pod-0", JOBS)
    return state.jobs[0].progress.speed_ppm / FULL_SPEED, state.multislice_jobs[0].gbps


def broken(twin: DrivenTwin, kind: str, target: str) -> str:
    receipt = twin.client().post("/v1/faults", json={"kind": kind, "target": target}, params=WAIT).json()
    assert receipt["status"] == "accepted", receipt
    twin.advance(0.01)
    fault: str = receipt["outcome"][0]["body"]["fault"]
    return fault


def mended(twin: DrivenTwin, fault: str) -> None:
    twin.client().post(f"/v1/faults/{fault}/clear", params=WAIT)
    twin.advance(0.01)


@pytest.mark.parametrize(("kind", "part"), [("bundle", "block-0/bundle-1"), ("rack", "rack-2")])
def test_a_job_predicted_to_slow_down_does(campus: DrivenTwin, kind: str, part: str) -> None:
    campus.advance((REACT_S + 1) / 3_600)
    speed, gbps = pace(campus)
    target = f"{NETWORK}/{part}"
    lost = predicted(campus, f"impact/{target}")
    answer = predicted(campus, f"what-if/inject?kind={kind}&target={target}&duration_s=600")
    fault = broken(campus, kind, target)
    campus.advance((REACT_S + 1) / 3_600)
    slower, given = pace(campus)
    mended(campus, fault)
    assert slower < speed
    for (row,) in (lost["jobs"], answer["jobs"]):
        assert (row["job"], tuple(row["slices"]), row["becomes"]) == (JOB, SLICES, "slower")
        assert row["before"] == {"speed": speed, "gbps": gbps}
        assert row["after"] == {"speed": slower, "gbps": given}
    (foreseen,) = answer["jobs"]
    assert foreseen["from_us"] == answer["at_us"]
    # Until mirrors have turned, and weights are solved for it.
    assert 600 <= (foreseen["until_us"] - answer["at_us"]) / US_PER_S < 601 + REACT_S
    (traffic,) = answer["traffic"]
    assert traffic["fabric"] == NETWORK
    assert (traffic["before"], traffic["after"]) == (lost["before"], lost["after"])
    assert lost["before"]["use"] < lost["after"]["use"]


@pytest.mark.parametrize("block", [0, 1])
def test_a_job_whose_pod_would_be_cut_off_is_predicted_to_stop(campus: DrivenTwin, block: int) -> None:
    target = f"{NETWORK}/block-{block}"
    for told in (
        predicted(campus, f"impact/{target}"),
        predicted(campus, f"what-if/inject?kind=block&target={target}&duration_s=3600"),
    ):
        (row,) = told["jobs"]
        assert (row["job"], row["becomes"]) == (JOB, "stopped")
        assert row["after"] == {"speed": 0.0, "gbps": 0.0}
        assert row["before"]["speed"] > 0.5


def test_an_unaffected_job_is_not_named(campus: DrivenTwin) -> None:
    target = f"{NETWORK}/control-2"
    assert predicted(campus, f"impact/{target}")["jobs"] == []
    answer = predicted(campus, f"what-if/inject?kind=control&target={target}&duration_s=600")
    assert (answer["jobs"], answer["traffic"]) == ([], [])


def test_a_job_that_continues_after_a_repair_is_reported(campus: DrivenTwin) -> None:
    target = f"{NETWORK}/block-0"
    fault = broken(campus, "block", target)
    (row,) = predicted(campus, f"what-if/repair?target={target}")["jobs"]
    assert (row["job"], row["becomes"], row["before"]["speed"]) == (JOB, "runs", 0.0)
    assert row["after"]["speed"] > 0.5
    mended(campus, fault)
    assert pace(campus)[0] == pytest.approx(row["after"]["speed"], abs=0.001)


def test_a_fault_in_one_pod_is_predicted_for_the_job_in_all_pods(campus: DrivenTwin) -> None:
    """An OCS of one pod: the slice there is degraded, and the job is slower in both."""
    answer = predicted(campus, "what-if/inject?kind=ocs&target=pod-1/ocs-3&duration_s=1200")
    assert [row["slice"] for row in answer["slices"]] == ["pod-1/slice-0"]
    (row,) = answer["jobs"]
    assert (row["job"], tuple(row["slices"])) == (JOB, SLICES)


def moments(*speeds: tuple[int, int | None]) -> list[SpeedSample]:
    return [
        SpeedSample(at_us, {} if speed is None else {JOB: JobSpeed(speed, 1.0)}, {})
        for at_us, speed in speeds
    ]


@pytest.mark.parametrize(
    ("done", "left", "expected"),
    [
        (moments((0, FULL_SPEED)), moments((0, FULL_SPEED)), None),
        (moments((0, FULL_SPEED), (5, HALF)), moments((0, FULL_SPEED)), ("slower", 1.0, 0.5, 5, None)),
        (
            moments((0, FULL_SPEED), (5, HALF), (7, NOTHING), (9, FULL_SPEED)),
            moments((0, FULL_SPEED), (6, HALF)),
            ("stopped", 0.5, 0.0, 5, None),
        ),
        # It stops for a short time and is slow for long. The slow time costs more.
        (
            moments((0, FULL_SPEED), (5, NOTHING), (6, HALF)),
            moments((0, FULL_SPEED)),
            ("slower", 1.0, 0.5, 5, None),
        ),
        (
            moments((0, NOTHING), (2, HALF)),
            moments((0, NOTHING), (4, HALF)),
            ("runs", 0.0, 0.5, 2, 4),
        ),
        (
            moments((0, HALF), (2, NOTHING), (4, HALF + 1)),
            moments((0, HALF)),
            ("stopped", 0.5, 0.0, 2, 4),
        ),
        (moments((0, HALF)), moments((0, HALF), (3, NOTHING), (4, None)), ("runs", 0.0, 0.5, 3, None)),
    ],
)
def test_the_largest_effect_is_reported(
    done: Sequence[SpeedSample],
    left: Sequence[SpeedSample],
    expected: tuple[str, float, float, int, int | None] | None,
) -> None:
    """A slice that has ended in one of the two futures is no longer compared."""
    found = [
        (row.becomes, row.before.speed, row.after.speed, row.from_us, row.until_us)
        for row in job_effects(done, left, {JOB: SLICES}, UNTIL_US)
    ]
    assert found == ([] if expected is None else [expected])


def carried(served_ppm: int, use_ppm: int) -> TrafficCarried:
    return TrafficCarried(
        hour=1,
        weights=1,
        solved=True,
        pending=False,
        use_ppm=use_ppm,
        bound_ppm=0,
        served_ppm=served_ppm,
        direct_ppm=0,
        path_ppm=0,
        cut_off=0,
    )


def test_served_traffic_ranks_before_full_trunks() -> None:
    left = [SpeedSample(0, {}, {NETWORK: carried(1_000_000, 500_000), "dcn-1": carried(5, 5)})]
    done = [
        *left,
        SpeedSample(1, {}, {NETWORK: carried(1_000_000, 950_000), "dcn-1": carried(5, 5)}),
        SpeedSample(2, {}, {NETWORK: carried(900_000, 700_000), "dcn-1": carried(5, 5)}),
    ]
    (row,) = traffic_effects(done, left, 3)
    assert (row.fabric, row.at_us) == (NETWORK, 2)
    assert (row.before.served, row.after.served, row.before.use, row.after.use) == (1.0, 0.9, 0.5, 0.7)
