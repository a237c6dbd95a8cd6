"""One run of an experiment as it is stored, and read again: others may have written the file."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from ops.common.quoted import quoted
from shared.basics.errors import InvalidInput

Value = TypeVar("Value")
Key = tuple[str, int]
"""(variant, seed)."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as it is stored: its figures, or the error that it failed with."""

    variant: str
    seed: int
    figures: Mapping[str, float | None]
    messages: int
    digest: str
    error: str | None

    @property
    def key(self) -> Key:
        return self.variant, self.seed


def name_of(variant: str, seed: int) -> str:
    return f"{variant}-{seed}.parquet"


def read_run(path: Path, measures: Sequence[str]) -> RunRow:
    """One run's row. InvalidInput names the file if it is none."""
    with run_at(path):
        (row,) = pq.read_table(path, partitioning=None).to_pylist()
        if path.name != name_of(row["variant"], row["seed"]):
            raise ValueError(f"it holds {name_of(row['variant'], row['seed'])}")
        error = None if row["error"] is None else _of(str, row["error"])
        return RunRow(
            _of(str, row["variant"]),
            _of(int, row["seed"]),
            {name: figure(row[name]) for name in measures},
            _of(int, row["messages"]),
            _of(str, row["log_sha256"]),
            error,
        )


def _of(kind: type[Value], value: object) -> Value:
    """What a column of this type holds. ValueError for all else: others may have written the file."""
    if type(value) is not kind:
        raise ValueError(f"{quoted(value)} is not of type {kind.__name__}")
    return value


def figure(value: object) -> float | None:
    """A measure's figure; ValueError where it is none."""
    if value is None or math.isfinite(found := _of(float, value)):
        return None if value is None else found
    raise ValueError(f"{value} is no figure")


@contextmanager
def run_at(path: Path) -> Iterator[None]:
    """Around the reading of a run's file: InvalidInput where it is none."""
    try:
        if not path.is_file():  # a pipe would never end
            raise ValueError("no file")
        yield
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(
            f"{path}: is no run of this experiment ({quoted(said)}); remove it, and --resume does it again"
        ) from None
