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
    """Other trunks, planned for a `reason`: so many circuits are made in so many stages, which take so long
    if nothing waits. Of the hardest of the last hours the largest use is now `use_ppm` and will be
    `use_then_ppm`, and the share of the demand on transit blocks goes from `transit_ppm` to
    `transit_then_ppm`; no topology has a smaller use than `bound_ppm`, as far as is known. It is carried out
    once approved; `approval` says by whom."""

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
    """The circuits that go carry no new traffic from now on. `takes_back` where the stage undoes what it
    did before."""

    rewiring: RewiringName
    stage: StageNumber
    takes_back: bool
    drained: tuple[OcsCircuit, ...]


class StageWaits(TopologyBody):
    """A stage cannot start yet: it would break the promise, or one of its domains is without control. Or a
    stage cannot be undone yet, for the latter reason."""

    rewiring: RewiringName
    stage: StageNumber
    reason: str


class RewireCircuits(TopologyBody):
    """The command to the OCSes: these circuits go, then those come."""

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
