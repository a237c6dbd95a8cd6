"""What the cubes of a fabric remember as it begins."""

import numpy as np

from schemas.config import AnyPodConfig
from services.cubes.maintenance import plan_from
from services.cubes.state import CubesState


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> CubesState:
    """All parts work, and no cube is drained; the first work and the first roll-out are planned."""
    cubes = config.pod.cubes
    state = CubesState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.cubes,
        hosts={},
        heartbeats={},
        modules={},
        repairs_open={},
        bad_parts=np.zeros(cubes, dtype=np.int32),
        drained=np.zeros(cubes, dtype=np.bool_),
        unpowered=np.zeros(cubes, dtype=np.bool_),
        changed_us=np.full(cubes, at_us, dtype=np.int64),
        hosts_down=0,
        healthy=cubes,
        healthy_cube_us=0,
        at_us=at_us,
    )
    plan_from(state, at_us)
    return state
