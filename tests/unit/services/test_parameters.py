"""Services react to parameter changes: pending events follow, and work already started stays."""

import math
from typing import Any

import pytest

from schemas.config.cubes import CubesConfig
from schemas.config.failures import FailuresConfig
from schemas.config.parameter import ParameterChange, ParameterValue
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.config.repairs import RepairsConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.config.workload import WorkloadConfig
from schemas.messages.cubes import CubeDrained, RepairRequested
from schemas.messages.failures import ParametersChanged
from schemas.messages.repairs import RepairBegun
from schemas.messages.workload import SliceRequested
from services.cubes.service import SERVICE as CUBES
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.jobs.service import SERVICE as JOBS
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.scheduler.service import SERVICE as SCHEDULER
from services.transceivers.service import SERVICE as TRANSCEIVERS
from services.workload.service import SERVICE as WORKLOAD
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from tests.support.rig import Bench, bodies

DAY = US_PER_DAY


def changed(**values: ParameterValue) -> ParametersChanged:
    return ParametersChanged(
        changes=tuple(
            ParameterChange(name=name.replace("__", "."), value=value, was=None)
            for name, value in values.items()
        )
    )


def pod(**sections: Any) -> SuperpodConfig:
    return SuperpodConfig(pod=PodConfig(cubes=8), failures=FailuresConfig(enabled=False), **sections)


# --- who asks for slices ------------------------------------------------------------------------------------


def only_small(**more: Any) -> SuperpodConfig:
    return pod(workload=WorkloadConfig(mix="4x4x4=1", filler=False, slices_per_day=40.0, **more))


def test_the_next_campaign_follows_the_new_rate() -> None:
    """On a steady day, twice the rate halves the remaining time."""
    bench = Bench([WORKLOAD], only_small(day_swing=0.0, weekend_factor=1.0))
    before_us = bench.state("workload").streams[0].next_us
    now_us = before_us // 4
    bench.say(changed(workload__slices_per_day=80.0), now_us)
    assert bench.state("workload").streams[0].next_us == pytest.approx(
        now_us + (before_us - now_us) / 2, abs=2
    )
    assert bench.state("workload").next_arrival_us == bench.state("workload").streams[0].next_us
    bench.say(changed(workload__slices_per_day=40.0), now_us + 1)
    assert bench.state("workload").streams[0].next_us == pytest.approx(before_us, abs=4)


def test_with_a_daily_cycle_the_remaining_demand_counts() -> None:
    bench = Bench([WORKLOAD], only_small(day_swing=0.9, weekend_factor=0.1, campaign_jobs=1.0))
    before_us = bench.state("workload").streams[0].next_us
    bench.say(changed(workload__slices_per_day=0.4), before_us // 2)
    after_us = bench.state("workload").streams[0].next_us
    assert after_us > before_us
    bench.say(changed(workload__slices_per_day=40.0), before_us // 2 + 1)
    assert bench.state("workload").streams[0].next_us == pytest.approx(before_us, abs=1_000)


def test_a_budgeted_shape_follows_the_new_rate_too() -> None:
    config = pod(workload=WorkloadConfig(mix="8x8x8=1", filler=False))
    bench = Bench([WORKLOAD], config)
    before_us = bench.state("workload").streams[0].next_us
    bench.say(changed(workload__offered_load=0.4), 5)
    assert bench.state("workload").streams[0].next_us == pytest.approx(5 + 2 * (before_us - 5), abs=2)


def test_the_number_of_requests_follows_the_new_rate() -> None:
    """Campaigns of one job; counts of 20 days are within 4 standard deviations of a Poisson distribution."""
    bench = Bench([WORKLOAD], only_small(campaign_jobs=1.0, balk_above_h=1e6))
    for rate, until_us in ((40.0, 14 * DAY), (160.0, 28 * DAY), (20.0, 42 * DAY)):
        bench.say(changed(workload__slices_per_day=rate))
        emitted = bodies(bench.run(until_us), SliceRequested)
        assert abs(len(emitted) - 14 * rate) < 4 * math.sqrt(14 * rate)


def test_filler_starts_when_it_is_turned_on_and_stops_when_it_is_turned_off() -> None:
    bench = Bench([WORKLOAD], only_small())
    bench.say(changed(workload__filler=True), 5)
    requests = [body for body in bodies(bench.run(6), SliceRequested) if body.tier == "filler"]
    assert requests
    bench.say(changed(workload__filler=False), 7)
    bench.say(changed(workload__filler=True), 8)
    assert bodies(bench.run(9), SliceRequested) == []  # the full number of fillers waits


def test_a_change_starts_no_arrivals_if_there_are_none() -> None:
    bench = Bench([WORKLOAD], pod(workload=WorkloadConfig(enabled=False)))
    bench.say(changed(workload__offered_load=2.0, workload__filler=True), 5)
    assert bench.due_us() is None


# --- who takes cubes out, mends and looks -------------------------------------------------------------------


def test_maintenance_follows_the_new_rate() -> None:
    bench = Bench([CUBES], pod(cubes=CubesConfig(maintenance_per_day=0.1)))
    before_us = bench.state("cubes").next_maintenance_us
    bench.say(changed(cubes__maintenance_per_day=0.2), 5)
    assert bench.state("cubes").next_maintenance_us == pytest.approx(5 + (before_us - 5) / 2, abs=1)
    bench.say(changed(cubes__maintenance_per_day=0.0), 6)
    assert bodies(bench.run(30 * DAY), CubeDrained) == []
    bench.say(changed(cubes__maintenance_per_day=0.1), 30 * DAY)
    anew_us = bench.state("cubes").next_maintenance_us - 30 * DAY
    assert anew_us > 0
    assert anew_us not in (before_us, before_us - 5)
    assert bodies(bench.run(90 * DAY), CubeDrained)


def test_additional_technicians_start_at_once_and_a_surplus_one_finishes() -> None:
    bench = Bench([REPAIRS], pod(repairs=RepairsConfig(technicians=1, fibre_technicians=0)))
    for cube in range(4):
        bench.say(RepairRequested(kind="host", target=f"pod-0/cube-{cube}/host-0"))
    started = bodies(bench.say(changed(repairs__technicians=3), 9), RepairBegun)
    assert [body.technician for body in started] == [1, 2]
    ends = [repair.ends_us for repair in bench.state("repairs").begun.values()]
    assert bodies(bench.say(changed(repairs__technicians=1, repairs__host_repair_h=0.5), 10)) == []
    assert [repair.ends_us for repair in bench.state("repairs").begun.values()] == ends
    while len(bench.state("repairs").begun) > 1 or bench.state("repairs").queued:
        emitted = bodies(bench.step(), RepairBegun)
        assert {body.technician for body in emitted} <= {0}
        assert len(emitted) == 0 or len(bench.state("repairs").begun) <= 3


def test_frames_and_inspections_follow_the_new_interval() -> None:
    config = pod(transceivers=TransceiversConfig(telemetry_interval_s=0, inspection_interval_s=0))
    bench = Bench([DIAGNOSIS, OCS, TRANSCEIVERS], config)
    assert bench.due_us() is None
    now_us = 100 * US_PER_S
    bench.say(
        changed(transceivers__telemetry_interval_s=900, transceivers__inspection_interval_s=600), now_us
    )
    state = bench.state("transceivers")
    assert (state.next_frame_us, state.next_inspection_us) == (900 * US_PER_S, 600 * US_PER_S)
    assert bench.state("ocs").telemetry_interval_s == 900
    assert bench.state("diagnosis").recheck_after_s == 1_200
    bench.run(US_PER_HOUR)
    assert state.next_inspection_us is None  # nothing is wrong, so there is nothing to inspect
    bench.say(
        changed(transceivers__telemetry_interval_s=0, transceivers__inspection_interval_s=0), US_PER_HOUR + 1
    )
    assert (state.next_frame_us, state.next_inspection_us, state.early_inspection_us, bench.due_us()) == (
        None,
        None,
        None,
        None,
    )
    assert bench.state("diagnosis").recheck_after_s == 1_200  # from the last inspection


def test_jobs_notice_by_the_new_times() -> None:
    bench = Bench([JOBS], pod())
    bench.say(changed(jobs__hang_s=9), 5)
    assert (bench.state("jobs").config.hang_s, bench.state("jobs").config.error_s) == (9, 5)


# --- who has cubes ------------------------------------------------------------------------------------------


def test_the_scheduler_keeps_the_configured_number_of_warm_cubes() -> None:
    bench = Bench([SCHEDULER], pod(scheduler=SchedulerConfig()))
    for many in (3, 1, 0, 2):
        bench.say(changed(scheduler__hot_spares=many), bench.now_us + 1)
        assert len(bench.state("scheduler").warm_cubes) == many
        assert bench.state("scheduler").chips_by_category["held_back"] == 64 * many


def test_the_scheduler_knows_the_new_durations_of_others() -> None:
    bench = Bench([SCHEDULER], pod())
    bench.say(changed(repairs__host_repair_h=2.0, cubes__heartbeat_s=7), 5)
    expected_durations = bench.state("scheduler").expected_durations
    assert (expected_durations.host_repair_us, expected_durations.heartbeat_us) == (
        2 * US_PER_HOUR,
        7 * US_PER_S,
    )
    assert expected_durations.link_repair_us == 24 * US_PER_HOUR
