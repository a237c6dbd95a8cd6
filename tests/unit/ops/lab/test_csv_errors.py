"""Errors of recorded traces and faults name the cause, the line, the column and the value."""

import re
from pathlib import Path

import pytest

from ops.lab.imports.import_faults import FaultImport, import_faults
from ops.lab.imports.import_trace import TraceImport, import_trace
from ops.lab.recorded_faults import read_faults
from ops.lab.timed_requests import fabrics_of
from ops.sites.site_plans import single_fabric_sites
from schemas.config.pods import SuperpodConfig
from schemas.limits import COUNT_MAX, DURATION_US_MAX
from shared.basics.errors import InvalidInput
from tests.support.traces import read_trace

TRACE = "submit_s,duration_s,chips,priority,estimate_s"
FAULTS = "kind,target,begin_s,for_s,severity,onset_s"
SECONDS = ", without a zero in front"
TRACE_CASES = [
    ("0010,60,64,,", f"submit_s '0010' is not allowed; must be seconds from 0 to 100 years{SECONDS}"),
    ("0,060,64,,", f"duration_s '060' is not allowed; must be seconds above 0 up to 100 years{SECONDS}"),
    (
        "0,60,064,,",
        f"chips '064' is not allowed; must be a whole number of chips from 1 to {COUNT_MAX:,}{SECONDS}",
    ),
    ("0,60,64,07,", f"priority '07' is not allowed; must be a whole number from -100 to 100{SECONDS}"),
    ("0,60,64,,01", f"estimate_s '01' is not allowed; must be seconds above 0 up to 100 years{SECONDS}"),
    (
        f"0,60,{10**23},,",
        f"chips '{10**23}' is not allowed; must be a whole number of chips from 1 to {COUNT_MAX:,}",
    ),
    (",60,64,,", "submit_s is empty; must be seconds from 0"),
    ("0,,64,,", "duration_s is empty; must be seconds above 0"),
    ("0,60,,,", "chips is empty; must be a whole number"),
    (",,,,", "submit_s is empty; must be seconds"),
    (" , ,,,", "submit_s is empty; must be seconds"),
]
FAULT_CASES = [
    ("host,,0,,,", "target is empty; must be a part such as"),
    (",cube-1/host-1,0,,,", "kind is empty; must be a kind of fault"),
    ("host,cube-1/host-1,,,,", "begin_s is empty; must be seconds"),
    (
        "host,cube-1/host-1,010,,,",
        f"begin_s '010' is not allowed; must be seconds from 0 to 100 years{SECONDS}",
    ),
    (
        "host,cube-1/host-1,0,01,,",
        f"for_s '01' is not allowed; must be seconds above 0 up to 100 years{SECONDS}",
    ),
    (",,,,,", "kind is empty"),
]


GOOD_ROWS = {TRACE: "9,60,64,,", FAULTS: "host,cube-2/host-1,7,,,"}


def read(folder: Path, header: str, text: str) -> object:
    path = folder / "rows.csv"
    path.write_text(text)
    return loaded(path, header)


def loaded(path: Path, header: str) -> object:
    if header == TRACE:
        return read_trace(path, SuperpodConfig())
    return read_faults(path, fabrics_of(single_fabric_sites(1)), DURATION_US_MAX)


@pytest.mark.parametrize(
    ("header", "row", "sentence"),
    [*((TRACE, *case) for case in TRACE_CASES), *((FAULTS, *case) for case in FAULT_CASES)],
)
def test_a_row_with_an_invalid_cell(tmp_path: Path, header: str, row: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"rows.csv, line 3: {sentence}")):
        read(tmp_path, header, f"{header}\n\n{row}\n{GOOD_ROWS[header]}\n")
    with pytest.raises(InvalidInput, match=re.escape(f"rows.csv, line 3: {sentence}")):
        read(tmp_path, header, f"{header}\n{GOOD_ROWS[header]}\n{row}\n")


@pytest.mark.parametrize("header", [TRACE, FAULTS])
def test_the_form_of_a_file(tmp_path: Path, header: str) -> None:
    first = header.partition(",")[0]
    for text, sentence in (
        (f"{header},{first}\n", f"line 1: column {first} is there 2 times; must be there once"),
        (f"{header},x\n", "line 1: column 'x' is unknown; must be one of"),
        (
            f'{header}\n\n"0,1\n2\n3\n',
            "line 3: not CSV: a quotation mark that opens in this line is not closed",
        ),
        (f'"{header}\n0\n', "line 1: not CSV: a quotation mark that opens in this line is not closed"),
        (f'{header}\n"0"x,1\n', "line 2: not CSV: "),
    ):
        with pytest.raises(InvalidInput, match=re.escape(sentence)):
            read(tmp_path, header, text)


@pytest.mark.parametrize("header", [TRACE, FAULTS])
def test_a_folder_is_not_a_file(tmp_path: Path, header: str) -> None:
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(InvalidInput, match="is a folder; must be a file"):
        loaded(tmp_path / "rows.csv", header)


@pytest.mark.parametrize("again", ["host,cube-1/host-1,5,60,,", "host,pod-0/cube-1/host-1,5.0,60,,"])
def test_a_fault_is_given_once(tmp_path: Path, again: str) -> None:
    row = "host,cube-1/host-1,5,60,,"
    with pytest.raises(InvalidInput, match="line 4: repeats line 2; must be one row for each fault"):
        read(tmp_path, FAULTS, f"{FAULTS}\n{row}\nhost,cube-1/host-2,5,60,,\n{again}\n")
    read(tmp_path, FAULTS, f"{FAULTS}\n{row}\nhost,cube-1/host-1,6,60,,\n")


HELIOS = "job_id,user,gpu_num,submit_time,start_time,end_time\n"
HELIOS_ROW = "1,a,1,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09\n"
SWF = "{} 60 5 100 64 -1 -1 64 300 -1 {} 7 2 -1 1 -1 -1 -1\n"
PAI = "4b3f,worker,3.0,Terminated,4550900.0,4551416.0,600.0,29.3,100.0,V100\n"
PHILLY = (
    '{"vc": "a", "user": "b", "submitted_time": "2017-10-07 01:00:00", "attempts": [{"start_time": '
    '"2017-10-07 01:00:00", "end_time": "2017-10-07 02:00:00", "detail": [{"gpus": ["gpu0"]}]}]}'
)


@pytest.mark.parametrize(
    ("form", "text", "written", "repeated"),
    [
        ("helios", HELIOS + 2 * HELIOS_ROW + HELIOS_ROW.replace("1,a", "2,a"), 2, 1),
        ("pai", 3 * PAI, 1, 2),
        ("philly", f"[{PHILLY}, {PHILLY}]", 1, 1),
        ("swf", 2 * SWF.format(1, 1) + SWF.format(2, 1), 2, 1),
        ("swf", 2 * SWF.format(-1, 1), 2, 0),  # jobs without a number
    ],
)
def test_importers_leave_out_repeated_records(
    tmp_path: Path, form: str, text: str, written: int, repeated: int
) -> None:
    (tmp_path / "in").write_text(text)
    zone = "UTC" if form in ("helios", "philly") else None
    report = import_trace(tmp_path / "in", tmp_path / "out", TraceImport(form, time_zone=zone))
    assert (report.written, report.dropped.get("repeats an earlier record", 0)) == (written, repeated)


def test_parts_of_a_checkpointed_job_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("".join(SWF.format(1, status) for status in (1, 2, 3, 4)))
    assert import_trace(tmp_path / "in", tmp_path / "out", TraceImport("swf")).written == 1


def test_imported_faults_can_be_played(tmp_path: Path) -> None:
    """More drives fail on a day than the pod has parts."""
    (tmp_path / "in").write_text("date,failure\n" + 6 * "2024-01-01,1\n")
    options = FaultImport("backblaze", "cube-power", cubes=4, time_zone="UTC")
    report = import_faults(tmp_path / "in", tmp_path / "rows.csv", options)
    assert (report.written, report.dropped) == (4, {"of a part that already fails at that time": 2})
    read(tmp_path, FAULTS, (tmp_path / "rows.csv").read_text())
