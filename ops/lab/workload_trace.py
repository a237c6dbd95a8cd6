"""A recorded trace of slice requests: CSV with the header `submit_s,duration_s,chips`, and optionally
`shape`, `twisted`, `priority`, `owner`, `tier` and `estimate_s`. Chips are rounded up to the next shape, and
what a job did in its duration is taken for its work."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, get_args

from schemas.config.pods import FabricConfig, pod_config
from schemas.config.workload import TraceRow
from schemas.limits import DURATION_S_MAX, OWNERS_ALLOWED, OWNERS_MAX, PRIORITY_MAX, TRACE_ROWS_MAX
from schemas.names import Tier
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.parsing import is_owner_name
from shared.basics.units import US_PER_S, to_whole_us
from shared.models.fabric_plants import check_slice
from shared.models.superpod.shapes import chips_of, parse_shape, shape_for_chips

REQUIRED = ("submit_s", "duration_s", "chips")
OPTIONAL = ("shape", "twisted", "priority", "owner", "tier", "estimate_s")
TIERS: tuple[Tier, ...] = get_args(Tier)
T = TypeVar("T")


def read_trace(path: Path, config: FabricConfig) -> tuple[TraceRow, ...]:
    """The rows of a trace file for pods of this configuration, in order of submission.

    InvalidInput names line, column and value, also for a slice that does not fit an empty pod."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(path, header)
            rows = [
                _row(f"trace {path}, line {reader.line_num}", header, cells, config)
                for cells in reader
                if any(cell.strip() for cell in cells)
            ]
    except FileNotFoundError:
        raise NotFound(f"trace {path}: no such file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"trace {path}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(f"trace {path}: not CSV: {error}") from None
    except OSError as error:
        raise OperationFailed(f"trace {path}: {error.strerror or error}") from None
    if len(rows) > TRACE_ROWS_MAX:
        raise InvalidInput(f"trace {path}: {len(rows):,} rows; must be at most {TRACE_ROWS_MAX:,}")
    owners = len({row.owner for row in rows})
    if owners > OWNERS_MAX:
        raise InvalidInput(f"trace {path}: {owners:,} owners; must be at most {OWNERS_MAX:,}")
    return tuple(sorted(rows, key=lambda row: row.submit_us))


def _check_header(path: Path, header: list[str]) -> None:
    known = (*REQUIRED, *OPTIONAL)
    for name in REQUIRED:
        if name not in header:
            raise InvalidInput(
                f"trace {path}, line 1: column {name} is missing; required columns: {','.join(REQUIRED)}"
            )
    for name in header:
        if name not in known or header.count(name) > 1:
            raise InvalidInput(
                f"trace {path}, line 1: column {name!r} is unknown or repeated; must be one of "
                f"{','.join(known)}, once each"
            )


def _row(where: str, header: list[str], texts: list[str], config: FabricConfig) -> TraceRow:
    """Parse one row; `where` is the prefix of error sentences."""
    if surplus := len(texts) - len(header):
        raise InvalidInput(f"{where}: {abs(surplus)} cells too {'many' if surplus > 0 else 'few'}")
    cells = dict(zip(header, texts, strict=True))
    cubes = pod_config(config).cubes

    def cell(name: str, read: Callable[[str], T], allowed: str, default: T | None = None) -> T:
        text = cells.get(name, "").strip()
        if not text and default is not None:
            return default
        try:
            return read(text)
        except (ValueError, KeyError):
            raise InvalidInput(f"{where}: {name} {text!r} is not allowed; must be {allowed}") from None

    submit_s = cell("submit_s", _seconds, "seconds from 0 to 100 years")
    duration_s = cell("duration_s", _seconds_above_0, "seconds above 0 up to 100 years")
    chips = cell("chips", _chips, "a whole number of chips, 1 or more")
    twisted = cell("twisted", _flag, "true or false", False)
    priority = cell("priority", _priority, "a whole number from -100 to 100", 0)
    owner = cell("owner", _owner, OWNERS_ALLOWED, "trace")
    tier: Tier = cell("tier", _tier, f"{', '.join(TIERS[:-1])} or {TIERS[-1]}", "research")
    estimate_s = cell("estimate_s", _seconds_above_0, "seconds above 0 up to 100 years", duration_s)
    try:
        text = cells.get("shape", "").strip()
        shape = parse_shape(text) if text else shape_for_chips(chips, cubes)
        check_slice(config.kind, shape, twisted, cubes)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    if chips_of(shape) < chips:
        raise InvalidInput(f"{where}: shape {text} has {chips_of(shape)} chips, fewer than chips {chips}")
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


def _seconds(text: str) -> float:
    value = float(text)
    if not text.isascii() or not math.isfinite(value) or not 0 <= value <= DURATION_S_MAX:
        raise ValueError(text)
    return value


def _seconds_above_0(text: str) -> float:
    value = _seconds(text)
    if value == 0:
        raise ValueError(text)
    return value


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
    value = int(text)
    if not text.isascii() or value < 1:
        raise ValueError(text)
    return value


def _priority(text: str) -> int:
    value = int(text)
    if abs(value) > PRIORITY_MAX:
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]
