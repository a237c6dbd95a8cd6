"""How the messages of a job's pods combine, and how long a slice backs off."""

from dataclasses import replace

import pytest

from ops.sites.configuration import superpod_config
from schemas.messages.scheduler import PodHeld, PodsJoined, SliceAdmitted
from schemas.multislice import Multislice
from services.scheduler.multislice.gang_hold import hold_backoff_us
from services.scheduler.service import SERVICE
from services.scheduler.state import SchedulerState, commission
from services.scheduler.structures.gang_member import (
    GangMember,
    after_departure,
    with_status,
    with_status_of_all,
)
from services.scheduler.structures.slice_record import Slice
from shared.basics.units import US_PER_S
from tests.support.requested import slice_requested
from tests.support.rig import Bench, bodies

NEW = GangMember(
    job="pod-0/slice-4",
    pods=("pod-0", "pod-1", "pod-2"),
    gradient_bytes=1,
    step_us=1,
    slices=("", "", ""),
    status=("nothing", "nothing", "nothing"),
    speeds_ppm=(None, None, None),
)
NAMES = ("pod-0/slice-4", "pod-1/slice-9", "pod-2/slice-0")


def test_a_status_is_kept_under_its_pod() -> None:
    member = with_status(with_status(NEW, NAMES[2], "waits"), NAMES[1], "holds")
    assert member.slices == ("", NAMES[1], NAMES[2])
    assert member.status == ("nothing", "holds", "waits")


def test_a_departure_clears_all_statuses_except_of_pods_that_hold_cubes_again() -> None:
    joined = with_status_of_all(NEW, NAMES, "joined")
    assert after_departure(with_status(joined, NAMES[2], "stopped"), NAMES[1]).status == (
        "waits",
        "waits",
        "waits",
    )
    # The first pod has also departed, and holds cubes again, before the message of the second is read.
    holding_again = with_status(after_departure(joined, NAMES[0]), NAMES[0], "holds")
    assert after_departure(holding_again, NAMES[1]).status == ("holds", "waits", "waits")


def scheduler(mean_s: int, fabric: str = "pod-0", hold_s: int = 600) -> SchedulerState:
    pairs = [f"scheduler.pods_backoff_s={mean_s}", f"scheduler.pods_hold_s={hold_s}"]
    return commission(fabric, superpod_config(pairs, seed=7), 0)


def row_of(number: int) -> Slice:
    return Slice(
        number=number,
        owner="team-1",
        tier="research",
        shape=(4, 4, 4),
        twisted=False,
        chips=64,
        priority=0,
        request="workload@pod-0/1",
        requested_us=0,
        phase="queued",
        changed_us=0,
    )


@pytest.mark.parametrize(
    ("mean_s", "hold_s", "most_s"), [(300, 600, 9_600), (1, 3_600, 57_600), (3_600, 10, 3_600)]
)
def test_the_mean_back_off_doubles_up_to_sixteen_holds(mean_s: int, hold_s: int, most_s: int) -> None:
    """A long attempt needs the other jobs to stay away for longer."""
    state, rows = scheduler(mean_s, hold_s=hold_s), [row_of(number) for number in range(400)]
    for tries in (*range(20), 1_000):
        mean_us = min(mean_s * 2**tries, most_s) * US_PER_S
        drawn = [hold_backoff_us(state, row, tries) for row in rows]
        assert all(0.5 * mean_us < span_us < 1.5 * mean_us for span_us in drawn)
        assert abs(sum(drawn) / len(drawn) / mean_us - 1) < 0.05
        assert len(set(drawn)) > 0.99 * len(drawn)


def test_back_off_differs_by_pod_by_attempt_and_after_a_restart() -> None:
    row = row_of(3)
    spans = [
        hold_backoff_us(scheduler(300), row, 6),
        hold_backoff_us(scheduler(300), row, 7),
        hold_backoff_us(scheduler(300, "pod-1"), row, 6),
        hold_backoff_us(scheduler(300), replace(row, restarts=1), 6),
    ]
    assert len(set(spans)) == len(spans)
    assert hold_backoff_us(scheduler(300), row, 6) == spans[0]


def test_waiting_slices_show_their_new_places_and_reasons_when_a_job_gets_its_held_cubes() -> None:
    """No cube comes free then, so no scheduling cycle follows. The waiting slice moves up all the same."""
    bench = Bench([SERVICE], superpod_config(["pod.cubes=4", "failures.enabled=false"], seed=5))
    job = Multislice(job="pod-0/slice-0", pods=("pod-0", "pod-1"), gradient_bytes=1, step_us=US_PER_S)
    assert bodies(bench.say(slice_requested("pod-0/slice-0", shape=(4, 4, 8), multislice=job)), PodHeld)
    bench.say(slice_requested("pod-0/slice-1", shape=(4, 4, 12)))
    waiting = bench.documents["slices", "pod-0/slice-1"]
    assert (waiting.queue_position, "2 idle and 2 kept for others" in waiting.reason) == (2, True), waiting
    held = PodHeld(job=job.job, slice="pod-1/slice-3", until_us=600 * US_PER_S)
    log = bench.say(held, fabric="pod-1")
    assert [len(bodies(log, kind)) for kind in (PodsJoined, SliceAdmitted)] == [1, 1]
    waiting = bench.documents["slices", "pod-0/slice-1"]
    assert (waiting.queue_position, "2 idle and 2 used" in waiting.reason) == (1, True), waiting
    bench.assert_documents_hold()
