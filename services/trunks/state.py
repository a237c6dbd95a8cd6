"""State of the circuits of a network: lit, fit and drained."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schemas.config.dcn import DcnConfig, TrunksConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.names import OcsCircuit
from shared.engine.state import State
from shared.models.network.blocks import NetworkLayout, network_of
from shared.models.network.wiring import NO_PORT, wiring_of

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CircuitQualification:
    """Circuits of a stage whose errors are counted until `due_us`.

    `cause` is the id of the message that reported the circuits as made.
    """

    rewiring: str
    stage: int
    circuits: tuple[OcsCircuit, ...]
    due_us: int
    cause: str


@dataclass
class TrunksState(State):
    """State of the circuits of a network. Faults are counts of active ones."""

    config: TrunksConfig
    network: NetworkConfig
    qualify_s: float
    south_of: npt.NDArray[np.int16]
    """South port of each circuit; −1 for none."""
    lit: BoolArray
    """Whether the circuit's mirrors make it."""
    fit: BoolArray
    """Whether the circuit has passed its qualification."""
    drained: BoolArray
    """Whether traffic is kept off the circuit."""
    block_faults: npt.NDArray[np.int16]
    bundle_faults: npt.NDArray[np.int16]
    """By block and rack."""
    links: npt.NDArray[np.int32]
    """Links that carry traffic, of shape (B, B), as last reported."""
    changed_us: npt.NDArray[np.int64]
    """By block."""
    trunk_changed_us: npt.NDArray[np.int64]
    """When `links` last changed, of shape (B, B)."""
    qualification_count: int
    qualifications: dict[int, CircuitQualification]
    patched: dict[int, int] = field(default_factory=dict)
    """Ports whose fibre uses a spare port (`shared.models.ocs.patched_fibres`)."""

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.network)

    def block_name(self, block: int) -> str:
        return f"{self.fabric}/block-{block}"


def commission(fabric: str, config: DcnConfig, at_us: int) -> TrunksState:
    """A network without circuits and faults."""
    plant = network_of(config.network)
    shape, blocks = (plant.ocs_count, wiring_of(plant).radix), len(plant.blocks)
    return TrunksState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.trunks,
        network=config.network,
        qualify_s=config.topology.qualify_s,
        south_of=np.full(shape, NO_PORT, dtype=np.int16),
        lit=np.zeros(shape, dtype=np.bool_),
        fit=np.zeros(shape, dtype=np.bool_),
        drained=np.zeros(shape, dtype=np.bool_),
        block_faults=np.zeros(blocks, dtype=np.int16),
        bundle_faults=np.zeros((blocks, plant.racks), dtype=np.int16),
        links=np.zeros((blocks, blocks), dtype=np.int32),
        changed_us=np.full(blocks, at_us, dtype=np.int64),
        trunk_changed_us=np.full((blocks, blocks), at_us, dtype=np.int64),
        qualification_count=0,
        qualifications={},
    )
