"""What the cubes of one fabric remember: hardware as it is, what monitoring saw of it, and drains."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config import AnyPodConfig, CubesConfig
from shared.engine.state import State
from shared.models.superpod.wiring import CHIPS_PER_HOST, HOSTS_PER_CUBE

Trouble = Literal["host", "chip"]
OpenRepair = Literal["open", "mended"]
"""Of a part whose repair was requested: `mended` once it has worked since, seen or not."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its chips: first what is true (active faults), then what its last due heartbeat showed.

    A silent host tells nothing of its chips. `dead_seen` are chips, 0 … 3.
    """

    faults: int = 0
    chip_faults: tuple[int, ...] = (0,) * CHIPS_PER_HOST
    silent_seen: bool = False
    dead_seen: tuple[int, ...] = ()

    @property
    def shows(self) -> tuple[bool, tuple[int, ...]]:
        """What its next heartbeat will show: whether it is silent, and its dead chips."""
        if self.faults:
            return True, ()
        return False, tuple(chip for chip, faults in enumerate(self.chip_faults) if faults)

    @property
    def trouble_seen(self) -> Trouble | None:
        if self.silent_seen:
            return "host"
        return "chip" if self.dead_seen else None


WORKING = Host()
"""What every host is that has no row in the table."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The next heartbeat of a host that has changed; `cause` is the id of the message that changed it."""

    at_us: int
    cause: str


@dataclass
class CubesState(State):
    """Tables hold only what is out of order: `hosts` and `heartbeats` by host number (16 × cube + host),
    `modules` (condition, degraded or failed) by link-end number, `repairs_open` by the name of a host or
    chip.

    Arrays have one entry a cube: `bad_parts` counts hosts seen down and failed modules, and a cube is healthy
    when it has none. `healthy_cube_us` is the integral of healthy cubes up to `at_us`.
    """

    config: CubesConfig
    hosts: dict[int, Host]
    heartbeats: dict[int, Heartbeat]
    modules: dict[int, str]
    repairs_open: dict[str, OpenRepair]
    bad_parts: npt.NDArray[np.int32]
    drained: npt.NDArray[np.bool_]
    changed_us: npt.NDArray[np.int64]
    hosts_down: int
    healthy: int
    healthy_cube_us: int
    at_us: int

    @property
    def cubes(self) -> int:
        return len(self.drained)

    def cube_name(self, cube: int) -> str:
        return f"{self.fabric}/cube-{cube}"

    def host_name(self, number: int) -> str:
        cube, host = divmod(number, HOSTS_PER_CUBE)
        return f"{self.fabric}/cube-{cube}/host-{host}"


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> CubesState:
    """All parts work, and no cube is drained."""
    cubes = config.pod.cubes
    return CubesState(
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
        changed_us=np.full(cubes, at_us, dtype=np.int64),
        hosts_down=0,
        healthy=cubes,
        healthy_cube_us=0,
        at_us=at_us,
    )
