"""Messages of the cubes: hosts lost and back, health verdicts, drains, and required repairs."""

from typing import Literal

from pydantic import Field

from schemas.body import Body, is_none
from schemas.messages.operator import DrainCube, UndrainCube
from schemas.names import CubeIndex, HostIndex, TargetName, UncheckedName


class CubesBody(Body):
    writer = "cubes"


class HostDown(CubesBody):
    """A host missed its heartbeat (`host`), or reports a chip as dead (`chip`), or the link over a copper
    cable at its tray as lost (`cable`)."""

    cube: CubeIndex
    host: HostIndex
    reason: Literal["host", "chip", "cable"]


class HostUp(CubesBody):
    cube: CubeIndex
    host: HostIndex


class CubeUnhealthy(CubesBody):
    """The verdict changed to unhealthy; `reasons` name the parts at fault."""

    cube: CubeIndex
    reasons: tuple[str, ...]


class CubeHealthy(CubesBody):
    cube: CubeIndex


class CubePowerLost(CubesBody):
    """All hosts of the cube missed their heartbeats within one interval: the cube lost its power."""

    cube: CubeIndex


class CubePowerRegained(CubesBody):
    """A host of a cube without power sends heartbeats again."""

    cube: CubeIndex


class CubeOverheated(CubesBody):
    """A host reports that its chips are too hot: they run slower. The cube stays in use."""

    cube: CubeIndex


class CubeCooled(CubesBody):
    """No host of the cube reports chips that are too hot any more."""

    cube: CubeIndex


class CubeDrained(CubesBody):
    """The cube is drained, at an operator's request or for planned work; then `why` names the work. A
    `window` is a drain that an operator planned; `until_us` is its end, if it has one. `was_until_us` is the
    other end of the drain that it replaces."""

    cube: CubeIndex
    why: Literal["maintenance", "rollout", "window"] | None = Field(default=None, exclude_if=is_none)
    until_us: int | None = Field(default=None, exclude_if=is_none)
    was_until_us: int | None = Field(default=None, exclude_if=is_none)


class CubeUndrained(CubesBody):
    cube: CubeIndex


class DrainPlanned(CubesBody):
    """An operator has planned a drain from `from_us` on, until `until_us` or until the cube is undrained."""

    cube: CubeIndex
    from_us: int
    until_us: int | None = Field(default=None, exclude_if=is_none)


class PlannedDrainCancelled(CubesBody):
    """A planned drain will not begin: an operator cancelled it, or has drained the cube before."""

    cube: CubeIndex
    from_us: int


class DrainRefused(CubesBody):
    refuses = (DrainCube, UndrainCube)

    target: UncheckedName
    reason: str


class RepairRequested(CubesBody):
    kind: Literal["host", "chip", "cable", "cube-power", "cooling", "link", "connector"]
    target: TargetName


class RepairWithdrawn(CubesBody):
    """The part works again without a repair."""

    target: TargetName
