"""Random parameter changes for a running fabric, drawn from a seed; some values are not allowed."""

import random
from collections.abc import Mapping, Sequence

from schemas.config.parameter import ParameterSetting, ParameterValue
from schemas.messages.operator import SetParameters

OF_PODS: dict[str, tuple[ParameterValue, ...]] = {
    "failures.enabled": (True, True, False),
    "failures.host_per_day": (0.0, 0.01, 0.2, 0.2, 101.0),
    "failures.link_per_day": (0.0, 0.0005, 0.01),
    "failures.ocs_per_day": (0.0, 0.01, 0.1),
    "failures.optics_per_day": (0.0, 0.0001, 0.002),
    "workload.offered_load": (0.2, 0.9, 2.0, 0.0),
    "workload.slices_per_day": (None, 20.0, 300.0),
    "workload.filler": (True, False),
    "scheduler.hot_spares": (0, 1, 2, 200),
    "scheduler.hold_back": ("none", "fixed", "availability", "some"),
    "scheduler.hold_back_cubes": (0, 1, 3),
    "scheduler.preflight_s": (0, 60, 600),
    "scheduler.grace_s": (1, 120, 900),
    "scheduler.decision_s": (0, 30, 300),
    "scheduler.backfill": ("easy", "conservative", "none"),
    "scheduler.production_waits_h": (0.0, 1.0),
    "repairs.technicians": (1, 2, 5, 0),
    "repairs.fibre_technicians": (0, 1, 3),
    "repairs.host_repair_h": (0.1, 2.0),
    "transceivers.telemetry_interval_s": (0, 900),
    "transceivers.inspection_interval_s": (0, 300, 3_600, 5),
    "cubes.heartbeat_s": (1, 30, 300),
    "cubes.maintenance_per_day": (0.0, 0.2, 2.0),
    "jobs.error_s": (0, 30),
    "pod.cubes": (4,),
}
OF_NETWORKS: dict[str, tuple[ParameterValue, ...]] = {
    "failures.enabled": (True, True, False),
    "failures.rack_per_day": (0.0, 0.01, 0.1),
    "failures.control_per_day": (0.0, 0.5),
    "traffic.react_s": (0, 30, 600, -1),
    "traffic.hedge": (0.0, 0.3, 2.0),
    "traffic.slack": (0.0, 0.5),
    "traffic.telemetry_interval_s": (0, 1_800),
    "topology.approval": ("automatic", "operator"),
    "topology.use_above": (0.2, 0.8, 100.0),
    "topology.every_h": (1.0, 12.0),
    "topology.wait_h": (0.0, 24.0),
    "repairs.technicians": (1, 3),
    "repairs.rack_repair_h": (0.1, 2.0),
    "workload.offered_load": (0.5,),
}
"""Parameter → values to draw from, some of which are not allowed."""


def set_to(values: Mapping[str, ParameterValue]) -> SetParameters:
    return SetParameters(
        settings=tuple(ParameterSetting(name=name, value=value) for name, value in values.items())
    )


def drawn_change(draw: random.Random, of: Mapping[str, Sequence[ParameterValue]]) -> SetParameters:
    """Return a change of one to three parameters at once."""
    names = draw.sample(sorted(of), draw.choice([1, 1, 2, 3]))
    return set_to({name: draw.choice(of[name]) for name in names})


def drawn_changes(
    draw: random.Random, of: Mapping[str, Sequence[ParameterValue]], until_us: int, counts: Sequence[int]
) -> list[tuple[int, SetParameters]]:
    """Return pairs of time and change, in order of time. Their number is drawn from `counts`."""
    changes = [(draw.randrange(1, until_us), drawn_change(draw, of)) for _ in range(draw.choice(counts))]
    return sorted(changes, key=lambda change: change[0])
