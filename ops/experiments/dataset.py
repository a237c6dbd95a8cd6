"""The results of an experiment as a folder with one Parquet file per run.

A run's file is either complete or absent, even if the process that writes it is killed.

    experiment.yaml   the document, including all defaults
    identity.json     the properties that all runs share
    runs/             one file per run with one row: variant, parameters, seed, measures (of the whole run and
                      of both halves), samples of its backlogs, version, error
    series/           one file per run with a row per window: the same key, from and to, measures
    costs.jsonl       the CPU time of each run

A run's row is written last, under its final name when it is complete. A run is finished if both its row and
its series exist. The CPU times have their own file because only they differ between machines.
"""

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from ops.experiments.loader import PlannedExperiment
from ops.experiments.schema import WINDOWS_MAX, Scalar
from ops.experiments.variant_sites import ExperimentParameter, parameters_of, site_sha256
from ops.experiments.variants import Variant
from ops.lab.backlog import BACKLOGS, SAMPLES
from ops.report.safe_text import quoted
from ops.report.yaml_writer import yaml_text
from services.totals.measures import MEASURES
from shared.basics.errors import InvalidInput, OperationFailed
from shared.storage.files.atomic_files import atomic_file
from shared.storage.files.own_files import SMALL_MAX, open_own, read_own
from shared.storage.files.own_folders import is_own_folder, make_own_folders

if TYPE_CHECKING:
    from ops.experiments.service_run import RunResult

# A stored run of an experiment. Other programs may have written the file, so reading validates every value.

CellValue = TypeVar("CellValue")
RunKey = tuple[str, int]
"""(variant, seed)."""
Identity = dict[str, object]
"""The properties that all runs of a folder share, as JSON. Fields written by other builds may be missing or
unknown."""
Columns = dict[str, list[object]]
"""Column → values, in the order in which they are written to a Parquet file."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A stored run: its figures, or the error with which it failed.

    `halves` are its figures in the first and in the second half, `backlogs` the samples of its backlogs
    (`ops.lab.backlog`). Runs of older builds and closed forms have neither.
    """

    variant: str
    seed: int
    figures: Mapping[str, float | None]
    messages: int
    digest: str
    error: str | None
    halves: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    backlogs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def key(self) -> RunKey:
        return self.variant, self.seed


ERROR_MAX = 1_000
"""Maximum number of characters of a run's error that are read."""


def run_file_name(variant: str, seed: int) -> str:
    return f"{variant}-{seed}.parquet"


def read_run(path: Path, measures: Sequence[str]) -> RunRow:
    """Read the row of one run. Raises InvalidInput that names the file if it is not a valid run."""
    with reading_run(path):
        (row,) = read_rows(path, 1).to_pylist()
        if path.name != run_file_name(row["variant"], row["seed"]):
            raise ValueError(f"it contains {run_file_name(row['variant'], row['seed'])}")
        error = None if row["error"] is None else _typed(str, row["error"])[:ERROR_MAX]
        return RunRow(
            _typed(str, row["variant"]),
            _typed(int, row["seed"]),
            {name: figure_value(row[name]) for name in measures},
            _typed(int, row["messages"]),
            _typed(str, row["log_sha256"]),
            error,
            {
                name: (figure_value(row[first]), figure_value(row[second]))
                for name in (measures if error is None else ())
                if (first := f"{name}_{HALVES[0]}") in row and (second := f"{name}_{HALVES[1]}") in row
            },
            {name: _samples(row[name]) for name in BACKLOGS if row.get(name) is not None},
        )


def read_rows(path: Path, most: int) -> Any:
    """Read the table in a run's Parquet file.

    Raises ValueError if it has more than `most` rows: a compressed file of one megabyte can contain thirty
    million. Raises OSError if it is not a regular file of some megabytes.
    """
    with open_own(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > SMALL_MAX:
            raise ValueError(f"it has {size:,} bytes; must have at most {SMALL_MAX:,}")
        metadata = pq.read_metadata(file)
        if (rows := metadata.num_rows) > most:
            raise ValueError(f"it has {rows:,} rows; must have at most {most:,}")
        unpacked = sum(
            metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)
        )
        if unpacked > UNPACKED_MAX:
            raise ValueError(f"it unpacks to {unpacked:,} bytes; must be at most {UNPACKED_MAX:,}")
        file.seek(0)
        return pq.read_table(file)


def _typed(kind: type[CellValue], value: object) -> CellValue:
    """Return a column's value if it has this type. Raises ValueError otherwise: other programs may have
    written the file."""
    if type(value) is not kind:
        raise ValueError(f"{quoted(value)} is not of type {kind.__name__}")
    return value


def _samples(value: object) -> tuple[float, ...]:
    """Return the samples of a backlog. Raises ValueError for anything else."""
    found = tuple([_typed(float, one) for one in _typed(list, value)])
    if len(found) != SAMPLES + 1 or not all(map(math.isfinite, found)):
        raise ValueError(f"{quoted(value)} is not a backlog")
    return found


def figure_value(value: object) -> float | None:
    """Return the figure of a measure. Raises ValueError if it is not finite."""
    if value is None or math.isfinite(found := _typed(float, value)):
        return None if value is None else found
    raise ValueError(f"{value} is not a finite number")


@contextmanager
def reading_run(path: Path) -> Iterator[None]:
    """Turn errors while a run's file is read into InvalidInput."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        text = (error.strerror if isinstance(error, OSError) else None) or str(error)
        reason = text.splitlines()[0] if text else type(error).__name__
        raise InvalidInput(
            f"{path}: is not a run of this experiment ({quoted(reason)}); delete it, and "
            "--resume runs it again"
        ) from None


RUNS, SERIES = "runs", "series"
HALVES = ("first_half", "second_half")
"""Endings of the columns with the figures of both halves of a run."""
UNPACKED_MAX = 256 << 20
"""Maximum uncompressed size of a run's file, in bytes."""
IDENTITY, DOCUMENT, COSTS, LOCK = "identity.json", "experiment.yaml", "costs.jsonl", ".lock"
ARROW_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def identity_of(planned: PlannedExperiment, software: str) -> Identity:
    """Return the properties that runs of the same folder must share: fabrics, measures, method and build.

    Variants and seeds may be added, and the comparison, the claim and the required precision may change.
    """
    experiment = planned.experiment
    return {
        "fabric": experiment.fabric.model_dump(mode="json"),
        "site": site_sha256(experiment, planned.folder),
        "measure": list(experiment.measure),
        "store": experiment.store.model_dump(mode="json"),
        "method": planned.method.name,
        "software": software,
    }


class Dataset:
    """An open folder of results. `open_dataset` opens one for writing, for one process at a time."""

    def __init__(
        self,
        folder: Path,
        measures: Sequence[str],
        parameters: Mapping[str, ExperimentParameter] | None = None,
        software: str = "",
        *,
        has_series: bool = False,
    ) -> None:
        """Open a folder.

        `parameters` are those that vary. `software` is the build that runs. With `has_series`, runs without a
        series count as missing. Readers need none of the three.
        """
        self.folder = folder
        self._software = software
        self._has_series = has_series
        self._parameters = dict(parameters or {})
        self._measures = tuple(measures)
        self._over_time = tuple(name for name in measures if MEASURES[name].over_time)

    def schema(self, part: str) -> Any:
        """Return the columns of a part. They are the same in all files."""
        key = {
            "variant": pa.string(),
            **{name: ARROW_TYPES[parameter.type] for name, parameter in self._parameters.items()},
            "seed": pa.int64(),
        }
        if part == SERIES:
            figures = dict.fromkeys(self._over_time, pa.float64())
            return pa.schema(key | {"from_us": pa.int64(), "to_us": pa.int64()} | figures)
        names = [name for one in self._measures for name in (one, *(f"{one}_{half}" for half in HALVES))]
        figures = dict.fromkeys(names, pa.float64()) | dict.fromkeys(BACKLOGS, pa.list_(pa.float64()))
        last = {"messages": pa.int64(), **dict.fromkeys(("log_sha256", "version", "error"), pa.string())}
        return pa.schema(key | figures | last)

    def complete(self) -> None:
        """Add the columns of newly varied parameters to files that lack them, with null as the value. Raises
        InvalidInput that names a file if it is not valid."""
        for part in (RUNS, SERIES):
            wanted = self.schema(part)
            for path in _part_files(self.folder, part):
                with reading_run(path):
                    old = read_rows(path, 1 if part == RUNS else WINDOWS_MAX)
                    found = old.schema
                    if found == wanted:
                        continue
                    columns = {
                        name: [None] * old.num_rows
                        if name in self._parameters and name not in found.names
                        else old[name]
                        for name in wanted.names
                    }
                    table = pa.table(columns, schema=wanted)
                self._store(path, table)

    def done(self) -> dict[RunKey, RunRow]:
        """Return all finished runs. Raises InvalidInput that names a file if it is not a valid run."""
        found = {}
        for path in _part_files(self.folder, RUNS):
            row = read_run(path, self._measures)
            if row.error is None and self._has_series and not (self.folder / SERIES / path.name).is_file():
                continue
            found[row.key] = row
        return found

    def series(self, variant: str, seed: int) -> dict[str, list[float]]:
        """Return the series of a run by measure: one value per window, without a shorter last window.

        A measure is missing if a window has no value of it. The result is empty if the run has no series.
        """
        path = self.folder / SERIES / run_file_name(variant, seed)
        if not _has_part(self.folder, SERIES) or not path.is_file():
            return {}
        with reading_run(path):
            rows = read_rows(path, WINDOWS_MAX).to_pydict()
            spans = [end - begin for begin, end in zip(rows["from_us"], rows["to_us"], strict=True)]
            whole = len(spans) - (spans[-1] < spans[0])
            found = {name: [*map(figure_value, rows[name][:whole])] for name in self._over_time}
        known = {name: [one for one in values if one is not None] for name, values in found.items()}
        return {name: values for name, values in known.items() if len(values) == whole}

    def cpu_s(self) -> float | None:
        """Return the CPU seconds of all runs; None if some run's are unknown.

        An unreadable line belongs to a run that was killed and then repeated.
        """
        try:
            lines = read_own(self.folder / COSTS).decode(errors="replace").splitlines()
        except OSError:
            return None
        known: dict[str, float] = {}
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                known[run_file_name(row["variant"], row["seed"])] = float(row["cpu_s"])
        runs = {path.name for path in _part_files(self.folder, RUNS)}
        return sum(known.values()) if runs <= known.keys() else None

    def keep(self, variant: Variant, seed: int, trial: "RunResult") -> RunRow:
        """Store a run that succeeded."""
        key = self._key(variant, seed)
        columns: Columns = {
            name: [window.figures[name] for window in trial.windows] for name in self._over_time
        }
        if trial.windows:
            count = len(trial.windows)
            rows: Columns = {name: [value] * count for name, value in key.items()}
            rows["from_us"] = [window.from_us for window in trial.windows]
            rows["to_us"] = [window.to_us for window in trial.windows]
            self._write(SERIES, variant, seed, rows | columns)
        samples = {name: tuple(map(float, values)) for name, values in trial.backlogs.items()}
        row = RunRow(
            *(variant.key, seed, trial.figures, trial.messages, trial.digest, None, trial.halves, samples)
        )
        self._write_row(variant, row, trial.cpu_s)
        return row

    def keep_failure(self, variant: Variant, seed: int, error: str) -> RunRow:
        """Store that a run failed, with the error."""
        row = RunRow(variant.key, seed, dict.fromkeys(self._measures), 0, "", error)
        self._write_row(variant, row, 0.0)
        return row

    def _write_row(self, variant: Variant, row: RunRow, cpu_s: float) -> None:
        measured: Columns = {name: [row.figures[name]] for name in self._measures}
        for place, half in enumerate(HALVES):
            measured |= {
                f"{name}_{half}": [row.halves[name][place] if name in row.halves else None]
                for name in self._measures
            }
        measured |= {name: [row.backlogs.get(name)] for name in BACKLOGS}
        last: Columns = {
            "messages": [row.messages],
            "log_sha256": [row.digest],
            "version": [self._software],
            "error": [row.error],
        }
        key: Columns = {name: [value] for name, value in self._key(variant, row.seed).items()}
        cost = json.dumps({"variant": variant.key, "seed": row.seed, "cpu_s": round(cpu_s, 3)})
        with _named(self.folder), open_own(self.folder / COSTS, "ab") as file:
            file.write(f"{cost}\n".encode())
        self._write(RUNS, variant, row.seed, key | measured | last)

    def _key(self, variant: Variant, seed: int) -> dict[str, Scalar]:
        given = dict(variant.values)
        values = {
            name: parameter.value(given[name]) if name in given else None
            for name, parameter in self._parameters.items()
        }
        return {"variant": variant.key} | values | {"seed": seed}

    def _write(self, part: str, variant: Variant, seed: int, columns: Columns) -> None:
        path = self.folder / part / run_file_name(variant.key, seed)
        self._store(path, pa.table(dict(columns), schema=self.schema(part)))

    def _store(self, path: Path, table: Any) -> None:
        """Write a file durably. It appears under its name only when it is complete."""
        with _named(self.folder), atomic_file(path, mode=0o666, durable=True) as file:
            pq.write_table(table, file, compression="zstd")


@contextmanager
def open_dataset(
    folder: Path, planned: PlannedExperiment, software: str, *, resume: bool
) -> Iterator[Dataset]:
    """Open the folder of an experiment's results for this process alone; create it if it is missing.

    Raises InvalidInput if it has results and `resume` is false, or if they belong to a different experiment.
    """
    experiment = planned.experiment
    names = dict.fromkeys(name for variant in planned.variants for name, _ in variant.values)
    with _named(folder):
        for place in (folder, folder / RUNS, folder / SERIES):
            if place.exists() and not place.is_dir():
                raise InvalidInput(f"{place}: is not a folder; give another one with --out")
        folder.mkdir(parents=True, exist_ok=True)
        for part in (RUNS, SERIES):
            if not _has_part(folder, part):
                make_own_folders(folder / part)
    with _locked(folder):
        _take_over(folder, planned, identity_of(planned, software), resume=resume)
        before = dict.fromkeys(sorted(_varied_before(folder, experiment.measure) - names.keys()))
        parameters = parameters_of(experiment, names | before, planned.folder)
        # A closed form has no series.
        has_series = experiment.store.series and planned.method.name != "exact"
        dataset = Dataset(folder, experiment.measure, parameters, software, has_series=has_series)
        with _named(folder):
            _end_last_line(folder / COSTS)
            for part in (RUNS, SERIES):
                for left in _part_files(folder, part, "*.part"):
                    left.unlink()
        dataset.complete()
        yield dataset


def _has_part(folder: Path, part: str) -> bool:
    """Whether a part of a folder of results exists. Raises InvalidInput if it is a link or a file."""
    try:
        return is_own_folder(folder / part)
    except OSError as error:
        raise InvalidInput(f"{error.filename}: {error.strerror}") from None


def _part_files(folder: Path, part: str, pattern: str = "*.parquet") -> list[Path]:
    """Return the files of a part, sorted. Raises InvalidInput if the part is a link or a file."""
    return sorted((folder / part).glob(pattern)) if _has_part(folder, part) else []


def _varied_before(folder: Path, measures: Sequence[str]) -> set[str]:
    """Return the parameters that varied in stored runs: the columns that not every dataset has."""
    path = next(iter(_part_files(folder, RUNS)), None)
    if path is None:
        return set()
    with reading_run(path):
        return {*read_rows(path, 1).schema.names} - {*Dataset(folder, measures).schema(RUNS).names}


def _take_over(folder: Path, planned: PlannedExperiment, identity: Identity, *, resume: bool) -> None:
    path = folder / IDENTITY
    runs = len(_part_files(folder, RUNS))
    if runs or os.path.lexists(path):
        known = _known_parameters(folder, runs)
        for name, value in identity.items():
            if known.get(name) != value:
                raise _other(folder, runs, name, known.get(name), value)
    if runs and not resume:
        raise InvalidInput(
            f"{folder}: already has {runs} runs; continue with --resume, or give another folder with --out"
        )
    with _named(folder):
        for name, text in (
            (DOCUMENT, yaml_text(planned.experiment.model_dump(mode="json"))),
            (IDENTITY, json.dumps(identity, indent=2, sort_keys=True)),
        ):
            with atomic_file(folder / name, mode=0o666) as file:
                file.write(f"{text}\n".encode())


def require_same_identity(folder: Path, planned: PlannedExperiment) -> None:
    """Raise InvalidInput if the runs of a folder do not belong to this document, for example because it was
    edited.

    The build may differ, and the runs may have more measures.
    """
    runs = len(_part_files(folder, RUNS))
    if not runs:
        return
    known, identity = _known_parameters(folder, runs), identity_of(planned, "")
    for name in ("fabric", "site", "method"):
        if known.get(name) != identity[name]:
            raise _other(folder, runs, name, known.get(name), identity[name])
    measured, wanted = known.get("measure"), planned.experiment.measure
    if not isinstance(measured, list) or not {*wanted} <= {*map(str, measured)}:
        raise _other(folder, runs, "measure", measured, identity["measure"])


def _known_parameters(folder: Path, runs: int) -> Identity:
    """Return the properties that the stored runs share."""
    path = folder / IDENTITY
    if not os.path.lexists(path):
        raise InvalidInput(
            f"{folder}: has {runs} runs, but no {IDENTITY} to identify them; give another folder with --out"
        )
    return read_identity(path)


def _other(folder: Path, runs: int, name: str, known: object, wanted: object) -> InvalidInput:
    """Return the error for runs of a different experiment. For fabrics, it names only the fields that
    differ."""
    if isinstance(known, dict) and isinstance(wanted, dict):
        names = [one for one in {**known, **wanted} if known.get(one) != wanted.get(one)]
        known, wanted = ({one: of[one] for one in names if one in of} for of in (known, wanted))
    return InvalidInput(
        f"{folder}: its {runs} runs have another {name}, {quoted(known)} instead of {quoted(wanted)}; give "
        "another folder with --out"
    )


def read_identity(path: Path) -> Identity:
    """Return the properties that the runs of a folder share. Raises InvalidInput if they cannot be read."""
    try:
        found = json.loads(read_own(path))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{path}: is not the identity file of a dataset")
    return found


def digest_of(folder: Path) -> str:
    """Return the SHA-256 over all rows of the dataset in order of their keys. It does not depend on the order
    in which runs were written."""
    found = sha256()
    for part in (RUNS, SERIES):
        for path in _part_files(folder, part):
            found.update(f"{part}/{path.name}\n".encode())
            found.update(read_own(path))
    return found.hexdigest()


def _end_last_line(path: Path) -> None:
    """End the last line if a kill or a full disk cut it short, so that the next line stays readable."""
    if path.exists() and (text := read_own(path)) and not text.endswith(b"\n"):
        with open_own(path, "ab") as file:
            file.write(b"\n")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with _named(folder), open_own(folder / LOCK, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperationFailed(
                f"{folder}: another process runs this experiment; wait for it, or give another folder with "
                "--out"
            ) from None
        yield


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into OperationFailed."""
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise OperationFailed(
            f"{where}: {error.strerror or error}; finished runs are kept; continue with --resume"
        ) from None
