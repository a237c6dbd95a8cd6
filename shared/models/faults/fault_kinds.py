"""The kinds of faults: the parts they strike, their rates and their repairs.

One table for ground truth, the repair shop, the gateway and the command line. It imports nothing slow, so a
command can show it at once.
"""

import re
from typing import TYPE_CHECKING

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.units import US_PER_S
from shared.basics.value_words import read_number
from shared.models.faults.fault_definition import HAZARD_GROUPS, FaultDefinition, HazardGroup
from shared.models.faults.link_faults import LINK_FAULTS, NATURAL_SHARES, PATH_FAULTS
from shared.models.ocs.parts import PART, share_of_one

if TYPE_CHECKING:
    from schemas.config.failures import FailureRates
    from schemas.config.repairs import RepairShopConfig
    from schemas.names import FaultKind
    from shared.models.plant.plant_format import Part, Plant

FAULTS: "dict[FaultKind, FaultDefinition]" = {
    "host": FaultDefinition(
        strikes="host",
        example="cube-12/host-3",
        rate="host_per_day",
        repair_time="host_repair_h",
        repair_priority=1,
        meaning="the host and its chips stop responding; detected at the next heartbeat",
    ),
    "chip": FaultDefinition(
        strikes="chip",
        example="cube-12/host-3/chip-1",
        rate="chip_per_day",
        repair_time="host_repair_h",
        repair_priority=1,
        meaning="the chip is dead; its host reports it at the next heartbeat",
    ),
    "cable": FaultDefinition(
        strikes="cable",
        example="cube-12/cable-77",
        rate="cable_per_day",
        repair_time="cable_repair_h",
        repair_priority=1,
        meaning="a copper cable between two trays is broken; the hosts at its ends report it at heartbeats",
    ),
    "cube-power": FaultDefinition(
        strikes="cube",
        example="cube-12",
        rate=None,
        repair_time="cube_repair_h",
        repair_priority=1,
        meaning="the cube has no power: its hosts stop responding and its modules are dark",
    ),
    "cooling": FaultDefinition(
        strikes="cube",
        example="cube-12",
        rate=None,
        repair_time="cube_repair_h",
        repair_priority=1,
        meaning="the chips of the cube run slower until it is cooled again; hosts report it at heartbeats",
    ),
    "link": FaultDefinition(
        strikes="end",
        example="cube-12/+y/7",
        rate="link_per_day",
        repair_time="link_repair_h",
        work="replace",
        repair_priority=1,
        meaning="the module or its cable is dead: the link is down",
    ),
    **LINK_FAULTS,
    "ocs": FaultDefinition(
        strikes="ocs",
        example="ocs-17",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="the chassis fails and loses every circuit",
    ),
    "supply": FaultDefinition(
        strikes="supply",
        example="ocs-17/supply-1",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=1,
        meaning="an alarm; if both supplies are out, the chassis loses every circuit",
    ),
    "fan": FaultDefinition(
        strikes="fan",
        example="ocs-17/fan-2",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=1,
        meaning="an alarm; if two fans are out, the chassis loses every circuit",
    ),
    "cpu": FaultDefinition(
        strikes="cpu",
        example="ocs-17/cpu",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="circuits stay, and the OCS executes no command",
    ),
    "fpga": FaultDefinition(
        strikes="fpga",
        example="ocs-17/fpga",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="circuits stay, and the OCS executes no command",
    ),
    "driver": FaultDefinition(
        strikes="driver",
        example="ocs-17/driver-5",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="the circuits over the mirrors of this board are lost, and connected again after the repair",
    ),
    "camera": FaultDefinition(
        strikes="camera",
        example="ocs-17/camera-N",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="circuits stay, but none can be made: an array cannot be aligned",
    ),
    "injector": FaultDefinition(
        strikes="injector",
        example="ocs-17/injector-S",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="circuits stay, but none can be made: an array cannot be aligned",
    ),
    "port": FaultDefinition(
        strikes="port",
        example="ocs-17/N24",
        rate=None,
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="a port of an OCS fails and loses its circuit",
    ),
    "stray": FaultDefinition(
        strikes="port",
        example="ocs-17/N24",
        rate="stray_per_day",
        repair_time="ocs_repair_h",
        repair_priority=0,
        meaning="the mirror of a port can no longer be aligned: its circuit works until it is switched",
        needs="end",
    ),
    **PATH_FAULTS,
    "block": FaultDefinition(
        strikes="block",
        example="block-3",
        rate="block_per_day",
        repair_time="block_repair_h",
        repair_priority=1,
        meaning="the aggregation block is down, and its pod is cut off",
    ),
    "bundle": FaultDefinition(
        strikes="bundle",
        example="block-3/bundle-5",
        rate="bundle_per_day",
        repair_time="bundle_repair_h",
        repair_priority=1,
        meaning="the fibres from a block to a rack are cut",
    ),
    "rack": FaultDefinition(
        strikes="rack",
        example="rack-5",
        rate="rack_per_day",
        repair_time="rack_repair_h",
        repair_priority=0,
        meaning="the OCSes of a rack lose every circuit",
    ),
    "control": FaultDefinition(
        strikes="control",
        example="control-2",
        rate="control_per_day",
        repair_time="control_repair_h",
        repair_priority=0,
        meaning="a domain fails static: its circuits stay, but nothing in it can be changed",
    ),
    "power": FaultDefinition(
        strikes="power",
        example="power-2",
        rate="power_per_day",
        repair_time="power_repair_h",
        repair_priority=0,
        meaning="the OCSes of a domain lose every circuit, unless they latch",
    ),
}
"""Kind of fault → its definition. Faults of the same microsecond start in this order.

Faults that stop an OCS from working are repaired first: one OCS degrades every slice of several cubes
(Lightwave Fabrics 4.2.2). The rate of an OCS covers the faults of all its parts; where the plant has the
parts, each has its share (`shared.models.ocs.parts`). The papers give no rates for chips, connectors, ports
and mirrors (NSDI 2024), nor for parts of a network: those are assumptions (`schemas.config.pods`,
`schemas.config.dcn`).
"""


def rate_per_day(kind: "FaultKind", config: "FailureRates", plant: "Plant") -> float:
    """Spontaneous faults per part and day; 0 for a kind that the fabric does not have.

    If the plant has the parts of OCSes, the rate of an OCS is divided among them.
    """
    rate = FAULTS[kind].rate
    per_day = 0.0 if rate is None else float(getattr(config, rate, 0.0))
    per_day *= NATURAL_SHARES.get(kind, 1.0)
    part = PART.get(kind)
    return per_day * share_of_one(part) if part is not None and plant.population("supply") else per_day


def hazard_group(kind: "FaultKind") -> HazardGroup | None:
    """The group that the rate of a kind varies with; None if it is constant."""
    rate = FAULTS[kind].rate
    return None if rate is None else HAZARD_GROUPS.get(rate)


def mean_repair_h(kind: "FaultKind", config: "RepairShopConfig") -> float:
    """Mean of the log-normal repair time in hours."""
    return float(getattr(config, FAULTS[kind].repair_time))


def kinds_of(plant: "Plant") -> "tuple[FaultKind, ...]":
    """The kinds of faults that can strike a part of this plant."""
    return tuple(
        kind
        for kind, row in FAULTS.items()
        if plant.population(row.strikes) and (row.needs is None or plant.population(row.needs))
    )


def fault_target(kind: "FaultKind", target: str, fabric: str, plant: "Plant") -> "Part":
    """The part of this fabric that a fault strikes; InvalidInput says what the target must be."""
    owner = target.split("/", 1)[0]
    if owner != fabric:
        raise InvalidInput(f"target: {truncated(repr(target))} is in {owner}; must be a part of {fabric}")
    row = FAULTS[kind]
    if kind not in kinds_of(plant):
        possible = ", ".join(kinds_of(plant))
        raise InvalidInput(f"kind: {kind!r} strikes no part of {fabric}; must be one of {possible}")
    try:
        part = plant.parse(target)
    except InvalidInput as error:
        raise InvalidInput(f"target: {str(error).removeprefix('name: ')}") from None
    if part.kind != row.strikes:
        raise InvalidInput(
            f"target: {truncated(repr(target))} cannot have a fault of kind {kind!r}; "
            f"must be a name like {fabric}/{row.example}"
        )
    return part


_MEASURE = re.compile(r"(.*?)\s*([a-zA-Zµ°%/]*)", re.DOTALL)
"""A number and its unit, if it has one."""
SEVERITY_SHOWN_MAX = 40


def severity_of(kind: "FaultKind", text: str) -> float:
    """Parses a severity: `3`, `3dB` or `3 dB` for a kind that is measured in dB.

    InvalidInput if it is not a number, or has another unit.
    """
    number, unit = _MEASURE.fullmatch(text.strip()).groups()  # type: ignore[union-attr]  # takes any text
    found = read_number(number)
    if found is None:
        raise InvalidInput(
            f"severity: {text[:SEVERITY_SHOWN_MAX]!r} is not a number; must be a number like 3 or 0.5"
        )
    row = FAULTS[kind].severity
    if unit and row is not None and unit.lower() != row.unit.lower():
        raise InvalidInput(
            f"severity: {text[:SEVERITY_SHOWN_MAX]!r} has the wrong unit for a fault of kind {kind!r}; "
            f"must be between {row.least:g} and {row.most:g} {row.unit}"
        )
    return found


def check_severity(kind: "FaultKind", severity: float | None, onset_us: int | None) -> None:
    """InvalidInput unless a fault of this kind can have this severity and onset; None is always valid."""
    row = FAULTS[kind]
    if severity is not None and row.severity is None:
        raise InvalidInput(f"severity: {severity:g} is not allowed; a fault of kind {kind!r} has no severity")
    if severity is not None and row.severity is not None:
        row.severity.check(kind, severity)
    if onset_us is not None and row.onset_h is None:
        slow = ", ".join(other for other, known in FAULTS.items() if known.onset_h is not None)
        raise InvalidInput(
            f"onset_s: {onset_us / US_PER_S:g} is not allowed; a fault of kind {kind!r} has no onset; "
            f"the kind must be one of {slow}"
        )
