"""The recorded inputs of an experiment: a trace, a file of faults, and parameters that change during runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from ops.experiments.schema import Experiment, Fabric, Scalar
from ops.lab.run_inputs import RunInputs, timed_requests
from ops.lab.trace_work import TraceWork
from ops.lab.workload_trace import TraceFile, TraceRest, TraceSource, parse_trace_time, pod_cubes
from ops.local.input_files import open_input
from schemas.config.pods import FabricConfig
from schemas.config.workload import TraceRow
from schemas.files.site_plan import SitePlan
from schemas.limits import DURATION_US_MAX
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.units import US_PER_DAY
from shared.engine.site_driver import LabRequest

SURVEYS_MAX = 64
"""Maximum number of cached readings of traces. Every run of an experiment plays the same trace."""


@dataclass(frozen=True, slots=True)
class SurveyedTrace:
    """The parts of a trace that a run plays: those of the configuration and the rest; `work` is that of both.
    `note` is a sentence about rows that it does not play."""

    rows: tuple[TraceRow, ...]
    rest: TraceRest | None
    note: str | None
    work: TraceWork


_surveys: dict[tuple[object, ...], SurveyedTrace] = {}


def has_recorded_inputs(fabric: Fabric) -> bool:
    """Whether runs play a trace, recorded faults or changes."""
    return bool(fabric.trace or fabric.faults or fabric.changes)


def trace_of(
    experiment: Experiment, config: FabricConfig, folder: Path, *, is_quick: bool = False
) -> SurveyedTrace:
    """Return the trace of an experiment for pods of this configuration.

    Raises InvalidInput that names the line and the invalid value. A quick run may be too short to reach any
    row.
    """
    fabric = experiment.fabric
    file = TraceFile(
        folder / str(fabric.trace),
        _trace_time("fabric.trace_from", fabric.trace_from) or 0.0,
        _trace_time("fabric.trace_until", fabric.trace_until),
    )
    end_us = DURATION_US_MAX if is_quick else _end_us(fabric)
    pod = (config.kind, pod_cubes(config))
    try:
        status = file.path.stat()
    except OSError:
        status = None  # the reader reports it
    key = (file, end_us, pod, None if status is None else (status.st_mtime_ns, status.st_size))
    if key not in _surveys:
        source = TraceSource(file, end_us)
        rows = source(config)
        while len(_surveys) >= SURVEYS_MAX:
            _surveys.pop(next(iter(_surveys)))
        _surveys[key] = SurveyedTrace(rows, source.rest, source.note(), source.work)
    return _surveys[key]


def requests_of(
    experiment: Experiment, sites: Sequence[SitePlan], folder: Path, *, is_quick: bool = False
) -> tuple[tuple[LabRequest, ...], str | None]:
    """Return (requests, note): the requests of recorded faults and of changes in every run, and a sentence
    about faults that no run plays. A quick run leaves out requests after its end."""
    fabric = experiment.fabric
    if not (fabric.faults or fabric.changes):
        return (), None
    inputs = RunInputs(
        faults=None if fabric.faults is None else folder / fabric.faults,
        changes=tuple(
            f"{name}={_text(value)}@{change.at}{'' if change.fabric is None else f',fabric={change.fabric}'}"
            for change in fabric.changes
            for name, value in change.set.items()
        ),
    )
    days = DURATION_US_MAX / US_PER_DAY if is_quick else fabric.warm_up_days + fabric.days
    requests, faults = timed_requests(inputs, sites, days)
    in_run = tuple(request for request in requests if request.at_us <= _end_us(fabric))
    return in_run, None if faults is None else faults.note


def inputs_sha256(experiment: Experiment, folder: Path) -> list[str]:
    """Return the SHA-256 of each recorded file."""
    fabric = experiment.fabric
    found = []
    for name in filter(None, (fabric.trace, fabric.faults)):
        try:
            with open_input(folder / name) as file:
                found.append(file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise OperationFailed(f"{folder / name}: {error.strerror or error}") from None
        except InvalidInput as error:
            raise InvalidInput(f"{folder / name}: {error}") from None
    return found


def _end_us(fabric: Fabric) -> int:
    return round((fabric.warm_up_days + fabric.days) * US_PER_DAY)


def _trace_time(where: str, given: float | str | None) -> float | None:
    if given is None or isinstance(given, float | int):
        return None if given is None else float(given)
    try:
        return parse_trace_time(where, given)
    except InvalidInput as error:
        raise InvalidInput(str(error)) from None


def _text(value: Scalar) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
