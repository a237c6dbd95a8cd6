"""Closed forms of availability: fabrics, goodput of slices, placement, machine repair."""

from shared.models.availability.alternating_renewal import AlternatingRenewal
from shared.models.availability.binomial import at_least, binomial, tails
from shared.models.availability.fabric_availability import fabric_availability, fabric_ocs
from shared.models.availability.machine_repair import MachineRepair, machine_repair
from shared.models.availability.promised_goodput import (
    Goodput,
    GoodputPoint,
    goodput_figure,
    promised_goodput,
)
from shared.models.availability.slice_placement import PlacementProbability, placement_curve

__all__ = [
    "AlternatingRenewal",
    "Goodput",
    "GoodputPoint",
    "MachineRepair",
    "PlacementProbability",
    "at_least",
    "binomial",
    "fabric_availability",
    "fabric_ocs",
    "goodput_figure",
    "machine_repair",
    "placement_curve",
    "promised_goodput",
    "tails",
]
