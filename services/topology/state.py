"""State of the topology of a network: commanded circuits, hardware status and rewirings."""

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
from shared.models.network.blocks import CONTROL_DOMAINS, NetworkLayout, network_of
from shared.models.network.wiring import NO_PORT, wiring_of

NO_HOUR = -1
RewiringPhase = Literal["planned", "waiting", "draining", "switching", "qualifying", "undraining", "parking"]
BlockCircuit = tuple[int, int, int]
"""(OCS, block on the North side, block on the South side)."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """The blocks whose circuits a stage removes and makes; ports are assigned when it starts.

    `kept_ppm` is the least share of any block's capacity during the stage. `domain` is None if it spans
    several.
    """

    removed: tuple[BlockCircuit, ...]
    made: tuple[BlockCircuit, ...]
    domain: int | None
    kept_ppm: int
    takes_us: int


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The circuits of the current stage.

    `unfit` are new circuits that did not qualify. `takes_back` is true while the stage is being undone.
    `refused` is true if the OCSes refused the command, which is sent again when they have control.
    """

    removed: tuple[OcsCircuit, ...]
    made: tuple[OcsCircuit, ...]
    unfit: tuple[OcsCircuit, ...] = ()
    takes_back: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Rewiring:
    """A rewiring plan and its progress."""

    reason: PlanReason
    approval: Literal["automatic", "operator"]
    cause: str
    """Id of the message that requested or approved it."""
    planned_us: int
    stages: tuple[StagePlan, ...]
    """Empty for a rewiring that has ended."""
    stages_planned: int
    circuits: int
    takes_us: int
    use_ppm: int
    use_then_ppm: int
    transit_ppm: int
    transit_then_ppm: int
    bound_ppm: int
    least_gbps: tuple[float, ...]
    """By block, the smaller of its capacities before and after; the capacity floor is a share of it."""
    phase: RewiringPhase = "planned"
    stage: int = 0
    """Number of stages done, which is the number of the current or next stage."""
    begun_us: int | None = None
    due_us: int | None = None
    waits_for: str | None = None
    stage_begun_us: int | None = None
    aborted_by: str | None = None
    """Id of the message that ends the rewiring after this stage."""
    stage_progress: StageProgress | None = None


@dataclass(frozen=True, slots=True)
class EndedRewiring(Rewiring):
    outcome: RewiringOutcome = "completed"
    ended_because: str = ""
    ended_us: int = 0


@dataclass
class TopologyState(State):
    """State of the topology of a network."""

    config: TopologyConfig
    network: NetworkConfig
    demand: DemandConfig
    commissioned_us: int
    south_of: npt.NDArray[np.int16]
    """Commanded South port by North port, of shape (OCSes, radix)."""
    links: npt.NDArray[np.int32]
    """Links that carry traffic, of shape (B, B)."""
    dark: npt.NDArray[np.int16]
    """Number of reasons why an OCS is dark, of shape (OCSes,)."""
    control_faults: npt.NDArray[np.int16]
    """By domain."""
    block_faults: npt.NDArray[np.int16]
    """By block."""
    hour: int
    jobs: tuple[Flow, ...]
    installed: bool
    planned: int
    kept: int
    circuits_made: int
    last_search_us: int | None
    """Time of the last automatic search for a better topology."""
    outcomes: dict[str, int]
    unfit: set[OcsCircuit]
    """Circuits that did not qualify; others are tried first."""
    current: dict[int, Rewiring]
    """The planned or running rewiring, by number; at most one."""
    ended: dict[int, EndedRewiring]
    """The last rewirings that ended, by number."""

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    @property
    def model(self) -> NetworkDemand:
        return NetworkDemand(self.seed, self.network, self.demand)

    def rewiring_name(self, number: int) -> str:
        return f"{self.fabric}/rewiring-{number}"


def commission(fabric: str, config: DcnConfig, at_us: int) -> TopologyState:
    """A network without circuits; its first rewiring makes a uniform mesh."""
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
        control_faults=np.zeros(CONTROL_DOMAINS, dtype=np.int16),
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
