"""Scenarios of a datacenter network, drawn from a seed: blocks and racks, failure rates, and operator
requests."""

import random
from dataclasses import dataclass, replace
from typing import Any

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import MODULES
from schemas.messages.operator import AbortRewiring, ApproveRewiring, ClearFault, InjectFault, PlanTopology
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.models.network.blocks import network_of
from tests.support.changed_parameters import OF_NETWORKS, drawn_changes
from tests.support.several_pods import Campus, draw_campus

DCN = "dcn-0"
RACKS = ((8, 1), (4, 2), (8, 2), (4, 4), (8, 4))
"""(racks, OCSes per rack)."""
PORTS = 120
"""Ports on one side of an OCS that blocks may use."""
BLOCKS_MAX = 24


@dataclass(frozen=True)
class NetworkScenario:
    config: DcnConfig
    requests: list[LabRequest]
    quiet_us: int
    """From this time on, nothing fails and operators send no requests."""
    patience_us: int
    """All repairs are done this long after `quiet_us`."""


def draw_network(seed: int) -> NetworkScenario:
    """Draw a scenario. Some rates are far above real ones, so that rare events coincide."""
    draw = random.Random(seed)
    quiet_days = draw.choice([0.5, 1.0, 1.5])
    hardware = draw_hardware(draw)
    rate = draw.choice([0, 1, 10, 30])
    config = DcnConfig.model_validate(
        {
            "seed": seed,
            "network": hardware,
            "demand": {
                "load": draw.choice([0.1, 0.3, 0.6, 1.2]),
                "hot_pairs": draw.choice([0, 4, 30]),
                "hot_days": draw.choice([0.2, 3.0]),
                "interval_s": draw.choice([1_800, 3_600, 7_200]),
            },
            "traffic": {
                "telemetry_interval_s": 0,
                "hedge": draw.choice([0.0, 0.3]),
                "slack": draw.choice([0.0, 0.05, 1.0]),
            },
            "topology": {
                "approval": draw.choice(["automatic", "operator"]),
                "every_h": draw.choice([2.0, 6.0]),
                "gain_min": draw.choice([0.0, 0.05]),
                "transit_above": draw.choice([0.0, 0.15]),
                "transit_gain_min": draw.choice([0.0, 0.05]),
                "capacity_floor": draw.choice([0.5, 0.75, 0.9, 0.97]),
                "drain_s": draw.choice([0.0, 10.0, 900.0]),
                "qualify_s": draw.choice([0.0, 30.0, 600.0]),
                "undrain_s": draw.choice([0.0, 10.0]),
                "wait_h": draw.choice([0.0, 1.0, 24.0]),
                "history_h": draw.choice([0, 24]),
            },
            "trunks": {"fit_below_ber": draw.choice([2e-4, 1e-5, 2.4e-6])},
            "ocs": {"switching_time_ms": draw.choice([0.001, 10.0, 60_000.0])},
            "failures": {
                "ocs_per_day": 0.002 * rate,
                "block_per_day": 0.002 * rate,
                "bundle_per_day": 0.0005 * rate,
                "rack_per_day": 0.003 * rate,
                "control_per_day": 0.05 * rate,
                "power_per_day": 0.01 * rate,
                "until_days": quiet_days,
            },
            "repairs": {
                "technicians": draw.choice([1, 4]),
                **{f"{part}_repair_h": draw.choice([0.1, 2.0]) for part in PARTS},
            },
        }
    )
    quiet_us = round(quiet_days * US_PER_DAY)
    times = sorted(draw.randrange(1, quiet_us) for _ in range(draw.choice([0, 20, 60])))
    acts = [act(draw, config) for _ in times]
    changes = drawn_changes(random.Random(f"{seed} parameters"), OF_NETWORKS, quiet_us, (0, 0, 6, 20))
    bodies = sorted([*zip(times, acts, strict=True), *changes], key=lambda pair: pair[0])
    requests = [LabRequest(at_us, DCN, body, number) for number, (at_us, body) in enumerate(bodies, start=1)]
    return NetworkScenario(config, requests, quiet_us, 10 * US_PER_DAY)


PARTS = ("ocs", "block", "bundle", "rack", "control", "power")


def draw_hardware(draw: random.Random) -> dict[str, Any]:
    """Draw rows of blocks of several generations, sizes, customers and grids, up to the OCSes' number of
    ports."""
    racks, switches = draw.choice(RACKS)
    mixed = draw.random() < 0.3
    room, rows = PORTS, []
    for _ in range(draw.randrange(4, BLOCKS_MAX + 1)):
        uplinks = draw.choice([256, 512])
        row: dict[str, Any] = {"generation": draw.choice([40, 100, 200, 400, 800]), "uplinks": uplinks}
        if mixed:
            row |= {"customer": draw.choice([None, "them"])}
            modules = draw.choice(["cwdm4-bidi", "cwdm4-bidi", "cwdm8-bidi"])
            row |= {"modules": modules, "generation": draw.choice(MODULES[modules])}
        room -= uplinks // (2 * racks * switches)
        if room < 0:
            break
        rows.append(row)
    technology = draw.choice(["palomar", "palomar", "piezo", "robotic"])
    return {
        "blocks": tuple(rows),
        "racks": racks,
        "racks_full": racks,
        "switches": switches,
        "technology": technology,
    }


def act(draw: random.Random, config: DcnConfig) -> Body:
    # Some of these name parts that do not exist, because a refusal is an ordinary answer.
    plant = network_of(config.network)
    rewiring = f"{DCN}/rewiring-{draw.randrange(5)}"
    parts = {
        "ocs": f"ocs-{draw.randrange(plant.ocs_count + 1)}",
        "port": f"ocs-{draw.randrange(plant.ocs_count)}/{draw.choice('NS')}{draw.randrange(PORTS)}",
        "block": f"block-{draw.randrange(len(plant.blocks) + 1)}",
        "bundle": f"block-{draw.randrange(len(plant.blocks))}/bundle-{draw.randrange(plant.racks)}",
        "rack": f"rack-{draw.randrange(plant.racks)}",
        "control": f"control-{draw.randrange(4)}",
        "power": f"power-{draw.randrange(4)}",
    }
    kind: Any = draw.choice(list(parts))
    expiry = draw.choice([None, 20_000_000, US_PER_HOUR // 2, 3 * US_PER_HOUR])
    choices: list[Body] = [
        InjectFault(kind=kind, target=f"{DCN}/{parts[kind]}", duration_us=expiry),
        InjectFault(kind="control", target=f"{DCN}/{parts['control']}", duration_us=expiry),
        ClearFault(fault=f"{DCN}/fault-{draw.randrange(20)}"),
        PlanTopology(dcn=DCN),
        PlanTopology(dcn=DCN),
        ApproveRewiring(rewiring=rewiring),
        ApproveRewiring(rewiring=rewiring),
        AbortRewiring(rewiring=rewiring),
    ]
    return draw.choice(choices)


def draw_network_campus(seed: int) -> Campus:
    """Draw a site: several pods, jobs that span them, a network whose first blocks belong to the pods, and
    operator requests."""
    network = draw_network(seed)
    campus = draw_campus(seed, days=network.quiet_us / US_PER_DAY)
    rows = list(network.config.network.blocks)
    for place, pod in enumerate(campus.fabrics):
        rows[place] = rows[place].model_copy(update={"pod": pod})
    hardware = network.config.network.model_copy(update={"blocks": tuple(rows)})
    config = network.config.model_copy(update={"network": hardware})
    in_order = sorted([*campus.requests, *network.requests], key=lambda request: request.at_us)
    requests = [replace(request, number=number) for number, request in enumerate(in_order, start=1)]
    return Campus({**campus.fabrics, DCN: config}, requests, campus.until_us)
