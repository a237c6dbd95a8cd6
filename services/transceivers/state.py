"""What is known at the link ends of one fabric. Arrays are indexed by link-end number, 96 a cube."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schemas.config import SuperpodConfig, TransceiversConfig
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


def commission(fabric: str, config: SuperpodConfig, at_us: int) -> TransceiversState:
    """All ends dark."""
    cubes = config.pod.cubes
    ends = cubes * ENDS_PER_CUBE
    return TransceiversState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.transceivers,
        cubes=cubes,
        next_frame_us=frame_after_us(config.transceivers, at_us),
        peer=np.full(ends, NO_END, dtype=np.int32),
        lit=np.zeros(ends, dtype=np.uint8),
        loss_db=np.full(ends, np.nan),
        log10_ber=np.full(ends, np.nan),
        excess_db=np.zeros(ends),
        failed=np.zeros(ends, dtype=np.int16),
        code=np.full(ends, DARK, dtype=np.uint8),
        changed_us=np.full(cubes, at_us, dtype=np.int64),
    )


def frame_after_us(config: TransceiversConfig, at_us: int) -> int | None:
    """When the first telemetry frame after this moment is due: at whole multiples of the interval. None if
    there are no frames."""
    interval_us = config.telemetry_interval_s * US_PER_S
    return (at_us // interval_us + 1) * interval_us if interval_us else None
