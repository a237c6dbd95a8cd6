"""A recorded trace of slice requests: CSV with the header `submit_s,duration_s,chips`, and optionally
`shape`, `twisted`, `priority`, `owner`, `tier` and `estimate_s`. Chips are rounded up to the next shape. A
job's duration is taken as its work.

A file can have any number of rows. `TraceSource` reads it once before a run, to check all rows and to count
those that the run plays. The first rows are part of the fabric's configuration. If there are more than fit
there, the run reads the others as it advances, so its memory does not grow with the file.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_args

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
from ops.lab.trace_work import TraceWork
from ops.report.safe_text import quoted
from schemas.config.pods import AnyPodConfig, FabricConfig
from schemas.config.workload import TraceRow
from schemas.limits import (
    COUNT_MAX,
    DURATION_S_MAX,
    OWNERS_ALLOWED,
    OWNERS_MAX,
    PRIORITY_MAX,
    TRACE_PART_ROWS_MAX,
    TRACE_ROWS_MAX,
)
from schemas.messages.operator import ExtendTrace
from schemas.names import Shape, Tier
from shared.basics.errors import InvalidInput
from shared.basics.parsing import is_owner_name
from shared.basics.time_format import format_time
from shared.basics.time_grammar import read_time
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.basics.value_words import read_flag, read_whole
from shared.engine.site_driver import LabRequest
from shared.models.fabric_plants import check_slice
from shared.models.superpod.shapes import chips_of, parse_shape, shape_for_chips

COLUMNS = Columns(
    "trace",
    ("submit_s", "duration_s", "chips"),
    ("shape", "twisted", "priority", "owner", "tier", "estimate_s"),
)
TIERS: tuple[Tier, ...] = get_args(Tier)
AHEAD_US = US_PER_HOUR
"""A part of a long trace is on the log this long before its first row is due, so that no row waits for it."""
EPOCH_S_MIN = 315_532_800
"""Times of submission from here on (1980) are likely seconds since 1970."""
TRACE_TIME_ALLOWED = (
    "seconds as in submit_s, a duration such as 3d12h, or, if the file has seconds since 1970, a date with a "
    "time zone such as 2023-03-28T00:00:00Z"
)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace, and the part of it that is played: rows from `from_s` to before `until_s`, in the seconds of
    the file. The run starts at `from_s`."""

    path: Path
    from_s: float = 0.0
    until_s: float | None = None

    def __post_init__(self) -> None:
        if self.until_s is not None and self.until_s <= self.from_s:
            raise InvalidInput(
                f"--trace-until {self.until_s:.16g}: is not allowed; must be later than --trace-from "
                f"{self.from_s:.16g}"
            )

    def options(self) -> list[str]:
        """Return the command line options that read this part of this file, valid in any folder."""
        words = ["--trace", str(self.path.absolute())]
        words += ["--trace-from", f"{self.from_s:.16g}"] if self.from_s else []
        return words + (["--trace-until", f"{self.until_s:.16g}"] if self.until_s is not None else [])


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """The rows of a trace, and those that a run does not play: submitted before the chosen part of the file,
    after it, or after the end of the run."""

    rows: int
    played: int
    before_window: int
    after_window: int
    after_run: int

    @property
    def not_played(self) -> int:
        return self.rows - self.played


@dataclass(frozen=True, slots=True)
class TraceRest:
    """The rows of a trace that do not fit a fabric's configuration, which has the first `skip`. They are in
    order of submission."""

    file: TraceFile
    skip: int
    end_us: int

    def requests(self, fabric: str, config: FabricConfig) -> Iterator[LabRequest]:
        """Yield the requests that extend the trace of a fabric, read from the file one by one, without
        numbers."""
        rows: list[TraceRow] = []
        skip = self.skip
        for row in _window_rows(self.file, config):
            if row.submit_us > self.end_us:
                break
            if skip:
                skip -= 1
                continue
            rows.append(row)
            if len(rows) == TRACE_PART_ROWS_MAX:
                yield _extension(fabric, rows)
                rows = []
        if rows:
            yield _extension(fabric, rows)


class TraceSource:
    """A trace for the fabrics of a run that ends at `end_us`, in microseconds from its start."""

    def __init__(self, file: TraceFile, end_us: int, on_bytes: OnBytes | None = None) -> None:
        self.file = file
        self.end_us = end_us
        self.counts: TraceCounts | None = None
        self.rest: TraceRest | None = None
        self.work = TraceWork()
        self._first_late_us: int | None = None
        self._on_bytes = on_bytes

    def __call__(self, config: FabricConfig) -> tuple[TraceRow, ...]:
        """Check the whole file, and return the rows for the configuration of a pod, in order of submission.

        Raises InvalidInput that names line, column and value, also if a slice does not fit an empty pod, or
        if no row is submitted during the run.
        """
        pod_cubes(config)
        survey = _Survey(self.file, self.end_us)
        for row in csv_rows(self.file.path, COLUMNS, self._on_bytes):
            survey.add(row, config)
        self.counts, self._first_late_us, self.work = survey.counts(), survey.first_late_us, survey.work
        if not self.counts.played:
            raise InvalidInput(f"trace {self.file.path}: {self._problem(self.counts)}")
        kept = survey.kept
        if survey.in_window > TRACE_ROWS_MAX:
            self.rest = TraceRest(self.file, TRACE_PART_ROWS_MAX, self.end_us)
            kept = kept[:TRACE_PART_ROWS_MAX]
        return tuple(sorted(kept, key=lambda row: row.submit_us))

    def note(self) -> str | None:
        """Return the sentence about rows that are not played; None if all are."""
        if self.counts is None or not self.counts.not_played:
            return None
        return f"trace {self.file.path}: {self._problem(self.counts)}"

    def _problem(self, counts: TraceCounts) -> str:
        parts = []
        if counts.before_window:
            parts.append(f"{counts.before_window:,} before --trace-from")
        if counts.after_window:
            parts.append(f"{counts.after_window:,} from --trace-until on")
        if counts.after_run:
            first = f", the first at {format_time(self._first_late_us)}"
            parts.append(f"{counts.after_run:,} after the end of the run{first}")
        text = f"{counts.not_played:,} of {counts.rows:,} rows are not played: {', '.join(parts)}"
        late_s = (self._first_late_us or 0) / US_PER_S + self.file.from_s
        if not counts.played and counts.after_run:
            text += f"; `--trace-from {late_s:.16g}` starts the run there"
            if late_s >= EPOCH_S_MIN:
                date = dt.datetime.fromtimestamp(late_s, dt.UTC)
                text += f" ({date:%Y-%m-%d} if the file has seconds since 1970)"
        return text


class _Survey:
    """The result of the first reading of a trace."""

    def __init__(self, file: TraceFile, end_us: int) -> None:
        self._file = file
        self._end_us = end_us
        self.kept: list[TraceRow] = []
        """The first rows, as many as a configuration can have."""
        self.in_window = 0
        self.work = TraceWork()
        self.first_late_us: int | None = None
        self._rows = self._before = self._after = self._late = 0
        self._owners: set[str] = set()
        self._last_us = 0
        self._unsorted: str | None = None
        """Place of a row that is submitted before an earlier one."""

    def add(self, cells: CsvRow, config: FabricConfig) -> None:
        """Check and count one row. Raises InvalidInput that names an invalid row."""
        self._rows += 1
        row, position = _windowed(cells, self._file, config)
        if row is None:
            self._before += position < 0
            self._after += position > 0
            return
        self.in_window += 1
        self.work = self.work.with_row(row, self._end_us)
        self._owners.add(row.owner)
        if len(self._owners) > OWNERS_MAX:
            raise InvalidInput(
                f"{cells.where}: owner {row.owner} is one more than {OWNERS_MAX:,} owners; must be at most "
                f"{OWNERS_MAX:,}"
            )
        if row.submit_us > self._end_us:
            self._late += 1
            self.first_late_us = min(self.first_late_us or row.submit_us, row.submit_us)
        if row.submit_us < self._last_us and self._unsorted is None:
            self._unsorted = cells.where
        self._last_us = max(self._last_us, row.submit_us)
        if self.in_window <= TRACE_ROWS_MAX:
            self.kept.append(row)
        elif self._unsorted is not None:
            raise InvalidInput(
                f"{self._unsorted}: is submitted before an earlier row; a trace of more than "
                f"{TRACE_ROWS_MAX:,} rows must be in order of submit_s"
            )

    def counts(self) -> TraceCounts:
        played = self.in_window - self._late
        return TraceCounts(self._rows, played, self._before, self._after, self._late)


def parse_trace_time(option: str, text: str) -> float:
    """Parse a time of a trace in seconds. The error of InvalidInput starts with the option."""
    since_start = read_time(text)
    if since_start is not None and not since_start.is_before_now:
        return since_start.first_us / US_PER_S
    try:
        return seconds(text)
    except ValueError:
        pass
    try:
        date = dt.datetime.fromisoformat(text)
        if date.tzinfo is not None and 0 <= date.timestamp() <= DURATION_S_MAX:
            return date.timestamp()
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"{option}: {quoted(text)} is not allowed; must be {TRACE_TIME_ALLOWED}")


def _extension(fabric: str, rows: list[TraceRow]) -> LabRequest:
    at_us = max(0, rows[0].submit_us - AHEAD_US)
    return LabRequest(at_us, fabric, ExtendTrace(rows=tuple(rows)), 0)


def _window_rows(file: TraceFile, config: FabricConfig) -> Iterator[TraceRow]:
    for cells in csv_rows(file.path, COLUMNS):
        row, _ = _windowed(cells, file, config)
        if row is not None:
            yield row


def _windowed(cells: CsvRow, file: TraceFile, config: FabricConfig) -> tuple[TraceRow | None, int]:
    """Return (row with times from the start of the run, 0); (None, -1) for a row before the chosen part of
    the file, and (None, 1) for one after it."""
    submit_s = cells.read("submit_s", seconds, SECONDS_ALLOWED)
    if submit_s < file.from_s:
        return None, -1
    if file.until_s is not None and submit_s >= file.until_s:
        return None, 1
    return _row(cells, config, submit_s - file.from_s), 0


def _row(row: CsvRow, config: FabricConfig, submit_s: float) -> TraceRow:
    """Parse one row, which is submitted `submit_s` seconds after the start of the run."""
    cubes = pod_cubes(config)
    duration_s = row.read("duration_s", seconds_above_0, SPAN_ALLOWED)
    chips = row.read("chips", _chips, f"a whole number of chips from 1 to {COUNT_MAX:,}")
    twisted = row.read("twisted", _flag, "true or false", False)
    priority = row.read("priority", _priority, "a whole number from -100 to 100", 0)
    owner = row.read("owner", _owner, OWNERS_ALLOWED, "trace")
    tier: Tier = row.read("tier", _tier, f"{', '.join(TIERS[:-1])} or {TIERS[-1]}", "research")
    estimate_s = row.read("estimate_s", seconds_above_0, SPAN_ALLOWED, duration_s)
    text = row.cells.get("shape", "").strip()
    try:
        shape = _checked_shape(text, chips, config.kind, cubes, twisted=twisted)
    except InvalidInput as error:
        raise InvalidInput(f"{row.where}: {error}") from None
    if chips_of(shape) < chips:
        raise InvalidInput(f"{row.where}: shape {text} has {chips_of(shape)} chips, fewer than chips {chips}")
    return TraceRow(
        submit_us=round(submit_s * US_PER_S),
        duration_us=to_whole_us(duration_s, US_PER_S),
        shape=shape,
        twisted=twisted,
        priority=priority,
        owner=owner,
        tier=tier,
        estimate_us=to_whole_us(estimate_s, US_PER_S),
    )


@lru_cache(maxsize=4_096)
def _checked_shape(text: str, chips: int, kind: str, cubes: int, *, twisted: bool) -> Shape:
    shape = parse_shape(text) if text else shape_for_chips(chips, cubes)
    check_slice(kind, shape, twisted, cubes)
    return shape


def pod_cubes(config: FabricConfig) -> int:
    """Return the number of cubes of a pod. Raises InvalidInput if the fabric has no slices."""
    if not isinstance(config, AnyPodConfig):
        raise InvalidInput(
            f"--trace: a {config.kind} has no slices to request; must be a run of pods (--kind superpod or "
            "static-pod)"
        )
    return config.pod.cubes


def _owner(text: str) -> str:
    if not is_owner_name(text):
        raise ValueError(text)
    return text


def _tier(text: str) -> Tier:
    for tier in TIERS:
        if tier == text.lower():
            return tier
    raise ValueError(text)


def _chips(text: str) -> int:
    value = read_whole(text)
    if value is None or value < 1:
        raise ValueError(text)
    return value


def _priority(text: str) -> int:
    value = read_whole(text)
    if value is None or abs(value) > PRIORITY_MAX:
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    value = read_flag(text)
    if value is None:
        raise ValueError(text)
    return value
