"""Shifts, spares, wrong diagnoses and burn-in of the repair shop."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ops.invariants.repairs import RepairChecker
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import ParameterChange, ParameterValue
from schemas.config.pods import FabricConfig, SuperpodConfig
from schemas.config.repairs import RepairsConfig, RepairShopConfig
from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import OcsPartDown
from schemas.messages.repairs import (
    BurnInBegun,
    RepairBegun,
    RepairCancelled,
    RepairCompleted,
    RepairRepeated,
)
from services.repairs.service import SERVICE
from services.repairs.state import RepairsState, commission
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.state_codec import decode_state, encode_state
from tests.support.rig import Bench, bodies

SURE = {"repair_sigma": 0.0, "fibre_technicians": 0}


def shop(**repairs: float | None) -> Bench:
    config = RepairsConfig(**{**SURE, **repairs})  # type: ignore[arg-type]  # numbers for fields of numbers
    return Bench([SERVICE], SuperpodConfig(repairs=config))


def repair_request(n: int) -> RepairRequested:
    return RepairRequested(kind="host", target=f"pod-0/cube-{n}/host-0")


def times(bench: Bench, kind: type) -> list[float]:
    """The times of the messages of a type, in hours."""
    return [m.at_us / US_PER_HOUR for m in bench.log if isinstance(m.body, kind)]


def assert_sound(bench: Bench) -> None:
    """The checker of the audit finds nothing, and documents and stored fields match the state."""
    checker = RepairChecker()
    assert [text for message in bench.log for text in checker.see(message)] == []
    bench.assert_documents_hold()
    state = bench.state("repairs")
    assert decode_state(SERVICE.state, encode_state(state)) == state
    bench.reload()
    bench.assert_documents_hold()


def test_no_repair_starts_at_night_and_work_continues_in_the_morning() -> None:
    bench = shop(technicians=2, off_hours_technicians=0, host_repair_h=3.0)
    bench.say(repair_request(0), 16 * US_PER_HOUR)  # Monday: until 18:00, and an hour on Tuesday
    bench.say(repair_request(1), 20 * US_PER_HOUR)
    bench.run(5 * US_PER_DAY)
    assert times(bench, RepairBegun) == [16.0, 24 + 8.0]
    assert times(bench, RepairCompleted) == [24 + 9.0, 24 + 11.0]
    assert_sound(bench)


def test_a_message_at_the_start_of_a_shift_does_not_delay_its_work() -> None:
    bench = shop(technicians=1, off_hours_technicians=0, host_repair_h=3.0)
    bench.say(repair_request(0), 2 * US_PER_HOUR)
    bench.say(RepairWithdrawn(target="pod-0/cube-5/host-0"), 8 * US_PER_HOUR)
    bench.run(US_PER_DAY)
    assert times(bench, RepairBegun) == [8.0]
    assert times(bench, RepairCompleted) == [11.0]


def test_one_technician_works_at_night() -> None:
    bench = shop(technicians=2, off_hours_technicians=1, host_repair_h=30.0)
    for n in range(3):
        bench.say(repair_request(n), 5 * US_PER_DAY + n)  # Saturday
    bench.run(20 * US_PER_DAY)
    saturday, monday = 5 * 24.0, 7 * 24.0
    assert times(bench, RepairBegun) == pytest.approx([saturday, saturday + 30, monday + 8])
    # The second started on Sunday with the technician who works round the clock. The third takes three days
    # of ten hours.
    assert times(bench, RepairCompleted) == pytest.approx(
        [saturday + 30, saturday + 60, monday + 48 + 18], abs=1e-6
    )
    assert_sound(bench)


def test_fibre_technicians_have_their_own_hours() -> None:
    bench = shop(technicians=1, off_hours_technicians=0, fibre_technicians=1)
    bench.say(RepairRequested(kind="connector", target="pod-0/cube-0/+x/0"), 2 * US_PER_HOUR)
    assert bodies(bench.log, RepairBegun)[0].technician == 1
    nobody = shop(technicians=1, off_hours_technicians=0, fibre_technicians=1, off_hours_fibre_technicians=0)
    nobody.say(RepairRequested(kind="connector", target="pod-0/cube-0/+x/0"), 2 * US_PER_HOUR)
    nobody.run(US_PER_DAY)
    assert times(nobody, RepairBegun) == [8.0]


def test_a_shift_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"shift_ends_h: 6 is not after shift_begins_h, 8"):
        RepairsConfig(shift_ends_h=6.0)


def test_a_repair_without_a_spare_waits_for_the_next_delivery() -> None:
    bench = shop(technicians=4, host_spares=1, spares_lead_days=2.0, host_repair_h=6.0)
    for n in range(3):
        bench.say(repair_request(n), n + 1)
    bench.run(30 * US_PER_DAY)
    # Each part is ordered when the previous one is used, and arrives two days later.
    assert times(bench, RepairBegun) == pytest.approx([0.0, 54.0, 108.0], abs=1e-6)
    assert_sound(bench)


def test_a_repair_does_not_wait_for_parts_of_another_kind() -> None:
    bench = shop(technicians=4, host_spares=1, ocs_spares=1, spares_lead_days=5.0)
    bench.say(repair_request(0))
    bench.say(repair_request(1))
    bench.say(OcsPartDown(part="pod-0/ocs-3/fan-1"))
    bench.say(OcsPartDown(part="pod-0/ocs-4/cpu"))
    bench.say(OcsPartDown(part="pod-0/ocs-5/fan-0"))
    started = [body.target for body in bodies(bench.log, RepairBegun)]
    assert started == ["pod-0/cube-0/host-0", "pod-0/ocs-3/fan-1", "pod-0/ocs-4/cpu"]


def test_the_part_of_a_cancelled_repair_returns_to_the_shelf() -> None:
    bench = shop(technicians=4, host_spares=1, spares_lead_days=900.0)
    bench.say(repair_request(0))
    bench.say(repair_request(1))
    assert len(bodies(bench.log, RepairBegun)) == 1
    emitted = bodies(bench.say(RepairWithdrawn(target="pod-0/cube-0/host-0")))
    assert [type(body) for body in emitted] == [RepairCancelled, RepairBegun]
    assert_sound(bench)


def changed(name: str, was: ParameterValue, value: ParameterValue) -> ParametersChanged:
    return ParametersChanged(changes=(ParameterChange(name=f"repairs.{name}", value=value, was=was),))


def test_repairs_wait_for_a_day_without_technicians() -> None:
    bench = shop(technicians=4, host_repair_h=6.0)
    bench.say(changed("technicians", 4, 0), 1)
    bench.say(repair_request(0), US_PER_HOUR)
    bench.run(24 * US_PER_HOUR)
    assert bodies(bench.log, RepairBegun) == []
    bench.say(changed("technicians", 0, 4), 24 * US_PER_HOUR)
    assert times(bench, RepairBegun) == [24.0]
    assert_sound(bench)


@pytest.mark.parametrize("size", [None, 3])
def test_no_repair_starts_while_there_are_no_spares(size: int | None) -> None:
    """Parts that are being built in count; after the change back the shelf is as before."""
    bench = shop(technicians=4, host_spares=size, spares_lead_days=2.0, host_repair_h=6.0)
    bench.say(repair_request(0), US_PER_HOUR)
    bench.say(changed("host_spares", size, 0), 2 * US_PER_HOUR)
    bench.say(repair_request(1), 3 * US_PER_HOUR)
    bench.run(20 * US_PER_DAY)
    assert times(bench, RepairBegun) == [1.0], "neither the used part nor its replacement is a spare"
    assert bench.state("repairs").stock_levels == {"host": 0}
    bench.say(changed("host_spares", 0, size), 20 * US_PER_DAY)
    assert times(bench, RepairBegun) == [1.0, 480.0]
    assert bench.state("repairs").stock_levels == ({} if size is None else {"host": size - 1})
    bench.run(40 * US_PER_DAY)
    state = bench.state("repairs")
    assert state.stock_levels.get("host", 0) + len(state.spares_on_order) == (size or 0)
    assert_sound(bench)


def test_orders_of_a_stock_that_became_unlimited_are_forgotten() -> None:
    bench = shop(technicians=4, host_spares=1, ocs_spares=1, spares_lead_days=2.0, host_repair_h=6.0)
    for n in range(3):
        bench.say(repair_request(n), n + 1)
    bench.run(US_PER_DAY)
    bench.say(changed("host_spares", 1, None), US_PER_DAY)
    assert times(bench, RepairBegun) == pytest.approx([0.0, 24.0, 24.0], abs=1e-6)
    assert bench.state("repairs").spares_on_order == ()
    bench.run(30 * US_PER_DAY)
    assert_sound(bench)


def test_a_host_is_burnt_in_without_a_technician() -> None:
    bench = shop(technicians=1, host_repair_h=4.0, burn_in_h=12.0)
    bench.say(repair_request(0))
    bench.say(repair_request(1), 1)
    bench.run(5 * US_PER_HOUR)
    assert times(bench, BurnInBegun) == [4.0]
    assert len(times(bench, RepairBegun)) == 2
    states = [bench.documents["repairs", f"pod-0/repair-{n}"].state for n in (0, 1)]
    assert states == ["tested", "begun"]
    assert bench.documents["summaries", "pod-0/repairs"].tested == 1
    bench.run(US_PER_DAY)
    assert times(bench, RepairCompleted) == [16.0, 20.0]
    assert_sound(bench)


def test_a_burn_in_without_a_purpose_ends() -> None:
    bench = shop(host_repair_h=4.0, burn_in_h=12.0)
    bench.say(repair_request(0))
    bench.run(5 * US_PER_HOUR)
    assert len(bodies(bench.say(RepairWithdrawn(target="pod-0/cube-0/host-0")), RepairCancelled)) == 1
    bench.run(US_PER_DAY)
    assert times(bench, RepairCompleted) == []
    assert_sound(bench)


def test_an_ocs_is_not_burnt_in() -> None:
    bench = shop(ocs_repair_h=5.0, burn_in_h=12.0)
    bench.say(OcsPartDown(part="pod-0/ocs-3/fan-1"))
    bench.run(US_PER_DAY)
    assert times(bench, RepairCompleted) == [5.0]


def test_wrong_diagnoses_occur_at_the_configured_rate_and_are_repeated() -> None:
    share, repairs = 0.3, 3000
    bench = shop(technicians=1000, misdiagnosed=share, host_repair_h=2.0, burn_in_h=1.0, repair_sigma=0.5)
    for n in range(repairs):
        bench.say(
            RepairRequested(kind="host", target=f"pod-0/cube-{n % 64}/host-{n // 64 % 16}"), n * US_PER_DAY
        )
    bench.run((repairs + 60) * US_PER_DAY)
    tries = Counter(body.tries for body in bodies(bench.log, RepairRepeated))
    assert len(bodies(bench.log, RepairCompleted)) == repairs
    assert len(bodies(bench.log, RepairBegun)) == repairs + tries.total()
    for many in (1, 2):
        expected = repairs * share**many
        assert abs(tries[many] - expected) < 4 * math.sqrt(expected * (1 - share**many))
    assert bench.documents["repairs", f"pod-0/repair-{repairs - 1}"].state == "completed"
    last = {body.repair: body.tries for body in bodies(bench.log, RepairRepeated)}
    kept = bench.state("repairs").ended
    assert {n: row.tries for n, row in kept.items()} == {n: last.get(f"pod-0/repair-{n}", 0) for n in kept}
    assert_sound(bench)


def test_work_at_fibres_is_not_drawn_for() -> None:
    """Readings decide that the diagnosis was wrong; the shop does not draw it as well."""
    bench = shop(misdiagnosed=0.9, clean_h=1.0)
    for n in range(20):
        bench.say(RepairRequested(kind="connector", target=f"pod-0/cube-{n}/+x/0"), n * US_PER_DAY)
    bench.run(30 * US_PER_DAY)
    assert bodies(bench.log, RepairRepeated) == []
    assert len(bodies(bench.log, RepairCompleted)) == 20


@given(data=st.data())
def test_every_request_ends_in_every_shop(data: st.DataObject) -> None:
    """For any mix of hours, shelves, tests and errors: no technician is in two places, no request is lost,
    all end."""
    many = data.draw(st.integers(1, 3), "technicians")
    bench = shop(
        technicians=many,
        off_hours_technicians=data.draw(st.sampled_from([None, 0, 1]), "off hours"),
        host_spares=data.draw(st.sampled_from([None, 1, 2]), "host spares"),
        ocs_spares=data.draw(st.sampled_from([None, 1]), "ocs spares"),
        spares_lead_days=3.0,
        misdiagnosed=data.draw(st.sampled_from([0.0, 0.5]), "misdiagnosed"),
        burn_in_h=data.draw(st.sampled_from([0.0, 5.0]), "burn in"),
        host_repair_h=10.0,
        ocs_repair_h=10.0,
        repair_sigma=0.5,
    )
    requested = 0
    at_us = 0
    for n in range(data.draw(st.integers(1, 12), "requests")):
        at_us += data.draw(st.integers(0, 30), "hours") * US_PER_HOUR
        match data.draw(st.sampled_from(["host", "ocs", "withdraw"]), "what"):
            case "host":
                bench.say(repair_request(n), at_us)
                requested += 1
            case "ocs":
                bench.say(OcsPartDown(part=f"pod-0/ocs-{n}/fan-1"), at_us)
                requested += 1
            case _:
                bench.say(RepairWithdrawn(target=f"pod-0/cube-{n - 1}/host-0"), at_us)
    bench.run(at_us + 400 * US_PER_DAY)
    state = bench.state("repairs")
    assert (state.queued, state.begun, state.tested) == ({}, {}, {})
    assert state.completed + state.cancelled == state.opened == requested
    for stock, held in state.stock_levels.items():
        coming = sum(of == stock for _, of in state.spares_on_order)
        assert held + coming == (bench.state("repairs").config.host_spares if stock == "host" else 1)
    assert_sound(bench)


class LampRepairs(RepairShopConfig):
    technicians: int = 1
    lamp_repair_h: float = 2.0
    repair_sigma: float = 0.0
    queue_max: int = 10


class LampConfig(FabricConfig):
    repair_times_model = LampRepairs

    kind: str = "lamps"
    repairs: LampRepairs = LampRepairs()

    @property
    def repair_times(self) -> LampRepairs:
        return self.repairs


def test_a_shop_stores_the_repair_times_of_an_added_fabric_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(CONFIGS, "lamps", LampConfig)
    state = commission("lamps-0", LampConfig(repairs=LampRepairs(technicians=3)), 0)
    stored = encode_state(state)
    assert stored["config"] == b'{"technicians":3,"lamp_repair_h":2.0,"repair_sigma":0.0,"queue_max":10}'
    assert decode_state(RepairsState, stored) == state
    assert state.fibre_technicians == 0
    assert not state.config.value_or("burn_in_h", 0.0)
