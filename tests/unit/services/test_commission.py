"""A fabric that joins a running site: every service starts at that time, and catches up on nothing."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.config.workload import TraceRow, WorkloadConfig
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice
from schemas.messages.workload import SliceRequested
from schemas.registry import encode
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.engine.service import AnyService
from shared.engine.state import stored_fields
from tests.support.pods import SUPERPOD
from tests.support.rig import Bench, bodies

JOINED_US = 14 * US_PER_DAY
"""Weeks later, so that working hours fall on the same hours of the same days."""
BUSY = SuperpodConfig(
    seed=5,
    pod=PodConfig(cubes=16),
    failures=FailuresConfig(host_per_day=0.05, link_per_day=0.005, ocs_per_day=0.02),
    transceivers=TransceiversConfig(telemetry_interval_s=3600),
)
AMOUNTS = {"healthy_cube_us", "chip_us", "waiting_chip_us"}
BY_THEMSELVES = ("failures", "jobs", "transceivers", "workload")
"""Services that are due from the start, whatever the others do."""

each_service = pytest.mark.parametrize("service", SUPERPOD, ids=lambda service: service.name)


def later(name: str, value: Any) -> Any:
    """A field of a state as if its fabric had been commissioned at `JOINED_US` and not at 0."""
    if name in ("hazards", "streams", "campaigns"):
        return {key: replace(draws, next_us=later("next_us", draws.next_us)) for key, draws in value.items()}
    if not name.endswith("_us") or name in AMOUNTS or value is None:
        return value
    return value + JOINED_US


@each_service
def test_a_state_equals_that_of_day_0_shifted_in_time(service: AnyService) -> None:
    first, joined = (service.commission("pod-0", BUSY, at_us) for at_us in (0, JOINED_US))
    assert joined.now_us == JOINED_US
    for name in stored_fields(first):
        np.testing.assert_equal(getattr(joined, name), later(name, getattr(first, name)), err_msg=name)
    assert service.due(joined) == later("due_us", service.due(first))
    assert (service.due(joined) is not None) == (service.name in BY_THEMSELVES)


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_the_first_tick_is_later_and_does_the_work_of_one_event(name: str) -> None:
    config = BUSY.model_copy(update={"workload": WorkloadConfig(filler=False)})  # which is requested at once
    bench = Bench([service for service in SUPERPOD if service.name == name], config, JOINED_US)
    due_us = bench.due_us()
    assert due_us is not None
    assert due_us > JOINED_US
    emitted = bench.step()
    assert [message.type for message in emitted] == {
        "failures": ["FaultBegan"],
        "jobs": ["UsageReported"],
        "transceivers": [],
        "workload": ["SliceRequested"],
    }[name]
    assert bench.due_us() is not None
    assert bench.due_us() != due_us


@pytest.mark.slow("days of a pod, twice")
def test_the_events_of_a_pod_do_not_depend_on_when_it_joined() -> None:
    """All services, two days, with manual requests: the same messages, each shifted by the same time."""
    logs = [lived(at_us) for at_us in (0, JOINED_US)]
    assert len(logs[0]) > 1000
    assert {"FaultBegan", "HostDown", "SliceStarted", "RepairCompleted"} <= {m.type for m in logs[0]}
    assert [shifted_line(message, 0) for message in logs[1]] == [
        shifted_line(message, JOINED_US) for message in logs[0]
    ]


def lived(at_us: int) -> list[Envelope]:
    bench = Bench(SUPERPOD, BUSY, at_us)
    bench.say(DrainCube(cube="pod-0/cube-3"), at_us + US_PER_HOUR)
    bench.say(
        InjectFault(kind="ocs", target="pod-0/ocs-17", duration_us=US_PER_HOUR), at_us + 2 * US_PER_HOUR
    )
    bench.say(RequestSlice(shape=(4, 4, 8), duration_us=US_PER_HOUR), at_us + 3 * US_PER_HOUR)
    bench.run(at_us + 2 * US_PER_DAY)
    return bench.log


def shifted_line(message: Envelope, by_us: int) -> str:
    """The message as text, with every absolute time shifted."""
    return re.sub(
        r'"(at_us|due_us|ends_us|expires_us|until_us)":(\d+)',
        lambda match: f'"{match[1]}":{int(match[2]) + by_us}',
        encode(message).decode(),
    )


def test_the_last_day_of_faults_counts_from_the_commissioning() -> None:
    config = BUSY.model_copy(update={"failures": BUSY.failures.model_copy(update={"until_days": 3})})
    failures = [service for service in SUPERPOD if service.name == "failures"]
    bench = Bench(failures, config, JOINED_US)
    bench.run(JOINED_US + 100 * US_PER_DAY)
    began_us = [message.at_us for message in bench.log if isinstance(message.body, FaultBegan)]
    assert bench.due_us() is None
    assert len(began_us) > 3
    assert JOINED_US < min(began_us) < max(began_us) <= JOINED_US + 3 * US_PER_DAY


def test_the_times_of_a_recorded_trace_count_from_the_commissioning() -> None:
    rows = [
        TraceRow(submit_us=n * US_PER_S, duration_us=US_PER_S, shape=(4, 4, 4), twisted=False, priority=0)
        for n in (0, 7, 7, 90)
    ]
    workload = [service for service in SUPERPOD if service.name == "workload"]
    bench = Bench(workload, SuperpodConfig(trace=tuple(rows)), JOINED_US)
    requested = [(m.at_us, m.body) for m in bench.run(JOINED_US + US_PER_DAY) if m.type == "SliceRequested"]
    assert [at_us - JOINED_US for at_us, _ in requested] == [row.submit_us for row in rows]
    assert len(bodies(bench.log, SliceRequested)) == len(rows)
