"""Messages of topology engineering: plans for new trunks, and the stages of their rewiring."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.messages.operator import AbortRewiring, ApproveRewiring, PlanTopology
from schemas.messages.traffic import Ppm
from schemas.names import OcsCircuit, RewiringName, UncheckedName

StageNumber = Annotated[int, Field(ge=0)]
RewiringOutcome = Literal["completed", "aborted", "refused", "taken-back", "overtaken"]
PlanReason = Literal["as-installed", "use", "served", "transit", "operator"]


class TopologyBody(Body):
    writer = "topology"


class RewiringPlanned(TopologyBody):
    """New trunks are planned for a `reason`: `circuits` are made in `stages`, which take `takes_us` if none
    has to wait. The figures are for the most demanding of the last hours: the largest use goes from `use_ppm`
    to `use_then_ppm`, and the share of the demand on transit blocks from `transit_ppm` to `transit_then_ppm`.
    `bound_ppm` is a lower bound of the use for any topology. The plan is carried out once approved;
    `approval` is who approves it."""

    rewiring: RewiringName
    reason: PlanReason
    approval: Literal["automatic", "operator"]
    circuits: Annotated[int, Field(ge=0)]
    stages: StageNumber
    takes_us: Annotated[int, Field(ge=0)]
    use_ppm: Ppm
    use_then_ppm: Ppm
    transit_ppm: Ppm
    transit_then_ppm: Ppm
    bound_ppm: Ppm


class TopologyKept(TopologyBody):
    """The planner searched for better trunks, and found none that are worth a rewiring."""

    reason: PlanReason
    use_ppm: Ppm
    use_then_ppm: Ppm
    transit_ppm: Ppm
    transit_then_ppm: Ppm
    why: str


class RewiringApproved(TopologyBody):
    """A plan that had waited for an operator is carried out."""

    rewiring: RewiringName


class StageBegun(TopologyBody):
    """The circuits to remove carry no new traffic from now on. `takes_back` is true if the stage undoes an
    earlier one."""

    rewiring: RewiringName
    stage: StageNumber
    takes_back: bool
    drained: tuple[OcsCircuit, ...]


class StageWaits(TopologyBody):
    """A stage cannot start yet, because it would leave a block too little capacity or because one of its
    domains is without control; or it cannot be undone yet, for the latter reason."""

    rewiring: RewiringName
    stage: StageNumber
    reason: str


class RewireCircuits(TopologyBody):
    """Command to the OCSes: remove these circuits, then make those."""

    rewiring: RewiringName
    stage: StageNumber
    removed: tuple[OcsCircuit, ...]
    made: tuple[OcsCircuit, ...]


class StageUndrained(TopologyBody):
    """These circuits carry traffic, again or for the first time."""

    rewiring: RewiringName
    stage: StageNumber
    circuits: tuple[OcsCircuit, ...]


class RewiringEnded(TopologyBody):
    rewiring: RewiringName
    outcome: RewiringOutcome
    reason: str


class PlanRefused(TopologyBody):
    """The topology refuses an operator's request."""

    refuses = (PlanTopology, ApproveRewiring, AbortRewiring)

    subject: UncheckedName
    reason: str
