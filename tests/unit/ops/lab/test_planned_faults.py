"""Recorded faults of a new twin: each row begins once, at its time, as the lab's recorded faults do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from ops.cli.run.new_faults import faults_reader
from ops.lab.planned_faults import with_planned_faults
from ops.lab.run_inputs import RunInputs, timed_requests
from ops.lab.site_run import SiteRun
from ops.sites.configuration import config_from_sections
from ops.sites.site_plans import NewTwinOptions
from ops.twin.resume_check import check_same_twin
from schemas.body import Body
from schemas.envelope import Envelope
from schemas.files.site_plan import SitePlan
from schemas.limits import PLANNED_FAULTS_MAX
from schemas.messages.failures import FaultBegan, FaultEnded, FaultRefused
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.engine.site_driver import LabRequest
from shared.storage.snapshots.site_snapshot import from_bytes, take_snapshot, to_bytes
from tests.support.gateway_twin import QUIET

HEADER = "kind,target,begin_s,for_s,severity,onset_s\n"
ROWS = [
    "host,cube-1/host-2,3600,1800,,",
    "ocs,pod-0/ocs-3,3600,,,",
    "laser,pod-0/cube-0/+x/3,1800,7200,3,600",
    "host,pod-0/cube-1/host-2,1800,,,",
    "cube-power,cube-2,10,60,,",
]
BodyT = TypeVar("BodyT", bound=Body)
POD = NewTwinOptions(pairs=("pod.cubes=4", *QUIET), seed=3)


def file_of(folder: Path, rows: list[str]) -> Path:
    path = folder / "faults.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return path


class Log:
    """The messages of a run."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []

    def see(self, cascade: Sequence[Envelope]) -> None:
        self.messages += cascade

    def bodies(self, kind: type[BodyT]) -> list[tuple[str, int, BodyT]]:
        return [
            (message.fabric, message.at_us, message.body)
            for message in self.messages
            if isinstance(message.body, kind)
        ]


def played(plan: SitePlan, requests: tuple[LabRequest, ...] = (), days: float = 0.2) -> Log:
    log = Log()
    SiteRun(plan, observers=(log,)).run(round(days * US_PER_DAY), requests)
    return log


def _without_last_us(log: Log) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for message in log.messages:
        body = message.body
        if isinstance(body, FaultBegan):
            expires = None if body.expires_us is None else body.expires_us // 1000
            found.append((message.at_us // 1000, body.fault, body.kind, body.target, body.severity, expires))
        if isinstance(body, FaultEnded):
            found.append((message.at_us // 1000, body.fault, body.how))
    return found


def test_the_faults_of_a_twin_are_those_of_a_lab_run(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    (plan,) = replace(POD, faults=faults_reader(path)).sites()
    (without,) = POD.sites()
    requests, _ = timed_requests(RunInputs(faults=path), [without], 0.2)
    mine, lab = played(plan), played(without, requests)
    # Requests of one time are a microsecond apart; planned faults of one time begin together.
    assert _without_last_us(mine) == _without_last_us(lab)
    begun = [(at_us, body.kind, body.target, body.expires_us) for _, at_us, body in mine.bodies(FaultBegan)]
    s = US_PER_S
    assert begun == [
        (10 * s, "cube-power", "pod-0/cube-2", 70 * s),
        (1800 * s, "laser", "pod-0/cube-0/+x/3", 9000 * s),
        (1800 * s, "host", "pod-0/cube-1/host-2", None),
        (3600 * s, "host", "pod-0/cube-1/host-2", 5400 * s),
        (3600 * s, "ocs", "pod-0/ocs-3", None),
    ]


def test_a_run_that_is_resumed_neither_loses_nor_repeats_a_row(tmp_path: Path) -> None:
    (plan,) = replace(POD, faults=faults_reader(file_of(tmp_path, ROWS))).sites()
    whole = played(plan)
    for stop_s in (0, 900, 1800, 3599, 3600):
        first, rest = Log(), Log()
        run = SiteRun(plan, observers=(first,))
        run.run(stop_s * US_PER_S)
        snapshot = take_snapshot(
            run.lab.site, run.lab.messages, b"", software="x", kinds={"pod-0": "superpod"}
        )
        SiteRun(plan, observers=(rest,), start_snapshot=from_bytes(to_bytes(snapshot))).run(
            round(0.2 * US_PER_DAY)
        )
        assert first.bodies(FaultBegan) + rest.bodies(FaultBegan) == whole.bodies(FaultBegan)


def test_a_row_that_cannot_begin_is_refused_on_the_log(tmp_path: Path) -> None:
    """A configuration does not know the name of its fabric, so a site's file can name a part of another."""
    rows = [{"begin_us": 5, "kind": "host", "target": "pod-7/cube-1/host-2"}]
    config = config_from_sections(
        "superpod",
        {"pod": {"cubes": 4}, "failures": {"enabled": False}, "workload": {"enabled": False}, "faults": rows},
        "config",
    )
    log = played(SitePlan(site="pod-0", fabrics={"pod-0": config}), days=0.01)
    assert log.bodies(FaultBegan) == []
    ((_, at_us, refused),) = log.bodies(FaultRefused)
    assert at_us == 5
    assert "pod-7" in refused.reason


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"begin_us": 5, "kind": "hosts", "target": "pod-0/cube-1/host-2"}, "config.faults.0.kind"),
        ({"begin_us": 5, "kind": "host", "target": "pod-0/cube-9/host-2"}, "config.faults.0"),
        ({"begin_us": -1, "kind": "host", "target": "pod-0/cube-1/host-2"}, "config.faults.0.begin_us"),
        ({"begin_us": 1, "kind": "host", "target": "pod-0/cube-1/host-2", "severity": 3}, "config.faults.0"),
    ],
)
def test_rows_of_a_site_file_are_checked(row: Mapping[str, object], problem: str) -> None:
    with pytest.raises(InvalidInput) as found:
        config_from_sections("superpod", {"pod": {"cubes": 4}, "faults": [row]}, "config")
    assert str(found.value).startswith(problem)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("host,pod-0/cube-9/host-2,60,,,", "line 2: target: "),
        ("hosts,pod-0/cube-1/host-2,60,,,", "line 2: kind: no such fault kind 'hosts'"),
        ("host,pod-3/cube-1/host-2,60,,,", "line 2: target: no such fabric 'pod-3'"),
        ("host,cube-1/host-2,soon,,,", "line 2: begin_s"),
        ("host,cube-1/host-2,60,0,,", "line 2: for_s"),
    ],
)
def test_refusals_are_those_of_the_lab(tmp_path: Path, row: str, problem: str) -> None:
    path = file_of(tmp_path, [row])
    with pytest.raises(InvalidInput) as found:
        replace(POD, faults=faults_reader(path)).sites()
    with pytest.raises(InvalidInput) as lab:
        timed_requests(RunInputs(faults=path), POD.sites(), 1.0)
    assert str(found.value) == str(lab.value)
    assert problem in str(found.value)


def test_a_file_of_too_many_faults_and_one_of_none_are_refused(tmp_path: Path) -> None:
    rows = [f"host,cube-1/host-2,{n},,," for n in range(PLANNED_FAULTS_MAX + 1)]
    with pytest.raises(InvalidInput, match="has 20,001 faults of pod-0; must be at most 20,000"):
        with_planned_faults(POD.sites(), file_of(tmp_path, rows))
    with pytest.raises(InvalidInput):
        with_planned_faults(POD.sites(), file_of(tmp_path, []))


def test_a_twin_is_resumed_with_its_own_file_only(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    requested = replace(POD, faults=faults_reader(path))
    kept = requested.sites()
    check_same_twin(requested, (), kept)
    check_same_twin(POD, (), kept)
    with pytest.raises(InvalidInput, match=r"^--faults: pod-0 was created with none"):
        check_same_twin(requested, (), POD.sites())
    file_of(tmp_path, ROWS[1:])
    with pytest.raises(InvalidInput, match=r"^--faults: pod-0 was created with 5 others"):
        check_same_twin(requested, (), kept)


def test_networks_have_recorded_faults_too(tmp_path: Path) -> None:
    path = file_of(tmp_path, ["rack,dcn-0/rack-1,60,600,,"])
    (plan,) = NewTwinOptions(
        kind="dcn", pairs=("failures.enabled=false",), faults=faults_reader(path)
    ).sites()
    assert [body.target for _, _, body in played(plan, days=0.01).bodies(FaultBegan)] == ["dcn-0/rack-1"]


def test_the_first_message_of_a_fabric_without_recorded_faults_has_no_such_field() -> None:
    (plan,) = POD.sites()
    assert "faults" not in plan.fabrics["pod-0"].model_dump_json()
