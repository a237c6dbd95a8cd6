"""What is known at the link ends of one fabric. Arrays are indexed by link-end number, 96 a cube."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schemas.config import TransceiversConfig
from schemas.sequencer import FabricCommissioned
from shared.basics.units import US_PER_S
from shared.engine.state import State
from shared.models.superpod.wiring import ENDS_PER_CUBE

NO_END = -1
BOTH_STRANDS = 3

STATES = ("dark", "up", "degraded", "down")
"""Link states by code."""
DARK, UP, DEGRADED, DOWN = range(len(STATES))


@dataclass(frozen=True, slots=True)
class EndFault:
    """An active fault of one link end: a dead module or cable, or a connector with this excess loss."""

    end: int
    excess_db: float | None


@dataclass
class TransceiversState(State):
    """`peer` is the far end that a circuit is wanted to (−1 none); `lit` has bit s set where strand s is
    made; `loss_db` is that of the worse strand's fibre and OCS, without connector faults, `log10_ber` that of
    the worst lane that the end receives, with them (both NaN where no circuit is wanted); `excess_db` is what
    the end's connector faults add; `failed` counts its dead modules and cables; `code` indexes STATES.
    """

    config: TransceiversConfig
    cubes: int
    next_frame_us: int | None
    peer: npt.NDArray[np.int32]
    lit: npt.NDArray[np.uint8]
    loss_db: npt.NDArray[np.float64]
    log10_ber: npt.NDArray[np.float64]
    excess_db: npt.NDArray[np.float64]
    failed: npt.NDArray[np.int16]
    code: npt.NDArray[np.uint8]
    changed_us: npt.NDArray[np.int64]
    faults: dict[str, EndFault] = field(default_factory=dict)


def commission(fabric: str, message: FabricCommissioned) -> TransceiversState:
    """All ends dark."""
    config, cubes = message.config.transceivers, message.config.pod.cubes
    ends = cubes * ENDS_PER_CUBE
    return TransceiversState(
        fabric=fabric,
        seed=message.config.seed,
        now_us=0,
        config=config,
        cubes=cubes,
        next_frame_us=config.telemetry_interval_s * US_PER_S or None,
        peer=np.full(ends, NO_END, dtype=np.int32),
        lit=np.zeros(ends, dtype=np.uint8),
        loss_db=np.full(ends, np.nan),
        log10_ber=np.full(ends, np.nan),
        excess_db=np.zeros(ends),
        failed=np.zeros(ends, dtype=np.int16),
        code=np.full(ends, DARK, dtype=np.uint8),
        changed_us=np.zeros(cubes, dtype=np.int64),
    )
