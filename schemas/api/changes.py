"""Changes to a site that a what-if query tries on a copy: what changes, and after how much time."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from schemas.api.requests import FaultRequest, ParametersRequest, SliceRequest
from schemas.body import Body, Model
from schemas.limits import DURATION_S_MAX

CHANGES_MAX = 100
"""Maximum number of changes of one forecast."""

AfterS = Annotated[
    float,
    Field(
        ge=0,
        le=DURATION_S_MAX,
        allow_inf_nan=False,
        description="simulated seconds from the start until the change is made",
    ),
]


class PartChange(Model):
    """A change of one part. `change` names it."""

    change: str
    target: str = Field(examples=["pod-0/cube-12"])
    after_s: AfterS = 0.0


class DrainChange(PartChange):
    """Drain a cube."""

    change: Literal["drain"]


class UndrainChange(PartChange):
    """Put a drained cube back into use."""

    change: Literal["undrain"]


class RepairChange(PartChange):
    """Clear the faults of a part and of what is in it: those that are active now."""

    change: Literal["repair"]


class InjectChange(FaultRequest):
    """Inject a fault, as `POST /v1/faults` does."""

    change: Literal["inject"]
    after_s: AfterS = 0.0


class RequestChange(SliceRequest):
    """Request a slice, as `POST /v1/slices` does."""

    change: Literal["request"]
    after_s: AfterS = 0.0


class SetChange(ParametersRequest):
    """Set parameters of a fabric; by default of the first pod of the site, or of its first fabric if it has
    no pod."""

    change: Literal["set"]
    fabric: str | None = None
    after_s: AfterS = 0.0


Change = DrainChange | UndrainChange | RepairChange | InjectChange | RequestChange | SetChange
"""One change. The field `change` selects its type."""
ChangeField = Annotated[Change, Field(discriminator="change")]


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request to a fabric of a copy, `after_us` after the start."""

    after_us: int
    fabric: str
    body: Body
