"""Reads traces, for tests."""

from pathlib import Path

from ops.lab.workload_trace import TraceFile, TraceSource
from schemas.config.pods import FabricConfig
from schemas.config.workload import TraceRow
from schemas.limits import DURATION_US_MAX


def read_trace(path: Path, config: FabricConfig) -> tuple[TraceRow, ...]:
    """Return the rows of a trace file for pods of this configuration, in order of submission."""
    return TraceSource(TraceFile(path), DURATION_US_MAX)(config)
