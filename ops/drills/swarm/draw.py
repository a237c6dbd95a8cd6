"""Draws the combinations of the swarm. The same seed draws the same combination.

Each has a lab of its own: a pod with drawn size, load and policies, or the campus with its network. Its steps
are faults of parts that exist, some of them neighbours that fail together, requests of operators, changed
parameters, and bursts of arrivals, with waits in between.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from ops.drills.swarm.combination import HOUR_S, MINUTE_S, Combination, SwarmStep, SwarmTarget, site_file
from ops.sites.site_plans import read_site, single_fabric_sites
from schemas.names import FaultKind
from shared.basics.keyed_random import draw_index, draw_uniform
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS
from shared.models.plant.plant_format import Plant
from shared.models.superpod.wiring import CUBE_SIDE, STRANDS

ChoiceT = TypeVar("ChoiceT")

CAMPUS = "campus"
CAMPUS_SHARE = 0.06
STEPS = (2, 4, 6, 9, 14)
POD, NETWORK = "pod-0", "dcn-0"
CUBES = (4, 8, 16, 16, 27, 64)
SHAPES = ("1x1x1", "2x2x4", "4x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8", "4x4x16", "8x8x16")
RECOVERIES = (None, None, "spare,swap", "route:2%,wait", "wait,swap", "evict")
GROUP = (1, 1, 1, 2, 4, 8, 16)
"""Numbers of neighbouring parts that fail together."""
LASTS_S = (None, 20, 5 * MINUTE_S, HOUR_S, 3 * HOUR_S)
ONSETS_S = (None, None, 10 * MINUTE_S, 2 * HOUR_S)
WAITS_S = (1, 31, 5 * MINUTE_S, 30 * MINUTE_S, 2 * HOUR_S)

SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "workload.offered_load": (0.5, 0.9, 1.3, 2.0),
    "workload.duration_mean_h": (0.3, 1.0, 4.0),
    "workload.replicates_share": (0.0, 0.5),
    "scheduler.backfill": ("easy", "conservative", "none"),
    "scheduler.hot_spares": (0, 1, 2),
    "scheduler.hold_back": ("none", "fixed", "availability"),
    "scheduler.hold_back_cubes": (1, 2),
    "scheduler.hold_back_slice_cubes": (1, 2),
    "scheduler.route_around_share": (0.0, 0.5, 1.0),
    "scheduler.preflight_s": (10, 120),
    "scheduler.grace_s": (1, 120),
    "scheduler.retries_max": (0, 1, 100),
    "scheduler.quotas": ("team-1=64", "team-1=25%,operator=64"),
    "ocs.switching_time_ms": (0.001, 10.0, 60_000.0),
    "cubes.heartbeat_s": (1, 30, 300),
    "repairs.technicians": (1, 2),
    "repairs.misdiagnosed": (0.0, 0.3),
    "repairs.burn_in_h": (0.0, 0.5),
    "repairs.host_spares": (2, 10),
    "failures.host_per_day": (0.001, 0.02),
    "failures.optics_per_day": (0.00002, 0.001),
    "failures.domain_cubes": (1, 8),
}
"""Settings of a pod → values to draw from. A lab has a few of them."""
CHANGES: Mapping[str, tuple[Any, ...]] = {
    "workload.offered_load": (0.2, 0.9, 3.0),
    "workload.slices_per_day": (20.0, 300.0),
    "workload.filler": (True, False),
    "scheduler.hot_spares": (0, 1, 2),
    "scheduler.hold_back": ("none", "fixed", "availability"),
    "scheduler.preflight_s": (0, 60, 600),
    "scheduler.grace_s": (1, 120, 900),
    "scheduler.decision_s": (0, 30, 300),
    "scheduler.backfill": ("easy", "conservative", "none"),
    "scheduler.production_waits_h": (0.0, 1.0),
    "repairs.technicians": (1, 2, 5),
    "repairs.fibre_technicians": (0, 1, 3),
    "repairs.host_repair_h": (0.1, 2.0),
    "repairs.ocs_repair_h": (0.1, 2.0),
    "failures.enabled": (True, False),
    "failures.host_per_day": (0.0, 0.05),
    "failures.link_per_day": (0.0, 0.01),
    "failures.optics_per_day": (0.0, 0.002),
    "transceivers.telemetry_interval_s": (0, 900),
    "transceivers.inspection_interval_s": (0, 300, 3_600),
    "cubes.heartbeat_s": (1, 30, 300),
    "cubes.maintenance_per_day": (0.0, 0.5, 2.0),
    "jobs.error_s": (0, 30),
}
"""Runtime parameters of a pod → values that a step sets."""
NETWORK_CHANGES: Mapping[str, tuple[Any, ...]] = {
    "traffic.react_s": (0, 30, 600),
    "traffic.hedge": (0.0, 0.3),
    "traffic.slack": (0.0, 0.5),
    "topology.approval": ("automatic", "operator"),
    "topology.every_h": (1.0, 12.0),
    "topology.wait_h": (0.0, 24.0),
    "repairs.technicians": (1, 3),
    "repairs.rack_repair_h": (0.1, 2.0),
}


class Draws:
    """Draws of one seed, in order."""

    def __init__(self, seed: int) -> None:
        self._seed, self._count = seed, 0

    def below(self, size: int) -> int:
        """A whole number, 0 to `size` − 1."""
        self._count += 1
        return draw_index(self._seed, "swarm", "draw", self._count, size)

    def choice(self, options: Sequence[ChoiceT]) -> ChoiceT:
        return options[self.below(len(options))]

    def chance(self, share: float) -> bool:
        return self.uniform() < share

    def uniform(self) -> float:
        self._count += 1
        return draw_uniform(self._seed, "swarm", "draw", self._count)

    def some(self, options: Mapping[str, tuple[Any, ...]], most: int) -> dict[str, Any]:
        """One to `most` names, each with one of its values, in order of the options."""
        names = list(options)
        chosen = {self.choice(names) for _ in range(1 + self.below(most))}
        return {name: self.choice(options[name]) for name in names if name in chosen}


@dataclass
class World:
    """The fabrics of a lab, and the draws so far."""

    plants: Mapping[str, Plant]
    cubes: int
    targets: dict[str, SwarmTarget]
    hit: set[tuple[str, str]]
    """(kind, part) of the faults so far: an active fault cannot begin again."""


def draw_combination(seed: int) -> Combination:
    """The combination of a seed."""
    draws = Draws(seed)
    is_campus = draws.chance(CAMPUS_SHARE)
    pairs: dict[str, Any] = {}
    if is_campus:
        plants, cubes = _plants(CAMPUS, 64), 64
    else:
        cubes = draws.choice(CUBES)
        pairs = {"pod.cubes": cubes, **draws.some(SETTINGS, 6)}
        plants = _plants(None, cubes)
    world = World(plants, cubes, {}, set())
    steps: list[SwarmStep] = []
    for _ in range(draws.choice(STEPS)):
        fabric = NETWORK if is_campus and draws.chance(0.6) else POD
        makers = NETWORK_MAKERS if fabric == NETWORK else POD_MAKERS
        steps += draws.choice(makers)(draws, world, fabric)
        if draws.chance(0.7):
            steps.append(_wait(draws))
    steps.append(_wait(draws))
    steps.sort(key=lambda step: step.verb != "release_slice")  # later, the slice may have ended
    return Combination(
        seed=seed,
        steps=tuple(steps),
        targets=world.targets,
        pairs=pairs,
        site=CAMPUS if is_campus else None,
        warm_up_s=12 * HOUR_S,
        verify_s=draws.choice((10 * MINUTE_S, 2 * HOUR_S, 6 * HOUR_S)),
    )


@cache
def _plants(site: str | None, cubes: int) -> Mapping[str, Plant]:
    if site is None:
        (plan,) = single_fabric_sites(1, pairs=(f"pod.cubes={cubes}",), seed=0)
    else:
        plan = read_site(site_file(site))
    return {name: plant_of(config.kind, config.hardware) for name, config in plan.fabrics.items()}


def _wait(draws: Draws) -> SwarmStep:
    return SwarmStep("wait", {"lasts": draws.choice(WAITS_S)})


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


# --- faults -------------------------------------------------------------------------------------------------


def fault_kinds_of(plant: Plant) -> tuple[FaultKind, ...]:
    """The kinds of faults that parts of a plant can have."""
    return tuple(
        kind
        for kind, row in FAULTS.items()
        if plant.population(row.strikes) and (row.needs is None or plant.population(row.needs))
    )


def _inject(draws: Draws, world: World, fabric: str) -> list[SwarmStep]:
    """A fault of any kind, in one part or in neighbours at once."""
    plant = world.plants[fabric]
    kind = draws.choice(fault_kinds_of(plant))
    names = _neighbours(draws, plant, fabric, FAULTS[kind].strikes)
    names = [name for name in names if (kind, name) not in world.hit]
    if not names:
        return []
    world.hit.update((kind, name) for name in names)
    return [_fault(draws, kind, names)]


def _neighbours(draws: Draws, plant: Plant, fabric: str, word: str) -> list[str]:
    population = plant.population(word)
    first, count = draws.below(population), draws.choice(GROUP)
    return [plant.part(word, number, fabric).name for number in range(first, min(first + count, population))]


def _fault(draws: Draws, kind: FaultKind, target: list[str] | str) -> SwarmStep:
    row = FAULTS[kind]
    severity = None
    if row.severity is not None and draws.chance(0.6):
        least, most = row.severity.least, row.severity.most
        severity = round(min(max(least * (most / least) ** draws.uniform(), least), most), 3)
    onset_s = draws.choice(ONSETS_S) if row.onset_h is not None else None
    return SwarmStep(
        "inject",
        _given(kind=kind, target=target, lasts=draws.choice(LASTS_S), severity=severity, onset=onset_s),
    )


def _inject_in_use(draws: Draws, world: World, _fabric: str) -> list[SwarmStep]:
    """A fault of an OCS that carries light, or of a cube that is in use."""
    kind: FaultKind = draws.choice(("ocs", "shake", "cube-power", "cooling"))
    is_ocs = FAULTS[kind].strikes == "ocs"
    where = "circuits_made>0" if is_ocs else "chips_used>0"
    name = f"t{len(world.targets) + 1}"
    world.targets[name] = SwarmTarget("ocs" if is_ocs else "cubes", where, draws.choice((1, 1, 2)))
    return [_fault(draws, kind, f"${{{name}}}")]


# --- requests of operators ----------------------------------------------------------------------------------


def _drain(draws: Draws, world: World, fabric: str) -> list[SwarmStep]:
    """Drain neighbouring cubes; half of them are undrained later."""
    names = _neighbours(draws, world.plants[fabric], fabric, "cube")
    names = [name for name in names if ("drain", name) not in world.hit]
    if not names:
        return []
    world.hit.update(("drain", name) for name in names)
    steps = [SwarmStep("drain", _given(cube=names, lasts=draws.choice((None, 20 * MINUTE_S, 2 * HOUR_S))))]
    if "lasts" not in steps[0].arguments and draws.chance(0.5):
        steps += [_wait(draws), SwarmStep("undrain", {"cube": names})]
    return steps


def _request(draws: Draws, world: World, fabric: str) -> list[SwarmStep]:
    """One slice, or a burst of them."""
    fitting = [shape for shape in SHAPES if _cubes_of(shape) <= world.cubes]
    arguments = _given(
        shape=draws.choice(fitting),
        fabric=fabric,
        tier=draws.choice(("production", "research", "filler")),
        priority=draws.choice((None, None, -2, 2)),
        lasts=draws.choice((None, MINUTE_S, 10 * MINUTE_S, HOUR_S)),
        recovery=draws.choice(RECOVERIES),
    )
    repeat = draws.choice((1, 1, 6, 40))
    every_s = draws.choice((1, 20, 2 * MINUTE_S)) if repeat > 1 else 0
    return [SwarmStep("request_slice", arguments, repeat, every_s)]


def _cubes_of(shape: str) -> int:
    found = 1
    for side in shape.split("x"):
        found *= -(-int(side) // CUBE_SIDE)
    return found


def _release(_draws: Draws, world: World, _fabric: str) -> list[SwarmStep]:
    """Release a slice that runs when the drill starts; once, because two targets can draw the same slice."""
    if any(target.kind == "slices" for target in world.targets.values()):
        return []
    name = f"t{len(world.targets) + 1}"
    world.targets[name] = SwarmTarget("slices", "state=running", 1)
    return [SwarmStep("release_slice", {"slice": f"${{{name}}}"})]


def _set(draws: Draws, _world: World, fabric: str) -> list[SwarmStep]:
    parameters = draws.some(CHANGES if fabric == POD else NETWORK_CHANGES, 3)
    return [SwarmStep("set_parameters", {"parameters": parameters, "fabric": fabric})]


def _restart(draws: Draws, world: World, fabric: str) -> list[SwarmStep]:
    plant = world.plants[fabric]
    return [
        SwarmStep(
            "restart_ocs", {"ocs": plant.part("ocs", draws.below(plant.population("ocs")), fabric).name}
        )
    ]


def _cross_connects(draws: Draws, world: World, fabric: str) -> list[SwarmStep]:
    """Cross-connects between spare ports by hand, which half of the drills remove again."""
    first = STRANDS * world.cubes + 1
    ocs = f"{fabric}/ocs-{draws.below(world.plants[fabric].population('ocs'))}"
    keys = [f"{first}A-{first + 1}B", f"{first + 1}A-{first + 2}B"]
    arguments = {"ocs": ocs, "keys": keys, "error_mode": "ignore-error"}
    steps = [SwarmStep("connect", arguments)]
    return steps + ([_wait(draws), SwarmStep("disconnect", arguments)] if draws.chance(0.5) else [])


def _plan_topology(_draws: Draws, _world: World, fabric: str) -> list[SwarmStep]:
    return [SwarmStep("plan_topology", {"fabric": fabric})]


Maker = Callable[[Draws, World, str], list[SwarmStep]]
POD_MAKERS: tuple[Maker, ...] = (
    *([_inject] * 8),
    *([_inject_in_use] * 2),
    *([_drain] * 2),
    *([_request] * 3),
    *([_set] * 3),
    _release,
    _restart,
    _cross_connects,
)
NETWORK_MAKERS: tuple[Maker, ...] = (*([_inject] * 6), _set, _restart, _plan_topology)
