"""What there is to know of one kind of fault, and how bad one can be."""

from dataclasses import dataclass
from typing import Literal

from shared.basics.errors import InvalidInput
from shared.models.assumptions import assumed

HazardRate = Literal[
    "host_per_day",
    "chip_per_day",
    "cable_per_day",
    "link_per_day",
    "batch_per_day",
    "optics_per_day",
    "ocs_per_day",
    "stray_per_day",
    "block_per_day",
    "bundle_per_day",
    "rack_per_day",
    "control_per_day",
    "power_per_day",
]
"""Parameters of `failures`: the share of the parts that fail in a day."""
HazardGroup = Literal["host", "link", "ocs"]
"""Classes whose rates vary together: published are those of machines, cables and OCSes (FACTS 12)."""
HAZARD_GROUPS: "dict[HazardRate, HazardGroup]" = {
    "host_per_day": "host",
    "chip_per_day": "host",
    "cable_per_day": "link",
    "link_per_day": "link",
    "optics_per_day": "link",
    "batch_per_day": "link",
    "ocs_per_day": "ocs",
    "stray_per_day": "ocs",
}
"""Rate → the group that it varies with; others are constant."""
RepairTime = Literal[
    "host_repair_h",
    "cable_repair_h",
    "cube_repair_h",
    "link_repair_h",
    "clean_h",
    "reseat_h",
    "ocs_repair_h",
    "block_repair_h",
    "bundle_repair_h",
    "rack_repair_h",
    "control_repair_h",
    "power_repair_h",
]
"""Parameters of `repairs`: the mean time of a repair in hours."""


WorkKind = Literal["clean", "reseat", "replace", "align", "mend"]
"""What a technician does to a part (`shared.models.faults.repair_work`)."""


@dataclass(frozen=True, slots=True)
class Severity:
    """How bad a fault is: a number of `unit`. An injection may ask for `least` to `most`; one that is not
    asked for is drawn between the assumptions `drawn_from` and `drawn_to`, evenly, or with `by_ratio` evenly
    in its logarithm. With `either_way` half of those that are drawn are negative, and asked-for ones may be.
    """

    unit: str
    meaning: str
    least: float
    most: float
    drawn_from: str
    drawn_to: str
    is_logarithmic: bool = False
    is_signed: bool = False

    def drawn(self, share: float) -> float:
        """The severity at a share of 0 to 1 of all that are drawn."""
        least, most = assumed(self.drawn_from), assumed(self.drawn_to)
        sign = 1.0
        if self.is_signed:
            sign, share = (-1.0, 2.0 * share) if share < 0.5 else (1.0, 2.0 * share - 1.0)
        if self.is_logarithmic:
            return sign * float(least * (most / least) ** share)
        return sign * (least + share * (most - least))

    def check(self, kind: str, requested: float) -> None:
        """InvalidInput names the nearest severity that is allowed, unless this one is."""
        size = abs(requested) if self.is_signed else requested
        if self.least <= size <= self.most:
            return
        nearest = min(max(size, self.least), self.most)
        nearest = -nearest if self.is_signed and requested < 0 else nearest
        signs = ", or the same negative" if self.is_signed else ""
        raise InvalidInput(
            f"severity: {requested:g} is not allowed for a fault of kind {kind!r}; must be between "
            f"{self.least:g} and {self.most:g} {self.unit}{signs}; the nearest is {nearest:g}"
        )


@dataclass(frozen=True, slots=True)
class FaultDefinition:
    """What there is to know of one kind of fault.

    `strikes` is the kind of part, all of which are equally at risk; `example` the name of one behind its
    fabric's. `rate` is None for a kind that is only ever injected. Repairs of lower `rank` are begun first;
    `work` is the least that mends it. A kind without `severity` is there or not. `onset_h` is the mean time
    that one which begins by itself takes to its full severity (0: none); None for kinds that have no onset.
    Only fabrics with parts of the kind `needs` know of it.
    """

    strikes: str
    example: str
    rate: HazardRate | None
    repair_time: RepairTime
    rank: int
    meaning: str
    work: WorkKind = "mend"
    severity: Severity | None = None
    onset_h: float | None = None
    needs: str | None = None
