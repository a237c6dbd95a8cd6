"""Parameters that change while a fabric lives: what is pending comes by the new rates."""

import math
from dataclasses import replace

import pytest

from schemas.config.dcn import DcnConfig
from schemas.config.failures import FailuresConfig
from schemas.config.parameter import ParameterChange, ParameterSetting, ParameterValue
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.failures import FaultBegan, ParametersChanged, ParametersRefused
from schemas.messages.operator import SetParameters
from schemas.names import FaultKind
from services.failures.domain_outages import changed_outage
from services.failures.hazards import Hazard, changed_hazard, first_hazard, seeds_of
from services.failures.service import SERVICE
from services.failures.state import commission
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.fabric_plants import plant_of
from tests.support.rig import Bench, bodies

DAY = US_PER_DAY


def of_hosts(rate: float, until_days: float | None = None) -> FailuresConfig:
    """Nothing but hosts fails."""
    return FailuresConfig(
        host_per_day=rate,
        link_per_day=0.0,
        optics_per_day=0.0,
        ocs_per_day=0.0,
        stray_per_day=0.0,
        until_days=until_days,
    )


ONLY_HOSTS = SuperpodConfig(failures=of_hosts(0.01), pod=PodConfig(cubes=8))
HOST: FaultKind = "host"


def asked(**values: ParameterValue) -> SetParameters:
    return SetParameters(
        settings=tuple(
            ParameterSetting(name=name.replace("__", "."), value=value) for name, value in values.items()
        )
    )


def next_us(bench: Bench, kind: str = "host") -> int | None:
    found: int | None = bench.state("failures").hazards[kind].next_us
    return found


def test_what_is_left_is_stretched_by_the_ratio_of_the_rates() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    assert before_us is not None
    now_us = before_us // 3
    (said,) = bodies(bench.say(asked(failures__host_per_day=0.04), now_us))
    assert said == ParametersChanged(
        changes=(ParameterChange(name="failures.host_per_day", value=0.04, was=0.01),)
    )
    assert next_us(bench) == now_us + round((before_us - now_us) / 4)
    bench.say(asked(failures__host_per_day=0.01), now_us + 1)
    assert next_us(bench) == pytest.approx(before_us, abs=10)  # undone, it is where it was


def test_a_rate_of_0_lets_nothing_come_and_from_0_it_is_drawn_again() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    drawn = bench.state("failures").hazards["host"].drawn
    bench.say(asked(failures__host_per_day=0.0), 5)
    assert next_us(bench) is None
    assert bench.run(30 * DAY) == []
    bench.say(asked(failures__host_per_day=0.01), 30 * DAY)
    after_us = next_us(bench)
    assert after_us is not None
    assert before_us is not None
    assert after_us - 30 * DAY not in (before_us, before_us - 5)  # the draw that was seen to be long is gone
    assert bench.state("failures").hazards["host"].drawn == drawn
    bench.say(asked(failures__host_per_day=0.0))
    bench.say(asked(failures__host_per_day=0.01), 30 * DAY)
    assert next_us(bench) != after_us


def test_all_is_turned_off_and_on() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    bench.say(asked(failures__enabled=False), 5)
    assert [row.next_us for row in bench.state("failures").hazards.values()] == [None] * len(
        bench.state("failures").hazards
    )
    bench.say(asked(failures__enabled=True), 6)
    there = {kind for kind, row in bench.state("failures").hazards.items() if row.next_us is not None}
    assert there == {"host"}


def test_no_fault_comes_after_the_last_day() -> None:
    config = ONLY_HOSTS.model_copy(update={"failures": of_hosts(0.01, until_days=1.0)})
    bench = Bench([SERVICE], config)
    bench.say(asked(failures__host_per_day=1e-9), 5)
    assert next_us(bench) is None
    bench.say(asked(failures__host_per_day=100.0), 6)
    assert (next_us(bench) or 2 * DAY) < DAY


def test_domains_follow_too() -> None:
    plant = plant_of("superpod", PodConfig(cubes=8))
    slow, fast, none = (FailuresConfig(power_per_day=rate) for rate in (0.1, 0.4, 0.0))
    of = (0, "pod-0", "power domain")
    assert changed_outage(*of, (slow, fast), plant, Hazard(3, 1000), 200, 1) == Hazard(3, 400)
    assert changed_outage(*of, (slow, slow), plant, Hazard(3, 1000), 200, 1) == Hazard(3, 1000)
    assert changed_outage(*of, (slow, fast), plant, Hazard(3, 200), 200, 1) == Hazard(3, 200)  # is due
    assert changed_outage(*of, (slow, none), plant, Hazard(3, 1000), 200, 1) == Hazard(3, None)
    anew = changed_outage(*of, (none, fast), plant, Hazard(3, None), 200, 1)
    assert (anew.next_us or 0) > 200
    assert changed_outage(*of, (none, fast), plant, Hazard(3, None), 200, 2) != anew


def test_a_rate_that_moves_is_stretched_in_the_time_of_its_clock() -> None:
    plant = plant_of("superpod", PodConfig(cubes=8))
    slow = FailuresConfig(host_per_day=0.0001, host_variation=1.0)
    fast = slow.model_copy(update={"host_per_day": 0.0002})
    of = (seeds_of(0, slow), "pod-0", HOST)
    pending = first_hazard(*of, slow, plant, 0)
    assert pending.next_us is not None
    assert pending.day > 3
    # At the beginning of the same process the whole gap is half as long: as if it had been drawn so.
    assert changed_hazard(*of, (slow, fast), plant, pending, 0, 1) == first_hazard(*of, fast, plant, 0)
    now_us = pending.next_us // 2
    there = changed_hazard(*of, (slow, fast), plant, pending, now_us, 1)
    back = changed_hazard(*of, (fast, slow), plant, there, now_us, 2)
    assert back.next_us == pytest.approx(pending.next_us, abs=10)
    assert back.day == pending.day
    assert back.level == pytest.approx(pending.level)


def test_one_value_that_may_not_be_refuses_all_of_them() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before = replace(bench.state("failures"), changed_documents=set())
    (said,) = bodies(bench.say(asked(failures__host_per_day=0.04, scheduler__hot_spares=8), 5))
    assert isinstance(said, ParametersRefused)
    assert (said.fabric, "leave none of 8 cubes" in said.reason) == ("pod-0", True)
    assert replace(bench.state("failures"), changed_documents=set(), now_us=0) == before


def test_values_that_are_requested_one_by_one_must_go_together() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    bench.say(asked(scheduler__hold_back="fixed", scheduler__hold_back_cubes=5), 5)
    (said,) = bodies(bench.say(asked(scheduler__hot_spares=3), 6))
    assert isinstance(said, ParametersRefused)


def test_the_document_has_what_is_not_as_it_was_commissioned() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    assert bench.documents["parameters", "pod-0"].changed == ()
    bench.say(asked(failures__host_per_day=0.04, jobs__error_s=9), 5)
    bench.say(asked(failures__host_per_day=0.05), 7)
    rows = {row.name: row for row in bench.documents["parameters", "pod-0"].changed}
    assert {
        name: (row.value, row.commissioned, row.changed_us, row.changed_by) for name, row in rows.items()
    } == {
        "jobs.error_s": (9, 5, 5, "operator@pod-0/1"),
        "failures.host_per_day": (0.05, 0.01, 7, "operator@pod-0/2"),
    }
    bench.say(asked(failures__host_per_day=0.01, jobs__error_s=5), 9)
    assert bench.documents["parameters", "pod-0"].changed == ()
    bench.assert_documents_hold()


def test_what_is_so_already_is_answered_and_changes_nothing() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    assert bodies(bench.say(asked(failures__host_per_day=0.01), 5)) == [ParametersChanged(changes=())]
    assert (next_us(bench), bench.state("failures").changes) == (before_us, 0)


def test_a_network_has_its_own() -> None:
    bench = Bench([SERVICE], DcnConfig())
    before_us = next_us(bench, "rack")
    assert before_us is not None
    bench.say(asked(failures__rack_per_day=0.0002), 0)
    assert next_us(bench, "rack") == pytest.approx(before_us / 2, abs=2)
    (said,) = bodies(bench.say(asked(workload__offered_load=0.5), 9))
    assert isinstance(said, ParametersRefused)
    assert "which a dcn does not have" in said.reason


@pytest.mark.parametrize("seed", range(3))
def test_after_it_faults_come_at_the_new_rate(seed: int) -> None:
    """8 cubes have 128 hosts: 0.5 a host-day are 64 a day, and 2 are 256; counts of 20 days are within 4
    standard deviations of a Poisson law, for the part that is broken already is hardly ever struck again."""
    config = ONLY_HOSTS.model_copy(update={"seed": seed, "failures": of_hosts(0.5)})
    bench = Bench([SERVICE], config)

    def struck(until_us: int) -> int:
        before = int(bench.state("failures").hazards["host"].drawn)
        bench.run(until_us)
        return int(bench.state("failures").hazards["host"].drawn) - before

    for rate, until_us in ((0.5, 20 * DAY), (2.0, 40 * DAY), (0.5, 60 * DAY)):
        bench.say(asked(failures__host_per_day=rate))
        mean = rate * 128 * 20
        assert abs(struck(until_us) - mean) < 4 * math.sqrt(mean)


def test_many_changes_of_the_rate_leave_the_law_as_it_is() -> None:
    """The rate goes up and down every hour, and off in between: as many come as the rates come to."""
    bench = Bench([SERVICE], ONLY_HOSTS)
    rates = (0.5, 2.0, 0.0, 1.0)
    for hour in range(400):
        bench.say(asked(failures__host_per_day=rates[hour % 4]), 1 + hour * US_PER_HOUR)
    mean = 128 * sum(rates) / 24 * 100
    drawn = bench.state("failures").hazards["host"].drawn
    assert abs(drawn - mean) < 4 * math.sqrt(mean)
    assert any(isinstance(message.body, FaultBegan) for message in bench.log)


def test_what_is_present_leaves_a_recorded_trace_to_the_log() -> None:
    row = {"submit_us": 0, "duration_us": 1, "shape": (4, 4, 4), "twisted": False, "priority": 0}
    state = commission("pod-0", SuperpodConfig.model_validate({"trace": (row,)}), 0)
    assert state.current_config == SuperpodConfig()
