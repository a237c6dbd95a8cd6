"""Effects of circuits and links on slices: starts, degradation, restoration, refusals."""

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.ocs import CircuitsRefused, OcsDown, OcsFreed, OcsHeld, OcsUp, PortsDown, PortsUp
from schemas.messages.repairs import RepairOpened
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceBackedOff,
    SliceDegraded,
    SliceEvicted,
    SlicePreflight,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.names import Shape
from schemas.recovery_policy import RecoveryPolicy
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.placement.circuit_commands import leftover_circuits
from services.scheduler.state import slices_in
from shared.basics.units import US_PER_S
from shared.models.superpod.shapes import cubes_of
from tests.support.scheduler_model import Said, World

ONE_GONE_PPM = 10**12 // (10**6 + 300_000 * 62_500 // 937_500)
"""The speed of a slice one cube wide that has lost one of the 16 links across a plane."""


def full(*shapes: Shape) -> tuple[World, list[str]]:
    """A pod without an idle cube, so that no other cube can replace one with a bad link."""
    world = World(cubes=sum(cubes_of(shape) for shape in shapes))
    return world, [world.start(shape) for shape in shapes]


def without_plan(emitted: list[Said]) -> list[Said]:
    return [body for body in emitted if not isinstance(body, SliceRecovering)]


def test_a_slice_with_bad_links_routes_around_them_if_no_other_cube_is_idle() -> None:
    world, _ = full((4, 4, 4), (4, 4, 12))
    world.release("pod-0/slice-0")
    name, _ = world.request((4, 4, 4))
    hit, *emitted = world.train(down=(0, 16), degraded=(40,))
    assert isinstance(hit, SliceRecovering)
    assert (hit.part, hit.choice) == ("pod-0/cube-0/+x/0", "route")
    assert emitted == [
        SliceStarted(slice=name, speed_ppm=ONE_GONE_PPM),
        SliceDegraded(slice=name, links_down=2, links_degraded=1, speed_ppm=ONE_GONE_PPM),
    ]
    document = world.status(name)
    assert (document.state, document.links_down, document.links_degraded) == ("degraded", 2, 1)
    world.check()


def test_a_cube_with_a_bad_link_is_replaced_if_that_is_cheaper() -> None:
    world = World()
    name, _ = world.request((4, 4, 4))
    hit, swapped, *_ = world.train(down=(0, 16))
    assert isinstance(hit, SliceRecovering)
    assert hit.costs_chip_us is not None
    assert hit.choice == "swap"
    assert swapped == CubeSwapped(slice=name, left=0, spare=1, corner=None, reason="failed")
    assert world.train() == [SliceStarted(slice=name)]
    world.check()


def test_a_cube_with_an_open_ticket_is_the_last_replacement() -> None:
    world = World()
    name = world.start((4, 4, 4))
    world.feed(RepairOpened(repair="pod-0/repair-0", kind="link", target="pod-0/cube-1/+x/3"))
    assert CubeSwapped(slice=name, left=0, spare=2, corner=None, reason="failed") in world.fail(0)
    moved = CubeSwapped(slice=name, left=2, spare=0, corner=None, reason="drained")
    world.heal(0)
    assert moved in world.drain(2)
    world.check()


def test_links_are_checked_for_the_duration_of_the_preflight() -> None:
    world = World(policy=SchedulerConfig(decision_s=0, preflight_s=120))
    name, _ = world.request((4, 4, 4))
    (started,) = world.train()
    assert started == SlicePreflight(slice=name, until_us=world.now_us + 120_000_000)
    assert world.status(name).state == "preflight"
    world.check()
    assert world.held.due_us == world.now_us + 120_000_000
    assert world.tick() == [SliceStarted(slice=name)]
    world.check()


def test_a_link_that_fails_during_the_preflight_is_found_at_its_end() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=120))
    names = [world.request((4, 4, 8))[0] for _ in range(2)]
    world.train()
    assert world.change_links(down=(0, 16)) == []
    hit, *emitted = world.tick()
    assert isinstance(hit, SliceRecovering)
    assert hit.choice == "route"
    # Along x, the short side, the spare bandwidth is the same.
    assert emitted == [
        SliceStarted(slice=names[0]),
        SliceDegraded(slice=names[0], links_down=2, links_degraded=0),
    ]
    assert world.tick() == [SliceStarted(slice=names[1])]
    world.check()


def test_a_cube_that_fails_during_the_preflight_restarts_it() -> None:
    world = World(policy=SchedulerConfig(decision_s=0, preflight_s=120))
    name, _ = world.request((4, 4, 4))
    world.train()
    world.fail(0)
    (message,) = world.train()
    assert isinstance(message, SlicePreflight)
    assert world.tick() == [SliceStarted(slice=name)]
    world.check()


def test_a_slice_hit_during_its_preflight_repeats_it() -> None:
    """Whether its cube is back before the circuits are made or during the preflight."""
    for trains_first in (False, True):
        world = World(cubes=4, policy=SchedulerConfig(decision_s=30, preflight_s=120))
        name, _ = world.request((4, 8, 8))
        if trains_first:
            world.train()
        world.fail(3)
        world.now_us += 1_000_000
        emitted = [*world.heal(3), *world.train()]
        assert [type(body) for body in emitted] == [SlicePreflight]
        assert world.status(name).state == "preflight"
        world.check()
        assert world.tick() == [SliceStarted(slice=name)]
        world.check()


def test_a_slice_has_a_preflight_after_it_waited_for_a_repair() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=120))
    name = world.start((4, 8, 8))
    world.fail(3)
    (message,) = world.heal(3)
    assert isinstance(message, SlicePreflight)
    assert world.tick() == [SliceRestored(slice=name)]
    world.check()


def test_a_link_that_is_down_ends_the_step_and_a_degraded_one_does_not() -> None:
    world, (name, _) = full((4, 4, 8), (4, 4, 8))
    assert world.change_links(degraded=(3, 99)) == [SliceDegraded(slice=name, links_down=0, links_degraded=2)]
    hit, slow = world.change_links(down=(67, 179))
    assert isinstance(hit, SliceRecovering)
    assert hit.choice == "route"
    assert slow == SliceDegraded(slice=name, links_down=2, links_degraded=2, speed_ppm=ONE_GONE_PPM)
    assert world.change_links(down=(67,)) == []
    assert world.change_links(up=(3, 99), degraded=()) == [
        SliceDegraded(slice=name, links_down=2, links_degraded=0, speed_ppm=ONE_GONE_PPM)
    ]
    assert world.change_links(up=(67, 179)) == [SliceRestored(slice=name)]
    world.check()


def test_cubes_behind_a_broken_driver_board_are_chosen_last_until_it_is_swapped() -> None:
    board = {"part": "pod-0/ocs-7/driver-1", "ocs": 7, "side": "N", "ports": (2, 3, 5, 130)}
    world = World()
    name = world.start((4, 4, 4))
    world.feed(PortsDown.model_validate(board))
    assert world.state.driver_boards_down == {"pod-0/ocs-7/driver-1": (1, 2)}
    assert CubeSwapped(slice=name, left=0, spare=3, corner=None, reason="failed") in world.fail(0)
    world.feed(PortsUp.model_validate(board))
    assert world.state.driver_boards_down == {}
    world.heal(0)
    assert CubeSwapped(slice=name, left=3, spare=0, corner=None, reason="drained") in world.drain(3)
    world.check()


def test_a_slice_hit_by_a_driver_board_reports_it_in_any_order_of_its_link_ends() -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 8))
    world.feed(PortsDown(part="pod-0/ocs-39/driver-1", ocs=39, side="N", ports=(2,)))
    emitted = world.change_links(down=(0 * 96 + 4 * 16 + 7, 1 * 96 + 5 * 16 + 7))
    hits = [(body.slice, body.part) for body in emitted if isinstance(body, SliceRecovering)]
    assert hits[:1] == [(name, "pod-0/ocs-39/driver-1")]
    world.check()


def test_only_slices_that_need_new_circuits_wait_for_an_unreachable_ocs() -> None:
    world = World(cubes=8, policy=STAYS_OFF)
    running = world.start((4, 4, 8))
    world.feed(OcsHeld(ocs=7))
    assert world.status(running).state == "running"
    name, emitted = world.request((4, 4, 4))
    assert emitted == []
    assert "waits for pod-0/ocs-7, expected back" in (world.status(name).reason or "")
    world.feed(OcsDown(ocs=7))
    world.feed(OcsFreed(ocs=7))
    assert set(world.state.ocs_down) == {7}, "it is down still"
    assert SliceAdmitted in [type(body) for body in world.feed(OcsUp(ocs=7))]
    assert world.state.ocs_down == world.state.ocs_down_causes == {}
    world.check()


def test_a_failed_ocs_takes_the_same_links_of_all_cubes_so_no_swap_helps() -> None:
    world = World(cubes=8)
    names = [world.start((4, 4, 4)) for _ in range(3)]
    world.feed(OcsDown(ocs=7))
    emitted = world.change_links(down=tuple(96 * cube + side for cube in (2, 0, 1) for side in (7, 23)))
    hits = [(body.slice, body.part, body.choice) for body in emitted if isinstance(body, SliceRecovering)]
    assert hits == [(name, "pod-0/ocs-7", "route") for name in names]
    assert without_plan(emitted) == [
        SliceDegraded(slice=name, links_down=2, links_degraded=0, speed_ppm=ONE_GONE_PPM) for name in names
    ]
    world.feed(OcsUp(ocs=7))
    assert world.state.ocs_down == {}
    world.check()


STAYS_OFF = SchedulerConfig(decision_s=0, preflight_s=0, route_around_share=0.0)
"""No slice routes its traffic around failed links."""


def test_a_slice_that_does_not_reroute_waits_for_the_ocs_without_cubes() -> None:
    world = World(cubes=4, policy=STAYS_OFF)
    name = world.start((4, 4, 16))
    behind, emitted = world.request((2, 2, 2))
    assert emitted == []
    world.feed(OcsDown(ocs=7))
    hit, *emitted = world.change_links(down=(7, 23))
    assert isinstance(hit, SliceRecovering)
    assert hit.choice == "evict"
    assert hit.costs_chip_us is not None
    assert hit.costs_chip_us.route is None
    assert [type(body) for body in emitted[:2]] == [LeaveCircuits, SliceRequeued]
    assert SliceAdmitted in [type(body) for body in emitted]
    assert world.status(behind).state == "running"
    world.check()
    world.release(behind)
    row = world.status(name)
    assert (row.state, row.queue_position) == ("queued", 1)
    assert row.reason == (
        "waits for pod-0/ocs-7, expected back at 3d00:00:00: its recovery policy does not allow "
        "rerouted traffic (recovery spare,swap,wait,evict)"
    )
    assert SliceAdmitted in [type(body) for body in world.feed(OcsUp(ocs=7))]
    world.train()
    assert world.status(name).state == "running"
    world.check()


def test_a_request_that_waits_for_an_ocs_is_passed_by_slices_that_can_run() -> None:
    world = World(cubes=4, policy=STAYS_OFF.model_copy(update={"queue_max": 1}))
    world.feed(OcsDown(ocs=7))
    name, emitted = world.request((4, 4, 4))
    assert emitted == []
    mesh, emitted = world.request((2, 2, 2))
    assert SliceAdmitted in [type(body) for body in emitted]
    too_many, emitted = world.request((4, 4, 8))
    assert emitted == [
        SliceRefused(
            slice=too_many, reason="team already has 1 of at most 1 slices in the queue (scheduler.queue_max)"
        )
    ]
    world.check()
    world.feed(OcsDown(ocs=9))
    world.feed(OcsUp(ocs=7))
    assert "waits for pod-0/ocs-9," in (world.status(name).reason or "")
    world.release(name)
    assert [row.state for row in map(world.status, (name, mesh))] == ["refused", "running"]
    world.feed(OcsUp(ocs=9))
    world.check()


def choices_on_bad_cubes(world: World, name: str) -> list[str | None]:
    """The choices for a slice that finds a bad link on every cube it gets, until this may end."""
    choices: list[str | None] = []
    while name not in world.ended:
        failures = world.state.slices[0].preflight_failures
        if world.commands:
            (cube,) = world.held_cubes[name]
            emitted = world.train(down=(96 * cube, 96 * cube + 16))
            if slices_in(world.state, "preflight"):
                emitted += world.tick()
        elif (
            failures is not None
            and max(failures.keeps_cubes_until_us or 0, failures.again_us or 0) > world.now_us
        ):
            emitted = world.tick()
        else:
            break
        choices += [body.choice for body in emitted if isinstance(body, SliceRecovering)]
    return choices


def test_a_slice_with_a_bad_link_on_every_cube_stays_then_leaves_then_backs_off() -> None:
    world = World(policy=STAYS_OFF.model_copy(update={"preflight_s": 120, "retries_max": 1}))
    name, _ = world.request((4, 4, 4))
    assert choices_on_bad_cubes(world, name) == ["swap", "swap", "wait", "evict", "wait", "evict"]
    document = world.status(name)
    assert (document.state, document.restarts) == ("evicted", 1)
    assert document.reason == (
        "pod-0/cube-0/+x/0 failed, preflight 4 in a row found 1 link down: pod-0/ocs-0 (1), and the slice "
        "leaves its cubes; it was already requeued 1 times (scheduler.retries_max)"
    )
    assert world.state.ended[0].preflight_failures is None
    world.check()


def test_a_slice_reports_its_backoff_and_returns_after_it() -> None:
    world = World(policy=STAYS_OFF.model_copy(update={"preflight_s": 120, "preflight_tries": 0}))
    name, _ = world.request((4, 4, 4))
    (hit,) = [*world.train(down=(0, 16)), *world.tick()][-1:]
    assert isinstance(hit, SliceRecovering)
    assert hit.choice == "wait"
    assert "and the slice waits for its links until 0d00:07:00" in (world.status(name).reason or "")
    *_, evicted, left, requeued, backed_off = world.tick()
    assert [type(evicted), type(left), type(requeued)] == [SliceRecovering, LeaveCircuits, SliceRequeued]
    until_us = world.now_us + 300 * US_PER_S
    assert backed_off == SliceBackedOff(
        slice=name, until_us=until_us, preflights=1, links=1, ocses=(0,), over=(1,)
    )
    row = world.status(name)
    assert (row.state, row.queue_position) == ("queued", 1)
    assert row.reason == (
        "backs off until 0d00:12:00: preflight 1 in a row found 1 link down: pod-0/ocs-0 (1) "
        "(scheduler.preflight_backoff_s)"
    )
    explained = explain_slice(world.state, name)
    assert explained is not None
    assert [(obstacle.kind, obstacle.name) for obstacle in explained.obstacles] == [
        ("ocs", "pod-0/ocs-0"),
        ("rule", "scheduler.preflight_backoff_s 300"),
    ]
    assert explained.start is not None
    assert explained.start.basis == "unknown"
    world.check()
    assert SliceAdmitted in [type(body) for body in world.tick()]
    assert world.now_us == until_us
    world.train()
    world.tick()
    assert world.status(name).state == "running"
    world.check()


def test_the_cubes_of_both_ends_of_a_bad_link_are_tried_in_turn() -> None:
    """The cube at fault is replaced, whichever it is, before the whole slice gives up its cubes."""
    world = World(cubes=4, policy=STAYS_OFF)
    before = world.start((4, 4, 4))
    name, _ = world.request((4, 4, 8))
    world.release(before)  # its cube has the lowest number, and is the first spare
    began_on = world.state.slices[1].cubes
    left: list[int] = []
    for _ in began_on:
        first, second = world.state.slices[1].cubes
        emitted = world.train(down=(96 * first + 64, 96 * second + 80))  # +z of one, -z of the other
        left += [body.left for body in emitted if isinstance(body, CubeSwapped)]
    assert sorted(left) == sorted(began_on)
    world.train()
    assert world.status(name).state == "running"
    world.check()


def test_a_slice_that_may_not_restart_waits_if_its_link_fails_every_preflight() -> None:
    world = World(policy=SchedulerConfig(decision_s=0, preflight_s=120))
    stays = RecoveryPolicy(choices=("swap", "wait"))
    name, _ = world.request((4, 4, 4), recovery=stays)
    assert choices_on_bad_cubes(world, name) == ["swap", "swap", "wait"]
    assert world.status(name).reason == (
        "pod-0/cube-0/+x/0 failed, preflight 3 in a row found 1 link down: pod-0/ocs-0 (1), and the slice "
        "waits for the repair"
    )
    world.check()
    (message,) = world.change_links(up=(0, 16))
    assert isinstance(message, SlicePreflight)
    assert world.tick() == [SliceStarted(slice=name)]
    world.check()


def test_circuits_of_an_ended_slice_remain_until_their_ports_are_needed() -> None:
    world = World(cubes=4)
    first = world.start((4, 4, 8))
    joins = ((0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1), (2, 0, 1), (2, 1, 0))
    assert world.release(first)[0] == LeaveCircuits(slice=first, joins=joins)
    assert tuple(leftover_circuits(world.state)) == joins
    second_slice, emitted = world.request((4, 4, 8))
    assert [type(body) for body in emitted] == [SliceAdmitted, ConnectCircuits]
    assert leftover_circuits(world.state) == []
    world.train()
    world.release(second_slice)
    loops, emitted = world.request((4, 4, 4))
    assert emitted[1] == DisconnectCircuits(slice=loops, joins=((2, 0, 1), (2, 1, 0)))
    assert leftover_circuits(world.state) == [(0, 1, 1), (1, 1, 1)]
    world.check()


def test_a_mesh_has_no_circuit_to_another_cube_next_to_it() -> None:
    world = World(cubes=4)
    world.release(world.start((4, 4, 8)))
    mesh, emitted = world.request((2, 2, 2))
    assert emitted[1] == DisconnectCircuits(slice=mesh, joins=((2, 0, 1), (2, 1, 0)))
    assert leftover_circuits(world.state) == [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)]
    world.check()


def test_three_ocs_failures_at_once_are_one_plan() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=30, preflight_s=0))
    name = world.start((4, 4, 4))
    for ocs in (0, 17, 40):
        dimension, index = divmod(ocs, 16)
        world.feed(OcsDown(ocs=ocs))
        world.change_links(down=(32 * dimension + index, 32 * dimension + 16 + index))
    hit, slow = world.tick()
    assert isinstance(hit, SliceRecovering)
    assert (hit.part, hit.choice) == ("pod-0/ocs-0", "route")
    assert slow == SliceDegraded(slice=name, links_down=6, links_degraded=0, speed_ppm=ONE_GONE_PPM)
    world.check()


def test_links_of_cubes_outside_every_torus_are_ignored() -> None:
    world = World()
    world.request((2, 4, 4))
    assert world.feed(LinksChanged(up=(), degraded=(5,), down=(96 * 3,))) == []
    assert world.state.bad_ends == {}


def test_links_that_change_while_it_connects_are_reported_at_its_start() -> None:
    world = World()
    name = world.start((4, 4, 12))
    world.fail(1)
    assert world.change_links(down=(2 * 96,)) == []
    hit, slow = world.train(degraded=(3 * 96,))
    assert isinstance(hit, SliceRecovering)
    assert (hit.slice, hit.part, hit.choice) == (name, "pod-0/cube-2/+x/0", "route")
    assert slow == SliceDegraded(slice=name, links_down=1, links_degraded=1)
    world.check()


def test_a_recovering_slice_is_not_reported_as_degraded_until_it_continues() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(0)
    assert world.change_links(down=(96,)) == []
    assert world.status(name).state == "recovering"
    (slow,) = without_plan(world.heal(0))
    assert isinstance(slow, SliceDegraded)
    assert (slow.links_down, slow.links_degraded) == (1, 0)
    world.check()


def test_early_training_reports_are_added_to_the_known_links() -> None:
    world, (name, *_) = full((4, 4, 4), (4, 4, 12))
    late = LinksTrained(slice=name, up=95, degraded=(), down=(8, 24))
    assert without_plan(world.feed(late)) == [
        SliceDegraded(slice=name, links_down=2, links_degraded=0, speed_ppm=ONE_GONE_PPM)
    ]
    assert world.feed(late) == []


def test_training_of_an_ended_slice_is_ignored() -> None:
    world = World()
    name = world.start((4, 4, 4))
    world.release(name)
    assert world.feed(LinksTrained(slice=name, up=95, degraded=(), down=(8,))) == []
    assert world.state.bad_ends == {}


def test_released_cubes_leave_no_link_state() -> None:
    world, (name, *_) = full((4, 4, 4), (4, 4, 12))
    world.change_links(down=(1, 2, 3))
    world.release(name)
    world.bad.clear()
    second_slice = world.start((4, 4, 4))
    assert world.status(second_slice).links_down == 0
    world.check()


def refused(world: World, name: str) -> list[Said]:
    return world.feed(CircuitsRefused(slice=name, ocs=17, port="N24", reason="port is a spare"))


def test_a_slice_whose_circuits_are_refused_is_evicted_and_the_next_gets_its_cubes() -> None:
    world = World(cubes=4)
    name, _ = world.request((4, 8, 8))
    waiting, _ = world.request((4, 4, 4))
    world.north.clear()
    world.south.clear()
    world.commands.clear()
    emitted = refused(world, name)
    assert emitted[0] == SliceEvicted(slice=name, reason="pod-0/ocs-17/N24: port is a spare")
    assert isinstance(emitted[1], SliceAdmitted)
    assert emitted[1].slice == waiting
    assert refused(world, name) == []
    world.check()


def test_a_refused_swap_removes_the_circuits_already_made() -> None:
    world = World()
    name = world.start((4, 4, 8))
    world.fail(1)
    made_joins, pending_joins = ((0, 0, 0), (1, 0, 0)), ((0, 2, 2), (1, 2, 2), (2, 0, 2), (2, 2, 0))
    emitted = refused(world, name)
    assert emitted == [
        DisconnectCircuits(slice=name, joins=made_joins),
        *(DisconnectCircuits(slice=name, joins=(join,)) for join in pending_joins),
        SliceEvicted(slice=name, reason="pod-0/ocs-17/N24: port is a spare"),
    ]
    world.check()


def test_a_waiting_slice_has_no_circuits_to_be_refused() -> None:
    world = World(cubes=4)
    world.start((4, 8, 8))
    waiting, _ = world.request((4, 4, 4))
    assert refused(world, waiting) == []
    world.check()


def test_a_slice_that_leaves_a_drained_cube_in_its_preflight_is_checked_again() -> None:
    world = World(cubes=4, policy=SchedulerConfig(preflight_s=120))
    name, _ = world.request((4, 4, 4))
    world.train()
    assert world.status(name).state == "preflight"
    emitted = world.drain(0)
    assert any(isinstance(body, CubeSwapped) for body in emitted)
    world.now_us += 200_000_000  # the first check would be over
    assert world.held.due_us is None
    (started,) = world.train()
    assert isinstance(started, SlicePreflight)
    assert [type(body) for body in world.tick()] == [SliceStarted]
    world.check()
