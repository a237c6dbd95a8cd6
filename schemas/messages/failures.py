"""Messages about faults and about changes of runtime parameters. Faults are the ground truth: only hardware
services and evaluation may use them."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, is_none
from schemas.config.parameter import SETTINGS_MAX, ParameterChange, ParameterValue
from schemas.messages.operator import ClearFault, InjectFault, SetParameters
from schemas.names import DrillName, FabricName, FaultKind, FaultName, TargetName, UncheckedName
from schemas.request_terms import FaultSeverity


class FailuresBody(Body):
    writer = "failures"


def is_domain_failure(*, injected: bool, expires_us: int | None) -> bool:
    """Whether a whole domain failed: the only random faults that end by themselves are those of domains."""
    return not injected and expires_us is not None


class FaultBegan(FailuresBody):
    """`severity` is set for kinds that have one, in the kind's unit. It is reached after `onset_us`, which is
    0 for a sudden fault. `expires_us` is set for an injection with a duration, and for a domain failure,
    which building operations end at that time."""

    fault: FaultName
    kind: FaultKind
    target: TargetName
    injected: bool
    severity: FaultSeverity | None
    onset_us: Annotated[int, Field(ge=0)] = 0
    expires_us: Annotated[int, Field(ge=0)] | None
    drill: DrillName | None = Field(default=None, exclude_if=is_none)
    """The drill that injected it."""

    @property
    def is_domain_failure(self) -> bool:
        return is_domain_failure(injected=self.injected, expires_us=self.expires_us)


class FaultEnded(FailuresBody):
    fault: FaultName
    kind: FaultKind
    target: TargetName
    how: Literal["repaired", "cleared", "expired"]


class FaultRefused(FailuresBody):
    """An injection or a clear that changes nothing: the target is not a part of this fabric, or the fault has
    ended."""

    refuses = (InjectFault, ClearFault)

    subject: UncheckedName
    reason: str


class ParametersChanged(FailuresBody):
    """Every service of the fabric uses these values from here on. The list is empty if none of them is
    new."""

    changes: Annotated[tuple[ParameterChange, ...], Field(max_length=SETTINGS_MAX)]

    def of(self, section: str) -> dict[str, ParameterValue]:
        """The new values of a section of the configuration, by field."""
        return {
            change.name.removeprefix(f"{section}."): change.value
            for change in self.changes
            if change.name.startswith(f"{section}.")
        }


class ParametersRefused(FailuresBody):
    """No parameter changes: a value is not allowed, or not together with the others."""

    refuses = (SetParameters,)

    fabric: FabricName
    reason: str
