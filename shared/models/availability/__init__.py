"""Closed forms of availability: fabrics, goodput of slices, placement, machine repair."""

from shared.models.availability.alternating_renewal import AlternatingRenewal
from shared.models.availability.binomial import at_least, binomial, fewer_than, tails
from shared.models.availability.fabric import fabric_availability, fabric_ocs
from shared.models.availability.goodput import Goodput, GoodputPoint, goodput, goodput_figure
from shared.models.availability.machine_repair import MachineRepair, machine_repair
from shared.models.availability.placement import Placement, placement_curve

__all__ = [
    "AlternatingRenewal",
    "Goodput",
    "GoodputPoint",
    "MachineRepair",
    "Placement",
    "at_least",
    "binomial",
    "fabric_availability",
    "fabric_ocs",
    "fewer_than",
    "goodput",
    "goodput_figure",
    "machine_repair",
    "placement_curve",
    "tails",
]
