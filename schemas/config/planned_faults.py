"""Recorded faults that a fabric has from its commissioning on: each begins at its own time."""

from typing import Annotated

from pydantic import Field

from schemas.body import Model, is_none
from schemas.limits import DURATION_US_MAX, PLANNED_FAULTS_MAX
from schemas.names import FaultKind, TargetName
from schemas.request_terms import DurationUs, FaultSeverity


class PlannedFault(Model):
    """One recorded fault, which is injected `begin_us` after the fabric's commissioning. The other fields are
    those of `InjectFault`."""

    begin_us: Annotated[int, Field(ge=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
    kind: FaultKind
    target: TargetName
    duration_us: DurationUs | None = Field(default=None, exclude_if=is_none)
    severity: FaultSeverity | None = Field(default=None, exclude_if=is_none)
    onset_us: DurationUs | None = Field(default=None, exclude_if=is_none)


PlannedFaults = Annotated[tuple[PlannedFault, ...], Field(min_length=1, max_length=PLANNED_FAULTS_MAX)]
