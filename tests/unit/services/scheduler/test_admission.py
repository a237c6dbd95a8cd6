"""Requests, placement, queue order, backfill, releases, refusals and the accounting."""

import pytest

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import (
    ConnectCircuits,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceRefused,
    SliceStarted,
)
from schemas.messages.workload import SliceReleased
from schemas.names import Shape
from shared.engine.ended_rows import ENDED_MAX
from shared.models.superpod.shapes import slice_joins
from tests.support.requested import slice_requested
from tests.support.scheduler_model import SWITCHING_US, Said, World


def admitted(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceAdmitted)]


def test_a_torus_is_admitted_connected_trained_and_started() -> None:
    world = World()
    name, emitted = world.request((4, 4, 8), twisted=True)
    assert emitted == [
        SliceAdmitted(slice=name, shape=(4, 4, 8), twisted=True, cubes=(0, 1), corner=None, waited_us=0),
        ConnectCircuits(slice=name, joins=slice_joins((4, 4, 8), True, (0, 1))),
    ]
    assert world.status(name).state == "programming"
    assert world.train() == [SliceStarted(slice=name)]
    document = world.status(name)
    assert (document.state, document.started_us, document.chips) == ("running", SWITCHING_US, 128)
    assert document.cubes == ("pod-0/cube-0", "pod-0/cube-1")
    world.check()


def test_one_cube_is_a_torus_with_its_own_loops() -> None:
    name, emitted = World().request((4, 4, 4))
    assert emitted[1] == ConnectCircuits(slice=name, joins=((0, 0, 0), (1, 0, 0), (2, 0, 0)))


def test_a_mesh_has_no_circuits_and_starts_at_once() -> None:
    world = World()
    first, emitted = world.request((2, 4, 4))
    second, second_emitted = world.request((1, 1, 1))
    assert [type(body) for body in emitted] == [SliceAdmitted, SliceStarted]
    assert second_emitted[0] == SliceAdmitted(
        slice=second, shape=(1, 1, 1), twisted=False, cubes=(0,), corner=(2, 0, 0), waited_us=0
    )
    use = world.cube_use("pod-0/cube-0")
    assert (use.slices, use.chips_used) == ((first, second), 33)
    assert world.release(first) == [SliceCompleted(slice=first, reason="operator")]
    assert world.cube_use("pod-0/cube-0").chips_used == 1


def test_a_release_disconnects_completes_and_admits_the_next_in_one_answer() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    second, not_admitted = world.request((4, 8, 8))
    assert not_admitted == []
    assert world.status(second).reason == (
        "first in line; needs 4 healthy idle cubes: of 4 cubes, 0 idle and 4 used"
    )
    emitted = world.release(first, after_us=1_000)
    assert [type(body) for body in emitted] == [
        LeaveCircuits,
        SliceCompleted,
        SliceAdmitted,
        ConnectCircuits,
    ]
    assert emitted[2] == SliceAdmitted(
        slice=second, shape=(4, 8, 8), twisted=False, cubes=(0, 1, 2, 3), corner=None, waited_us=1_000
    )
    world.check()


def test_an_admission_from_the_queue_is_caused_by_its_own_request() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    world.request((4, 4, 4))
    request = f"workload@pod-0/{world.seq}"
    emitted = world.envelopes(SliceReleased(slice=first, reason="finished"))
    causes = {message.type: message.cause for message in emitted}
    release = f"workload@pod-0/{world.seq}"
    assert causes == {
        "LeaveCircuits": release,
        "SliceCompleted": release,
        "SliceAdmitted": request,
        "DisconnectCircuits": request,
        "ConnectCircuits": request,
    }


def test_a_released_waiting_slice_is_withdrawn() -> None:
    world = World(cubes=4)
    world.start((4, 8, 8))
    waiting, _ = world.request((4, 4, 4))
    emitted = world.release(waiting)
    assert emitted == [SliceRefused(slice=waiting, reason="withdrawn before it started (operator)")]
    world.check()


def test_a_released_slice_that_ran_and_waits_again_is_completed() -> None:
    world = World(cubes=4)
    filler = world.start((4, 8, 8), tier="filler")
    world.request((4, 8, 8), tier="production")
    world.checkpoint(filler)
    assert world.status(filler).state == "queued"
    assert world.release(filler) == [SliceCompleted(slice=filler, reason="operator")]
    assert (world.status(filler).state, world.state.refused) == ("completed", 0)
    world.check()


def test_a_released_programming_slice_ignores_its_late_circuits() -> None:
    world = World()
    name, _ = world.request((4, 4, 8))
    late = list(world.commands)
    assert [type(b) for b in world.release(name)] == [DisconnectCircuits, SliceCompleted]
    world.commands = late
    assert world.train() == []
    assert world.release(name) == []
    world.check()


def test_the_queue_is_ordered_by_priority_then_number() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    names = [world.request((4, 8, 8), priority=p)[0] for p in (0, 5, 0, 5, -1)]
    order = []
    running = first
    for _ in names:
        (running,) = admitted(world.release(running))
        order.append(running)
    assert order == [names[i] for i in (1, 3, 0, 2, 4)]


def test_no_owner_crowds_out_another() -> None:
    world = World(cubes=4, policy=SchedulerConfig(queue_max=2))
    running = world.start((4, 8, 8))
    world.request((4, 8, 8))
    world.request((4, 4, 4))
    name, emitted = world.request((4, 4, 4))
    reason = "team already has 2 of at most 2 slices in the queue (scheduler.queue_max)"
    assert emitted == [SliceRefused(slice=name, reason=reason)]
    assert world.status(name).reason == reason
    world.check()
    other_slice, emitted = world.request((4, 4, 4), owner="operator")
    assert emitted == []
    assert world.status(other_slice).state == "queued"
    world.release(running)
    assert world.state.refused == 1


def test_an_owner_without_queue_space_still_gets_a_slice_that_fits() -> None:
    world = World(cubes=4, policy=SchedulerConfig(queue_max=0))
    assert admitted(world.request((4, 4, 4))[1]) == ["pod-0/slice-0"]
    name, emitted = world.request((4, 8, 8))
    reason = "team already has 0 of at most 0 slices in the queue (scheduler.queue_max)"
    assert emitted == [SliceRefused(slice=name, reason=reason)]


def test_a_recorded_trace_may_queue_completely() -> None:
    world = World(cubes=4, policy=SchedulerConfig(queue_max=0))
    world.start((4, 8, 8))
    name = "pod-0/slice-1"
    world.shapes[name], world.tiers[name] = ((4, 4, 4), False), "research"
    world.requested += 1
    row = slice_requested(name, owner="trace", requested_by="trace")
    assert world.feed(row) == []
    assert world.status(name).state == "queued"


def test_a_known_request_changes_nothing() -> None:
    world = World(cubes=4)
    name, _ = world.request((4, 4, 4))
    repeated = slice_requested(name, requested_by="operator")
    assert world.feed(repeated) == []
    world.check()
    world.release(name)
    assert world.feed(repeated) == []
    world.check()


@pytest.mark.parametrize(
    ("shape", "twisted", "part"),
    [
        ((4, 4, 6), False, "nearest legal shape is 4x4x8"),
        ((8, 8, 12), False, "it needs 12 cubes and the pod has 8"),
        (
            (8, 8, 12),
            False,
            "; a slice of several pods needs a fabric that joins them, and the site has none",
        ),
        ((4, 4, 4), True, "cannot be twisted"),
    ],
)
def test_an_impossible_slice_is_refused_at_once_with_the_rule(shape: Shape, twisted: bool, part: str) -> None:
    world = World(cubes=8)
    name, (body,) = world.request(shape, twisted)
    assert isinstance(body, SliceRefused)
    assert body.slice == name
    assert part in body.reason
    assert world.status(name).state == "refused"
    world.check()


def test_only_the_last_ended_slices_are_kept() -> None:
    world = World()
    for _ in range(ENDED_MAX + 30):
        world.request((4, 4, 6))
    world.check()
    assert ("slices", "pod-0/slice-29") not in world.documents
    assert ("slices", "pod-0/slice-30") in world.documents
    assert len(world.state.ended) == ENDED_MAX
    assert world.state.refused == ENDED_MAX + 30


def test_the_accounting_integrates_allocated_chips() -> None:
    world = World(cubes=8)
    torus, _ = world.request((4, 4, 8))
    mesh, _ = world.request((2, 2, 4), after_us=100)
    world.release(torus, after_us=50)
    world.release(mesh, after_us=1_000)
    summary = world.summary()
    assert summary.chip_us["allocated"] == 128 * 150 + 16 * 1_050
    assert sum(summary.chip_us.values()) == 512 * 1_150
    assert (summary.at_us, summary.chips, summary.chips_by_category["allocated"]) == (1_150, 512, 0)
    assert (summary.admitted, summary.completed, summary.running, summary.queued) == (2, 2, 0, 0)
