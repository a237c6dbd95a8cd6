"""The definition of one kind of fault, and its range of severity."""

from dataclasses import dataclass
from typing import Literal

from shared.basics.errors import InvalidInput
from shared.models.assumptions import assumed

HazardGroup = Literal["host", "link", "ocs"]
"""Groups whose rates vary together: machines, cables and OCSes have published values."""
HAZARD_GROUPS: dict[str, HazardGroup] = {
    "host_per_day": "host",
    "chip_per_day": "host",
    "cable_per_day": "link",
    "link_per_day": "link",
    "optics_per_day": "link",
    "batch_per_day": "link",
    "ocs_per_day": "ocs",
    "stray_per_day": "ocs",
}
"""Rate → the group that it varies with; other rates are constant."""
WorkKind = Literal["clean", "reseat", "replace", "align", "mend"]
"""Work of a technician on a part (`shared.models.faults.repair_work`)."""


@dataclass(frozen=True, slots=True)
class Severity:
    """How bad a fault is, as a number of `unit`.

    An injection may request `least` to `most`. If it requests none, the severity is drawn uniformly between
    the assumptions `drawn_from` and `drawn_to`, or log-uniformly with `is_logarithmic`. With `is_signed`,
    half of the drawn ones are negative, and requested ones may be.
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
        """The severity at a quantile (0 to 1) of the drawn distribution."""
        least, most = assumed(self.drawn_from), assumed(self.drawn_to)
        sign = 1.0
        if self.is_signed:
            sign, share = (-1.0, 2.0 * share) if share < 0.5 else (1.0, 2.0 * share - 1.0)
        if self.is_logarithmic:
            return sign * float(least * (most / least) ** share)
        return sign * (least + share * (most - least))

    def check(self, kind: str, requested: float) -> None:
        """InvalidInput, with the nearest valid severity, unless this one is in range."""
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
    """The definition of one kind of fault.

    - `strikes`: the kind of part, all of which are equally at risk. `example`: the name of one without its
      fabric.
    - `rate`: the parameter of `failures` for the share of the parts that fail in a day; None if the kind is
      only ever injected. `repair_time`: the parameter of `repairs` for the mean time of a repair in hours.
    - `repair_priority`: repairs with a lower number start first. `work`: the minimum work that repairs it.
    - `severity`: None if the fault is only present or absent.
    - `onset_h`: mean time in which a spontaneous fault grows to full severity (0: at once); None for kinds
      without onset.
    - `needs`: only fabrics with parts of this kind have the fault.
    """

    strikes: str
    example: str
    rate: str | None
    repair_time: str
    repair_priority: int
    meaning: str
    work: WorkKind = "mend"
    severity: Severity | None = None
    onset_h: float | None = None
    needs: str | None = None
