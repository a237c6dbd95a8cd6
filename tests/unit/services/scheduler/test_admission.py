"""Requests, placement, queue order, backfill, releases, refusals and the accounts."""

import pytest

from schemas.config import SchedulerConfig, TraceRow
from schemas.names import Shape
from schemas.scheduler import (
    ConnectCircuits,
    DisconnectCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceRefused,
    SliceStarted,
)
from schemas.workload import SliceReleased
from shared.basics.units import US_PER_HOUR
from shared.engine.ledger import ENDED_MAX
from shared.models.superpod.shapes import slice_joins
from tests.support.scheduler_model import SWITCHING_US, Said, World


def admitted(said: list[Said]) -> list[str]:
    return [body.slice for body in said if isinstance(body, SliceAdmitted)]


def test_a_torus_is_admitted_connected_trained_and_started() -> None:
    world = World()
    name, said = world.request((4, 4, 8), twisted=True)
    assert said == [
        SliceAdmitted(slice=name, shape=(4, 4, 8), twisted=True, cubes=(0, 1), corner=None, waited_us=0),
        ConnectCircuits(slice=name, joins=slice_joins((4, 4, 8), True, (0, 1))),
    ]
    assert world.status(name).state == "programming"
    assert world.train() == [SliceStarted(slice=name)]
    document = world.status(name)
    assert (document.state, document.started_us, document.chips) == ("running", SWITCHING_US, 128)
    assert document.cubes == ("pod-0/cube-0", "pod-0/cube-1")
    world.check()


def test_one_cube_is_a_torus_with_loops_of_its_own() -> None:
    name, said = World().request((4, 4, 4))
    assert said[1] == ConnectCircuits(slice=name, joins=((0, 0, 0), (1, 0, 0), (2, 0, 0)))


def test_a_mesh_has_no_circuits_and_starts_at_once() -> None:
    world = World()
    first, said = world.request((2, 4, 4))
    second, more = world.request((1, 1, 1))
    assert [type(body) for body in said] == [SliceAdmitted, SliceStarted]
    assert more[0] == SliceAdmitted(
        slice=second, shape=(1, 1, 1), twisted=False, cubes=(0,), corner=(2, 0, 0), waited_us=0
    )
    use = world.cube_use("pod-0/cube-0")
    assert (use.slices, use.chips_used) == ((first, second), 33)
    assert world.release(first) == [SliceCompleted(slice=first, reason="operator")]
    assert world.cube_use("pod-0/cube-0").chips_used == 1


def test_release_disconnects_completes_and_admits_the_next_in_one_answer() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    second, nothing = world.request((4, 8, 8))
    assert nothing == []
    assert world.status(second).reason == "needs 4 healthy idle cubes"
    said = world.release(first, after_us=1_000)
    assert [type(body) for body in said] == [
        DisconnectCircuits,
        SliceCompleted,
        SliceAdmitted,
        ConnectCircuits,
    ]
    assert said[2] == SliceAdmitted(
        slice=second, shape=(4, 8, 8), twisted=False, cubes=(0, 1, 2, 3), corner=None, waited_us=1_000
    )
    world.check()


def test_an_admission_from_the_queue_is_caused_by_its_own_request() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    world.request((4, 4, 4))
    request = f"workload@pod-0/{world.seq}"
    said = world.envelopes(SliceReleased(slice=first, reason="finished"))
    causes = {message.type: message.cause for message in said}
    release = f"workload@pod-0/{world.seq}"
    assert causes == {
        "DisconnectCircuits": release,
        "SliceCompleted": release,
        "SliceAdmitted": request,
        "ConnectCircuits": request,
    }


def test_a_waiting_slice_that_is_released_is_withdrawn() -> None:
    world = World(cubes=4)
    world.start((4, 8, 8))
    waiting, _ = world.request((4, 4, 4))
    said = world.release(waiting)
    assert said == [SliceRefused(slice=waiting, reason="withdrawn while it waited (operator)")]
    world.check()


def test_a_programming_slice_can_be_released_and_its_late_circuits_change_nothing() -> None:
    world = World()
    name, _ = world.request((4, 4, 8))
    late = list(world.commands)
    assert [type(b) for b in world.release(name)] == [DisconnectCircuits, SliceCompleted]
    world.commands = late
    assert world.train() == []
    assert world.release(name) == []
    world.check()


def test_the_queue_goes_by_priority_then_number() -> None:
    world = World(cubes=4)
    first = world.start((4, 8, 8))
    names = [world.request((4, 8, 8), priority=p)[0] for p in (0, 5, 0, 5, -1)]
    order = []
    running = first
    for _ in names:
        (running,) = admitted(world.release(running))
        order.append(running)
    assert order == [names[i] for i in (1, 3, 0, 2, 4)]


def test_smaller_ones_pass_the_first_until_its_patience_is_over_and_not_after() -> None:
    world = World(cubes=4, policy=SchedulerConfig(backfill_patience_h=6.0))
    blockers = [world.start((4, 4, 4)) for _ in range(4)]
    head, _ = world.request((4, 8, 8))
    passer, _ = world.request((4, 4, 4))
    assert admitted(world.release(blockers[0], after_us=6 * US_PER_HOUR - 1)) == [passer]
    late, _ = world.request((4, 4, 4))
    assert admitted(world.release(passer, after_us=1)) == []
    world.check()
    for blocker in blockers[1:3]:
        assert admitted(world.release(blocker)) == []
    assert admitted(world.release(blockers[3])) == [head]
    assert admitted(world.release(head)) == [late]


def test_when_cubes_are_kept_only_meshes_in_partly_used_cubes_still_pass() -> None:
    world = World(cubes=4, policy=SchedulerConfig(backfill_patience_h=0.0))
    world.start((4, 4, 4))
    half, _ = world.request((2, 4, 4))
    head, _ = world.request((4, 8, 8))
    fits, said = world.request((2, 4, 4))
    assert admitted(said) == [fits]
    outside, said = world.request((1, 1, 1))
    assert admitted(said) == []
    assert admitted(world.release(half)) == [outside]
    assert world.status(head).state == "queued"


def test_withdrawing_the_first_lets_the_others_go() -> None:
    world = World(cubes=4, policy=SchedulerConfig(backfill_patience_h=0.0))
    world.start((4, 4, 4))
    head, _ = world.request((4, 8, 8))
    behind, said = world.request((4, 4, 4))
    assert admitted(said) == []
    assert admitted(world.release(head)) == [behind]


def test_the_full_queue_refuses_with_its_bound() -> None:
    world = World(cubes=4, policy=SchedulerConfig(queue_max=2))
    running = world.start((4, 8, 8))
    world.request((4, 8, 8))
    world.request((4, 4, 4))
    name, said = world.request((4, 4, 4))
    reason = "queue full: 2 of 2 slices wait (scheduler.queue_max)"
    assert said == [SliceRefused(slice=name, reason=reason)]
    assert world.status(name).reason == reason
    world.check()
    world.release(running)
    assert world.state.refused == 1


def test_a_queue_of_none_still_admits_what_fits() -> None:
    world = World(cubes=4, policy=SchedulerConfig(queue_max=0))
    assert admitted(world.request((4, 4, 4))[1]) == ["pod-0/slice-0"]
    name, said = world.request((4, 8, 8))
    assert said == [SliceRefused(slice=name, reason="queue full: 0 of 0 slices wait (scheduler.queue_max)")]


def test_a_recorded_trace_may_wait_as_a_whole() -> None:
    row = TraceRow(submit_us=0, duration_us=1, shape=(4, 4, 4), twisted=False, priority=0)
    assert World(trace=(row,) * 5, policy=SchedulerConfig(queue_max=2)).state.queue_max == 5
    assert World(trace=(row,) * 5, policy=SchedulerConfig(queue_max=9)).state.queue_max == 9


@pytest.mark.parametrize(
    ("shape", "twisted", "part"),
    [
        ((4, 4, 6), False, "nearest legal shape is 4x4x8"),
        ((8, 8, 12), False, "it takes 12 cubes and the pod has 8"),
        ((4, 4, 4), True, "cannot be twisted"),
    ],
)
def test_what_can_never_run_is_refused_at_once_with_the_rule(shape: Shape, twisted: bool, part: str) -> None:
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


def test_the_accounts_integrate_allocated_chips() -> None:
    world = World(cubes=8)
    torus, _ = world.request((4, 4, 8))
    mesh, _ = world.request((2, 2, 4), after_us=100)
    world.release(torus, after_us=50)
    world.release(mesh, after_us=1_000)
    summary = world.summary()
    assert summary.chip_us["allocated"] == 128 * 150 + 16 * 1_050
    assert sum(summary.chip_us.values()) == 512 * 1_150
    assert (summary.at_us, summary.chips, summary.chips_by_place["allocated"]) == (1_150, 512, 0)
    assert (summary.admitted, summary.completed, summary.running, summary.queued) == (2, 2, 0, 0)
