"""Availability in closed form: fabrics, goodput, placement, machine repair.

Availabilities are shares of time, 0 to 1. Slice sizes are in chips or in cubes of 64 chips, as their names
state."""

from lightwave._arguments import check_argument_types
from shared.models.availability.alternating_renewal import AlternatingRenewal
from shared.models.availability.fabric_availability import fabric_availability as _fabric_availability
from shared.models.availability.fabric_availability import fabric_ocs
from shared.models.availability.machine_repair import MachineRepair
from shared.models.availability.machine_repair import machine_repair as _machine_repair
from shared.models.availability.promised_goodput import Goodput, GoodputPoint
from shared.models.availability.promised_goodput import goodput_figure as _goodput_figure
from shared.models.availability.promised_goodput import promised_goodput as _goodput
from shared.models.availability.slice_placement import placement_curve as _placement_curve

__all__ = [
    "AlternatingRenewal",
    "Goodput",
    "GoodputPoint",
    "MachineRepair",
    "fabric",
    "goodput",
    "goodput_figure",
    "machine_repair",
    "placement_curve",
]

goodput_figure = check_argument_types(_goodput_figure)
machine_repair = check_argument_types(_machine_repair)
placement_curve = check_argument_types(_placement_curve)


def __dir__() -> list[str]:
    return __all__


@check_argument_types
def fabric(ocs_availability: float = 0.999, *, kind: str = "cwdm4-bidi") -> float:
    """The probability that all OCSes of a superpod work at a time. The kind of modules sets the number of
    OCSes: cwdm4-duplex (96), cwdm4-bidi (48) or cwdm8-bidi (24). InvalidInput for another kind, or if the
    availability is not in 0 … 1.

    >>> round(fabric(0.999), 3)
    0.953
    """
    return _fabric_availability(ocs_availability, fabric_ocs(kind))


@check_argument_types
def goodput(
    host_availability: float = 0.999,
    slice_chips: int = 1024,
    fabric: str = "reconfigurable",
    *,
    target: float = 0.97,
    cubes: int = 64,
    ocs_availability: float | None = None,
    kind: str = "cwdm8-bidi",
) -> Goodput:
    """The share of a pod that can be promised to equal slices with probability `target`.

    `fabric` is "reconfigurable" or "static". With `ocs_availability`, all OCSes must work too; `kind` sets
    their number. InvalidInput if an argument is out of range, or if `slice_chips` is not a multiple of 64.

    >>> goodput(0.999, 1024).goodput, goodput(0.999, 1024, "static").goodput
    (0.75, 0.25)
    """
    return _goodput(
        host_availability,
        slice_chips,
        fabric,
        target=target,
        cubes=cubes,
        ocs_availability=ocs_availability,
        kind=kind,
    )
