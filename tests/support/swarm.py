"""Scenarios of a pod, drawn from a seed: size, load, rates, policies, and operator requests."""

import random
from dataclasses import dataclass
from typing import Any

from ops.sites.configuration import superpod_config
from schemas.body import Body
from schemas.config.parameter import ParameterValue
from schemas.config.pods import SuperpodConfig
from schemas.messages.operator import (
    ClearFault,
    CreateCrossConnects,
    DrainCube,
    InjectFault,
    ReleaseSlice,
    RemoveCrossConnects,
    RestartOcs,
    TestLink,
    UndrainCube,
)
from schemas.names import FaultKind, Shape
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.models.faults.link_faults import LINK_FAULTS
from shared.models.ocs_technologies import TECHNOLOGIES
from shared.models.superpod.wiring import FACES, SPARE_PORTS, STRANDS
from tests.support.changed_parameters import OF_PODS, drawn_changes, set_to
from tests.support.pods import POD
from tests.support.policies import drawn_policies, drawn_slice

SHAPES: list[Shape] = [
    (1, 1, 1),
    (2, 2, 2),
    (2, 4, 4),
    (4, 4, 4),
    (4, 4, 8),
    (4, 8, 8),
    (4, 4, 16),
    (8, 8, 8),
    (4, 4, 12),
]


SLOW: tuple[FaultKind, ...] = tuple(kind for kind, row in LINK_FAULTS.items() if row.onset_h is not None)
OCS_PARTS: tuple[FaultKind, ...] = (
    "supply",
    "fan",
    "cpu",
    "cpu",
    "fpga",
    "driver",
    "driver",
    "camera",
    "injector",
)


@dataclass(frozen=True)
class Scenario:
    config: SuperpodConfig
    requests: list[LabRequest]
    quiet_us: int
    """From this time on, nothing fails and operators send no requests."""
    patience_us: int
    """All repairs are done this long after `quiet_us`, even by one technician in a pod full of faults."""


def draw_scenario(seed: int) -> Scenario:
    draw = random.Random(seed)
    quiet_days = draw.choice([0.5, 0.5, 1.0, 1.5])
    cubes = draw.choice([4, 5, 8, 12, 16, 27])
    rate = draw.choice([1, 20, 200])
    pairs = {
        "pod.cubes": cubes,
        "workload.offered_load": draw.choice([0.3, 0.9, 1.1, 2.0]),
        "workload.duration_mean_h": draw.choice([0.2, 1.0, 4.0]),
        **drawn_policies(draw),
        "workload.balk_above_h": draw.choice([1, 96]),
        "ocs.switching_time_ms": draw.choice([0.001, 10, 60_000]),
        "transceivers.telemetry_interval_s": draw.choice([0, 3600]),
        "cubes.heartbeat_s": draw.choice([1, 30]),
        "repairs.technicians": (technicians := draw.choice([1, 4])),
        "repairs.ocs_repair_h": draw.choice([0.1, 2.0]),
        "repairs.host_repair_h": draw.choice([0.1, 2.0]),
        "repairs.link_repair_h": 0.5,
        "repairs.cable_repair_h": 0.5,
        "repairs.cube_repair_h": 0.5,
        "failures.host_per_day": 0.0008 * rate,
        "failures.link_per_day": 0.00005 * rate,
        "failures.optics_per_day": 0.00002 * rate,
        "failures.cable_per_day": 0.00002 * rate,
        "failures.ocs_per_day": 0.0004 * rate,
        "failures.until_days": quiet_days,
        **_technology(seed, cubes),
        **_field(seed, rate),
    }
    config = superpod_config([f"{name}={value}" for name, value in pairs.items()], seed=seed)
    quiet_us = round(quiet_days * US_PER_DAY)
    times = sorted(draw.randrange(1, quiet_us) for _ in range(draw.choice([0, 10, 60])))
    acts = [(at_us, _act(draw, cubes)) for at_us in times]
    acts += [
        *_by_hand(seed, cubes, quiet_us),
        *_changes(seed, quiet_us),
        *_planned_drains(seed, cubes, quiet_us),
    ]
    acts.sort(key=lambda act: act[0])
    requests = [LabRequest(at_us, POD, body, number) for number, (at_us, body) in enumerate(acts, start=1)]
    undrain = [
        LabRequest(quiet_us, POD, UndrainCube(cube=f"pod-0/cube-{cube}"), len(acts) + 1 + cube)
        for cube in range(cubes)
    ]
    values: dict[str, ParameterValue] = {**CALM, "repairs.technicians": technicians}
    calm = LabRequest(quiet_us, POD, set_to(values), len(requests) + len(undrain) + 1)
    return Scenario(config, [*requests, *undrain, calm], quiet_us, 200 * US_PER_DAY)


CALM: dict[str, ParameterValue] = {
    "cubes.maintenance_per_day": 0.0,
    "transceivers.inspection_interval_s": 3_600,
    "repairs.fibre_technicians": 2,
    "repairs.off_hours_technicians": None,
}
"""At the end, no cube is drained by plan, all faults are inspected for, and repairs run day and night.

The pod also has the technicians of its start again: a change may have left it none."""


def _changes(seed: int, until_us: int) -> list[tuple[int, Body]]:
    """Draw parameter changes for every second pod. The draws are separate, so that they do not affect the
    rest of the scenario."""
    draw = random.Random(f"{seed} parameters")
    return [*drawn_changes(draw, OF_PODS, until_us, (0, 0, 8, 30))]


def _field(seed: int, rate: int) -> dict[str, object]:
    """Draw failures and repairs as in the field for every third pod, from separate draws.

    Repairs wait for shifts only where little fails, because all of them must be done at the end.
    """
    draw = random.Random(f"field {seed}")
    if draw.random() > 1 / 3:
        return {}
    pairs: dict[str, object] = {
        "failures.host_variation": draw.choice([0.0, 0.34, 2.0]),
        "failures.ocs_variation": draw.choice([0.0, 0.45]),
        "failures.infant_factor": draw.choice([1.0, 5.0]),
        "failures.wear_out_days": draw.choice(["none", 100.0]),
        "failures.power_per_day": draw.choice([0.0, 0.5]),
        "failures.cooling_per_day": draw.choice([0.0, 0.5]),
        "failures.power_outage_h": 0.5,
        "failures.domain_cubes": draw.choice([1, 8]),
        "repairs.misdiagnosed": draw.choice([0.0, 0.3]),
        "repairs.burn_in_h": draw.choice([0.0, 0.5]),
        "repairs.host_spares": draw.choice(["none", 2]),
        "repairs.ocs_spares": draw.choice(["none", 1]),
        "repairs.spares_lead_days": 0.02,
    }
    return pairs | ({"repairs.off_hours_technicians": 0} if rate == 1 else {})


def _technology(seed: int, cubes: int) -> dict[str, str]:
    """Draw for every fourth pod OCSes that switch as their technology does, from separate draws.

    Only technologies that fit and lose no more light than a Palomar are drawn. With the others, some links
    would lack light.
    """
    draw = random.Random(f"{seed} technology")
    if draw.random() < 0.75:
        return {}
    most_db = TECHNOLOGIES["palomar"].insertion_loss_below_db
    fit = [
        name
        for name, technology in TECHNOLOGIES.items()
        if STRANDS * cubes + SPARE_PORTS <= technology.ports and technology.insertion_loss_below_db <= most_db
    ]
    return {"ocs.technology": draw.choice(fit), "ocs.switching_time_ms": "none"}


def draw_part(draw: random.Random, ocs: str, kind: FaultKind) -> str:
    """Draw a part of this kind in an OCS. Some supplies and fans do not exist."""
    if kind in ("cpu", "fpga"):
        return f"{ocs}/{kind}"
    if kind in ("camera", "injector"):
        return f"{ocs}/{kind}-{draw.choice('NS')}"
    return f"{ocs}/{kind}-{draw.randrange({'supply': 3, 'fan': 5, 'driver': 8}[kind])}"


def _of_paths(draw: random.Random, ocs: str, port: str, cubes: int) -> list[Body]:
    """Draw faults that expire by themselves, because they are not repaired or may never show."""
    expiry = draw.choice([US_PER_HOUR // 2, 3 * US_PER_HOUR])
    return [
        *[InjectFault(kind="mirror", target=port, duration_us=expiry)] * 2,
        InjectFault(kind="shake", target=ocs, duration_us=expiry),
        InjectFault(kind="stray", target=port, duration_us=expiry),
        InjectFault(kind="batch", target=f"pod-0/batch-{draw.randrange(cubes + 1)}", duration_us=expiry),
    ]


def _by_hand(seed: int, cubes: int, quiet_us: int) -> list[tuple[int, Body]]:
    """Draw manual cross-connects and their times, from separate draws.

    All but a few are on one OCS, so that they conflict. They name ports that slices use, spare ports, and
    ports that do not exist.
    """
    draw = random.Random(f"{seed} by hand")
    first = 2 * cubes + 1
    wired = tuple(f"{port}A-{port}B" for port in range(1, first))
    spares = (f"{first}A-{first + 1}B", f"{first + 1}A-{first + 2}B", f"{first + 2}A-1B")

    def drawn() -> dict[str, Any]:
        ports = (draw.randrange(1, first), first, first + 1, draw.randrange(1, 200))
        some = tuple(f"{draw.choice(ports)}A-{draw.choice(ports)}B" for _ in range(4))
        keys = draw.choice([some, wired, spares])
        modes = ["ignore-error"] if keys is wired else ["stop-on-error", "ignore-error"]
        ocs = f"pod-0/ocs-{draw.choice([20] * 9 + [60])}"
        return {"ocs": ocs, "cross_connects": keys, "error_mode": draw.choice(modes)}

    acts: list[tuple[int, Body]] = []
    for _ in range(draw.choice([0, 6, 12])):
        at_us = draw.randrange(1, quiet_us - US_PER_HOUR)
        after_us = draw.choice([1, 5_000, US_PER_HOUR])
        acts.append((at_us, CreateCrossConnects.model_validate(drawn())))
        gone = drawn() | draw.choice([{}, {"cross_connects": wired + spares, "error_mode": "ignore-error"}])
        acts.append((at_us + after_us, RemoveCrossConnects.model_validate(gone)))
    return acts


def _planned_drains(seed: int, cubes: int, quiet_us: int) -> list[tuple[int, Body]]:
    """Draw planned drains for two of three pods, from separate draws.

    Half of them are followed by an undrain or by a drain without a plan. All begin before the pod is quiet.
    """
    draw = random.Random(f"{seed} planned drains")
    acts: list[tuple[int, Body]] = []
    for _ in range(draw.choice([0, 2, 6])):
        at_us = draw.randrange(1, quiet_us - US_PER_HOUR)
        cube = f"pod-0/cube-{draw.randrange(cubes + 1)}"
        from_us = min(at_us + draw.choice([0, US_PER_HOUR, 3 * US_PER_HOUR]), quiet_us - 1)
        duration_us = draw.choice([None, US_PER_HOUR // 2, 3 * US_PER_HOUR])
        acts.append((at_us, DrainCube(cube=cube, from_us=from_us, duration_us=duration_us)))
        if draw.random() < 0.5:
            after_us = draw.choice([1, US_PER_HOUR // 2])
            acts.append((at_us + after_us, draw.choice([UndrainCube(cube=cube), DrainCube(cube=cube)])))
    return acts


def _act(draw: random.Random, cubes: int) -> Body:
    # Some of these name parts that do not exist, because a refusal is an ordinary answer.
    cube = draw.randrange(cubes + 1)
    name = f"pod-0/cube-{cube}"
    end = f"{name}/{draw.choice(FACES)}/{draw.randrange(16)}"
    ocs = f"pod-0/ocs-{draw.randrange(48)}"
    port = f"{ocs}/{draw.choice('NS')}{draw.randrange(2 * cubes + 2)}"
    host = f"{name}/host-{draw.randrange(16)}"
    expiry = draw.choice([None, US_PER_HOUR // 2, 3 * US_PER_HOUR])
    part = draw.choice(OCS_PARTS)
    choices: list[Body] = [
        drawn_slice(draw, SHAPES, twisted=0.3),
        ReleaseSlice(slice=f"pod-0/slice-{draw.randrange(60)}"),
        InjectFault(kind="ocs", target=ocs, duration_us=expiry),
        InjectFault(kind=part, target=draw_part(draw, ocs, part), duration_us=expiry),
        InjectFault(kind=part, target=draw_part(draw, ocs, part), duration_us=expiry),
        InjectFault(kind="port", target=port, duration_us=expiry),
        InjectFault(kind="host", target=host, duration_us=expiry),
        InjectFault(kind="chip", target=f"{host}/chip-{draw.randrange(4)}", duration_us=expiry),
        InjectFault(kind="cable", target=f"{name}/cable-{draw.randrange(82)}", duration_us=expiry),
        InjectFault(kind="cube-power", target=name, duration_us=expiry),
        InjectFault(kind="cooling", target=name, duration_us=expiry),
        InjectFault(kind="link", target=end, duration_us=expiry),
        InjectFault(kind="connector", target=end, duration_us=expiry),
        InjectFault(kind=draw.choice(tuple(LINK_FAULTS)), target=end, duration_us=expiry),
        InjectFault(kind=draw.choice(SLOW), target=end, duration_us=expiry, onset_us=3 * US_PER_HOUR),
        *_of_paths(draw, ocs, port, cubes),
        InjectFault(kind="port", target=f"{ocs}/{draw.choice('NS')}{2 * cubes + draw.randrange(6)}"),
        *[TestLink(end=end)] * 4,
        *[RestartOcs(ocs=f"pod-0/ocs-{draw.randrange(96)}")] * 2,
        InjectFault(kind="port", target=port, duration_us=US_PER_HOUR // 2),
        InjectFault(kind="port", target=port, duration_us=US_PER_HOUR // 4),
        ClearFault(fault=f"pod-0/fault-{draw.randrange(20)}"),
        DrainCube(cube=name),
        UndrainCube(cube=name),
    ]
    return draw.choice(choices)
