"""State of the cubes of one fabric: actual hardware faults, what monitoring has seen of them, and drains."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.config.cubes import CubesConfig
from schemas.config.pods import AnyPodConfig
from services.cubes.maintenance_schedule import maintenance_after
from shared.basics.units import US_PER_DAY, to_whole_us
from shared.engine.state import State
from shared.models.superpod.wiring import CHIPS_PER_HOST, HOSTS_PER_CUBE

HostTrouble = Literal["host", "chip", "cable"]
OpenRepair = Literal["open", "mended"]
"""State of a requested repair. `mended`: the part has worked since, whether seen or not."""


PlannedDrainReason = Literal["maintenance", "rollout", "window"]
"""Why a cube is drained by plan."""


class HeartbeatView(NamedTuple):
    """What a heartbeat shows: no heartbeat at all, dead chips, cables without a link, hot chips."""

    silent: bool
    dead: tuple[int, ...]
    cut: tuple[int, ...]
    hot: bool


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its chips: active faults first, then what its last due heartbeat showed.

    `dark` and `hot` count faults of its cube's power and cooling. `cut_cables` are cables at its tray by
    number in the cube, in order, once for each fault. A silent host reports nothing of its chips and cables.
    `dead_seen` are chips, 0 … 3.
    """

    faults: int = 0
    chip_faults: tuple[int, ...] = (0,) * CHIPS_PER_HOST
    cut_cables: tuple[int, ...] = ()
    dark: int = 0
    hot: int = 0
    silent_seen: bool = False
    dead_seen: tuple[int, ...] = ()
    cut_seen: tuple[int, ...] = ()
    hot_seen: bool = False

    @property
    def heartbeat_view(self) -> HeartbeatView:
        """What its next heartbeat will show."""
        if self.faults or self.dark:
            return HeartbeatView(True, (), (), False)
        dead = tuple(chip for chip, faults in enumerate(self.chip_faults) if faults)
        return HeartbeatView(False, dead, tuple(dict.fromkeys(self.cut_cables)), self.hot > 0)

    @property
    def trouble_seen(self) -> HostTrouble | None:
        if self.silent_seen:
            return "host"
        if self.dead_seen:
            return "chip"
        return "cable" if self.cut_seen else None


WORKING_HOST = Host()
"""A host without a row in the table."""


@dataclass(frozen=True, slots=True)
class HostHeartbeat:
    """The next heartbeat of a host that has changed; `cause` is the id of the message that changed it."""

    at_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class HostSilence:
    """Hosts of a cube that went silent since a host of it reported, and whose repair is not requested yet.

    `first` is the first of them; None if the cube's power has come back, and they may report soon. At
    `until_us` the next other host reports; with power back, every host has reported or missed. `deferred` are
    (host number, id of the message that changed it).
    """

    first: int | None
    until_us: int
    deferred: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedDrain:
    """A drain that ends by itself, and its end."""

    until_us: int
    why: PlannedDrainReason


@dataclass(frozen=True, slots=True)
class DrainWindow:
    """A drain that an operator has planned and that has not begun; without an end it lasts until the cube is
    undrained. `cause` is the id of the request."""

    from_us: int
    until_us: int | None
    cause: str


@dataclass
class CubesState(State):
    """State of the cubes of one fabric. Tables have rows only for what differs from normal; arrays have
    one entry a cube."""

    config: CubesConfig
    hosts: dict[int, Host]
    """By host number: 16 × cube + host."""
    heartbeats: dict[int, HostHeartbeat]
    """Heartbeats to check, by host number."""
    modules: dict[int, str]
    """Condition of a module, degraded or failed, by link-end number."""
    repairs_open: dict[str, OpenRepair]
    """By name of a host, chip, cable or cube."""
    bad_parts: npt.NDArray[np.int32]
    """Hosts seen down and failed modules; a cube without any is healthy."""
    drained: npt.NDArray[np.bool_]
    unpowered: npt.NDArray[np.bool_]
    """Whether monitoring takes the cube as without power."""
    changed_us: npt.NDArray[np.int64]
    hosts_down: int
    healthy: int
    healthy_cube_us: int
    """Integral of the number of healthy cubes up to `at_us`."""
    at_us: int
    silences: dict[int, HostSilence] = field(default_factory=dict)
    """By cube."""
    cube_faults: dict[int, int] = field(default_factory=dict)
    """Active faults of power and cooling, by cube."""
    outages: dict[str, int] = field(default_factory=dict)
    """Outages of the building's domains, which end by themselves: the affected cube by fault."""
    planned_drains: dict[int, PlannedDrain] = field(default_factory=dict)
    """By cube."""
    maintenance_count: int = 0
    """Number of maintenances so far."""
    next_maintenance_us: int | None = None
    next_rollout_us: int | None = None
    next_rollout_cube: int | None = None
    """Next cube of the running roll-out; None if none runs."""
    draw_seed: int = 0
    """Key of the draws of maintenance."""
    windows: dict[int, DrainWindow] = field(default_factory=dict)
    """By cube: the drain that is planned for it."""

    @property
    def cubes(self) -> int:
        return len(self.drained)

    def cube_name(self, cube: int) -> str:
        return f"{self.fabric}/cube-{cube}"

    def host_name(self, number: int) -> str:
        cube, host = divmod(number, HOSTS_PER_CUBE)
        return f"{self.fabric}/cube-{cube}/host-{host}"

    def hosts_of(self, cube: int) -> list[Host]:
        """The 16 hosts of a cube, in order."""
        first = cube * HOSTS_PER_CUBE
        return [self.hosts.get(number, WORKING_HOST) for number in range(first, first + HOSTS_PER_CUBE)]

    def is_hot(self, cube: int) -> bool:
        """Whether a host reports that the cube's chips are too hot."""
        return any(host.hot_seen for host in self.hosts_of(cube))


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> CubesState:
    """A fabric in which all parts work and no cube is drained; first maintenance and roll-out are planned."""
    cubes, every_days = config.pod.cubes, config.cubes.rollout_every_days
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
        unpowered=np.zeros(cubes, dtype=np.bool_),
        changed_us=np.full(cubes, at_us, dtype=np.int64),
        hosts_down=0,
        healthy=cubes,
        healthy_cube_us=0,
        at_us=at_us,
        next_maintenance_us=maintenance_after(config.seed, fabric, config.cubes, cubes, 0, at_us),
        draw_seed=config.seed,
        next_rollout_us=None if every_days is None else at_us + to_whole_us(every_days, US_PER_DAY),
    )
