"""What the cubes say: hosts lost and back, the health verdict, drains, and what needs repair."""

from typing import Literal

from schemas.body import Body
from schemas.names import CubeIndex, GivenName, HostIndex, TargetName
from schemas.operator import DrainCube, UndrainCube


class CubesBody(Body):
    writer = "cubes"


class HostDown(CubesBody):
    """A host missed its heartbeat (`host`), or reports a chip as dead (`chip`)."""

    cube: CubeIndex
    host: HostIndex
    reason: Literal["host", "chip"]


class HostUp(CubesBody):
    cube: CubeIndex
    host: HostIndex


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
    refuses = (DrainCube, UndrainCube)

    target: GivenName
    reason: str


class RepairRequested(CubesBody):
    kind: Literal["host", "chip", "link", "connector"]
    target: TargetName


class RepairWithdrawn(CubesBody):
    """The part works again without a repair."""

    target: TargetName
