"""Orders of drills to processes: noted once, and taken once by the supervisor of the process."""

import pytest

from schemas.envelope import enclose
from schemas.messages.operator import DrainCube
from shared.runtimes.live.process.process_orders import (
    PAUSE_S_MAX,
    TAKE_US_MAX,
    beat,
    end_orders,
    has_ended,
    note_order,
    supervised_processes,
    take_orders,
)
from tests.support.process_orders import Notes, order


def test_an_order_is_noted_once_and_taken_once() -> None:
    notes = Notes()
    assert note_order(notes, order(1))
    assert not note_order(notes, order(1))
    assert note_order(notes, order(2, "pause-process", for_us=2_000_000))
    assert take_orders(notes, "cubes") == []
    first, second = take_orders(notes, "scheduler")
    assert (first.message_id, first.verb, first.drill) == (order(1).id, "kill-process", "pod-0/drill-1")
    assert (second.verb, second.pause_s) == ("pause-process", 2.0)
    assert not note_order(notes, order(1))  # appended again after a crash of the sequencer
    assert take_orders(notes, "scheduler") == []


def test_a_pause_is_limited() -> None:
    notes = Notes()
    note_order(notes, order(1, "pause-process", for_us=10**12))
    assert [one.pause_s for one in take_orders(notes, "scheduler")] == [PAUSE_S_MAX]


def test_a_supervisor_that_starts_later_does_not_act() -> None:
    notes = Notes()
    note_order(notes, order(1))
    notes.now_s += TAKE_US_MAX / 1e6 + 1
    assert take_orders(notes, "scheduler") == []
    notes.now_s -= TAKE_US_MAX / 1e6
    assert take_orders(notes, "scheduler") == []  # missed for good


@pytest.mark.parametrize(
    ("drill", "is_ended"), [(None, True), ("pod-0/drill-1", True), ("pod-0/drill-7", False)]
)
def test_orders_of_a_stopped_drill_are_missed_and_its_pauses_end(
    drill: str | None, *, is_ended: bool
) -> None:
    notes = Notes()
    note_order(notes, order(1, "pause-process", for_us=2_000_000))
    (pause,) = take_orders(notes, "scheduler")
    note_order(notes, order(2))
    assert not has_ended(notes, pause)
    end_orders(notes, drill)
    assert has_ended(notes, pause) == is_ended
    assert (take_orders(notes, "scheduler") == []) == is_ended
    notes.now_s += 1
    note_order(notes, order(3))  # of a drill that began later
    assert [one.message_id for one in take_orders(notes, "scheduler")] == [order(3).id]


def test_only_orders_are_noted() -> None:
    message = enclose(
        DrainCube(cube="pod-0/cube-1"), fabric="pod-0", at_us=7, cause=None, source="operator@pod-0", seq=1
    )
    with pytest.raises(TypeError, match="is DrainCube, not an order to a process"):
        note_order(Notes(), message)


def test_rows_that_the_twin_did_not_write_are_ignored() -> None:
    notes = Notes()
    notes.set_globals("process-orders", {"a": "{", "b": "[]", "c": '{"verb": "kill-process"}', "d": "7"})
    note_order(notes, order(1))
    assert len(take_orders(notes, "scheduler")) == 1


def test_a_supervisor_is_known_while_it_beats() -> None:
    notes = Notes()
    beat(notes, "scheduler")
    notes.set_globals("supervisors", {"cubes": "never"})
    assert supervised_processes(notes) == {"scheduler"}
    notes.now_s += 60
    assert supervised_processes(notes) == frozenset()
