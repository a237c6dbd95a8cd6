"""The kinds of faults: what each strikes, how often it begins by itself, and how it is repaired.

One table for all who must know: ground truth, the repair shop, the gateway, the command line. It imports
nothing slow, so that a command can show it at once.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shared.basics.errors import InvalidInput

if TYPE_CHECKING:
    from schemas.config import FailuresConfig, RepairsConfig
    from schemas.config_dcn import NetworkFailuresConfig, NetworkRepairsConfig
    from schemas.names import FaultKind
    from shared.models.plant import Part, Plant

HazardRate = Literal[
    "host_per_day",
    "link_per_day",
    "ocs_per_day",
    "block_per_day",
    "bundle_per_day",
    "rack_per_day",
    "control_per_day",
    "power_per_day",
]
"""Parameters of `failures`: the share of the parts that fail in a day."""
RepairTime = Literal[
    "host_repair_h",
    "link_repair_h",
    "ocs_repair_h",
    "block_repair_h",
    "bundle_repair_h",
    "rack_repair_h",
    "control_repair_h",
    "power_repair_h",
]
"""Parameters of `repairs`: the mean time of a repair in hours."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """What there is to know of one kind of fault.

    `strikes` is the kind of part, all of which are equally at risk; `example` the name of one behind its
    fabric's. `rate` is None for a kind that is only ever injected. Repairs of lower `rank` are begun first.
    """

    strikes: str
    example: str
    rate: HazardRate | None
    repair_time: RepairTime
    rank: int
    meaning: str


FAULTS: "dict[FaultKind, FaultRow]" = {
    "host": FaultRow(
        strikes="host",
        example="cube-12/host-3",
        rate="host_per_day",
        repair_time="host_repair_h",
        rank=1,
        meaning="the host falls silent, and its chips with it; seen at the next heartbeat",
    ),
    "chip": FaultRow(
        strikes="chip",
        example="cube-12/host-3/chip-1",
        rate=None,
        repair_time="host_repair_h",
        rank=1,
        meaning="the chip is dead; its host says so at the next heartbeat",
    ),
    "link": FaultRow(
        strikes="end",
        example="cube-12/+y/7",
        rate="link_per_day",
        repair_time="link_repair_h",
        rank=1,
        meaning="the module or its cable is dead: the link is down",
    ),
    "connector": FaultRow(
        strikes="end",
        example="cube-12/+y/7",
        rate=None,
        repair_time="link_repair_h",
        rank=1,
        meaning="dirt on the connector takes light from both directions of the link",
    ),
    "ocs": FaultRow(
        strikes="ocs",
        example="ocs-17",
        rate="ocs_per_day",
        repair_time="ocs_repair_h",
        rank=0,
        meaning="the chassis fails and loses every circuit",
    ),
    "port": FaultRow(
        strikes="port",
        example="ocs-17/N24",
        rate=None,
        repair_time="ocs_repair_h",
        rank=0,
        meaning="a port of an OCS fails and loses its circuit",
    ),
    "block": FaultRow(
        strikes="block",
        example="block-3",
        rate="block_per_day",
        repair_time="block_repair_h",
        rank=1,
        meaning="the aggregation block is out of use, and its pod is cut off",
    ),
    "bundle": FaultRow(
        strikes="bundle",
        example="block-3/bundle-5",
        rate="bundle_per_day",
        repair_time="bundle_repair_h",
        rank=1,
        meaning="the fibres from a block to a rack are cut",
    ),
    "rack": FaultRow(
        strikes="rack",
        example="rack-5",
        rate="rack_per_day",
        repair_time="rack_repair_h",
        rank=0,
        meaning="the OCSes of a rack lose every circuit",
    ),
    "control": FaultRow(
        strikes="control",
        example="control-2",
        rate="control_per_day",
        repair_time="control_repair_h",
        rank=0,
        meaning="a domain fails static: its circuits stay, nothing in it can be changed",
    ),
    "power": FaultRow(
        strikes="power",
        example="power-2",
        rate="power_per_day",
        repair_time="power_repair_h",
        rank=0,
        meaning="the OCSes of a domain lose every circuit, unless they latch",
    ),
}
"""Kind of fault → what there is to know of it; faults of the same microsecond begin in this order.

OCSes and their ports are repaired before all else: one OCS degrades every slice of several cubes (Lightwave
Fabrics 4.2.2). The papers give no rates for chips, connectors and ports (NSDI 2024, FACTS 12), nor for parts
of a network: those are assumptions (`schemas.config_dcn`).
"""


def rate_per_day(kind: "FaultKind", config: "FailuresConfig | NetworkFailuresConfig") -> float:
    """Faults per part and day that begin by themselves; none of a kind that the fabric does not know."""
    rate = FAULTS[kind].rate
    return 0.0 if rate is None else float(getattr(config, rate, 0.0))


def mean_repair_h(kind: "FaultKind", config: "RepairsConfig | NetworkRepairsConfig") -> float:
    """Mean of the log-normal repair time in hours."""
    return float(getattr(config, FAULTS[kind].repair_time))


def fault_target(kind: "FaultKind", target: str, fabric: str, plant: "Plant") -> "Part":
    """The part of this fabric that a fault strikes; InvalidInput says in a sentence what is allowed
    otherwise."""
    owner = target.split("/", 1)[0]
    if owner != fabric:
        raise InvalidInput(f"target {target!r}: is in {owner}, allowed are parts of {fabric}")
    row = FAULTS[kind]
    if not plant.population(row.strikes):
        possible = ", ".join(k for k, other in FAULTS.items() if plant.population(other.strikes))
        raise InvalidInput(f"kind {kind!r}: {fabric} has nothing that it strikes; allowed are {possible}")
    try:
        part = plant.parse(target)
    except InvalidInput as error:
        raise InvalidInput(f"target: {error}") from None
    if part.kind != row.strikes:
        raise InvalidInput(
            f"target {target!r}: not what a fault of kind {kind!r} can strike; "
            f"allowed are names like {fabric}/{row.example}"
        )
    return part
