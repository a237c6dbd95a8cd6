"""The only path of a message through a service: which messages are dropped, what is checked, what emitted
messages carry."""

from collections.abc import Iterable
from typing import Any

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUnhealthy
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.operator import DrainCube
from schemas.messages.sequencer import FabricCommissioned, Tick
from shared.basics.errors import ServiceFailed
from shared.engine.dispatch import ServiceInstance, deliver
from shared.engine.service import CausedBy, Output, on
from shared.engine.state_codec import encode_instance, restore_instance
from tests.support.pods import OPERATOR, commissioned, first_message
from tests.support.toy_services import CUBES_TOY, PERIOD_US, TOYS, ToyState, toy


def drain(seq: int, cube: int = 1, at_us: int = 5, source: str = OPERATOR) -> Envelope:
    body = DrainCube(cube=f"pod-0/cube-{cube}")
    return enclose(body, fabric="pod-0", at_us=at_us, cause=None, source=source, seq=seq)


def tick(
    due_us: int = PERIOD_US, count: int = 1, at_us: int | None = None, seq: int | None = None
) -> Envelope:
    body = Tick(service="cubes", due_us=due_us, count=count)
    at_us = due_us if at_us is None else at_us
    source = "tick.cubes@pod-0"
    return enclose(body, fabric="pod-0", at_us=at_us, cause=None, source=source, seq=seq or count)


def held_of(service: Any = CUBES_TOY) -> ServiceInstance:
    instance = ServiceInstance(service, "pod-0")
    assert deliver(instance, first_message(SuperpodConfig(seed=9))) == []
    return instance


def saying(*sayings: Output) -> Any:
    """A service that answers every DrainCube with these."""
    return toy("cubes", (on(DrainCube, lambda state, body, message: sayings),))


# --- what is dropped ----------------------------------------------------------------------------------------


def test_nothing_is_read_before_commissioning() -> None:
    instance = ServiceInstance(CUBES_TOY, "pod-0")
    for message in (drain(1), tick()):
        assert deliver(instance, message) == []
    assert instance.state is None
    assert instance.seen == {}


def test_commissioning_makes_the_state_and_shows_when_it_is_due() -> None:
    instance = held_of()
    assert isinstance(instance.state, ToyState)
    assert (instance.state.fabric, instance.state.seed, instance.state.now_us) == ("pod-0", 9, 0)
    assert instance.due_us == PERIOD_US
    assert instance.seen == {"sequencer@pod-0": 1}


def test_a_fabric_is_commissioned_once() -> None:
    instance = held_of()
    before = encode_instance(instance)
    body = commissioned(SuperpodConfig(seed=10))
    again = enclose(body, fabric="pod-0", at_us=3, cause=None, source="sequencer@pod-0", seq=2)
    assert deliver(instance, again) == []
    assert encode_instance(instance) == before


def test_a_site_wide_rule_receives_the_commissioning_of_other_fabrics_and_not_of_its_own() -> None:
    heard: list[str] = []

    def rule(state: ToyState, body: FabricCommissioned, message: Envelope) -> list[Output]:
        heard.append(message.fabric)
        return []

    instance = held_of(toy("cubes", (on(FabricCommissioned, rule, scope="site-wide"),)))
    other = first_message(SuperpodConfig(seed=2), "pod-1", at_us=8)
    own = first_message(SuperpodConfig(seed=3), at_us=9).model_copy(update={"seq": 2})
    for message in (other, own, other):
        assert instance.reads(message)
        assert deliver(instance, message) == []
    assert heard == ["pod-1"]
    assert instance.state is not None
    assert (instance.state.seed, instance.state.now_us) == (9, 8)


def test_a_repeat_leaves_no_trace() -> None:
    instance = held_of()
    assert len(deliver(instance, drain(4))) == 1
    before = encode_instance(instance)
    for seq in (4, 3, 0):
        assert deliver(instance, drain(seq, cube=2)) == []
        assert encode_instance(instance) == before
    assert len(deliver(instance, drain(5, cube=2))) == 1


def test_messages_from_before_a_fabric_joined_are_not_read_when_repeated() -> None:
    """A record that is on the log twice may reach a service the second time that had not joined before."""
    heard: list[int] = []

    def rule(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
        heard.append(message.seq)
        return []

    instance = ServiceInstance(toy("cubes", (on(DrainCube, rule, scope="site-wide"),)), "pod-0")
    deliver(instance, first_message(SuperpodConfig(seed=9), at_us=50))
    for _ in range(2):
        before = encode_instance(instance)
        assert deliver(instance, drain(3, source="operator@pod-1", at_us=49)) == []
        assert encode_instance(instance) == before
        instance = restore_instance(instance.service, "pod-0", before)
    deliver(instance, drain(4, source="operator@pod-1", at_us=50))
    assert heard == [4]


def test_every_source_is_counted_separately() -> None:
    instance = held_of()
    deliver(instance, drain(7))
    assert len(deliver(instance, drain(1, cube=2, source="operator@pod-1"))) == 1
    assert instance.seen == {"sequencer@pod-0": 1, OPERATOR: 7, "operator@pod-1": 1}


@pytest.mark.parametrize(
    "stale",
    [
        tick(due_us=PERIOD_US - 1),
        tick(due_us=PERIOD_US + 1),
        tick(count=2),
        tick(count=2, seq=1),
        tick(due_us=2 * PERIOD_US, count=2),
    ],
)
def test_a_tick_that_does_not_name_due_and_count_leaves_no_trace(stale: Envelope) -> None:
    instance = held_of()
    before = encode_instance(instance)
    assert deliver(instance, stale) == []
    assert encode_instance(instance) == before
    assert len(deliver(instance, tick())) == 2


def test_a_tick_counts_once() -> None:
    instance = held_of()
    assert len(deliver(instance, tick())) == 2
    before = encode_instance(instance)
    assert deliver(instance, tick()) == []
    assert deliver(instance, tick(seq=2)) == []
    assert encode_instance(instance) == before
    assert (instance.ticks, instance.due_us) == (1, 2 * PERIOD_US)
    assert len(deliver(instance, tick(due_us=2 * PERIOD_US, count=2))) == 2


def test_a_tick_of_a_service_that_is_not_due_leaves_no_trace() -> None:
    instance = held_of(toy("cubes", (on(Tick, lambda state, tick, message: []),), due=lambda state: None))
    before = encode_instance(instance)
    assert deliver(instance, tick(due_us=0)) == []
    assert encode_instance(instance) == before


def test_a_service_reads_messages_it_has_a_rule_for_and_its_own_ticks() -> None:
    cubes, ocs, repairs = (ServiceInstance(service, "pod-0") for service in TOYS)
    messages = [drain(1), tick(), first_message()]
    assert [cubes.reads(m) for m in messages] == [True, True, True]
    assert [ocs.reads(m) for m in messages] == [False, False, True]
    assert [repairs.reads(m) for m in messages] == [False, False, True]


# --- time ---------------------------------------------------------------------------------------------------


def test_now_is_the_message_s_time_and_never_goes_back() -> None:
    instance = held_of()
    assert instance.state is not None
    (late,) = deliver(instance, drain(1, at_us=70))
    assert instance.state.now_us == late.at_us == 70
    (early,) = deliver(instance, drain(2, cube=2, at_us=30))
    assert instance.state.now_us == early.at_us == 70


# --- what a service says ------------------------------------------------------------------------------------


def test_sayings_carry_source_count_time_and_cause() -> None:
    instance = held_of(saying(CubeHealthy(cube=1), CubeDrained(cube=2)))
    emitted = [*deliver(instance, drain(1, at_us=6)), *deliver(instance, drain(2, at_us=8))]
    assert [m.id for m in emitted] == [f"cubes@pod-0/{n}" for n in (1, 2, 3, 4)]
    assert [m.seq for m in emitted] == [1, 2, 3, 4]
    assert [m.at_us for m in emitted] == [6, 6, 8, 8]
    assert [m.cause for m in emitted] == ["operator@pod-0/1"] * 2 + ["operator@pod-0/2"] * 2
    assert [m.type for m in emitted] == ["CubeHealthy", "CubeDrained"] * 2
    assert {(m.fabric, m.source, m.v) for m in emitted} == {("pod-0", "cubes@pod-0", 1)}
    assert instance.emitted == 4


def test_because_names_an_earlier_cause() -> None:
    earlier = CausedBy("operator@pod-0/77", CubeHealthy(cube=1))
    instance = held_of(saying(earlier, CubeHealthy(cube=2)))
    assert [m.cause for m in deliver(instance, drain(1))] == ["operator@pod-0/77", "operator@pod-0/1"]


def test_sayings_may_be_made_one_after_the_other() -> None:
    """A rule may be a generator. Its messages are complete before the service is queried for its next due
    time."""

    def rule(state: ToyState, body: DrainCube, message: Envelope) -> Iterable[Output]:
        yield CubeHealthy(cube=1)
        state.next_us = 99

    instance = held_of(toy("cubes", (on(DrainCube, rule),)))
    assert len(deliver(instance, drain(1))) == 1
    assert instance.due_us == 99


# --- a service that does what it may not --------------------------------------------------------------------


def test_a_service_may_write_its_own_types_only() -> None:
    for foreign in (OcsDown(ocs=1), CausedBy("x/1", OcsUp(ocs=1)), Tick(service="cubes", due_us=1, count=1)):
        instance = held_of(saying(CubeHealthy(cube=1), foreign))
        with pytest.raises(ServiceFailed, match=r"cubes of pod-0 emitted \w+, which only \w+ may write, on"):
            deliver(instance, drain(1))


def test_a_rule_that_raises_is_named_with_its_message() -> None:
    def rule(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
        raise ZeroDivisionError("by nothing")

    def late(state: ToyState, body: DrainCube, message: Envelope) -> Iterable[Output]:
        yield CubeHealthy(cube=1)
        raise ZeroDivisionError("by nothing")

    for broken in (rule, late):
        instance = held_of(toy("cubes", (on(DrainCube, broken),)))
        with pytest.raises(
            ServiceFailed,
            match=r"^cubes of pod-0 raised ZeroDivisionError: by nothing, on operator@pod-0/1 \(DrainCube\)$",
        ) as caught:
            deliver(instance, drain(1))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_commissioning_or_a_due_that_raises_is_named_too() -> None:
    def due(state: ToyState) -> int | None:
        raise KeyError("no due")

    with pytest.raises(
        ServiceFailed, match=r"cubes of pod-0 raised KeyError: 'no due', on sequencer@pod-0/1"
    ):
        held_of(toy("cubes", (), due=due))


@pytest.mark.parametrize("due_us", [0, PERIOD_US - 1, PERIOD_US])
def test_after_a_tick_a_service_is_due_later_or_not_at_all(due_us: int) -> None:
    """Otherwise, simulated time would stop for ever."""

    def rule(state: ToyState, body: Tick, message: Envelope) -> list[Output]:
        state.next_us = due_us
        return []

    instance = held_of(toy("cubes", (on(Tick, rule),)))
    with pytest.raises(
        ServiceFailed, match=rf"cubes of pod-0 is due at {due_us}, not later than now {PERIOD_US}, on tick"
    ):
        deliver(instance, tick())


def test_any_other_message_may_leave_it_due_at_once() -> None:
    def rule(state: ToyState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
        state.next_us = state.now_us
        return []

    instance = held_of(toy("cubes", (on(CubeUnhealthy, rule),)))
    body = CubeUnhealthy(cube=1, reasons=())
    assert deliver(instance, enclose(body, fabric="pod-0", at_us=5, cause="x", source="y", seq=1)) == []
    assert instance.due_us == 5


# --- what runs after a rule ---------------------------------------------------------------------------------


def drained_then(seen: list[tuple[str, int, int | None]]) -> Any:
    """A service whose rule of DrainCube counts, and whose `after` records (type, drains, next_us), then sets
    when the service is due."""

    def rule(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
        state.handled["DrainCube"] = state.handled.get("DrainCube", 0) + 1
        return [CubeDrained(cube=1)]

    def after(state: ToyState, message: Envelope) -> None:
        seen.append((message.type, state.handled.get("DrainCube", 0), state.next_us))
        state.next_us = message.at_us + 100

    def silent(state: ToyState, body: CubeHealthy, message: Envelope) -> list[Output]:
        return []

    rules = (on(DrainCube, rule), on(CubeHealthy, silent, runs_after=False))
    return toy("cubes", rules, after=after)


def healthy(seq: int, at_us: int) -> Envelope:
    return enclose(CubeHealthy(cube=1), fabric="pod-0", at_us=at_us, cause=None, source="x@pod-0", seq=seq)


def test_after_sees_the_state_that_the_rule_left_and_may_change_when_the_service_is_due() -> None:
    seen: list[tuple[str, int, int | None]] = []
    instance = held_of(drained_then(seen))
    emitted = deliver(instance, drain(1, at_us=5))
    assert [message.body for message in emitted] == [CubeDrained(cube=1)]
    assert seen == [("DrainCube", 1, PERIOD_US)]
    assert instance.due_us == 105


def test_after_runs_when_a_rule_that_is_a_generator_has_ended() -> None:
    order: list[str] = []

    def rule(state: ToyState, body: DrainCube, message: Envelope) -> Iterable[Output]:
        yield CubeDrained(cube=1)
        order.append("rule")

    instance = held_of(
        toy("cubes", (on(DrainCube, rule),), after=lambda _state, _message: order.append("after"))
    )
    deliver(instance, drain(1))
    assert order == ["rule", "after"]


def test_after_does_not_run_for_a_row_without_it() -> None:
    seen: list[tuple[str, int, int | None]] = []
    instance = held_of(drained_then(seen))
    deliver(instance, healthy(1, at_us=5))
    assert seen == []
    assert instance.due_us == PERIOD_US


def test_after_does_not_run_for_a_repeat_or_at_commissioning() -> None:
    seen: list[tuple[str, int, int | None]] = []
    instance = held_of(drained_then(seen))
    assert seen == []
    deliver(instance, drain(1))
    deliver(instance, drain(1))
    assert len(seen) == 1


def test_an_after_that_raises_fails_the_service() -> None:
    def after(state: ToyState, message: Envelope) -> None:
        raise ValueError("no sum")

    instance = held_of(toy("cubes", (on(DrainCube, lambda state, body, message: []),), after=after))
    with pytest.raises(ServiceFailed, match=r"cubes of pod-0 raised ValueError: no sum, on .*DrainCube"):
        deliver(instance, drain(1))
