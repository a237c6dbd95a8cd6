"""Recorded faults: CSV with the header `kind,target,begin_s,for_s`, and optionally `severity` and `onset_s`.
Times count from the start of the run. A fault without `for_s` lasts until it is repaired."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ops.lab.injections import fault_body
from ops.lab.recorded_csv import (
    SECONDS_ALLOWED,
    SPAN_ALLOWED,
    Columns,
    CsvRow,
    OnBytes,
    csv_rows,
    seconds,
    seconds_above_0,
)
from ops.lab.timed_requests import PlannedRequest
from schemas.config.pods import FabricConfig
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S, to_whole_us

COLUMNS = Columns("faults", ("kind", "target", "begin_s", "for_s"), ("severity", "onset_s"))
FAULT_ROWS_MAX = 1_000_000
"""Maximum number of rows: a run keeps them in memory."""


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """Rows of a file of faults, and those that begin within the run."""

    rows: int
    played: int
    after_run: int


@dataclass(frozen=True, slots=True)
class RecordedFaults:
    """The faults of a file that begin within a run, in order of time, and the counts of its rows."""

    requests: tuple[PlannedRequest, ...]
    counts: FaultCounts
    note: str | None
    """The sentence about rows that are not played; None if all are."""


def read_faults(
    path: Path, fabrics: Mapping[str, FabricConfig], end_us: int, on_bytes: OnBytes | None = None
) -> RecordedFaults:
    """Return the faults of a file for a run of these fabrics that ends at `end_us`.

    Raises InvalidInput that names line, column and value, also if no fault in the file begins during the run.
    """
    found: list[PlannedRequest] = []
    rows, late_us = 0, []
    lines: dict[tuple[object, ...], int] = {}
    for row in csv_rows(path, COLUMNS, on_bytes):
        rows += 1
        if rows > FAULT_ROWS_MAX:
            raise InvalidInput(f"{row.where}: is one row more than {FAULT_ROWS_MAX:,}; must be at most that")
        request = _request(row, fabrics)
        key = (request.at_us, request.fabric, request.body)
        if (first := lines.setdefault(key, row.line)) != row.line:
            raise InvalidInput(f"{row.where}: repeats line {first}; must be one row for each fault")
        if request.at_us > end_us:
            late_us.append(request.at_us)
        else:
            found.append(request)
    note = None
    if late_us:
        note = (
            f"faults {path}: {len(late_us):,} of {rows:,} rows are not played: they begin after the end of "
            f"the run, the first at {format_time(min(late_us))}"
        )
        if not found:
            raise InvalidInput(f"{note}; begin_s must count from the start of the run")
    ordered = tuple(sorted(found, key=lambda request: request.at_us))
    return RecordedFaults(ordered, FaultCounts(rows, len(found), len(late_us)), note)


def _request(row: CsvRow, fabrics: Mapping[str, FabricConfig]) -> PlannedRequest:
    for name, allowed in (("kind", "a kind of fault"), ("target", "a part such as pod-0/ocs-3")):
        if not _has(row, name):
            raise row.empty(name, allowed)
    begin_s = row.read("begin_s", seconds, SECONDS_ALLOWED)
    for_s = row.read("for_s", seconds_above_0, SPAN_ALLOWED) if _has(row, "for_s") else None
    onset_s = row.read("onset_s", seconds_above_0, SPAN_ALLOWED) if _has(row, "onset_s") else None
    try:
        fabric, body = fault_body(
            row.cells["kind"].strip(),
            row.cells["target"].strip(),
            fabrics,
            severity=row.cells["severity"].strip() if _has(row, "severity") else None,
            onset_us=None if onset_s is None else to_whole_us(onset_s, US_PER_S),
            duration_us=None if for_s is None else to_whole_us(for_s, US_PER_S),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{row.where}: {_column(error)}{error}") from None
    return PlannedRequest(round(begin_s * US_PER_S), fabric, body)


def _column(error: InvalidInput) -> str:
    """Return the column of an error, unless the error names it."""
    text = str(error)
    if text.startswith(("kind", "target", "severity", "onset")):
        return ""
    return "kind: " if "fault kind" in text else "target: "


def _has(row: CsvRow, name: str) -> bool:
    return bool(row.cells.get(name, "").strip())
