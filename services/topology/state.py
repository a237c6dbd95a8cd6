"""The circuits that a network's OCSes were told to make, what is known of the network, and the rewiring that
is planned or under way."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config.dcn import DcnConfig, DemandConfig, TopologyConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.messages.topology import PlanReason, RewiringOutcome
from schemas.names import OcsCircuit
from shared.engine.state import State
from shared.models.dcn.routing.carried_traffic import Flow, NetworkDemand
from shared.models.network.blocks import DOMAINS, NetworkLayout, network_of
from shared.models.network.wiring import NO_PORT, wiring_of

NO_HOUR = -1
Phase = Literal["planned", "waiting", "draining", "switching", "qualifying", "undraining", "parking"]
BlockCircuit = tuple[int, int, int]
"""(OCS, block on the North side, block on the South side)."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """What a stage takes away and makes, by blocks: which ports these take is found when it begins.
    `kept_ppm` is the least share of any block's capacity meanwhile; `domain` is None where there are
    several."""

    removed: tuple[BlockCircuit, ...]
    made: tuple[BlockCircuit, ...]
    domain: int | None
    kept_ppm: int
    takes_us: int


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The circuits of the stage that is under way. `unfit` are those made that did not qualify; `takes_back`
    where they undo what the stage did before; `refused` where the OCSes would not, and are asked again once
    they have control."""

    removed: tuple[OcsCircuit, ...]
    made: tuple[OcsCircuit, ...]
    unfit: tuple[OcsCircuit, ...] = ()
    takes_back: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Rewiring:
    """A plan, and where it is. `least_gbps` is by block what it carries before or after, whichever is less:
    the promise is a share of that. `cause` is the id of the message that it answers, or that let it come.
    `stage` counts those that were carried out: it is the number of the one that is under way or comes next,
    which began at `stage_begun_us`. `aborted_by` is the id of the message that ends it after this stage.
    `stages_planned` is told of one that has ended, too, of which the stages are forgotten."""

    reason: PlanReason
    approval: Literal["automatic", "operator"]
    cause: str
    planned_us: int
    stages: tuple[StagePlan, ...]
    stages_planned: int
    circuits: int
    takes_us: int
    use_ppm: int
    use_then_ppm: int
    transit_ppm: int
    transit_then_ppm: int
    bound_ppm: int
    least_gbps: tuple[float, ...]
    phase: Phase = "planned"
    stage: int = 0
    begun_us: int | None = None
    due_us: int | None = None
    waits_for: str | None = None
    stage_begun_us: int | None = None
    aborted_by: str | None = None
    stage_progress: StageProgress | None = None


@dataclass(frozen=True, slots=True)
class EndedRewiring(Rewiring):
    outcome: RewiringOutcome = "completed"
    ended_because: str = ""
    ended_us: int = 0


@dataclass
class TopologyState(State):
    """`south_of` (OCSes, radix) is what the OCSes were told, by North port; `links` (B, B) carry traffic.
    `dark` (OCSes,) counts why an OCS has no light, `control_faults` by domain; `block_faults` by block.
    `current` has the rewiring that is planned or under way, under its number; `ended` those that ended
    lately. `unfit` are circuits that did not qualify: others are tried first. `looked_us` is when it was last
    looked for other trunks without being asked to."""

    config: TopologyConfig
    network: NetworkConfig
    demand: DemandConfig
    commissioned_us: int
    south_of: npt.NDArray[np.int16]
    links: npt.NDArray[np.int32]
    dark: npt.NDArray[np.int16]
    control_faults: npt.NDArray[np.int16]
    block_faults: npt.NDArray[np.int16]
    hour: int
    jobs: tuple[Flow, ...]
    installed: bool
    planned: int
    kept: int
    circuits_made: int
    last_search_us: int | None
    outcomes: dict[str, int]
    unfit: set[OcsCircuit]
    current: dict[int, Rewiring]
    ended: dict[int, EndedRewiring]

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.demand)

    def rewiring_name(self, number: int) -> str:
        return f"{self.fabric}/rewiring-{number}"


def commission(fabric: str, config: DcnConfig, at_us: int) -> TopologyState:
    """No circuit yet; what is done first is to make those of a uniform mesh."""
    plant = network_of(config.network)
    blocks = len(plant.blocks)
    return TopologyState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.topology,
        network=config.network,
        demand=config.demand,
        commissioned_us=at_us,
        south_of=np.full((plant.ocs_count, wiring_of(plant).radix), NO_PORT, dtype=np.int16),
        links=np.zeros((blocks, blocks), dtype=np.int32),
        dark=np.zeros(plant.ocs_count, dtype=np.int16),
        control_faults=np.zeros(DOMAINS, dtype=np.int16),
        block_faults=np.zeros(blocks, dtype=np.int16),
        hour=NO_HOUR,
        jobs=(),
        installed=False,
        planned=0,
        kept=0,
        circuits_made=0,
        last_search_us=None,
        outcomes={},
        unfit=set(),
        current={},
        ended={},
    )
