"""What the cubes say: hosts lost and back, the health verdict, drains, and what needs repair."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import CubeIndex, TargetName


class CubesBody(Body):
    writer = "cubes"


class HostDown(CubesBody):
    """A host missed its heartbeat (`host`), or reports a chip as dead (`chip`)."""

    cube: CubeIndex
    host: Annotated[int, Field(ge=0, lt=16)]
    reason: Literal["host", "chip"]


class HostUp(CubesBody):
    cube: CubeIndex
    host: Annotated[int, Field(ge=0, lt=16)]


class CubeUnhealthy(CubesBody):
    """The verdict changed to unhealthy; `reasons` name the parts at fault."""

    cube: CubeIndex
    reasons: tuple[str, ...]


class CubeHealthy(CubesBody):
    cube: CubeIndex


class CubeDrained(CubesBody):
    cube: CubeIndex


class CubeUndrained(CubesBody):
    cube: CubeIndex


class DrainRefused(CubesBody):
    target: str
    reason: str


class RepairRequested(CubesBody):
    kind: Literal["host", "chip", "link", "connector"]
    target: TargetName


class RepairWithdrawn(CubesBody):
    """The part works again without a repair."""

    target: TargetName
