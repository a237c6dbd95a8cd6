"""What is broken in truth. Only hardware twins and the score may act on these."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import FaultKind, FaultName, GivenName, TargetName
from schemas.operator import ClearFault, InjectFault


class FailuresBody(Body):
    writer = "failures"


class FaultBegan(FailuresBody):
    """`excess_loss_db` is set for a dirty connector; `expires_us` for an injection with an expiry."""

    fault: FaultName
    kind: FaultKind
    target: TargetName
    injected: bool
    excess_loss_db: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    expires_us: Annotated[int, Field(ge=0)] | None


class FaultEnded(FailuresBody):
    fault: FaultName
    kind: FaultKind
    target: TargetName
    how: Literal["repaired", "cleared", "expired"]


class FaultRefused(FailuresBody):
    """An injection or a clear that changes nothing: the target is no part of this fabric, or the fault has
    ended.
    """

    refuses = (InjectFault, ClearFault)

    subject: GivenName
    reason: str
