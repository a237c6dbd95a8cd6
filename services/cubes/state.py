"""What the cubes of one fabric remember: hardware as it is, what monitoring saw of it, and drains."""

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
"""Of a part whose repair was requested: `mended` once it has worked since, seen or not."""


PlannedDrainReason = Literal["maintenance", "rollout"]
"""Why a cube is out of use by plan."""


class HeartbeatView(NamedTuple):
    """What a heartbeat shows: whether there is none, dead chips, cables without their link, hot chips."""

    silent: bool
    dead: tuple[int, ...]
    cut: tuple[int, ...]
    hot: bool


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its chips: first what is true (active faults), then what its last due heartbeat showed.

    `dark` and `hot` count faults of its cube's power and cooling. `cut_cables` are cables at its tray, by
    their number in the cube, once for every fault, in order. A silent host tells nothing of its chips and
    cables. `dead_seen` are chips, 0 … 3.
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
"""What every host is that has no row in the table."""


@dataclass(frozen=True, slots=True)
class HostHeartbeat:
    """The next heartbeat of a host that has changed; `cause` is the id of the message that changed it."""

    at_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class HostSilence:
    """Hosts of a cube that fell silent together: within a heartbeat interval from when `first` did, up to
    `until_us`. By then all others have been heard or missed. `waiting` are those for whose repair nobody has
    asked yet, because the cube's power may be the matter: (host number, id of the message that changed
    it)."""

    first: int
    until_us: int
    deferred: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedDrain:
    """A cube that is drained by plan, and until when."""

    until_us: int
    why: PlannedDrainReason


@dataclass
class CubesState(State):
    """Tables hold only what is out of order: `hosts` and `heartbeats` by host number (16 × cube + host),
    `modules` (condition, degraded or failed) by link-end number, `repairs_open` by the name of a host, chip,
    cable or cube, `silences` by cube, `cube_faults` (active ones of power and cooling) by cube; outages of
    domains are the building's, which ends them itself: they are `outages`, by fault the cube struck.

    Arrays have one entry a cube: `bad_parts` counts hosts seen down and failed modules, and a cube is healthy
    when it has none; `unpowered` where monitoring holds that the cube has no power. `healthy_cube_us` is the
    integral of healthy cubes up to `at_us`.

    Of the plan (`maintenance`), whose works are keyed by `draws`: `outings` by cube; `works` how many times a
    cube was to be taken out for work, and `next_work_us` the next time; `next_rollout_us` when the next
    roll-out begins, and `rollout_at` the next cube of the one that is on, None without.
    """

    config: CubesConfig
    hosts: dict[int, Host]
    heartbeats: dict[int, HostHeartbeat]
    modules: dict[int, str]
    repairs_open: dict[str, OpenRepair]
    bad_parts: npt.NDArray[np.int32]
    drained: npt.NDArray[np.bool_]
    unpowered: npt.NDArray[np.bool_]
    changed_us: npt.NDArray[np.int64]
    hosts_down: int
    healthy: int
    healthy_cube_us: int
    at_us: int
    silences: dict[int, HostSilence] = field(default_factory=dict)
    cube_faults: dict[int, int] = field(default_factory=dict)
    outages: dict[str, int] = field(default_factory=dict)
    planned_drains: dict[int, PlannedDrain] = field(default_factory=dict)
    maintenance_count: int = 0
    next_maintenance_us: int | None = None
    next_rollout_us: int | None = None
    next_rollout_cube: int | None = None
    draw_seed: int = 0

    @property
    def cubes(self) -> int:
        return len(self.drained)

    def cube_name(self, cube: int) -> str:
        return f"{self.fabric}/cube-{cube}"

    def host_name(self, number: int) -> str:
        cube, host = divmod(number, HOSTS_PER_CUBE)
        return f"{self.fabric}/cube-{cube}/host-{host}"

    def hosts_of(self, cube: int) -> list[Host]:
        """Its 16 hosts, in order."""
        first = cube * HOSTS_PER_CUBE
        return [self.hosts.get(number, WORKING_HOST) for number in range(first, first + HOSTS_PER_CUBE)]

    def is_hot(self, cube: int) -> bool:
        """Whether a host says that the cube's chips are too hot."""
        return any(host.hot_seen for host in self.hosts_of(cube))


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> CubesState:
    """All parts work, and no cube is drained; the first work and the first roll-out are planned."""
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
