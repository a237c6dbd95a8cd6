"""The inputs of `lab run`: a trace, recorded and injected faults, and changes of parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ops.cli.common.output import echo
from ops.cli.common.progress import file_progress
from ops.cli.experiments.lab_start import check_start_options, start_snapshots
from ops.lab.from_snapshot import plan_from_snapshots
from ops.lab.parameter_changes import is_timed
from ops.lab.recorded_faults import RecordedFaults
from ops.lab.reports import RecordedCounts
from ops.lab.run import RunPlan
from ops.lab.run_inputs import RunInputs, timed_requests
from ops.lab.workload_trace import TraceFile, TraceSource, parse_trace_time
from ops.sites.site_plans import NewTwinOptions
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run, the counts of its recorded files, and the time from which it continues, in a form that
    can be given again later."""

    plan: RunPlan
    recorded: RecordedCounts
    start: str | None


def run_inputs(
    trace: Path | None,
    trace_times: tuple[str | None, str | None],
    faults: Path | None,
    pairs: Sequence[str],
    inject: Sequence[str],
) -> tuple[RunInputs, tuple[str, ...]]:
    """Return the inputs of these options, and the settings without a time, which belong to the
    configuration."""
    from_text, until_text = trace_times
    for option, text in (("--trace-from", from_text), ("--trace-until", until_text)):
        if text is not None and trace is None:
            raise InvalidInput(f"{option}: needs a trace; give --trace FILE too, or leave it out")
    file = None
    if trace is not None:
        file = TraceFile(
            trace,
            0.0 if from_text is None else parse_trace_time("--trace-from", from_text),
            None if until_text is None else parse_trace_time("--trace-until", until_text),
        )
    changes = tuple(pair for pair in pairs if is_timed(pair))
    return (
        RunInputs(file, faults, tuple(inject), changes),
        tuple(pair for pair in pairs if not is_timed(pair)),
    )


def planned_run(
    requested: NewTwinOptions, inputs: RunInputs, days: float, warmup_days: float, start_from: str | None
) -> PlannedRun:
    """Plan a run, and report on stderr which rows of its files it does not play. Raises InvalidInput that
    names the first invalid option or row."""
    if start_from is not None:
        check_start_options(requested, inputs.trace)
        snapshots, start = start_snapshots(start_from)
        plan, faults = plan_from_snapshots(snapshots, days, warmup_days, inputs)
        return PlannedRun(plan, _reported(None, faults), start)
    source = None
    if inputs.trace is not None:
        with file_progress(inputs.trace.path, "trace") as on_bytes:
            source = TraceSource(inputs.trace, round((warmup_days + days) * US_PER_DAY), on_bytes)
            sites = requested.sites(trace=source)
    else:
        sites = requested.sites()
    if inputs.faults is None:
        requests, faults = timed_requests(inputs, sites, warmup_days + days)
    else:
        with file_progress(inputs.faults, "faults") as on_bytes:
            requests, faults = timed_requests(inputs, sites, warmup_days + days, on_bytes=on_bytes)
    plan = RunPlan(sites, days, warmup_days, requests)
    if source is not None:
        plan = replace(plan, trace=source.rest)
    return PlannedRun(plan, _reported(source, faults), None)


def _reported(trace: TraceSource | None, faults: RecordedFaults | None) -> RecordedCounts:
    notes = [None if trace is None else trace.note(), None if faults is None else faults.note]
    for note in filter(None, notes):
        echo(note, to_stderr=True)
    return RecordedCounts(None if trace is None else trace.counts, None if faults is None else faults.counts)
