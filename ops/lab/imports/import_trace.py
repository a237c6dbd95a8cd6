"""Import a public job trace as a trace that the lab plays."""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ops.lab.imports.import_common import (
    ImportCounts,
    OwnerNames,
    Row,
    check_out,
    none_usable,
    time_zone,
    write_sorted,
)
from ops.lab.imports.trace_formats import FORMATS, ImportedJob, TraceOptions
from schemas.limits import DURATION_S_MAX, OWNERS_MAX
from shared.basics.errors import InvalidInput

OwnerField = Literal["user", "group", "none"]
S_PER_DAY = 86_400
LATEST_S = 253_402_300_800
"""End of the year 9999, in seconds since 1970: later times have no date."""
HEADER = ("submit_s", "duration_s", "chips", "owner", "estimate_s")


@dataclass(frozen=True, slots=True)
class TraceImport:
    """Options of an import. `chips_per_gpu` maps GPUs, or processors, to chips, rounded up to whole chips.
    Jobs with more than `max_chips` are skipped. `owner` is the field that contains the owner."""

    format: str
    time_zone: str | None = None
    chips_per_gpu: float = 1.0
    max_chips: int | None = None
    owner: OwnerField = "user"
    jobs_table: Path | None = None


@dataclass(frozen=True, slots=True)
class TraceImportReport:
    """The counts of an import. `start` is the date of `submit_s` 0, if the trace has dates."""

    format: str
    jobs: int
    written: int
    dropped: dict[str, int]
    owners: int
    span_days: float
    start: str | None


def import_trace(
    source: Path, out: Path, options: TraceImport, on_jobs: Callable[[int], None] | None = None
) -> TraceImportReport:
    """Convert a trace. Raises InvalidInput if it does not have the format, if an option does not fit the
    format, if OUT is an input, or if no job is left."""
    check_out(out, source, options.jobs_table)
    form = FORMATS[options.format]
    if options.jobs_table is not None and options.format != "pai":
        raise InvalidInput(f"--jobs-table: is for --format pai; leave it out for {options.format}")
    zone = time_zone(options.time_zone, options.format if form.needs_zone else None)
    counts, owners = ImportCounts(), OwnerNames()
    jobs = form.read(source, TraceOptions(zone, options.jobs_table), counts)
    rows = _rows(jobs, options, counts, owners, on_jobs)
    written, first_s, last_s = write_sorted(out, HEADER, rows)
    if not written:
        raise none_usable("trace", source, "jobs", counts)
    start = dt.datetime.fromtimestamp(first_s, dt.UTC).isoformat() if form.has_dates and first_s > 0 else None
    return TraceImportReport(
        options.format,
        counts.read,
        written,
        dict(counts.dropped),
        len(owners),
        round((last_s - first_s) / S_PER_DAY, 3),
        start,
    )


def _rows(
    jobs: Iterator[ImportedJob],
    options: TraceImport,
    counts: ImportCounts,
    owners: OwnerNames,
    on_jobs: Callable[[int], None] | None,
) -> Iterator[Row]:
    for job in jobs:
        if on_jobs is not None:
            on_jobs(counts.read)
        chips = max(1, math.ceil(job.gpus * options.chips_per_gpu - 1e-9))
        if options.max_chips is not None and chips > options.max_chips:
            counts.drop(f"more than {options.max_chips:,} chips")
            continue
        if job.duration_s > DURATION_S_MAX or not 0 <= job.submit_s < LATEST_S:
            counts.drop("a time that is out of bounds")
            continue
        owner = "trace" if options.owner == "none" else owners.of(getattr(job, options.owner))
        if len(owners) > OWNERS_MAX:
            raise InvalidInput(
                f"--owner {options.owner}: there are more than {OWNERS_MAX:,} owners, which is the maximum; "
                "take group or none"
            )
        estimate = "" if job.estimate_s is None else f"{min(job.estimate_s, DURATION_S_MAX):.16g}"
        yield job.submit_s, (f"{job.duration_s:.16g}", str(chips), owner, estimate)
