"""The classes of parts that fail in a pod, which also the choice of a method must know."""

from schemas.config.pods import AnyPodConfig
from schemas.names import FaultKind
from services.failures.hazards import hazard_classes, parts_at_risk
from services.failures.state import rates_of
from shared.basics.units import US_PER_HOUR
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, mean_repair_h, rate_per_day
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.reliability.repair_shop import PartClass

LOG_MEASURES = ("placeable_", "block_")
"""Prefixes of the measures that depend on when each cube was available."""


def part_classes(config: AnyPodConfig) -> dict[FaultKind, PartClass]:
    """Return the classes of parts that fail in a pod, with times in microseconds."""
    plant, rates = plant_of(config.kind, config.hardware), rates_of(config)
    found = {}
    for kind in hazard_classes():
        rate = rate_per_day(kind, rates, plant) if rates.enabled else 0.0
        if parts_at_risk(kind, plant) and rate:
            row = FAULTS[kind]
            mean_us = mean_repair_h(kind, config.repairs) * US_PER_HOUR  # type: ignore[arg-type]  # has what is asked
            found[kind] = PartClass(
                kind,
                parts_at_risk(kind, plant),
                rate,
                mean_us,
                row.repair_priority,
                special=WORK_DEFINITIONS[row.work].at_link_ends,
            )
    return found
