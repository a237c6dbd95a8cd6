"""What people ask of the twin over the HTTP API, and the receipt that they get."""

from typing import Literal

from pydantic import Field, JsonValue

from schemas.api import LogMessage
from schemas.body import Model
from schemas.names import FaultKind


class SliceRequest(Model):
    """Ask for a slice; without a duration it runs until it is released. Without a fabric it is one of pod-0,
    or of the first fabric where there is no pod-0."""

    fabric: str | None = None
    shape: str = Field(examples=["4x4x8"])
    twisted: bool = False
    priority: int = 0
    duration_s: float | None = None


class FaultRequest(Model):
    """Break something; without a duration it stays broken until it is repaired or cleared."""

    kind: FaultKind
    target: str = Field(examples=["pod-0/ocs-17"])
    duration_s: float | None = None


class FabricRequest(Model):
    """Let a new fabric join a site that lives. `settings` are what differs from the configuration of its
    kind, as in a site's file: `{"seed": 7, "pod": {"cubes": 16}}`."""

    name: str = Field(examples=["pod-4"])
    site: str = Field(examples=["campus"])
    kind: str = "superpod"
    settings: dict[str, JsonValue] = Field(default={})


class RequestReceipt(Model):
    """What became of a request: `received` into the inbox, or `accepted` at a time, with what followed from
    it at once. `repeated` says that its idempotency key had been used before."""

    id: str
    repeated: bool
    status: Literal["received", "accepted"]
    at_us: int | None
    outcome: tuple[LogMessage, ...]
