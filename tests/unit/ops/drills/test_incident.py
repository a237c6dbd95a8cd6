"""`drill from`: the incident in a log, its document, and the same faults at the same times in the lab."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from ops.drills.incident import find_faults
from ops.drills.incident_document import LEAD_US
from ops.drills.incident_source import FromIncident, drill_from
from ops.drills.lab_run import LabDrill, run_lab_drill
from ops.lab.site_run import SiteRun
from ops.sites.site_plans import single_fabric_sites
from schemas.body import Body
from schemas.config.parameter import ParameterSetting
from schemas.envelope import Envelope, enclose
from schemas.files.site_plan import SitePlan
from schemas.messages.cubes import CubeDrained
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import ClearFault, DrainCube, InjectFault, ReleaseSlice, SetParameters
from shared.basics.errors import NotFound
from shared.basics.units import US_PER_HOUR, US_PER_MIN, US_PER_S
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest

HOUR, MINUTE = US_PER_HOUR, US_PER_MIN
SMALL = ["pod.cubes=4", "workload.enabled=false"]
BURST_US = 20 * HOUR
"""When the operators' requests of the incident begin."""


def site(seed: int, *pairs: str) -> SitePlan:
    (plan,) = single_fabric_sites(1, pairs=[*SMALL, *pairs], seed=seed)
    return plan


def began(at_us: int, number: int, fabric: str = "pod-0", cause: str | None = None) -> Envelope:
    body = FaultBegan(
        fault=f"{fabric}/fault-{number}",
        kind="ocs",
        target=f"{fabric}/ocs-{number}",
        injected=False,
        severity=None,
        expires_us=None,
    )
    return enclose(body, fabric=fabric, at_us=at_us, cause=cause, source=f"failures@{fabric}", seq=number)


def names(found: Sequence[Envelope]) -> list[str]:
    return [one.id for one in found]


def test_an_incident_is_faults_that_began_close_together_on_the_site() -> None:
    log = [
        began(0, 0),
        began(10 * HOUR, 1),
        began(10 * HOUR + 9 * MINUTE, 2, "pod-1"),
        began(10 * HOUR + 18 * MINUTE, 3),
        began(10 * HOUR + 18 * MINUTE, 4, cause="failures@pod-0/3"),
        began(10 * HOUR + 29 * MINUTE, 5),
    ]
    for at_us in (10 * HOUR - 5 * MINUTE, 10 * HOUR + 12 * MINUTE):
        found = find_faults(log, "pod-0", at_us, within_us=HOUR, gap_us=10 * MINUTE)
        assert names(found) == ["failures@pod-0/1", "failures@pod-1/2", "failures@pod-0/3"]


def test_without_an_incident_near_the_nearest_is_named() -> None:
    log = [began(HOUR, 1), began(5 * HOUR, 2), began(4 * HOUR, 3, "pod-1")]
    with pytest.raises(NotFound) as refused:
        find_faults(log, "pod-0", 3 * HOUR + MINUTE, within_us=HOUR, gap_us=MINUTE)
    assert str(refused.value) == (
        "pod-0 at 0d03:01:00: no fault began within 1h; the nearest is pod-0/fault-2 (ocs, pod-0/ocs-2), "
        "which began at 0d05:00:00"
    )
    assert refused.value.exit_code == 3
    with pytest.raises(NotFound, match="no fault of this fabric is on the log"):
        find_faults(log, "pod-2", 0, within_us=HOUR, gap_us=MINUTE)


@dataclass
class LabLog:
    """The log of a run in the lab; the run is repeated for the site at a time."""

    plan: SitePlan
    requests: tuple[LabRequest, ...]
    messages: list[Envelope]

    def at_us(self, text: str | None) -> int:
        raise NotImplementedError(text)

    def read(self, types: Sequence[str], since_us: int, until_us: int | None) -> list[Envelope]:
        last_us = self.messages[-1].at_us if until_us is None else until_us
        return [one for one in self.messages if one.type in types and since_us <= one.at_us <= last_us]

    def site_before(self, at_us: int) -> Site:
        run = SiteRun(self.plan)
        run.run(at_us - 1, self.requests)
        return run.lab.site


class Recorder:
    def __init__(self) -> None:
        self.messages: list[Envelope] = []

    def see(self, cascade: Sequence[Envelope]) -> None:
        self.messages += cascade


def recorded(plan: SitePlan, until_us: int, *requests: tuple[int, Body]) -> LabLog:
    timed = tuple(
        LabRequest(at_us, "pod-0", body, number) for number, (at_us, body) in enumerate(requests, 1)
    )
    recorder = Recorder()
    run = SiteRun(plan, observers=(recorder,))
    run.run(until_us, timed)
    return LabLog(plan, timed, recorder.messages)


def shape(faults: Sequence[tuple[int, FaultBegan]]) -> list[tuple[object, ...]]:
    """What must be the same: kind, part, severity, and the time after the first fault."""
    first_us = faults[0][0]
    return [(at_us - first_us, body.kind, body.target, body.severity) for at_us, body in faults]


def made(log: LabLog, at_us: int, gap_us: int) -> FromIncident:
    return drill_from(log, "pod-0", at_us, within_us=12 * HOUR, gap_us=gap_us)


def test_the_drill_of_a_real_incident_begins_the_same_faults_at_the_same_times() -> None:
    few = ParameterSetting(name="repairs.technicians", value=1)
    log = recorded(
        site(5, "failures.host_per_day=0.2", "failures.ocs_per_day=0.02"),
        24 * HOUR,
        (BURST_US, DrainCube(cube="pod-0/cube-3", duration_us=2 * HOUR)),
        (BURST_US + 7 * US_PER_S, SetParameters(settings=(few,))),
        (BURST_US + 9 * US_PER_S, ReleaseSlice(slice="pod-0/slice-0")),
        (BURST_US + 10 * US_PER_S, ClearFault(fault="pod-0/fault-0")),
    )
    found = made(log, BURST_US, 2 * HOUR)
    real = [(one.at_us, one.body) for one in found.incident.faults]
    assert len(real) >= 3
    assert [type(one.body).__name__ for one in found.incident.requests] == ["DrainCube", "SetParameters"]
    assert not found.incident.left_out  # the release was refused: there is no such slice
    calm = site(1, "failures.enabled=false")
    result = run_lab_drill(LabDrill(found.drill, calm, 1, HOUR), pair=False)
    again = [(message.at_us, body) for message, body in result.record.each(FaultBegan)]
    assert shape(again) == shape(real)
    offset_us = BURST_US - real[0][0]
    (drained,) = [m.at_us for m, _ in result.record.each(CubeDrained)]
    assert drained - again[0][0] == offset_us
    end = result.record.end
    assert end is not None
    assert (end.status, end.left) == ("completed", ())


def test_the_drill_expects_what_followed_each_fault() -> None:
    calm = site(5, "failures.enabled=false")
    faults = (
        InjectFault(kind="host", target="pod-0/cube-1/host-3", duration_us=HOUR),
        InjectFault(kind="fan", target="pod-0/ocs-2/fan-1", duration_us=2 * HOUR),
        InjectFault(kind="ocs", target="pod-0/ocs-5", duration_us=HOUR),
    )
    times = (2 * HOUR + 7, 2 * HOUR + MINUTE, 2 * HOUR + 3 * MINUTE)
    log = recorded(calm, 6 * HOUR, *zip(times, faults, strict=True))
    found = made(log, times[0], HOUR)
    expected = found.drill.plan.expects
    about = [(one.of, one.type) for one in expected]
    assert about == sorted(about, key=lambda pair: [fault.target for fault in faults].index(str(pair[0])))
    assert set(about) == {
        ("pod-0/cube-1/host-3", "HostDown"),
        ("pod-0/cube-1/host-3", "RepairRequested"),
        ("pod-0/cube-1/host-3", "RepairOpened"),
        ("pod-0/ocs-2/fan-1", "OcsPartDown"),
        ("pod-0/ocs-2/fan-1", "RepairOpened"),
        ("pod-0/ocs-5", "OcsDown"),
        ("pod-0/ocs-5", "OcsPartDown"),
        ("pod-0/ocs-5", "RepairOpened"),
    }
    for effect, one in zip(found.incident.effects, expected, strict=True):
        offset_us = effect.fault_us - times[0] + LEAD_US
        assert offset_us + 2 * effect.delay_us <= one.within_us
        assert one.within_us <= offset_us + max(2 * effect.delay_us, MINUTE) + US_PER_S
    points = detection_points(found, site(1, "failures.enabled=false"))
    assert set(points.values()) == {100.0}
    assert len(points) == len(expected)
    # Hosts report so rarely that a lost one stays unnoticed; OCSes still report at once.
    deaf = detection_points(found, site(1, "failures.enabled=false", "cubes.heartbeat_s=3600"))
    late = {name for name, score in deaf.items() if score is None or score < 100.0}
    assert late == {name for name in points if "host-3" in name}
    assert late


def detection_points(found: FromIncident, plan: SitePlan) -> dict[str, float | None]:
    """Expected message → its score, in a run of the drill in the lab."""
    result = run_lab_drill(LabDrill(found.drill, plan, 1, HOUR), pair=False)
    category = result.score.of("detection")
    assert category is not None
    return {figure.name: figure.score for figure in category.figures}
