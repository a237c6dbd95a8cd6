"""The next root of a quiet site: whose Tick, which request, and when."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.pods import SuperpodConfig
from schemas.messages.operator import DrainCube
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from shared.engine.message_order import (
    Request,
    ServiceProgress,
    commissioning_message,
    earliest_due,
    is_root,
    next_root,
    reader_order,
    request_message,
    retirement_id,
    tick_message,
)
from shared.engine.request_time import request_time_us

DRAIN = DrainCube(cube="pod-2/cube-1")
ASKED = Request(41, "pod-2", DRAIN)
TIMES_US = st.integers(0, 30)
FABRICS = ("pod-2", "pod-10", "dcn-0")


@dataclass(frozen=True)
class Reader:
    """A service of a fabric as the rule sees it."""

    name: str
    fabric: str
    due_us: int | None = None
    ticks: int = 0


def reader(due_us: int | None, name: str = "cubes", fabric: str = "pod-2", ticks: int = 0) -> Reader:
    return Reader(name, fabric, due_us, ticks)


# --- who is due ---------------------------------------------------------------------------------------------


def test_the_earliest_is_due_first_and_ties_go_by_order() -> None:
    def first(*dues_us: int | None) -> int | None:
        readers = [reader(due_us, ticks=n) for n, due_us in enumerate(dues_us)]
        found = earliest_due(readers)
        return None if found is None else found.ticks

    assert first(6, 5) == 1
    assert first(5, 5, 5) == 0
    assert first(None, None, 7) == 2
    assert first(0, None) == 0
    assert first(None) is None
    assert first() is None


def test_readers_are_ordered_by_fabric_then_service_and_fabrics_by_number() -> None:
    readers = [ServiceProgress(name, fabric, 7, 0, 0) for fabric in FABRICS for name in ("ocs", "cubes")]
    in_order = [(row.fabric, row.name) for row in sorted(readers, key=lambda row: row.order)]
    assert in_order == [
        ("dcn-0", "cubes"),
        ("dcn-0", "ocs"),
        ("pod-2", "cubes"),
        ("pod-2", "ocs"),
        ("pod-10", "cubes"),
        ("pod-10", "ocs"),
    ]
    assert reader_order("pod-2", "workload") < reader_order("pod-10", "cubes")


# --- a Tick -------------------------------------------------------------------------------------------------


def test_a_tick_names_due_and_count_and_never_comes_before_now() -> None:
    tick = tick_message(reader(10, ticks=3), now_us=4)
    assert (tick.id, tick.fabric, tick.at_us, tick.cause) == ("tick.cubes@pod-2/4", "pod-2", 10, None)
    assert tick.body == Tick(service="cubes", due_us=10, count=4)
    assert is_root(tick)
    late = tick_message(reader(10, ticks=3), now_us=15)
    assert (late.at_us, late.body) == (15, tick.body)


def test_a_service_that_is_not_due_gets_no_tick() -> None:
    with pytest.raises(ValueError, match="repairs@pod-0 is not due"):
        tick_message(reader(None, "repairs", "pod-0"), now_us=0)


def test_a_tick_comes_once_the_clock_has_reached_it_and_no_clock_reaches_nothing() -> None:
    def comes(due_us: int | None, clock_us: int | None) -> bool:
        return next_root("campus", 0, reader(due_us), None, clock_us=clock_us, ticked_us=0) is not None

    assert comes(10, 10)
    assert comes(10, 11)
    assert not comes(10, 9)
    assert not comes(10, None)
    assert not comes(None, 10)
    assert next_root("campus", 0, None, None, clock_us=10, ticked_us=0) is None


# --- a fabric's end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [41, 99])
def test_a_fabric_ends_with_one_message_however_often_it_is_requested(number: int) -> None:
    root = request_message("campus", Request(number, "pod-2", FabricRetired()), 12)
    assert (root.id, root.fabric, root.at_us, root.cause) == ("sequencer@pod-2/2", "pod-2", 12, None)
    assert root.id == retirement_id("pod-2")
    assert is_root(root)


# --- a request ----------------------------------------------------------------------------------------------


@given(now_us=TIMES_US, clock_us=st.none() | TIMES_US, due_us=st.none() | TIMES_US)
def test_a_request_is_ordered_after_past_messages_and_not_after_due_ones(
    now_us: int, clock_us: int | None, due_us: int | None
) -> None:
    root = next_root("campus", now_us, reader(due_us), ASKED, clock_us=clock_us, ticked_us=now_us)
    assert root is not None
    bounds = [at_us for at_us in (clock_us, due_us) if at_us is not None]
    assert root.at_us == max(now_us + 1, min(bounds, default=0)) == request_time_us(now_us, clock_us, due_us)
    assert root.at_us > now_us
    # Only if its time has already passed may it come later than due messages.
    assert due_us is None or root.at_us <= max(due_us, now_us + 1)
    assert (root.id, root.cause, root.seq) == ("operator@campus/41", None, 41)
    assert (root.fabric, root.body) == ("pod-2", DRAIN)


def test_a_request_goes_before_the_ticks_of_its_time() -> None:
    root = next_root("campus", 3, reader(10), ASKED, clock_us=10, ticked_us=3)
    assert root is not None
    assert (root.body, root.at_us) == (DRAIN, 10)


@pytest.mark.parametrize("ticked_us", [0, 10, 49, 50])
def test_after_a_request_a_due_tick_goes_and_after_a_tick_a_request(ticked_us: int) -> None:
    root = next_root("campus", 50, reader(10), ASKED, clock_us=50, ticked_us=ticked_us)
    assert root is not None
    assert isinstance(root.body, Tick) == (ticked_us < 50)


@pytest.mark.parametrize(("due_us", "clock_us"), [(51, 50), (None, 50), (10, None)])
def test_without_a_tick_that_is_due_requests_continue(due_us: int | None, clock_us: int | None) -> None:
    root = next_root("campus", 40, reader(due_us), ASKED, clock_us=clock_us, ticked_us=0)
    assert root is not None
    assert root.body == DRAIN


# --- a commissioning ----------------------------------------------------------------------------------------


def test_a_commissioning_is_emitted_by_the_sequencer_for_every_requester() -> None:
    body = FabricCommissioned(site="campus", config=SuperpodConfig(seed=5))
    at_first = commissioning_message("pod-10", body)
    assert (at_first.id, at_first.at_us, at_first.cause) == ("sequencer@pod-10/1", 0, None)
    root = next_root("campus", 20, reader(30), Request(41, "pod-10", body), clock_us=25, ticked_us=20)
    assert root == commissioning_message("pod-10", body, at_us=25)
    assert body.kind == "superpod"
