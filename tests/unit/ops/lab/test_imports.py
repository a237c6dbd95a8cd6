"""Importers of public traces, on small files in the published layouts.

The first rows are the publishers' examples; docs/reference/recorded-inputs.md names the layouts.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli.experiments.lab_import import FAULT_FORMATS, TRACE_FORMATS
from ops.cli.main import root
from ops.lab.imports import import_common, trace_formats
from ops.lab.imports.import_faults import FaultImport, import_faults
from ops.lab.imports.import_trace import TraceImport, import_trace
from ops.lab.recorded_faults import read_faults
from ops.lab.timed_requests import fabrics_of
from ops.sites.site_plans import single_fabric_sites
from schemas.config.pods import SuperpodConfig
from schemas.limits import DURATION_US_MAX
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from tests.support.traces import read_trace

GPUS = ["gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"]


def philly(submitted: str, *attempts: Mapping[str, object]) -> dict[str, object]:
    job = {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_14199"}
    return {**job, "attempts": [*attempts], "submitted_time": submitted, "user": "ce2f4c"}


def attempt(start: str | None, end: str | None, *hosts: str) -> dict[str, object]:
    return {"start_time": start, "end_time": end, "detail": [{"ip": host, "gpus": GPUS} for host in hosts]}


PHILLY = [
    philly(
        "2017-10-07 01:11:39",
        attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", "m47"),
        attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12", "m412", "m413"),
    ),
    philly("2017-10-07 01:00:00"),
    philly("2017-10-07 01:00:00", attempt("2017-10-07 02:00:00", None, "m1")),
    philly("2017-10-07 00:30:00", attempt("2017-10-07 00:30:00", "2017-10-07 00:31:00")),
]
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
1425513,uxbbc,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0
1425514,uzqls,vcpDC,0,1,1,COMPLETED,2020-06-09 18:41:29,2020-06-09 18:41:29,2020-06-17 14:15:21,1,0
1425515,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:30,2020-06-09 18:41:30,2020-06-09 18:41:30,0,0
"""
SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,"
    "gpu_time\n"
    "5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
    "2023-03-01 00:20:51+08:00,117,32,936.0\n"
    "5778469,u5907,1,8,128,Other,COMPLETED,2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,"
    "2023-03-01 01:09:04+08:00,2693,13,21544.0\n"
)
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,"
    "start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
    "dlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,"
    "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"
    "dlc1t2ypl09b8qtp,uf794,8,64,960,1000,100.0,Other,CANCELLED,2023-05-17 11:28:42+00:00,"
    "2023-05-17 11:28:54+00:00,2023-05-17 11:30:04+00:00,,2023-05-17 11:30:04+00:00,82,12.0,5248.0\n"
)
PAI = """4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC
4b3f04b66a525d2df903eb16,worker,3.0,Terminated,4550900.0,4551416.0,600.0,29.3,100.0,V100
4b3f04b66a525d2df903eb16,ps,1.0,Terminated,4550900.0,4551416.0,600.0,29.3,,
af724763f4f5d0beef445849,worker,2.0,Running,2081336.0,,600.0,29.3,50.0,P100
"""
PAI_JOBS = (
    "4b3f04b66a525d2df903eb16,8cb3bec23d14dbde320b6613452e768cbbf35b8bd64ee28fcceb77d3c47d,58540f191766,"
    "Terminated,4550879.0,4551416.0\n"
)
SWF = """; Version: 2.2
; UnixStartTime: 1000000000
; MaxProcs: 128
    1     60   5  100  64 -1 -1  64  300 -1 1 7 2 -1 1 -1 -1 -1
    2     30   5  200  -1 -1 -1  32   -1 -1 1 8 2 -1 1 -1 -1 -1
    3     90   0   -1  16 -1 -1  16   60 -1 5 8 2 -1 1 -1 -1 -1
    4    100   0    0  16 -1 -1  16   60 -1 0 8 2 -1 1 -1 -1 -1
"""


def rows_of(path: Path) -> list[dict[str, str]]:
    header, *lines = path.read_text().splitlines()
    return [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]


def converted(folder: Path, text: str, form: str, **options: Any) -> tuple[list[tuple[str, ...]], Any]:
    """Convert a trace and check that the lab accepts it; return ((submission, run time, chips, owner) of each
    row, report)."""
    source, out = folder / "source", folder / "out.csv"
    source.write_text(text)
    report = import_trace(source, out, TraceImport(form, **options))
    assert len(read_trace(out, SuperpodConfig())) == report.written
    assert report.written + sum(report.dropped.values()) == report.jobs
    return [(row["submit_s"], row["duration_s"], row["chips"], row["owner"]) for row in rows_of(out)], report


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_philly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(trace_formats, "CHUNK_CHARS", chunk)
    rows, report = converted(tmp_path, json.dumps(PHILLY, indent=1), "philly", time_zone="UTC")
    assert rows == [("0", str(74 + 193_182), "16", "ce2f4c")]
    assert report.dropped == {"no start or no end": 2, "used no GPU": 1}
    assert report.start == "2017-10-07T01:11:39+00:00"


def test_helios(tmp_path: Path) -> None:
    rows, report = converted(tmp_path, HELIOS, "helios", time_zone="Asia/Shanghai", chips_per_gpu=0.5)
    assert rows == [
        ("0", "36848", "1", "uxbbc"),
        ("26", "249", "2", "uvmrf"),
        ("27", "675233", "1", "uxbbc-2"),  # another user than uXBbc
    ]
    assert report.dropped == {"used no GPU": 1, "ran for 0 s or less": 1}
    assert report.start == "2020-06-09T10:41:01+00:00"
    rows, _ = converted(tmp_path, HELIOS, "helios", time_zone="UTC", owner="group", max_chips=1)
    assert [owner for *_, owner in rows] == ["vcjkd", "vcpdc"]


def test_acme(tmp_path: Path) -> None:
    rows, report = converted(tmp_path, SEREN, "acme")
    assert rows == [("0", "117", "8", "u5907"), ("336", "2693", "8", "u5907")]
    assert report.start == "2023-02-28T16:18:22+00:00"
    rows, _ = converted(tmp_path, KALOS, "acme", owner="none")
    assert rows == [("0", "8", "64", "trace"), ("1664", "70", "64", "trace")]


def test_pai(tmp_path: Path) -> None:
    rows, report = converted(tmp_path, PAI, "pai")
    assert rows == [("0", "38", "1", "unknown"), ("2811738", "516", "3", "unknown")]
    assert report.dropped == {"used no GPU": 1, "no start or no end": 1}
    assert report.start is None
    (tmp_path / "jobs.csv").write_text(PAI_JOBS)
    rows, _ = converted(tmp_path, PAI, "pai", jobs_table=tmp_path / "jobs.csv")
    assert rows[1] == (str(4_550_879 - 1_739_162), "516", "3", "58540f191766")
    header = ",".join(trace_formats.PAI_TASK)
    assert converted(tmp_path, f"{header}\n{PAI}", "pai")[1].jobs == 4


def test_swf(tmp_path: Path) -> None:
    rows, report = converted(tmp_path, SWF, "swf", chips_per_gpu=2)
    assert rows == [("0", "200", "64", "user-8"), ("30", "100", "128", "user-7")]
    assert [row["estimate_s"] for row in rows_of(tmp_path / "out.csv")] == ["", "300"]
    assert report.dropped == {"no start or no end": 1, "ran for 0 s or less": 1}
    assert report.start == "2001-09-09T01:47:10+00:00"


def test_any_number_of_jobs_is_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_common, "SORTED_ROWS_MAX", 3)
    lines = [f"{n} {7 * n % 11} 0 {n + 1} 1 -1 -1 1 -1 -1 1 {n} 1 -1 1 -1 -1 -1" for n in range(11)]
    rows, _ = converted(tmp_path, "\n".join(lines), "swf")
    assert [int(submit_s) for submit_s, *_ in rows] == [*range(11)]


ZONE = {"time_zone": "UTC"}


@pytest.mark.parametrize(
    ("form", "text", "options", "sentence"),
    [
        ("philly", "[]", {}, "--time-zone: is missing; times of philly have no zone"),
        ("helios", HELIOS, {"time_zone": "Mars"}, "--time-zone: 'Mars' is not a known time zone"),
        ("acme", SEREN, ZONE, "--time-zone: has no effect on the times of this format"),
        ("philly", "[]", ZONE, "has no jobs; must have one or more"),
        ("philly", "{}", ZONE, "is not a JSON list of jobs"),
        ("philly", "[{]", ZONE, "not JSON"),
        ("philly", "[{}]", ZONE, "job 1: attempts is missing; must be a list of attempts"),
        ("helios", "a,b\n1,2\n", ZONE, "line 1: column user is not there; must have user,gpu_num"),
        ("helios", HELIOS + "1,2\n", ZONE, "line 7: has 2 cells; must have 12"),
        (
            "acme",
            HELIOS,
            {},
            "line 2: submit_time '2020-06-09 18:41:01' is not allowed; must be a date with a time zone",
        ),
        ("pai", "1,2,3\n", {}, "line 1: has 3 columns instead of 10"),
        ("pai", PAI.splitlines()[2], {}, "none of its 1 jobs can be used: 1 used no GPU"),
        ("philly", "[" * 100_000, ZONE, "job 1: is nested too deeply"),
        ("philly", '[{"a":' * 3_000, ZONE, "job 1: is nested too deeply"),
        ("philly", '[{"a":' + "9" * 5_000 + "}]", ZONE, "job 1: not JSON: a number is too long"),
        ("philly", json.dumps(PHILLY)[:-1], ZONE, f"job {len(PHILLY) + 1}: not JSON: the list is not closed"),
        ("philly", json.dumps(PHILLY) + " []", ZONE, "has text after the list of jobs"),
        (
            "philly",
            json.dumps(PHILLY).replace('}, {"status', '} {"status'),
            ZONE,
            "job 2: not JSON: must have a comma in",
        ),
        ("philly", json.dumps(PHILLY[:1])[:-1] + ",,{}]", ZONE, "job 2: not JSON: Expecting value"),
        ("swf", f"; UnixStartTime: soon\n{SWF}", {}, "line 1: UnixStartTime 'soon' is not allowed; must be"),
        ("swf", SWF.replace("1000000000", "1e14"), {}, " a time that is out of bounds"),
        ("swf", "1 -5 10 36 64 -1 -1 64 72 -1 1 3 4 -1 1 -1 -1 -1", {}, "1 no time of submission"),
        ("swf", "1 2 3\n", {}, "line 1: has 3 fields; must have 18"),
        ("swf", SWF, {"jobs_table": Path("x")}, "--jobs-table: is for --format pai; leave it out for swf"),
        ("swf", SWF, {"max_chips": 1}, "none of its 4 jobs can be used: 2 more than 1 chips"),
    ],
)
def test_invalid_traces_are_refused(
    tmp_path: Path, form: str, text: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        converted(tmp_path, text, form, **options)
    assert not (tmp_path / "out.csv").exists()


# --- failures -----------------------------------------------------------------------------------------------

LANL = (
    "LA-UR-05-7318,,,,,,,,,,,,,,,,,,,,,,,,,\n"
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,"
    "fru type,mem,cputype,memtype,num intercon,purpose,Prob Started (mm/dd/yy hh:mm),"
    "Prob Fixed (mm/dd/yy hh:mm),Down Time,Facilities,Hardware,Human Error,Network,Undetermined,Software,"
    "Same Event\n"
    "2,cluster,49,6152,80,0,0,5-Apr,5-Jun,current,part,80,1,1,0,graphics.fe,6/21/2005 10:54,6/21/2005 11:00,"
    "6,,Graphics Accel Hdwr,,,,,No\n"
    "20,cluster,512,2048,4,17,17,2/1/2003,3/1/2003,current,part,16,2,3,1,compute,6/21/2005 9:54,"
    "6/21/2005 11:00,66,,,,,,OS,No\n"
    "20,cluster,512,2048,4,499,499,2/1/2003,3/1/2003,current,part,16,2,3,1,compute,6/21/2005 9:54,,66,,Disk,"
    ",,,,No\n"
    "20,cluster,512,2048,4,9999,9999,2/1/2003,3/1/2003,current,part,16,2,3,1,compute,6/21/2005 9:54,"
    "6/21/2005 9:55,1,,Disk,,,,,No\n"
)
BACKBLAZE = """date,serial_number,model,capacity_bytes,failure,smart_1_normalized,smart_1_raw
2024-01-01,A,ST4000DM000,4000787030016,0,119,1
2024-01-01,B,ST4000DM000,4000787030016,1,119,1
2024-01-02,C,ST4000DM000,4000787030016,1,119,1
"""


def failures(folder: Path, text: str, form: str, **options: Any) -> tuple[list[list[str]], Any]:
    source, out = folder / "source", folder / "faults.csv"
    source.write_text(text)
    report = import_faults(source, out, FaultImport(form, time_zone="UTC", **options))
    pods = single_fabric_sites(1)
    assert read_faults(out, fabrics_of(pods), DURATION_US_MAX).counts.played == report.written
    assert report.written + sum(report.dropped.values()) == report.records
    return [[*row.values()] for row in rows_of(out)], report


def test_lanl(tmp_path: Path) -> None:
    rows, report = failures(tmp_path, LANL, "lanl")
    assert rows == [["0", "host", "cube-1/host-1", "3960"], ["3600", "host", "cube-0/host-0", "360"]]
    assert report.dropped == {"no start or no end": 1, "of a part beyond the pod": 1}
    assert report.start == "2005-06-21T09:54:00+00:00"
    assert len(failures(tmp_path, LANL, "lanl", system="20")[0]) == 1
    assert len(failures(tmp_path, LANL, "lanl", causes=("hardware",))[0]) == 1
    assert failures(tmp_path, LANL, "lanl", kind="cube-power")[0][1][2] == "cube-0"


def test_backblaze(tmp_path: Path) -> None:
    rows, report = failures(tmp_path, BACKBLAZE, "backblaze", kind="link")
    assert [(row[0], row[1], row[3]) for row in rows] == [("0", "link", ""), ("86400", "link", "")]
    assert report.dropped == {"drive works": 1}
    folder = tmp_path / "days"
    folder.mkdir()
    for day in (1, 2):
        (folder / f"2024-01-0{day}.csv").write_text(BACKBLAZE.replace("2024-01-01", f"2024-02-0{day}"))
    folder_report = import_faults(folder, tmp_path / "two.csv", FaultImport("backblaze", time_zone="UTC"))
    assert (folder_report.written, folder_report.records) == (4, 6)


@pytest.mark.parametrize(
    ("form", "text", "options", "sentence"),
    [
        (
            "lanl",
            BACKBLAZE,
            {},
            "line 1: must have the columns System, nodenumz, Prob Started and",
        ),
        ("lanl", LANL, {"causes": ("bugs",)}, "--cause: 'bugs' is not allowed; must be one of Facilities"),
        ("lanl", LANL, {"system": "99"}, "none of its 4 records can be used: 4 of another system"),
        (
            "lanl",
            LANL.replace("6/21/2005 11:00", "soon"),
            {},
            "line 3: Prob Fixed 'soon' is not allowed; must be a date",
        ),
        ("lanl", LANL, {"kind": "rack"}, "--kind rack: affects no part of a superpod"),
        ("backblaze", LANL, {}, "line 1: column date is missing; must have date and failure"),
        ("backblaze", BACKBLAZE, {"system": "2"}, "--system and --cause: are for --format lanl"),
        (
            "backblaze",
            "date,failure\n2024-01-01,2\n",
            {},
            "line 2: failure '2' is not allowed; must be 0 or 1",
        ),
    ],
)
def test_invalid_failure_records_are_refused(
    tmp_path: Path, form: str, text: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        failures(tmp_path, text, form, **options)


def test_commands(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(SWF)
    words = ["lab", "import-trace", str(tmp_path / "log.swf"), str(tmp_path / "trace.csv"), "--format", "swf"]
    done = CliRunner().invoke(root, [*words, "-o", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["dropped"] == {"no start or no end": 1, "ran for 0 s or less": 1}
    assert "left out: no start or no end" in CliRunner().invoke(root, [*words, "--force"]).stdout
    words = ["lab", "import-faults", "none", str(tmp_path / "out"), "--format", "backblaze"]
    missing = CliRunner().invoke(root, [*words, "--time-zone", "UTC"])
    assert isinstance(missing.exception, NotFound)
    assert set(TRACE_FORMATS) == trace_formats.FORMATS.keys()
    assert len(FAULT_FORMATS) == 2


# --- errors name line, column and value ---------------------------------------------------------------------

JOB = {**PHILLY[0], "attempts": [attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", "m47")]}
NO_DATE = ("1585699200", "2020-13-01 00:00:00", "soon", "1e9")
NO_NUMBER = ("x", "inf", "1e15", "1_0", "٨", "0x10", "1" * 40)
"""What some readers take for a number, and this one does not."""
SWF_LINE = "1 60 5 100 64 -1 -1 64 300 -1 1 7 2 -1 1 -1 -1 -1"


def with_cell(text: str, line: int, cell: int, value: str, separator: str | None = ",") -> str:
    """A table with another value in a cell; both count from 1."""
    rows = [row.split(separator) for row in text.splitlines()]
    rows[line - 1][cell - 1] = value
    return "\n".join((separator or " ").join(row) for row in rows) + "\n"


NAMED_CASES = [
    *(
        (form, with_cell(text, 2, text.splitlines()[0].split(",").index(column) + 1, value), column, value, 2)
        for form, text in (("helios", HELIOS), ("acme", SEREN), ("acme", KALOS))
        for column in ("submit_time", "start_time", "end_time")
        for value in NO_DATE
    ),
    *(("helios", with_cell(HELIOS, 3, 4, value), "gpu_num", value, 3) for value in NO_NUMBER),
    *(
        ("pai", with_cell(PAI, 2, cell, "x"), column, "x", 2)
        for cell, column in ((3, "inst_num"), (5, "start_time"), (6, "end_time"), (9, "plan_gpu"))
    ),
    *(
        ("swf", with_cell(SWF_LINE, 1, cell, value, None), f"field {cell}", value, 1)
        for cell in range(1, 19)
        for value in ("nan", *NO_NUMBER)
    ),
    *(
        ("lanl", LANL.replace("6/21/2005 9:54,6/21/2005 11:00", f"{begin},{end}"), column, value, 4)
        for value in NO_DATE
        for begin, end, column in (
            (value, "6/21/2005 11:00", "Prob Started"),
            ("6/21/2005 9:54", value, "Prob Fixed"),
        )
    ),
    *(("lanl", LANL.replace("4,17,17,", f"4,17,{n},"), "nodenumz", n, 4) for n in ("x", "017", "1.5")),
    *(("backblaze", BACKBLAZE.replace("2024-01-01,B", f"{v},B"), "date", v, 3) for v in NO_DATE),
    ("backblaze", BACKBLAZE.replace("030016,1,", "030016,yes,", 1), "failure", "yes", 3),
]


@pytest.mark.parametrize(("form", "text", "column", "value", "line"), NAMED_CASES)
def test_an_error_names_line_column_and_value(
    tmp_path: Path, form: str, text: str, column: str, value: str, line: int
) -> None:
    zone = {} if form in ("acme", "pai", "swf") else ZONE
    with pytest.raises(InvalidInput) as caught:
        failures(tmp_path, text, form) if form in FAULT_FORMATS else converted(tmp_path, text, form, **zone)
    assert f"line {line}: {column} {value!r} is not allowed; must be " in str(caught.value)


PHILLY_CASES: list[tuple[Mapping[str, object], str]] = [
    ({"attempts": None}, "attempts null is not allowed; must be a list"),
    ({"attempts": [3]}, "attempts.0 3 is not allowed; must be an object"),
    ({"submitted_time": None}, "submitted_time null is not allowed; must be a date"),
    ({"submitted_time": "soon"}, "submitted_time 'soon' is not allowed; must be a date such as"),
    ({"user": None}, "user null is not allowed"),
    ({"attempts": [attempt("soon", "2017-10-07 01:13:23", "m1")]}, "attempts.0.start_time 'soon' is not"),
    ({"attempts": [attempt("2017-10-07 01:13:23", "5", "m1")]}, "attempts.0.end_time '5' is not"),
    ({"attempts": [{"detail": [{"gpus": 1}]}]}, "attempts.0.detail.gpus 1 is not allowed; must be a list"),
    ({"attempts": [{"detail": [1]}]}, "attempts.0.detail 1 is not allowed"),
    ({"attempts": [{}]}, "attempts.0.detail is missing"),
]


@pytest.mark.parametrize(("changes", "sentence"), PHILLY_CASES)
def test_an_error_of_json_names_job_field_and_value(
    tmp_path: Path, changes: Mapping[str, object], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"job 1: {sentence}")):
        converted(tmp_path, json.dumps([{**JOB, **changes}]), "philly", **ZONE)


REPEATED_COLUMNS = [
    *(("helios", HELIOS, name, column) for name, column in (("vc", "user"), ("node_num", "gpu_num"))),
    ("acme", SEREN, "type", "end_time"),
    ("pai", f"{','.join(trace_formats.PAI_TASK)}\n{PAI}", "plan_cpu", "plan_gpu"),
    ("lanl", LANL, "machine type", "nodenumz"),
    ("lanl", LANL, "machine type", "System"),
    ("backblaze", BACKBLAZE, "model", "failure"),
    ("backblaze", BACKBLAZE, "model", "date"),
]


@pytest.mark.parametrize(("form", "text", "name", "column"), REPEATED_COLUMNS)
def test_a_column_that_is_read_is_there_once(
    tmp_path: Path, form: str, text: str, name: str, column: str
) -> None:
    zone = {} if form in ("acme", "pai", "swf") else ZONE
    text = re.sub(rf"(?<=,){name}(?=,)", column, text, count=1)
    with pytest.raises(InvalidInput, match=f"line 1: column {column.lower()} is there 2 times"):
        failures(tmp_path, text, form) if form in FAULT_FORMATS else converted(tmp_path, text, form, **zone)


@pytest.mark.parametrize("date", ["12/31/9999 23:00", "1/1/0001 00:30"])
def test_a_date_that_no_calendar_has_in_utc_is_refused(tmp_path: Path, date: str) -> None:
    zone = "America/Los_Angeles" if "9999" in date else "Asia/Shanghai"
    text = LANL.replace("6/21/2005 9:54,6/21/2005 11:00", f"{date},{date}")
    source = tmp_path / "source"
    source.write_text(text)
    with pytest.raises(InvalidInput, match=r"line 4: Prob Started .* is not allowed; must be a date"):
        import_faults(source, tmp_path / "out.csv", FaultImport("lanl", time_zone=zone))


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_file_of_a_folder_is_a_regular_file(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "drives"
    folder.mkdir()
    (tmp_path / "other.csv").write_text(BACKBLAZE)
    if what == "link":
        (folder / "2024-01-01.csv").symlink_to(tmp_path / "other.csv")
    else:
        os.mkfifo(folder / "2024-01-01.csv")
    options = FaultImport(format="backblaze", time_zone="UTC")
    with pytest.raises(OperationFailed, match=r"is a link|is not a regular file"):
        import_faults(folder, tmp_path / "out.csv", options)


@pytest.mark.parametrize("form", [*TRACE_FORMATS, *FAULT_FORMATS])
@pytest.mark.parametrize("text", ["", "\n", "; comment\n"])
def test_an_empty_file_is_reported_as_empty(tmp_path: Path, form: str, text: str) -> None:
    if text.startswith(";") and form != "swf":
        return
    zone = {} if form in ("acme", "pai", "swf") else ZONE
    with pytest.raises(InvalidInput, match=r"is empty; must|has no jobs; must"):
        failures(tmp_path, text, form) if form in FAULT_FORMATS else converted(tmp_path, text, form, **zone)
