"""What the scheduler makes of circuits and links: starts, degradation, restoration, refusals."""

from schemas.ocs import CircuitsRefused
from schemas.scheduler import (
    DisconnectCircuits,
    SliceAdmitted,
    SliceDegraded,
    SliceEvicted,
    SliceRestored,
    SliceStarted,
)
from schemas.transceivers import LinksChanged, LinksTrained
from tests.support.scheduler_model import Said, World


def test_a_slice_with_bad_links_starts_degraded() -> None:
    world = World()
    name, _ = world.request((4, 4, 4))
    assert world.train(down=(0, 16), degraded=(40,)) == [
        SliceStarted(slice=name),
        SliceDegraded(slice=name, links_down=2, links_degraded=1),
    ]
    document = world.status(name)
    assert (document.state, document.links_down, document.links_degraded) == ("degraded", 2, 1)
    world.check()


def test_counts_follow_the_links_and_are_said_when_they_change() -> None:
    world = World()
    name = world.start((4, 4, 8))
    assert world.change_links(degraded=(3, 99)) == [SliceDegraded(slice=name, links_down=0, links_degraded=2)]
    assert world.change_links(down=(3,)) == [SliceDegraded(slice=name, links_down=1, links_degraded=1)]
    assert world.change_links(down=(3,)) == []
    assert world.change_links(up=(99,), degraded=()) == [
        SliceDegraded(slice=name, links_down=1, links_degraded=0)
    ]
    assert world.change_links(up=(3, 99)) == [SliceRestored(slice=name)]
    world.check()


def test_one_ocs_tells_every_slice_in_order_of_number() -> None:
    world = World()
    names = [world.start((4, 4, 4)) for _ in range(3)]
    said = world.change_links(down=tuple(96 * cube + side for cube in (2, 0, 1) for side in (7, 23)))
    assert said == [SliceDegraded(slice=name, links_down=2, links_degraded=0) for name in names]
    world.check()


def test_links_of_cubes_that_no_torus_holds_are_none_of_its_business() -> None:
    world = World()
    world.request((2, 4, 4))
    assert world.feed(LinksChanged(up=(), degraded=(5,), down=(96 * 3,))) == []
    assert world.state.bad_ends == {}


def test_links_that_change_while_it_connects_are_told_once_it_starts() -> None:
    world = World()
    name = world.start((4, 4, 12))
    world.fail(1)
    assert world.change_links(down=(2 * 96,)) == []
    assert world.train(degraded=(3 * 96,)) == [SliceDegraded(slice=name, links_down=1, links_degraded=1)]
    world.check()


def test_a_recovering_slice_is_not_said_to_be_degraded_until_it_goes_on() -> None:
    world = World(cubes=4)
    name = world.start((4, 8, 8))
    world.fail(0)
    assert world.change_links(down=(96,)) == []
    assert world.status(name).state == "recovering"
    assert world.heal(0) == [SliceDegraded(slice=name, links_down=1, links_degraded=0)]
    world.check()


def test_training_that_was_already_told_adds_to_what_is_known() -> None:
    world = World()
    name = world.start((4, 4, 4))
    late = LinksTrained(slice=name, up=95, degraded=(), down=(8,))
    assert world.feed(late) == [SliceDegraded(slice=name, links_down=1, links_degraded=0)]
    assert world.feed(late) == []


def test_training_of_a_slice_that_ended_is_ignored() -> None:
    world = World()
    name = world.start((4, 4, 4))
    world.release(name)
    assert world.feed(LinksTrained(slice=name, up=95, degraded=(), down=(8,))) == []
    assert world.state.bad_ends == {}


def test_released_cubes_leave_no_memory_of_their_links() -> None:
    world = World()
    name = world.start((4, 4, 4))
    world.change_links(down=(1, 2, 3))
    world.release(name)
    world.bad.clear()
    again = world.start((4, 4, 4))
    assert world.status(again).links_down == 0
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
    said = refused(world, name)
    assert said[0] == SliceEvicted(slice=name, reason="pod-0/ocs-17/N24: port is a spare")
    assert (type(said[1]), said[1].slice) == (SliceAdmitted, waiting)
    assert refused(world, name) == []
    world.check()


def test_a_swap_that_is_refused_takes_back_the_circuits_that_are_made() -> None:
    world = World()
    name = world.start((4, 4, 8))
    world.fail(1)
    made, awaited = ((0, 0, 0), (1, 0, 0)), ((0, 2, 2), (1, 2, 2), (2, 0, 2), (2, 2, 0))
    said = refused(world, name)
    assert said == [
        DisconnectCircuits(slice=name, joins=made),
        *(DisconnectCircuits(slice=name, joins=(join,)) for join in awaited),
        SliceEvicted(slice=name, reason="pod-0/ocs-17/N24: port is a spare"),
    ]
    world.check()


def test_a_waiting_slice_has_no_circuits_to_be_refused() -> None:
    world = World(cubes=4)
    world.start((4, 8, 8))
    waiting, _ = world.request((4, 4, 4))
    assert refused(world, waiting) == []
    world.check()
