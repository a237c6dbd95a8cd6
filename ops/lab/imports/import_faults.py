"""Import failure records as faults that the lab plays: node outages of LANL, and drive failures of
Backblaze."""

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ops.lab.imports.import_common import (
    ImportCounts,
    Row,
    check_columns,
    check_out,
    date_s,
    none_usable,
    reading,
    time_zone,
    write_sorted,
)
from ops.local.input_files import short_lines
from ops.report.safe_text import quoted
from schemas.config.pods import PodConfig, SuperpodConfig
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.value_words import number_problem, read_whole
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS
from shared.storage.files.own_files import open_own

if TYPE_CHECKING:
    from schemas.names import FaultKind

S_PER_DAY = 86_400
HEADER = ("begin_s", "kind", "target", "for_s")
LANL_DATE = "%m/%d/%Y %H:%M"
LANL_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
OUTSIDE = "of a part beyond the pod"
REPEATED = "of a part that already fails at that time"


@dataclass(frozen=True, slots=True)
class FaultImport:
    """Options of an import: the kind of fault that each record becomes, in a pod with this number of cubes.
    For LANL, only records of this `system` and these causes, if they are given."""

    format: str
    kind: "FaultKind" = "host"
    cubes: int = 64
    time_zone: str | None = None
    system: str | None = None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultImportReport:
    """The counts of an import. `start` is the date of `begin_s` 0."""

    format: str
    records: int
    written: int
    dropped: dict[str, int]
    span_days: float
    start: str


def import_faults(
    source: Path, out: Path, options: FaultImport, on_records: Callable[[int], None] | None = None
) -> FaultImportReport:
    """Convert failure records. Raises InvalidInput if the file does not have the format, if an option does
    not fit the format, if OUT is an input, or if no record is left."""
    check_out(out, source, *(source.glob("*.csv") if source.is_dir() else ()))
    is_lanl = options.format == "lanl"
    if not is_lanl and (options.system is not None or options.causes):
        raise InvalidInput("--system and --cause: are for --format lanl; leave them out")
    for cause in options.causes:
        if cause.lower() not in [word.lower() for word in LANL_CAUSES]:
            raise InvalidInput(
                f"--cause: {quoted(cause)} is not allowed; must be one of {', '.join(LANL_CAUSES)}"
            )
    zone = time_zone(options.time_zone, options.format)
    counts = ImportCounts()
    plant = plant_of("superpod", SuperpodConfig(pod=PodConfig(cubes=options.cubes)).hardware)
    word = FAULTS[options.kind].strikes
    parts = plant.population(word)
    if not parts:
        raise InvalidInput(
            f"--kind {options.kind}: affects no part of a superpod; must be a kind such as host or link"
        )

    def rows() -> Iterator[Row]:
        read = _lanl if is_lanl else _backblaze
        seen: set[Record] = set()
        for begin_s, number, for_s in read(source, options, zone, counts):
            if on_records is not None:
                on_records(counts.read)
            if not 0 <= number < parts:
                counts.drop(OUTSIDE)
                continue
            if (begin_s, number, for_s) in seen:
                counts.drop(REPEATED)
                continue
            seen.add((begin_s, number, for_s))
            target = plant.part(word, number, "pod-0").name.partition("/")[2]
            yield begin_s, (options.kind, target, "" if for_s is None else f"{for_s:.16g}")

    written, first_s, last_s = write_sorted(out, HEADER, rows())
    if not written:
        raise none_usable("failures", source, "records", counts)
    start = dt.datetime.fromtimestamp(first_s, dt.UTC).isoformat()
    span_days = round((last_s - first_s) / S_PER_DAY, 3)
    return FaultImportReport(options.format, counts.read, written, dict(counts.dropped), span_days, start)


Record = tuple[float, int, float | None]
"""(begin in seconds since 1970, number of the part, length in seconds or None)."""


def _lanl(path: Path, options: FaultImport, zone: dt.tzinfo | None, counts: ImportCounts) -> Iterator[Record]:
    """Read node outages (LA-UR-05-7318). The number of a part is the node's number, `nodenumz`."""
    wanted = {cause.lower() for cause in options.causes}
    with reading(path, "failures"), path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(short_lines(file, f"failures {path}"))
        names = _lanl_header(path, reader)
        for texts in reader:
            if not any(text.strip() for text in texts):
                continue
            counts.read += 1
            cells = dict(zip(names, (text.strip() for text in texts), strict=False))
            where = f"failures {path}, line {reader.line_num}"
            if options.system is not None and cells.get("system") != options.system:
                counts.drop("of another system")
                continue
            if wanted and not any(cells.get(cause) for cause in wanted):
                counts.drop("of another cause")
                continue
            begin, end = cells.get("prob started", ""), cells.get("prob fixed", "")
            if not begin or not end:
                counts.drop("no start or no end")
                continue
            begin_s, end_s = (
                date_s(where, column, text, zone, form=LANL_DATE, example="6/21/2005 10:54")
                for column, text in (("Prob Started", begin), ("Prob Fixed", end))
            )
            number = read_whole(text := cells.get("nodenumz", ""))
            if number is None:
                raise InvalidInput(
                    f"{where}: nodenumz {quoted(text)} is not allowed; {number_problem(text, whole=True)}"
                )
            if end_s <= begin_s:
                counts.drop("lasted 0 s or less")
                continue
            yield begin_s, number, end_s - begin_s


def _open_table(file: Path, *, is_named: bool) -> TextIO:
    """Open a table. In a folder, whose files are not named one by one, it must be a regular file: a link or a
    pipe there may be another user's."""
    if is_named:
        return file.open(encoding="utf-8-sig", newline="")
    return io.TextIOWrapper(open_own(file), encoding="utf-8-sig", newline="")


def _lanl_header(path: Path, reader: Iterator[Sequence[str]]) -> list[str]:
    """Read the columns of a file, which may have a title above them. Units in parentheses are removed."""
    is_empty = True
    for _ in range(2):
        names = [name.partition("(")[0].strip().lower() for name in next(reader, [])]
        if {"prob started", "prob fixed", "nodenumz"} <= {*names}:
            check_columns(f"failures {path}", names, ("prob started", "prob fixed", "nodenumz", "system"))
            return names
        is_empty = is_empty and not any(names)
    where = ": is empty;" if is_empty else ", line 1:"
    raise InvalidInput(
        f"failures {path}{where} must have the columns System, nodenumz, Prob Started and Prob Fixed"
    )


def _backblaze(
    path: Path, options: FaultImport, zone: dt.tzinfo | None, counts: ImportCounts
) -> Iterator[Record]:
    """Read Drive Stats: one file per day, or a folder of them.

    A drive that failed on a day is a fault at the start of the day. The faults strike the parts in turn, in
    order of date and file, and last until they are repaired.
    """
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files:
        raise NotFound(f"failures {path}: no CSV file in this folder")
    plant = plant_of("superpod", SuperpodConfig(pod=PodConfig(cubes=options.cubes)).hardware)
    parts, failed = plant.population(FAULTS[options.kind].strikes), 0
    for file in files:
        with reading(file, "failures"), _open_table(file, is_named=file == path) as lines:
            reader = csv.reader(short_lines(lines, f"failures {file}"))
            names = next(reader, [])
            if not any(names):
                raise InvalidInput(f"failures {file}: is empty; must have the columns date and failure")
            missing = next((name for name in ("date", "failure") if name not in names), None)
            if missing is not None:
                raise InvalidInput(
                    f"failures {file}, line 1: column {missing} is missing; must have date and failure"
                )
            check_columns(f"failures {file}", names, ("date", "failure"))
            date, failure = names.index("date"), names.index("failure")
            for cells in reader:
                if not any(cells):
                    continue
                where = f"failures {file}, line {reader.line_num}"
                if len(cells) != len(names):
                    raise InvalidInput(f"{where}: has {len(cells)} cells; must have {len(names)}")
                counts.read += 1
                if cells[failure] not in ("0", "1"):
                    raise InvalidInput(
                        f"{where}: failure {quoted(cells[failure])} is not allowed; must be 0 or 1"
                    )
                if cells[failure] == "0":
                    counts.drop("drive works")
                    continue
                begin_s = date_s(where, "date", cells[date], zone, form="iso", example="2024-01-31")
                yield begin_s, failed % parts, None
                failed += 1
