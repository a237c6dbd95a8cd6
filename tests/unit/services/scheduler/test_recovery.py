"""Failed and drained cubes: one plan for all slices, swaps, waits, first claims, moves after a checkpoint."""

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.cubes import CubeUnhealthy, HostDown
from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    RecoveryCosts,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceNoticed,
    SliceRecovering,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from shared.basics.units import US_PER_S
from tests.support.scheduler_model import Said, World


def choice_of(emitted: Said) -> tuple[str, str, str | None]:
    """(slice, part, choice) of a slice that is hit."""
    assert isinstance(emitted, SliceRecovering)
    return emitted.slice, emitted.part, emitted.choice


def test_a_failed_cube_is_swapped_and_only_its_circuits_change() -> None:
    world = World()
    name = world.start((4, 4, 12))
    hit, *emitted = world.fail(1)
    assert choice_of(hit) == (name, "pod-0/cube-1", "swap")
    assert emitted == [
        CubeSwapped(slice=name, left=1, spare=3, corner=None, reason="failed"),
        DisconnectCircuits(slice=name, joins=((0, 1, 1), (1, 1, 1), (2, 0, 1), (2, 1, 2))),
        ConnectCircuits(slice=name, joins=((0, 3, 3), (1, 3, 3), (2, 0, 3), (2, 3, 2))),
    ]
    document = world.status(name)
    assert (document.state, document.swaps) == ("programming", 1)
    assert document.cubes == ("pod-0/cube-0", "pod-0/cube-3", "pod-0/cube-2")
    assert world.train() == [SliceRestored(slice=name)]
    assert world.heal(1) == []
    world.check()


def test_a_failing_job_is_handled_once_before_its_cube_misses_a_heartbeat() -> None:
    world = World()
    name = world.start((4, 4, 12))
    emitted = world.complain(name, 1)
    assert emitted[1] == CubeSwapped(slice=name, left=1, spare=3, corner=None, reason="failed")
    assert world.complain(name, 1) == world.fail(1, after_us=5) == []
    assert world.state.suspects == {}
    assert 1 not in world.idle
    world.heal(1)
    assert 1 in world.idle
    world.train()
    world.check()


def test_a_cube_reported_only_by_a_job_is_used_again_after_a_heartbeat() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    assert [choice_of(body) for body in world.complain(name, 3)] == [(name, "pod-0/cube-3", "wait")]
    assert world.held.due_us == world.now_us + 30 * US_PER_S + 1
    world.unhealthy.discard(3)
    assert world.tick() == [SliceRestored(slice=name)]
    world.check()


def test_without_a_spare_a_slice_stalls_and_has_first_claim_on_the_next() -> None:
    world = World(cubes=4)
    older, younger = world.start((4, 4, 8)), world.start((4, 4, 4))
    last = world.start((4, 4, 4))
    waiting, _ = world.request((4, 4, 4), priority=9)
    assert [choice_of(body) for body in world.fail(2, after_us=5)] == [(younger, "pod-0/cube-2", "wait")]
    assert [choice_of(body) for body in world.fail(0, after_us=5)] == [(older, "pod-0/cube-0", "wait")]
    document = world.status(younger)
    assert document.state == "recovering"
    assert document.reason is not None
    assert document.reason.startswith("pod-0/cube-2 failed")
    emitted = world.release(last)
    assert [type(body) for body in emitted[:2]] == [LeaveCircuits, SliceCompleted]
    assert choice_of(emitted[2]) == (younger, "pod-0/cube-2", "swap")
    assert emitted[3] == CubeSwapped(slice=younger, left=2, spare=3, corner=None, reason="failed")
    assert not any(isinstance(body, SliceAdmitted) for body in emitted)
    assert world.train() == [SliceRestored(slice=younger)]
    assert world.status(younger).reason is None
    assert world.status(waiting).state == "queued"
    world.check()


def test_a_recovering_slice_continues_in_place_if_its_cube_returns() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(3)
    assert world.heal(3) == [SliceRestored(slice=name)]
    assert world.status(name).state == "running"
    assert world.held.due_us is None


def test_a_slice_that_stalls_while_it_connects_starts_when_both_are_done() -> None:
    world = World(cubes=4)
    name, _ = world.request((4, 8, 8))
    assert [choice_of(body) for body in world.fail(3)] == [(name, "pod-0/cube-3", "wait")]
    assert world.train() == []
    assert world.heal(3) == [SliceStarted(slice=name)]
    restored_first = World(cubes=4)
    name, _ = restored_first.request((4, 8, 8))
    restored_first.fail(3)
    assert restored_first.heal(3) == []
    assert restored_first.status(name).state == "programming"
    assert restored_first.train() == [SliceStarted(slice=name)]


def test_two_failed_cubes_need_two_spares() -> None:
    world = World(cubes=4)
    name, spare = world.start((4, 4, 12)), world.start((4, 4, 4))
    assert [choice_of(body)[2] for body in world.fail(0)] == ["wait"]
    assert world.fail(1, after_us=10) == []
    swapped = [body for body in world.release(spare) if isinstance(body, CubeSwapped)]
    assert [(body.left, body.spare) for body in swapped] == [(0, 3)]
    assert world.status(name).state == "recovering"
    assert world.train() == []
    assert world.heal(1) == [SliceRestored(slice=name)]
    world.check()


def test_simultaneous_failures_are_planned_together_and_the_most_urgent_first() -> None:
    world = World(cubes=8, policy=SchedulerConfig(decision_s=30, preflight_s=0))
    research = world.start((4, 4, 8))
    world.start((4, 4, 4))
    production = world.start((4, 4, 12), tier="production")
    filler = world.start((4, 4, 4), tier="filler")
    began_us = world.now_us
    undecided = [choice_of(body) for cube in (0, 6, 3) for body in world.fail(cube)]
    assert undecided == [
        (research, "pod-0/cube-0", None),
        (filler, "pod-0/cube-6", None),
        (production, "pod-0/cube-3", None),
    ]
    assert {world.status(name).state for name in (research, filler, production)} == {"recovering"}
    assert world.held.due_us == began_us + 30 * US_PER_S
    emitted = world.tick()
    hits = [choice_of(body) for body in emitted if isinstance(body, SliceRecovering)]
    assert hits == [
        (production, "pod-0/cube-3", "swap"),
        (research, "pod-0/cube-0", "wait"),
        (filler, "pod-0/cube-6", "wait"),
    ]
    assert world.train() == [SliceRestored(slice=production)]
    world.check()


def test_a_row_of_cubes_is_replaced_in_one_plan() -> None:
    world = World(cubes=12, policy=SchedulerConfig(decision_s=30, preflight_s=0))
    name = world.start((4, 8, 16))
    idle = list(world.idle)
    for cube in (0, 1, 2, 3):
        world.fail(cube)
    emitted = world.tick()
    assert choice_of(emitted[0]) == (name, "pod-0/cube-0", "swap")
    swapped = [(body.left, body.spare) for body in emitted if isinstance(body, CubeSwapped)]
    assert swapped == list(zip((0, 1, 2, 3), idle, strict=True))
    assert sum(isinstance(body, SliceRecovering) for body in emitted) == 1
    assert world.train() == [SliceRestored(slice=name)]
    world.check()


def test_a_slice_requeues_if_waiting_costs_more_than_a_restart() -> None:
    """Three healthy cubes would idle for an hour. In the queue, the slice lends them for half of that time,
    minus the grace period of the borrowers. If no slice waited for them, lending would have no use."""
    world = World(cubes=8)
    name = world.start((4, 8, 8))
    world.start((4, 8, 8), estimate_us=3_600 * US_PER_S)
    world.now_us += 10 * US_PER_S
    world.request((4, 8, 16))
    hit, *emitted = world.fail(3)
    assert choice_of(hit) == (name, "pod-0/cube-3", "evict")
    assert isinstance(hit, SliceRecovering)
    assert hit.costs_chip_us is not None
    assert hit.costs_chip_us.swap is None
    left_us = 3_590 * US_PER_S  # the estimate counts from the start, after the circuits
    assert hit.costs_chip_us.wait == 192 * left_us + 256 * 10_000
    grace_us = SchedulerConfig().grace_s * US_PER_S
    assert hit.costs_chip_us.evict == 256 * (left_us // 2 + grace_us + 10_000)
    assert [type(body) for body in emitted[:2]] == [LeaveCircuits, SliceRequeued]
    assert (world.status(name).state, world.status(name).restarts) == ("queued", 1)
    world.check()


def test_filler_leaves_for_a_slice_that_lost_a_cube() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    fillers = [world.start((4, 4, 4), tier="filler") for _ in range(2)]
    hit, notices = world.fail(0)
    assert choice_of(hit) == (name, "pod-0/cube-0", "wait")
    assert isinstance(notices, SliceNoticed)
    assert (notices.slice in fillers, notices.why) == (True, "preempted")
    world.check()
    emitted = world.checkpoint(notices.slice)
    assert isinstance(emitted[1], SliceRequeued)
    assert choice_of(emitted[2]) == (name, "pod-0/cube-0", "swap")
    assert SliceRestored(slice=name) in world.train()
    world.check()


def test_a_slice_waits_for_the_repair_if_no_cube_ever_comes_free() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    (hit,) = world.fail(3)
    assert isinstance(hit, SliceRecovering)
    assert hit.costs_chip_us is not None
    assert hit.costs_chip_us.evict is None
    assert hit.costs_chip_us.wait == 192 * 24 * 3_600 * US_PER_S + 256 * 10_000
    assert world.status(name).state == "recovering"


def test_a_wait_is_replanned_at_a_higher_cost() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(3)
    for _ in range(6):
        assert world.tick() == []
    assert world.status(name).state == "recovering"
    world.check()


def test_a_warm_spare_needs_no_preflight() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, hot_spares=1))
    name = world.start((4, 4, 8))
    assert world.cube_use("pod-0/cube-3").slices == ()
    assert world.summary().chips_by_category["held_back"] == 64
    hit, *emitted = world.fail(0)
    assert choice_of(hit) == (name, "pod-0/cube-0", "spare")
    assert emitted[0] == CubeSwapped(slice=name, left=0, spare=3, corner=None, reason="failed")
    assert world.train() == [SliceRestored(slice=name)]
    assert list(world.state.warm_cubes) == [2]
    world.check()


def test_a_warm_spare_costs_a_job_without_replication_its_work() -> None:
    """The scheduler takes this into account in its comparison: 64 chips lose the ten minutes of work since
    the last checkpoint. The job behaves in the same way (`services/jobs`)."""
    terms = JobTerms(
        work_us=7_200 * US_PER_S, checkpoint_every_us=3_600 * US_PER_S, write_us=0, startup_us=60 * US_PER_S
    )
    costs: dict[bool, RecoveryCosts] = {}
    for replicates in (False, True):
        world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=0, hot_spares=1))
        name = world.start((4, 4, 4), job=terms.model_copy(update={"replicates": replicates}))
        world.now_us += 660 * US_PER_S
        hit = world.fail(0)[0]
        assert choice_of(hit) == (name, "pod-0/cube-0", "spare")
        assert isinstance(hit, SliceRecovering)
        assert hit.costs_chip_us is not None
        costs[replicates] = hit.costs_chip_us
        progress = world.state.slices[0].progress
        assert progress is not None
        assert progress.uncommitted_us == (600 * US_PER_S if replicates else 0)
        world.check()
    assert costs[True].swap == costs[False].swap
    with_copy, without_copy = costs[True].spare, costs[False].spare
    assert with_copy is not None
    assert without_copy == with_copy + 64 * 600 * US_PER_S


def test_a_warm_spare_is_not_given_to_waiting_slices() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=0, hot_spares=2))
    world.start((4, 4, 4))
    assert world.status(world.request((4, 4, 8))[0]).state == "queued"
    world.fail(3)
    assert sorted(world.state.warm_cubes) == [1, 2]
    world.check()


def test_a_cube_with_only_a_failed_module_keeps_computing() -> None:
    world = World(cubes=4)
    mesh = world.request((2, 4, 4))[0]
    assert world.feed(CubeUnhealthy(cube=0, reasons=("pod-0/cube-0/+x/3",))) == []
    assert world.status(mesh).state == "running"
    world.unhealthy.add(0)
    (hit, *_) = world.feed(HostDown(cube=0, host=3, reason="host"))
    assert choice_of(hit) == (mesh, "pod-0/cube-0", "swap")
    assert world.status(mesh).cubes == ("pod-0/cube-1",)


def test_a_released_recovering_slice_is_completed() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(0)
    emitted = world.release(name)
    assert [type(body) for body in emitted] == [LeaveCircuits, SliceCompleted]
    assert world.held.due_us is None
    assert world.idle == [1, 2, 3]
    world.check()


def test_a_slice_leaves_a_drained_cube_after_a_checkpoint_if_a_spare_is_idle() -> None:
    world = World(cubes=4)
    name, neighbour = world.start((4, 4, 8)), world.start((4, 4, 8))
    assert world.drain(0) == []
    assert world.status(name).state == "running"
    outputs = world.release(neighbour)[2]
    assert outputs == SliceNoticed(slice=name, why="drained", until_us=world.now_us + 120 * US_PER_S)
    assert world.status(name).state == "running"
    fits, _ = world.request((4, 4, 4))
    assert world.status(fits).cubes == ("pod-0/cube-3",)
    full, _ = world.request((4, 4, 4))
    assert world.status(full).state == "queued"
    emitted = world.checkpoint(name)
    assert emitted[0] == CubeSwapped(slice=name, left=0, spare=2, corner=None, reason="drained")
    assert SliceRestored(slice=name) in world.train()
    assert [type(body) for body in world.undrain(0)] == [SliceAdmitted, ConnectCircuits]
    world.check()


def test_a_slice_without_checkpoints_still_leaves_a_drained_cube() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    world.drain(0)
    world.check()
    assert CubeSwapped(slice=name, left=0, spare=2, corner=None, reason="drained") in world.tick()
    world.check()


def test_a_noticed_slice_stays_if_its_cube_is_undrained() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    world.drain(0)
    assert world.undrain(0) == []
    assert world.checkpoint(name) == [SliceRestored(slice=name)]
    assert world.idle == [2, 3]
    world.check()


def test_a_cube_that_fails_during_the_move_is_replaced_at_once() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    world.drain(0)
    hit, swapped, *_ = world.fail(0)
    assert choice_of(hit) == (name, "pod-0/cube-0", "swap")
    assert swapped == CubeSwapped(slice=name, left=0, spare=2, corner=None, reason="failed")
    assert world.checkpoint(name) == []
    world.check()


def test_a_slice_that_loses_its_reserved_spare_stays() -> None:
    world = World(cubes=4)
    name, neighbour = world.start((4, 4, 8)), world.start((4, 4, 4))
    world.drain(0)
    world.fail(3)
    assert world.checkpoint(name) == [SliceRestored(slice=name)]
    world.release(neighbour)
    world.check()


def test_a_slice_stays_on_a_drained_cube_that_is_undrained_in_time() -> None:
    world = World(cubes=4)
    name, neighbour = world.start((4, 4, 8)), world.start((4, 4, 8))
    world.drain(0)
    world.undrain(0)
    assert [type(body) for body in world.release(neighbour)] == [LeaveCircuits, SliceCompleted]
    assert world.status(name).swaps == 0


def test_each_mesh_of_a_failed_cube_moves_to_where_it_fits() -> None:
    world = World(cubes=4)
    half, small = world.request((2, 4, 4))[0], world.request((1, 1, 1))[0]
    filler = world.request((2, 4, 4))[0]
    assert world.status(filler).cubes == ("pod-0/cube-1",)
    emitted = [body for body in world.fail(0) if not isinstance(body, SliceRecovering)]
    assert emitted == [
        CubeSwapped(slice=half, left=0, spare=1, corner=(2, 0, 0), reason="failed"),
        SliceRestored(slice=half),
        CubeSwapped(slice=small, left=0, spare=2, corner=(0, 0, 0), reason="failed"),
        SliceRestored(slice=small),
    ]
    world.check()


def test_repeated_health_messages_change_nothing() -> None:
    world = World(cubes=4)
    world.start((4, 8, 8))
    world.fail(0)
    assert world.fail(0) == []
    world.heal(0)
    assert world.heal(0) == []
    world.drain(1)
    assert world.drain(1) == []
    world.undrain(1)
    assert world.undrain(1) == []
    world.check()


def test_a_failed_and_drained_cube_is_used_again_when_it_is_neither() -> None:
    world = World(cubes=4)
    world.fail(0)
    world.drain(0)
    world.heal(0)
    assert world.idle == [1, 2, 3]
    world.undrain(0)
    assert world.idle == [0, 1, 2, 3]


def test_a_swap_forgets_the_links_of_the_removed_circuits() -> None:
    world = World(cubes=4)
    name, neighbour = world.start((4, 4, 8)), world.start((4, 4, 8))
    end_of_cube_0_to_1, end_of_cube_1 = 4 * 16, 96 + 5 * 16
    hit, slow = world.change_links(down=(end_of_cube_0_to_1, end_of_cube_1))
    assert choice_of(hit) == (name, "pod-0/cube-0/+z/0", "route")
    assert isinstance(slow, SliceDegraded)
    assert (slow.links_down, slow.links_degraded) == (2, 0)
    world.release(neighbour)
    world.fail(1)
    assert world.train() == [SliceRestored(slice=name)]
    world.check()
