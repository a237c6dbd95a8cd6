"""Runs of the lab: fabrics in virtual time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lightwave._arguments import check_argument_types
from lightwave._errors import without_option_names
from ops.experiments.schema import Scalar
from ops.experiments.service_run import measure_all
from ops.experiments.variant_sites import set_options
from ops.lab.recorded_faults import RecordedFaults
from ops.lab.run import RunPlan, repeat_command, run_lab
from ops.lab.run_inputs import RunInputs, timed_requests
from ops.lab.workload_trace import TraceFile, TraceSource
from ops.sites.configuration import ParameterInfo
from ops.sites.configuration import parameters as _parameters
from ops.sites.site_plans import NewTwinOptions
from services.totals.measures import MEASURES, Measure
from shared.basics.checks import check_count, check_positive, check_range
from shared.basics.units import US_PER_DAY

DAYS_MAX = 36_500.0
WORKERS_MAX = 64


@dataclass(frozen=True, slots=True)
class LabRun:
    """The result of a lab run.

    `figures` has every measure of `lightwave.measures()` that applies to these fabrics, in its unit, over all
    of them together; None if there is no value. `reports` is what `lightwave lab run -o json` prints for each
    fabric. The digests are SHA-256: two runs with the same `log_sha256` are identical, message for message.
    `repeat` is the command that repeats the run. `recorded` has, for a `trace` and for recorded `faults`, how
    many rows the file has, how many the run played, and why not the others.
    """

    figures: Mapping[str, float | None]
    reports: tuple[Mapping[str, Any], ...]
    messages: int
    wall_s: float
    log_sha256: str
    state_sha256: str
    version: str
    repeat: str
    recorded: Mapping[str, Mapping[str, int]]


@check_argument_types
def lab(
    *,
    days: float = 1.0,
    warm_up_days: float = 0.0,
    seed: int | None = None,
    pods: int | None = None,
    kind: str | None = None,
    site: str | Path | None = None,
    calibration: str | Path | None = None,
    parameters: Mapping[str, Scalar] | None = None,
    changes: Sequence[str] = (),
    faults: Sequence[str] = (),
    recorded_faults: str | Path | None = None,
    trace: str | Path | None = None,
    trace_from: float = 0.0,
    trace_until: float | None = None,
    log: str | Path | None = None,
    workers: int = 1,
) -> LabRun:
    """Simulate fabrics for `days`, after `warm_up_days` that no figure counts.

    - `pods`, `kind`: number (default 1) and kind ("superpod", "static-pod" or "dcn") of the fabrics; or
      `site`, a site file.
    - `calibration`: name or file of a set of parameter values. `parameters`: values that differ from it, by
      dotted name as in `lightwave.parameters()`.
    - `changes`: parameters that change during the run, such as "failures.host_per_day=0.1@5d".
    - `faults`: faults to inject, such as "ocs:pod-0/ocs-17@2d+10m"; `recorded_faults`: a CSV file of faults.
    - `trace`: a CSV file of slice requests, instead of random arrivals; of it the rows from `trace_from` (the
      start of the run) to before `trace_until`, in the seconds of the file.
    - `log`: a file for the log (.zst and .gz compress it). `workers`: number of processes for several sites.

    InvalidInput names the problem of an argument; OperationFailed if a worker is killed, or if the log cannot
    be written; KeyboardInterrupt if the run is interrupted.

    >>> run = lab(days=0.1, parameters={"pod.cubes": 4, "failures.host_per_day": 0.5})
    >>> 0 < run.figures["cube_availability"] < 1, run.messages > 0
    (True, True)
    """
    check_positive("days", days)
    check_range("days", days, 0.0, DAYS_MAX, "")
    check_range("warm-up-days", warm_up_days, 0.0, DAYS_MAX, "")
    check_count("workers", workers, 1, WORKERS_MAX)
    if pods is not None:
        check_count("pods", pods, 1)
    with without_option_names():
        inputs = RunInputs(
            None if trace is None else TraceFile(Path(trace), trace_from, trace_until),
            None if recorded_faults is None else Path(recorded_faults),
            tuple(faults),
            tuple(changes),
        )
        span_days = warm_up_days + days
        source = None if inputs.trace is None else TraceSource(inputs.trace, round(span_days * US_PER_DAY))
        files = () if site is None else (Path(site),)
        calibrated = None if calibration is None else str(calibration)
        twin_request = NewTwinOptions(
            pods, kind, seed, tuple(set_options(dict(parameters or {}))), files, calibrated
        )
        sites = twin_request.sites(trace=source)
        requests, of_file = timed_requests(inputs, sites, span_days)
    plan = RunPlan(sites, days, warm_up_days, requests, trace=None if source is None else source.rest)
    repeat = repeat_command(twin_request, plan, inputs)
    found = run_lab(plan, jobs=workers, log=None if log is None else Path(log), repeat=repeat)
    if found.interrupted:
        raise KeyboardInterrupt
    kinds = {report.kind for report in found.fabrics}
    spans = [report.span for report in found.fabrics if report.span is not None]
    return LabRun(
        figures=measure_all([name for name, one in MEASURES.items() if one.kinds & kinds], spans),
        reports=tuple([report.json() for report in found.fabrics]),
        messages=found.messages,
        wall_s=found.wall_s,
        log_sha256=found.log_sha256,
        state_sha256=found.state_sha256,
        version=found.version,
        repeat=found.repeat,
        recorded=_recorded(source, of_file),
    )


def _recorded(trace: TraceSource | None, faults: RecordedFaults | None) -> dict[str, dict[str, int]]:
    found = {
        "trace": None if trace is None else trace.counts,
        "faults": None if faults is None else faults.counts,
    }
    return {name: asdict(counts) for name, counts in found.items() if counts is not None}


@check_argument_types
def parameters(kind: str = "superpod") -> list[ParameterInfo]:
    """Every parameter of a kind of fabric: dotted name, default, unit, source, allowed values and meaning.
    InvalidInput for an unknown kind.

    >>> next(one.default for one in parameters() if one.name == "pod.cubes")
    64
    """
    with without_option_names():
        return [*_parameters(kind)]


def measures() -> Mapping[str, Measure]:
    """All measures of a run by name, with unit, meaning and kinds of fabrics.

    >>> measures()["goodput"].unit
    'share'
    """
    return dict(MEASURES)
