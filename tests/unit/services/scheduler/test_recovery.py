"""Failed and drained cubes: swaps, stalls, first claims, evictions."""

from schemas.config_scheduler import SchedulerConfig
from schemas.cubes import CubeUnhealthy
from schemas.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceRecovering,
    SliceRestored,
    SliceStarted,
)
from shared.basics.units import US_PER_S
from tests.support.scheduler_model import World


def test_a_failed_cube_is_swapped_and_only_circuits_that_touch_it_change() -> None:
    world = World()
    name = world.start((4, 4, 12))
    said = world.fail(1)
    assert said == [
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


def test_a_job_that_fails_is_believed_before_its_cube_misses_a_heartbeat_and_once() -> None:
    world = World()
    name = world.start((4, 4, 12))
    said = world.complain(name, 1)
    assert said[0] == CubeSwapped(slice=name, left=1, spare=3, corner=None, reason="failed")
    assert world.complain(name, 1) == world.fail(1, after_us=5) == []
    assert world.state.suspects == {}
    assert 1 not in world.idle
    world.heal(1)
    assert 1 in world.idle
    world.train()
    world.check()


def test_a_cube_that_only_a_job_complained_of_is_used_again_after_a_heartbeat() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    assert world.complain(name, 3) == [SliceRecovering(slice=name, cube=3)]
    assert world.held.due_us == world.now_us + 30 * US_PER_S + 1
    world.unhealthy.discard(3)
    assert world.tick() == [SliceRestored(slice=name)]
    world.check()


def test_without_a_spare_it_stalls_and_has_first_claim_on_the_next() -> None:
    world = World(cubes=4)
    older, younger = world.start((4, 4, 8)), world.start((4, 4, 4))
    last = world.start((4, 4, 4))
    waiting, _ = world.request((4, 4, 4), priority=9)
    assert world.fail(2, after_us=5) == [SliceRecovering(slice=younger, cube=2)]
    assert world.fail(0, after_us=5) == [SliceRecovering(slice=older, cube=0)]
    document = world.status(younger)
    assert document.state == "recovering"
    assert document.reason is not None
    assert document.reason.startswith("pod-0/cube-2 failed")
    said = world.release(last)
    assert [type(body) for body in said[:2]] == [DisconnectCircuits, SliceCompleted]
    assert said[2] == CubeSwapped(slice=younger, left=2, spare=3, corner=None, reason="failed")
    assert not any(isinstance(body, SliceAdmitted) for body in said)
    assert world.train() == [SliceRestored(slice=younger)]
    assert world.status(younger).reason is None
    assert world.status(waiting).state == "queued"
    world.check()


def test_a_recovering_slice_goes_on_where_it_is_if_its_cube_returns() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(3)
    assert world.heal(3) == [SliceRestored(slice=name)]
    assert world.status(name).state == "running"
    assert world.held.due_us is None


def test_a_slice_that_stalls_while_it_connects_starts_when_both_are_done() -> None:
    world = World(cubes=4)
    name, _ = world.request((4, 8, 8))
    assert world.fail(3) == [SliceRecovering(slice=name, cube=3)]
    assert world.train() == []
    assert world.heal(3) == [SliceStarted(slice=name)]
    other = World(cubes=4)
    name, _ = other.request((4, 8, 8))
    other.fail(3)
    assert other.heal(3) == []
    assert other.status(name).state == "programming"
    assert other.train() == [SliceStarted(slice=name)]


def test_two_failed_cubes_need_two_spares() -> None:
    world = World(cubes=4)
    name, spare = world.start((4, 4, 12)), world.start((4, 4, 4))
    assert world.fail(0) == [SliceRecovering(slice=name, cube=0)]
    assert world.fail(1, after_us=10) == [SliceRecovering(slice=name, cube=1)]
    swapped = [body for body in world.release(spare) if isinstance(body, CubeSwapped)]
    assert [(body.left, body.spare) for body in swapped] == [(0, 3)]
    assert world.status(name).state == "recovering"
    assert world.train() == []
    assert world.heal(1) == [SliceRestored(slice=name)]
    world.check()


def test_it_is_evicted_when_its_patience_is_over_because_the_cube_failed() -> None:
    world = World(cubes=4, policy=SchedulerConfig(recovery_patience_s=100))
    name = world.start((4, 8, 8))
    said = world.envelopes(CubeUnhealthy(cube=3, reasons=("host-3",)))
    world.unhealthy.add(3)
    assert [message.type for message in said] == ["SliceRecovering"]
    failure = f"cubes@pod-0/{world.seq}"
    assert world.state.stalls[0].cause == failure
    began_us = world.now_us
    assert world.held.due_us == began_us + 100 * US_PER_S
    disconnected, evicted = world.tick()
    assert type(disconnected) is DisconnectCircuits
    assert evicted == SliceEvicted(
        slice=name,
        reason="pod-0/cube-3 failed and no healthy idle cube took its place within 100 s "
        "(scheduler.recovery_patience_s)",
    )
    assert world.status(name).ended_us == began_us + 100 * US_PER_S
    assert world.held.due_us is None
    world.check()


def test_the_cubes_of_one_evicted_slice_save_the_next() -> None:
    world = World(cubes=4, policy=SchedulerConfig(recovery_patience_s=100))
    first, second = world.start((4, 4, 8)), world.start((4, 4, 8))
    world.fail(1)
    world.fail(2)
    kinds = [(type(body).__name__, body.slice) for body in world.tick()]
    assert kinds == [
        ("DisconnectCircuits", first),
        ("SliceEvicted", first),
        ("CubeSwapped", second),
        ("DisconnectCircuits", second),
        ("ConnectCircuits", second),
    ]
    assert world.train() == [SliceRestored(slice=second)]
    world.check()


def test_a_recovering_slice_that_is_released_is_completed() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(0)
    said = world.release(name)
    assert [type(body) for body in said] == [DisconnectCircuits, SliceCompleted]
    assert world.held.due_us is None
    assert world.idle == [1, 2, 3]
    world.check()


def test_a_drained_cube_is_left_when_a_spare_is_idle_and_used_until_then() -> None:
    world = World(cubes=4)
    name, other = world.start((4, 4, 8)), world.start((4, 4, 8))
    assert world.drain(0) == []
    assert world.status(name).state == "running"
    said = world.release(other)
    assert said[2] == CubeSwapped(slice=name, left=0, spare=2, corner=None, reason="drained")
    assert world.train() == [SliceRestored(slice=name)]
    fits, _ = world.request((4, 4, 4))
    assert world.status(fits).cubes == ("pod-0/cube-3",)
    full, _ = world.request((4, 4, 4))
    assert world.status(full).state == "queued"
    assert [type(body) for body in world.undrain(0)] == [SliceAdmitted, ConnectCircuits]
    world.check()


def test_a_drained_cube_that_is_undrained_in_time_is_not_left() -> None:
    world = World(cubes=4)
    name, other = world.start((4, 4, 8)), world.start((4, 4, 8))
    world.drain(0)
    world.undrain(0)
    assert [type(body) for body in world.release(other)] == [DisconnectCircuits, SliceCompleted]
    assert world.status(name).swaps == 0


def test_meshes_of_a_failed_cube_move_each_to_where_it_fits() -> None:
    world = World(cubes=4)
    half, small = world.request((2, 4, 4))[0], world.request((1, 1, 1))[0]
    filler = world.request((2, 4, 4))[0]
    assert world.status(filler).cubes == ("pod-0/cube-1",)
    said = world.fail(0)
    assert said == [
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


def test_a_cube_both_failed_and_drained_is_used_again_when_it_is_neither() -> None:
    world = World(cubes=4)
    world.fail(0)
    world.drain(0)
    world.heal(0)
    assert world.idle == [1, 2, 3]
    world.undrain(0)
    assert world.idle == [0, 1, 2, 3]


def test_a_swap_forgets_the_links_of_the_circuits_that_went() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    end_of_cube_0_to_1, end_of_cube_1 = 4 * 16, 96 + 5 * 16
    assert world.change_links(down=(end_of_cube_0_to_1, end_of_cube_1)) == [
        SliceDegraded(slice=name, links_down=2, links_degraded=0)
    ]
    world.fail(1)
    assert world.train() == [SliceRestored(slice=name)]
    world.check()
