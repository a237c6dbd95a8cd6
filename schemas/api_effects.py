"""What the HTTP API tells of jobs over several pods and of the traffic of networks, where something that is
not done would change them.

Rates are in Gb/s one way, shares are fractions.
"""

from typing import Literal

from schemas.body import Model
from schemas.names import FabricName, SliceName


class CarriedFigures(Model):
    """How the demand is carried: `use` of the fullest trunk, and the `bound` that no weights can better; the
    shares of the demand that are `served`, and on `transit` blocks; `path`, the trunks that a bit passes in
    the mean. `cut_off` counts pairs of blocks that want something and have no path."""

    use: float
    bound: float
    served: float
    transit: float
    path: float
    cut_off: int


class TrafficEffect(Model):
    """How a network carries its demand `after`, where and when that differs most from what it would be if
    nothing were done, which is `before`; null until traffic was first carried."""

    fabric: FabricName
    at_us: int
    before: CarriedFigures
    after: CarriedFigures


class JobPace(Model):
    """How a job over several pods goes: `speed` as a share of full speed, 0 while it stands, and what the
    network gives each of its pods, null where none says."""

    speed: float
    gbps: float | None


class JobEffect(Model):
    """What becomes of a job over several pods, at the moment at which its speed differs most from what it
    would be if nothing were done, which is `before`; `slices` are those it is on. By half of that or more it
    differs from `from_us` until `until_us`, null if it does still at the end of what was looked at."""

    job: SliceName
    slices: tuple[SliceName, ...]
    becomes: Literal["stands", "slower", "faster", "goes"]
    before: JobPace
    after: JobPace
    from_us: int
    until_us: int | None
