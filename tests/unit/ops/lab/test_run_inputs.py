"""Recorded faults, injected faults and changes of parameters: one grammar and one order of requests."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from ops.lab.run import RunPlan, run_lab
from ops.lab.run_inputs import RunInputs, timed_requests
from ops.sites.site_plans import single_fabric_sites
from schemas.files.site_plan import SitePlan
from schemas.messages.failures import FaultBegan, ParametersChanged
from schemas.messages.operator import InjectFault, SetParameters
from schemas.registry import decode
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S

SETTINGS = ("pod.cubes=4", "failures.enabled=false", "workload.enabled=false")
PODS = single_fabric_sites(2, pairs=SETTINGS)
NETWORK = single_fabric_sites(1, kind="dcn")
HEADER = "kind,target,begin_s,for_s"


def faults(folder: Path, *rows: str, header: str = HEADER) -> RunInputs:
    path = folder / "faults.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return RunInputs(faults=path)


def test_recorded_faults_are_injected_faults(tmp_path: Path) -> None:
    """The oracle is `--inject` with the same faults."""
    rows = (
        "host,pod-1/cube-2/host-3,7200,3600,,",
        "ocs,pod-0/ocs-17,60,,,",
        "laser,pod-0/cube-1/+y/7,60,86400,3,43200",
    )
    texts = (
        "host:pod-1/cube-2/host-3@2h+1h",
        "ocs:pod-0/ocs-17@1m",
        "laser:pod-0/cube-1/+y/7@1m+1d,severity=3,onset=12h",
    )
    of_file, source = timed_requests(faults(tmp_path, *rows, header=f"{HEADER},severity,onset_s"), PODS, 1.0)
    of_options, _ = timed_requests(RunInputs(inject=texts), PODS, 1.0)
    assert of_file == of_options
    assert [request.number for request in of_file] == [1, 2, 3]
    assert source is not None
    assert (source.counts.rows, source.counts.played, source.counts.after_run, source.note) == (3, 3, 0, None)


def test_faults_after_the_end_are_counted_and_reported(tmp_path: Path) -> None:
    inputs = faults(
        tmp_path, "ocs,pod-0/ocs-17,60,5", "ocs,pod-0/ocs-18,259200,5", "ocs,pod-0/ocs-19,172800,5"
    )
    requests, source = timed_requests(inputs, PODS, 1.0)
    assert len(requests) == 1
    assert source is not None
    assert (source.counts.played, source.counts.after_run) == (1, 2)
    assert source.note is not None
    assert source.note.endswith(
        "2 of 3 rows are not played: they begin after the end of the run, the first at 2d00:00:00"
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ((), "has no rows; must have one or more after the header"),
        (("hst,pod-0/cube-1/host-1,0,5",), "line 2: kind: no such fault kind 'hst'; must be one of"),
        (("hst,pod-0/cube-1/host-1,0,5",), "; the nearest is host"),
        (("host,pod-7/cube-1/host-1,0,5",), "line 2: target: no such fabric 'pod-7'; must be one of"),
        (("host,pod-0/cube-9/host-1,0,5",), "line 2: target"),
        (("host,pod-0/cube-1/host-1,-1,5",), "line 2: begin_s '-1' is not allowed; must be seconds from 0"),
        (("ocs,pod-0/ocs-1,0,5", "ocs,pod-0/ocs-1,1,0"), "line 3: for_s '0' is not allowed; must be seconds"),
        (("ocs,pod-0/ocs-1,0",), "line 2: has 1 cells too few"),
        (("ocs,pod-0/ocs-1,1680000000,5",), "1 of 1 rows are not played: they begin after"),
    ],
)
def test_invalid_files_of_faults_are_refused(tmp_path: Path, rows: Sequence[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)) as caught:
        timed_requests(faults(tmp_path, *rows), PODS, 1.0)
    assert str(caught.value).startswith(f"faults {tmp_path / 'faults.csv'}")


def test_a_severity_that_is_not_allowed_is_named_with_its_line(tmp_path: Path) -> None:
    inputs = faults(tmp_path, "laser,pod-0/cube-1/+y/7,0,5,9e9", header=f"{HEADER},severity")
    with pytest.raises(InvalidInput, match=r"line 2: severity: 9e\+09 is not allowed|line 2: severity"):
        timed_requests(inputs, PODS, 1.0)


def test_a_missing_file_of_faults(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        timed_requests(RunInputs(faults=tmp_path / "none.csv"), PODS, 1.0)


def test_a_network_has_faults_of_its_own(tmp_path: Path) -> None:
    requests, _ = timed_requests(faults(tmp_path, "rack,rack-3,60,600"), NETWORK, 1.0)
    assert [(request.fabric, request.at_us) for request in requests] == [("dcn-0", 60 * US_PER_S)]
    with pytest.raises(InvalidInput, match="line 2: kind: 'host' strikes no part of dcn-0"):
        timed_requests(faults(tmp_path, "host,dcn-0/cube-1/host-1,60,600"), NETWORK, 1.0)


# --- parameters that change ---------------------------------------------------------------------------------


def changes(
    *texts: str, sites: Sequence[SitePlan] = PODS, days: float = 1.0
) -> list[tuple[int, str, object]]:
    requests, _ = timed_requests(RunInputs(changes=texts), sites, days)
    bodies = [(one.at_us, one.fabric, one.body) for one in requests]
    return [
        (at_us, fabric, {one.name: one.value for one in body.settings})
        for at_us, fabric, body in bodies
        if isinstance(body, SetParameters)
    ]


def test_a_change_is_for_every_fabric_that_has_the_parameter() -> None:
    assert changes("failures.host_per_day=0.1@12h") == [
        (12 * US_PER_HOUR, "pod-0", {"failures.host_per_day": 0.1}),
        (12 * US_PER_HOUR, "pod-1", {"failures.host_per_day": 0.1}),
    ]
    assert changes("failures.host_per_day=0.1@12h,fabric=pod-1") == [
        (12 * US_PER_HOUR, "pod-1", {"failures.host_per_day": 0.1})
    ]
    mixed = (*PODS, *NETWORK)
    assert [fabric for _, fabric, _ in changes("traffic.hedge=0.5@1h", sites=mixed)] == ["dcn-0"]


def test_changes_of_one_time_are_one_request() -> None:
    texts = ("cubes.maintenance_h=3@1h", "repairs.technicians=9@1h", "repairs.technicians=8@2h")
    assert changes(*texts, sites=PODS[:1]) == [
        (US_PER_HOUR, "pod-0", {"cubes.maintenance_h": 3.0, "repairs.technicians": 9}),
        (2 * US_PER_HOUR, "pod-0", {"repairs.technicians": 8}),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("failures.host_per_day=0.1@", "'' is not a valid time"),
        ("failures.host_per_day=0.1@soon", "'soon' is not a valid time"),
        ("failures.host_per_day@5h", "must be KEY=VALUE@TIME"),
        (
            "failures.host_per_day=0.1@5d",
            "5d00:00:00 is after the end of the run; must be at most 1d00:00:00",
        ),
        ("failures.host_per_day=-1@5h", "failures.host_per_day: -1.0 is not allowed; must be"),
        ("failures.host_per_day=x@5h", "failures.host_per_day: 'x' is not allowed; must be"),
        ("failures.hots_per_day=1@5h", "did you mean failures.host_per_day?"),
        ("pod.cubes=8@5h", "pod.cubes 8: cannot change after the fabric is commissioned"),
        ("seed=8@5h", "seed 8: cannot change after the fabric is commissioned"),
        ("repairs.technicians=8@5h,fabric=pod-9", "no such fabric 'pod-9'; must be one of pod-0, pod-1"),
        ("repairs.technicians=8@5h,when=now", "'when=now' is not understood"),
    ],
)
def test_changes_that_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)) as caught:
        changes(text)
    assert str(caught.value).startswith("--set ")


def test_a_parameter_has_one_value_at_a_time() -> None:
    with pytest.raises(InvalidInput, match=r"repairs.technicians: given twice"):
        changes("repairs.technicians=8@5h", "repairs.technicians=9@5h")


@pytest.mark.integration("a lab run")
def test_a_run_plays_all_of_them(tmp_path: Path) -> None:
    """A change comes before a fault of the same time, and is logged as the command `set` logs it."""
    path = tmp_path / "log.jsonl"
    file = faults(tmp_path, "host,pod-0/cube-1/host-1,3600,600").faults
    inputs = RunInputs(None, file, ("ocs:pod-0/ocs-3@30m+1h",), ("failures.host_per_day=0.1@1h",))
    requests, _ = timed_requests(inputs, PODS[:1], 0.1)
    run_lab(RunPlan(PODS[:1], 0.1, requests=requests), jobs=1, log=path, repeat=["x"])
    messages = [decode(line) for line in path.read_bytes().splitlines()]
    kinds = (FaultBegan, InjectFault, ParametersChanged, SetParameters)
    events = [(m.at_us, m.type, m.source) for m in messages if isinstance(m.body, kinds)]
    assert [name for _, name, _ in events] == [
        *("InjectFault", "FaultBegan"),
        *("SetParameters", "ParametersChanged"),
        *("InjectFault", "FaultBegan"),
    ]
    assert {source for _, name, source in events if name in ("InjectFault", "SetParameters")} == {
        "operator@pod-0"
    }
    assert events[0][0] == US_PER_HOUR // 2
    assert 0 <= events[2][0] - US_PER_DAY // 24 <= 1


RUN_TIMES = [
    ("12h", 12 * US_PER_HOUR),
    ("0d12:00", 12 * US_PER_HOUR),
    ("0d12:00:00", 12 * US_PER_HOUR),
    ("43200000000us", 12 * US_PER_HOUR),
    ("0s", 0),
]


@pytest.mark.parametrize(("text", "at_us"), RUN_TIMES)
def test_changes_and_faults_have_the_times_of_all_commands(text: str, at_us: int) -> None:
    """`0d12:00` is the time since the start that every other option means by it."""
    pods = single_fabric_sites(1, pairs=SETTINGS)
    assert [at for at, _, _ in changes(f"failures.host_per_day=0.1@{text}", sites=pods)] == [at_us]
    requests, _ = timed_requests(RunInputs(inject=(f"ocs:pod-0/ocs-17@{text}+10m",)), pods, 1.0)
    assert [(one.at_us, one.body.duration_us) for one in requests if isinstance(one.body, InjectFault)] == [
        (at_us, 600 * US_PER_S)
    ]


@pytest.mark.parametrize(
    "text", ["-2h", "2h ago", "now", "+2h", "12:00", "012h", "2", "", "soon", "99999999d"]
)
def test_a_time_that_is_not_since_the_start_of_the_run_is_refused(text: str) -> None:
    for inputs in (
        RunInputs(changes=(f"failures.host_per_day=0.1@{text}",)),
        RunInputs(inject=(f"ocs:pod-0/ocs-17@{text}",)),
    ):
        with pytest.raises(InvalidInput, match=r"is not a valid time; must be a time since|must be KIND"):
            timed_requests(inputs, PODS, 1.0)
