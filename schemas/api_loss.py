"""What the HTTP API tells of the loss of a part of a datacenter network, before it happens.

Rates are in Gb/s one way, shares are fractions.
"""

from schemas.api_effects import CarriedFigures, JobEffect
from schemas.body import Model
from schemas.names import FaultKind, FaultName


class BlockLoss(Model):
    """What one block loses of the links that carry its traffic; `lost` is the share of its capacity.
    `cut_off` where nothing is left to it, and `pod` hangs on it."""

    name: str
    pod: str | None
    links: int
    links_lost: int
    gbps: float
    gbps_lost: float
    lost: float
    cut_off: bool


class RewiringEffect(Model):
    """What becomes of the rewiring that is planned or under way, or is planned because of the loss."""

    name: str
    effect: str


class LossReport(Model):
    """What is lost if a part breaks at `at_us` by a fault of its `kind`, found on a copy of the twin; nothing
    is done.

    `down_by` are the active faults by which it is down already, its own or those of what it is in, so that
    nothing more is lost. `circuits_fixed` are circuits that nobody can change then, and could before.
    `blocks` are those that lose links; `links` carry traffic now, `lost` is the share of the capacity of the
    whole network. `pods_cut_off` have no way to others any more. `before` is how the demand of the hour is
    carried, null until traffic was first carried, `at_once` by the weights that are left, and `after` with
    weights solved anew, `traffic.react_s` later. `jobs` are those over several pods that go faster or slower
    then, those first that lose most. `rewiring` is null where none is planned or under way.
    """

    target: str
    kind: FaultKind
    at_us: int
    down_by: tuple[FaultName, ...]
    links: int
    links_lost: int
    gbps: float
    gbps_lost: float
    lost: float
    blocks: tuple[BlockLoss, ...]
    pods_cut_off: tuple[str, ...]
    before: CarriedFigures | None
    at_once: CarriedFigures | None
    after: CarriedFigures | None
    jobs: tuple[JobEffect, ...]
    circuits_fixed: int
    rewiring: RewiringEffect | None
