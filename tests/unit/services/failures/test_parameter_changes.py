"""Parameter changes in a running fabric: pending faults follow the new rates."""

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
    """Only hosts fail."""
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


def request(**values: ParameterValue) -> SetParameters:
    return SetParameters(
        settings=tuple(
            ParameterSetting(name=name.replace("__", "."), value=value) for name, value in values.items()
        )
    )


def next_us(bench: Bench, kind: str = "host") -> int | None:
    pending_us: int | None = bench.state("failures").hazards[kind].next_us
    return pending_us


def test_the_remaining_time_is_scaled_by_the_ratio_of_the_rates() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    assert before_us is not None
    now_us = before_us // 3
    (emitted,) = bodies(bench.say(request(failures__host_per_day=0.04), now_us))
    assert emitted == ParametersChanged(
        changes=(ParameterChange(name="failures.host_per_day", value=0.04, was=0.01),)
    )
    assert next_us(bench) == now_us + round((before_us - now_us) / 4)
    bench.say(request(failures__host_per_day=0.01), now_us + 1)
    assert next_us(bench) == pytest.approx(before_us, abs=10)  # undone, the fault is due at its old time


def test_rate_0_cancels_the_fault_and_a_new_rate_draws_again() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    drawn = bench.state("failures").hazards["host"].drawn
    bench.say(request(failures__host_per_day=0.0), 5)
    assert next_us(bench) is None
    assert bench.run(30 * DAY) == []
    bench.say(request(failures__host_per_day=0.01), 30 * DAY)
    after_us = next_us(bench)
    assert after_us is not None
    assert before_us is not None
    assert after_us - 30 * DAY not in (before_us, before_us - 5)  # the old draw, known to be long, is gone
    assert bench.state("failures").hazards["host"].drawn == drawn
    bench.say(request(failures__host_per_day=0.0))
    bench.say(request(failures__host_per_day=0.01), 30 * DAY)
    assert next_us(bench) != after_us


def test_all_hazards_are_turned_off_and_on() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    bench.say(request(failures__enabled=False), 5)
    assert [row.next_us for row in bench.state("failures").hazards.values()] == [None] * len(
        bench.state("failures").hazards
    )
    bench.say(request(failures__enabled=True), 6)
    pending_kinds = {kind for kind, row in bench.state("failures").hazards.items() if row.next_us is not None}
    assert pending_kinds == {"host"}


def test_no_fault_occurs_after_the_last_day() -> None:
    config = ONLY_HOSTS.model_copy(update={"failures": of_hosts(0.01, until_days=1.0)})
    bench = Bench([SERVICE], config)
    bench.say(request(failures__host_per_day=1e-9), 5)
    assert next_us(bench) is None
    bench.say(request(failures__host_per_day=100.0), 6)
    assert (next_us(bench) or 2 * DAY) < DAY


def test_domains_follow_parameter_changes_too() -> None:
    plant = plant_of("superpod", PodConfig(cubes=8))
    slow, fast, none = (FailuresConfig(power_per_day=rate) for rate in (0.1, 0.4, 0.0))
    identity = (0, "pod-0", "power domain")
    assert changed_outage(*identity, (slow, fast), plant, Hazard(3, 1000), 200, 1) == Hazard(3, 400)
    assert changed_outage(*identity, (slow, slow), plant, Hazard(3, 1000), 200, 1) == Hazard(3, 1000)
    # it is due
    assert changed_outage(*identity, (slow, fast), plant, Hazard(3, 200), 200, 1) == Hazard(3, 200)
    assert changed_outage(*identity, (slow, none), plant, Hazard(3, 1000), 200, 1) == Hazard(3, None)
    redrawn = changed_outage(*identity, (none, fast), plant, Hazard(3, None), 200, 1)
    assert (redrawn.next_us or 0) > 200
    assert changed_outage(*identity, (none, fast), plant, Hazard(3, None), 200, 2) != redrawn


def test_a_varying_rate_is_scaled_in_the_time_of_its_clock() -> None:
    plant = plant_of("superpod", PodConfig(cubes=8))
    slow = FailuresConfig(host_per_day=0.0001, host_variation=1.0)
    fast = slow.model_copy(update={"host_per_day": 0.0002})
    identity = (seeds_of(0, slow), "pod-0", HOST)
    pending = first_hazard(*identity, slow, plant, 0)
    assert pending.next_us is not None
    assert pending.day > 3
    # At the start of the same process, the whole gap is half as long, as if it had been drawn so.
    assert changed_hazard(*identity, (slow, fast), plant, pending, 0, 1) == first_hazard(
        *identity, fast, plant, 0
    )
    now_us = pending.next_us // 2
    rescaled = changed_hazard(*identity, (slow, fast), plant, pending, now_us, 1)
    back = changed_hazard(*identity, (fast, slow), plant, rescaled, now_us, 2)
    assert back.next_us == pytest.approx(pending.next_us, abs=10)
    assert back.day == pending.day
    assert back.level == pytest.approx(pending.level)


def test_one_invalid_value_refuses_all_of_them() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before = replace(bench.state("failures"), changed_documents=set())
    (emitted,) = bodies(bench.say(request(failures__host_per_day=0.04, scheduler__hot_spares=8), 5))
    assert isinstance(emitted, ParametersRefused)
    assert (emitted.fabric, "leave none of 8 cubes" in emitted.reason) == ("pod-0", True)
    assert replace(bench.state("failures"), changed_documents=set(), now_us=0) == before


def test_values_set_one_by_one_must_be_consistent() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    bench.say(request(scheduler__hold_back="fixed", scheduler__hold_back_cubes=5), 5)
    (emitted,) = bodies(bench.say(request(scheduler__hot_spares=3), 6))
    assert isinstance(emitted, ParametersRefused)


def test_the_document_lists_the_changed_parameters_only() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    assert bench.documents["parameters", "pod-0"].changed == ()
    bench.say(request(failures__host_per_day=0.04, jobs__error_s=9), 5)
    bench.say(request(failures__host_per_day=0.05), 7)
    rows = {row.name: row for row in bench.documents["parameters", "pod-0"].changed}
    assert {
        name: (row.value, row.commissioned, row.changed_us, row.changed_by) for name, row in rows.items()
    } == {
        "jobs.error_s": (9, 5, 5, "operator@pod-0/1"),
        "failures.host_per_day": (0.05, 0.01, 7, "operator@pod-0/2"),
    }
    bench.say(request(failures__host_per_day=0.01, jobs__error_s=5), 9)
    assert bench.documents["parameters", "pod-0"].changed == ()
    bench.assert_documents_hold()


def test_a_change_to_the_current_value_is_answered_and_changes_nothing() -> None:
    bench = Bench([SERVICE], ONLY_HOSTS)
    before_us = next_us(bench)
    assert bodies(bench.say(request(failures__host_per_day=0.01), 5)) == [ParametersChanged(changes=())]
    assert (next_us(bench), bench.state("failures").changes) == (before_us, 0)


def test_a_network_has_its_own_parameters() -> None:
    bench = Bench([SERVICE], DcnConfig())
    before_us = next_us(bench, "rack")
    assert before_us is not None
    bench.say(request(failures__rack_per_day=0.0002), 0)
    assert next_us(bench, "rack") == pytest.approx(before_us / 2, abs=2)
    (emitted,) = bodies(bench.say(request(workload__offered_load=0.5), 9))
    assert isinstance(emitted, ParametersRefused)
    assert "which a dcn does not have" in emitted.reason


@pytest.mark.parametrize("seed", range(3))
def test_faults_follow_the_new_rate(seed: int) -> None:
    """8 cubes have 128 hosts: 0.5 per host-day is 64 a day, and 2 is 256. Counts of 20 days are within 4
    standard deviations of a Poisson distribution, because a broken part is rarely hit again."""
    config = ONLY_HOSTS.model_copy(update={"seed": seed, "failures": of_hosts(0.5)})
    bench = Bench([SERVICE], config)

    def count_faults(until_us: int) -> int:
        before = int(bench.state("failures").hazards["host"].drawn)
        bench.run(until_us)
        return int(bench.state("failures").hazards["host"].drawn) - before

    for rate, until_us in ((0.5, 20 * DAY), (2.0, 40 * DAY), (0.5, 60 * DAY)):
        bench.say(request(failures__host_per_day=rate))
        mean = rate * 128 * 20
        assert abs(count_faults(until_us) - mean) < 4 * math.sqrt(mean)


def test_many_changes_of_the_rate_keep_the_distribution() -> None:
    """The rate goes up and down every hour, and is off in between. The number of faults is the integral of
    the rate."""
    bench = Bench([SERVICE], ONLY_HOSTS)
    rates = (0.5, 2.0, 0.0, 1.0)
    for hour in range(400):
        bench.say(request(failures__host_per_day=rates[hour % 4]), 1 + hour * US_PER_HOUR)
    mean = 128 * sum(rates) / 24 * 100
    drawn = bench.state("failures").hazards["host"].drawn
    assert abs(drawn - mean) < 4 * math.sqrt(mean)
    assert any(isinstance(message.body, FaultBegan) for message in bench.log)


def test_a_parameter_change_leaves_a_recorded_trace_unchanged() -> None:
    row = {"submit_us": 0, "duration_us": 1, "shape": (4, 4, 4), "twisted": False, "priority": 0}
    state = commission("pod-0", SuperpodConfig.model_validate({"trace": (row,)}), 0)
    assert state.current_config == SuperpodConfig()
