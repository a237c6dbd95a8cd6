"""Formats of public job traces. docs/reference/recorded-inputs.md states the source of each layout."""

import csv
import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ops.lab.imports.import_common import ImportCounts, check_columns, date_s, reading
from ops.local.input_files import short_lines
from ops.report.safe_text import quoted, shortened
from shared.basics.errors import InvalidInput
from shared.basics.json_types import JsonObject

CHUNK_CHARS = 1 << 20
JOB_CHARS_MAX = 1 << 24
"""Maximum length of a job in a JSON list."""
NUMBER_END = 1e15
_PLAIN_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """A job of a trace: its submission in seconds (since 1970, or since any time that all jobs share), its
    run time, and the GPUs or processors that it used. `group` is its virtual cluster, group or partition."""

    submit_s: float
    duration_s: float
    gpus: float
    user: str
    group: str
    estimate_s: float | None = None


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """Options of a format: the time zone of its times, and the table of jobs of PAI."""

    zone: dt.tzinfo | None = None
    jobs_table: Path | None = None


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A format: its reader, whether its times lack a zone, and whether they count from 1970."""

    read: Callable[[Path, TraceOptions, ImportCounts], Iterator[ImportedJob]]
    needs_zone: bool
    has_dates: bool
    meaning: str


NO_GPU = "used no GPU"
NO_TIME = "no start or no end"
NO_LENGTH = "ran for 0 s or less"
NO_NUMBER = "a number is missing"


# --- Philly: JSON -------------------------------------------------------------------------------------------


def read_philly(path: Path, options: TraceOptions, counts: ImportCounts) -> Iterator[ImportedJob]:
    """Read `cluster_job_log`: a JSON list of jobs, each with its attempts.

    The run time is the sum of all attempts with a start and an end. The number of GPUs is the maximum over
    the attempts.
    """
    for job in _json_items(path):
        counts.read += 1
        if not isinstance(job, dict):
            raise InvalidInput(f"trace {path}, job {counts.read}: is not an object with attempts")
        if not counts.is_new(json.dumps(job, sort_keys=True)):
            continue
        where = f"trace {path}, job {counts.read}"
        attempts = _field(where, job, "attempts", list, "a list of attempts")
        submitted = _field(where, job, "submitted_time", str, "a date")
        submit_s = _date_s(where, "submitted_time", submitted, options.zone)
        user, group = (str(_field(where, job, name, str | int, "text")) for name in ("user", "vc"))
        spans, gpus = [], 0
        for number, attempt in enumerate(attempts):
            place = f"attempts.{number}"
            if not isinstance(attempt, dict):
                raise _not_allowed(where, place, attempt, "an object with start_time, end_time and detail")
            gpus = max(gpus, _philly_gpus(where, place, attempt))
            if _is_date(attempt.get("start_time")) and _is_date(attempt.get("end_time")):
                start_s, end_s = (
                    _date_s(where, f"{place}.{name}", attempt[name], options.zone)
                    for name in ("start_time", "end_time")
                )
                spans.append(end_s - start_s)
        if not spans:
            counts.drop(NO_TIME)
        else:
            yield from _usable(counts, ImportedJob(submit_s, sum(spans), gpus, user, group))


def _philly_gpus(where: str, place: str, attempt: JsonObject) -> int:
    """Return the number of GPUs of an attempt, on all of its hosts."""
    gpus = 0
    for host in _field(where, attempt, "detail", list, "a list of hosts", f"{place}."):
        if not isinstance(host, dict):
            raise _not_allowed(where, f"{place}.detail", host, "a list of hosts with gpus")
        gpus += len(_field(where, host, "gpus", list, "a list of GPUs", f"{place}.detail."))
    return gpus


def _field(where: str, found: JsonObject, name: str, kind: Any, allowed: str, path: str = "") -> Any:
    """Return a value of a JSON object. Raises InvalidInput if it is missing or not of this kind."""
    if name not in found:
        raise InvalidInput(f"{where}: {path}{name} is missing; must be {allowed}, as in cluster_job_log")
    if not isinstance(found[name], kind):
        raise _not_allowed(where, f"{path}{name}", found[name], allowed)
    return found[name]


def _not_allowed(where: str, name: str, value: object, allowed: str) -> InvalidInput:
    shown = quoted(value) if isinstance(value, str) else shortened(json.dumps(value))
    return InvalidInput(f"{where}: {name} {shown} is not allowed; must be {allowed}")


def _is_date(value: object) -> bool:
    """Whether a value should be a date. Philly writes null or "None" for an attempt whose time was not
    recorded."""
    return value not in (None, "", "None")


def _date_s(where: str, column: str, value: object, zone: dt.tzinfo | None) -> float:
    example = "2020-06-09 18:41:01" if zone is not None else "2023-03-01 00:18:22+08:00"
    return date_s(where, column, value, zone, form="iso", example=example)


def _json_items(path: Path) -> Iterator[Any]:
    """Yield the items of a JSON list, one by one. Raises InvalidInput if the text is anything else."""
    decoder, count = json.JSONDecoder(), 0
    with reading(path, "trace"), path.open(encoding="utf-8-sig") as file:
        text = _next_text(file, "")
        if not text:
            raise InvalidInput(f"trace {path}: is empty; must be a JSON list of jobs")
        if text[0] != "[":
            raise InvalidInput(f"trace {path}: is not a JSON list of jobs")
        text = _next_text(file, text[1:])
        while not text.startswith("]"):
            where = f"trace {path}, job {count + 1}"
            if count:
                if not text.startswith(","):
                    problem = "must have a comma in front" if text else "the list is not closed"
                    raise InvalidInput(f"{where}: not JSON: {problem}")
                text = _next_text(file, text[1:])
            try:
                item, end = decoder.raw_decode(text)
            except RecursionError:
                raise InvalidInput(f"{where}: is nested too deeply") from None
            except ValueError as error:
                if len(text) > JOB_CHARS_MAX:
                    problem = f"is not JSON, or has more than {JOB_CHARS_MAX:,} characters, the maximum"
                    raise InvalidInput(f"{where}: {problem}") from None
                more = file.read(CHUNK_CHARS)
                if not more:
                    problem = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
                    raise InvalidInput(f"{where}: not JSON: {problem}") from None
                text = f",{text}{more}" if count else text + more
                continue
            yield item
            count, text = count + 1, _next_text(file, text[end:])
        if _next_text(file, text[1:]):
            raise InvalidInput(f"trace {path}: has text after the list of jobs")


def _next_text(file: TextIO, text: str) -> str:
    """Return the text from its next character that is not blank; read more if there is none."""
    while not (text := text.lstrip(" \t\r\n")):
        if not (text := file.read(CHUNK_CHARS)):
            return ""
    return text


# --- tables -------------------------------------------------------------------------------------------------


def read_slurm_table(path: Path, options: TraceOptions, counts: ImportCounts) -> Iterator[ImportedJob]:
    """Read `cluster_log.csv` of Helios, and `trace_seren.csv` and `trace_kalos.csv` of Acme.

    The run time is the end minus the start, because the column duration of Kalos includes the time in the
    queue.
    """
    needed = ("user", "gpu_num", "submit_time", "start_time", "end_time")
    for where, cells in _table(path, needed):
        counts.read += 1
        if not counts.is_new(tuple(cells.values())):
            continue
        gpus = _cell_number(where, cells, "gpu_num")
        if gpus is None or gpus <= 0:
            counts.drop(NO_GPU)
            continue
        if not all(map(_is_time, (cells["start_time"], cells["end_time"]))):
            counts.drop(NO_TIME)
            continue
        submit_s, start_s, end_s = (
            _date_s(where, name, cells[name], options.zone)
            for name in ("submit_time", "start_time", "end_time")
        )
        group = cells.get("vc") or cells.get("type") or "-"
        yield from _usable(counts, ImportedJob(submit_s, end_s - start_s, gpus, cells["user"], group))


MISSING = ("", "None", "Unknown", "NaT", "nan")
"""Cells of tables without a value."""


def _is_time(text: str) -> bool:
    return text not in MISSING


PAI_TASK = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
PAI_JOB = ("job_name", "inst_id", "user", "status", "start_time", "end_time")


def read_pai(path: Path, options: TraceOptions, counts: ImportCounts) -> Iterator[ImportedJob]:
    """Read `pai_task_table.csv`: each task with GPUs becomes a separate job. Its GPUs are its instances times
    `plan_gpu`, which is in percent. With the table of jobs, it gets the job's user and submission time."""
    jobs = {}
    if options.jobs_table is not None:
        for where, cells in _table(options.jobs_table, PAI_JOB, PAI_JOB):
            jobs[cells["job_name"]] = cells["user"], _cell_number(where, cells, "start_time")
    for where, cells in _table(path, PAI_TASK, PAI_TASK):
        counts.read += 1
        if not counts.is_new(tuple(cells.values())):
            continue
        percent, instances, start_s, end_s = (
            _cell_number(where, cells, name) for name in ("plan_gpu", "inst_num", "start_time", "end_time")
        )
        if not percent:
            counts.drop(NO_GPU)
        elif start_s is None or end_s is None:
            counts.drop(NO_TIME)
        elif instances is None:
            counts.drop(NO_NUMBER)
        else:
            user, submit_s = jobs.get(cells["job_name"], ("unknown", start_s))
            submit_s = start_s if submit_s is None or submit_s > start_s else submit_s
            gpus = instances * percent / 100.0
            group = cells["gpu_type"] or "-"
            yield from _usable(counts, ImportedJob(submit_s, end_s - start_s, gpus, user, group))


def _table(
    path: Path, needed: Sequence[str], header: Sequence[str] | None = None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield (place in errors, cells by column) of each row. A file without a header has the columns
    `header`."""
    with reading(path, "trace"), path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(short_lines(file, f"trace {path}"))
        first = [name.strip() for name in next(reader, [])]
        check_columns(f"trace {path}", first, needed)
        if not any(first):
            raise InvalidInput(f"trace {path}: is empty; must have {','.join(needed)}")
        has_header = header is None or first[:1] == [header[0]]
        names = first if has_header or header is None else list(header)
        missing = [name for name in needed if name not in names]
        if missing or (not has_header and len(first) != len(names)):
            found = missing[0] if missing else f"{len(first)} columns instead of {len(names)}"
            raise InvalidInput(
                f"trace {path}, line 1: column {found} is not there; must have {','.join(needed)}"
                if missing
                else f"trace {path}, line 1: has {found}; must have {','.join(names)}"
            )
        if not has_header:
            yield f"trace {path}, line 1", dict(zip(names, first, strict=True))
        for texts in reader:
            if not texts:
                continue
            where = f"trace {path}, line {reader.line_num}"
            if len(texts) != len(names):
                raise InvalidInput(f"{where}: has {len(texts)} cells; must have {len(names)}")
            yield where, {name: text.strip() for name, text in zip(names, texts, strict=True)}


def _cell_number(where: str, cells: Mapping[str, str], name: str) -> float | None:
    """Return the number of a cell; None if it has no value. Raises InvalidInput for other words."""
    text = cells[name]
    if text in MISSING:
        return None
    value = _number(text)
    if value is None:
        raise _not_allowed(where, name, text, "a number below 1e15")
    return value


def _number(text: str) -> float | None:
    """Return the number of a text in plain digits. Zeros in front are allowed: some exporters pad numbers."""
    if _PLAIN_NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if abs(value) < NUMBER_END else None


# --- the Standard Workload Format ---------------------------------------------------------------------------

SWF_FIELDS = 18
JOB, STATUS = 0, 10
PARTS = (2, 3, 4)
"""Status of the lines for the parts of a job that was checkpointed; its own line has 0, 1 or 5."""
SUBMIT, RUN, ALLOCATED, REQUESTED, ESTIMATE, USER, GROUP = 1, 3, 4, 7, 8, 11, 12
UNIX_START = "UnixStartTime:"


def read_swf(path: Path, _options: TraceOptions, counts: ImportCounts) -> Iterator[ImportedJob]:
    """Read a log of the Parallel Workloads Archive; -1 is a missing value.

    A job has the processors that it was allocated, or those that it requested. The requested time is its
    estimate.
    """
    start_s = 0.0
    with reading(path, "trace"), path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(short_lines(file, f"trace {path}"), 1):
            if line.startswith(";"):
                if UNIX_START in line:
                    text = line.split(UNIX_START, 1)[1].strip()
                    found = 0.0 if text in MISSING else _number(text)
                    if found is None:
                        place = f"trace {path}, line {number}"
                        raise _not_allowed(place, UNIX_START.rstrip(":"), text, "seconds since 1970")
                    start_s = max(0.0, found)
                continue
            words = line.split()
            if not words:
                continue
            counts.read += 1
            where = f"trace {path}, line {number}"
            if len(words) != SWF_FIELDS:
                raise InvalidInput(f"{where}: has {len(words)} fields; must have {SWF_FIELDS}")
            fields = []
            for field, word in enumerate(words, 1):
                if (value := _number(word)) is None:
                    raise _not_allowed(
                        where, f"field {field}", word, "a number below 1e15, or -1 if it is missing"
                    )
                fields.append(value)
            if fields[JOB] >= 0 and not counts.is_new(tuple(fields)):
                continue
            if fields[STATUS] in PARTS:
                counts.drop("a part of a job, whose whole has a line of its own")
                continue
            processors = fields[ALLOCATED] if fields[ALLOCATED] > 0 else fields[REQUESTED]
            if fields[SUBMIT] < 0:
                counts.drop("no time of submission")
                continue
            if fields[RUN] < 0:
                counts.drop(NO_TIME)
                continue
            estimate_s = fields[ESTIMATE] if fields[ESTIMATE] > 0 else None
            job = ImportedJob(
                start_s + fields[SUBMIT],
                fields[RUN],
                processors,
                f"user-{fields[USER]:.0f}",
                f"group-{fields[GROUP]:.0f}",
                estimate_s,
            )
            yield from _usable(counts, job)


def _usable(counts: ImportCounts, job: ImportedJob) -> Iterator[ImportedJob]:
    """Yield the job if it used GPUs for some time."""
    if job.gpus <= 0:
        counts.drop(NO_GPU)
    elif job.duration_s <= 0:
        counts.drop(NO_LENGTH)
    else:
        yield job


FORMATS: Mapping[str, TraceFormat] = {
    "philly": TraceFormat(read_philly, True, True, "cluster_job_log of Microsoft Philly (JSON)"),
    "helios": TraceFormat(read_slurm_table, True, True, "cluster_log.csv of SenseTime Helios"),
    "acme": TraceFormat(read_slurm_table, False, True, "trace_seren.csv or trace_kalos.csv of Acme"),
    "pai": TraceFormat(read_pai, False, False, "pai_task_table.csv of Alibaba PAI 2020"),
    "swf": TraceFormat(read_swf, False, True, "a log in the Standard Workload Format"),
}
