"""The inputs of a run in addition to its sites: recorded faults, injected faults and parameter changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ops.lab.injections import injections
from ops.lab.parameter_changes import parameter_changes, parse_change
from ops.lab.recorded_csv import OnBytes
from ops.lab.recorded_faults import RecordedFaults, read_faults
from ops.lab.timed_requests import fabrics_of, numbered
from ops.lab.workload_trace import TraceFile
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_DAY
from shared.engine.site_driver import LabRequest


@dataclass(frozen=True, slots=True)
class RunInputs:
    """A recorded trace, a file of recorded faults, and the texts of `--inject` and of timed `--set`
    options."""

    trace: TraceFile | None = None
    faults: Path | None = None
    inject: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Return the command line options for these inputs, valid in any folder."""
        words = [word for text in self.changes for word in ("--set", text)]
        words += [] if self.trace is None else self.trace.options()
        words += [] if self.faults is None else ["--faults", str(self.faults.absolute())]
        return words + [word for text in self.inject for word in ("--inject", text)]


def timed_requests(
    inputs: RunInputs,
    sites: Sequence[SitePlan],
    days: float,
    *,
    since_us: int = 0,
    number: int = 1,
    on_bytes: OnBytes | None = None,
) -> tuple[tuple[LabRequest, ...], RecordedFaults | None]:
    """Return (requests, counts): the requests of a run of `days` from `since_us`, numbered from `number`, in
    order of time, and the counts of the file of faults.

    At equal times, parameter changes come first, then recorded faults, then injected faults. Raises
    InvalidInput that names the first invalid input and its problem.
    """
    fabrics, end_us = fabrics_of(sites), round(days * US_PER_DAY)
    changes = parameter_changes([parse_change(text) for text in inputs.changes], fabrics, end_us)
    recorded = None if inputs.faults is None else read_faults(inputs.faults, fabrics, end_us, on_bytes)
    injected = injections(inputs.inject, fabrics, end_us, days)
    groups = (changes, () if recorded is None else recorded.requests, injected)
    return numbered(groups, since_us=since_us, number=number), recorded
