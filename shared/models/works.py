"""What a technician does to a part: the kinds of work, what each mends and how long it takes.

At a link end the more thorough work includes the lesser: who replaces a module plugs in again what was
plugged, and cleans it before.
"""

from dataclasses import dataclass

from shared.basics.units import US_PER_MIN, us
from shared.models.assumptions import assumed
from shared.models.fault_row import RepairTime, Work


@dataclass(frozen=True, slots=True)
class WorkRow:
    """`hours` is the parameter of `repairs` that has the mean time, None for that of the kind of fault; work
    of a higher `depth` includes all that has a lower one; `succeeds` is the assumption that has how often it
    mends what it can, None for always; `hands_on` the one that has for how many minutes at the end of it the
    part is out of use, None where it is no more so than before; `at_fibres`: it is at link ends, and those
    do it, too, who have learned nothing else."""

    depth: int
    meaning: str
    hours: RepairTime | None = None
    succeeds: str | None = None
    hands_on: str | None = None
    at_fibres: bool = False


WORKS: dict[Work, WorkRow] = {
    "clean": WorkRow(
        1, "clean the connector", "clean_h", "cleaning_succeeds", "cleaning_hands_on_min", at_fibres=True
    ),
    "reseat": WorkRow(
        2,
        "plug in and lay the fibre anew",
        "reseat_h",
        "reseating_succeeds",
        "reseating_hands_on_min",
        at_fibres=True,
    ),
    "replace": WorkRow(
        3, "replace the module", "link_repair_h", hands_on="replacing_hands_on_min", at_fibres=True
    ),
    "align": WorkRow(1, "align the mirror anew"),
    "mend": WorkRow(9, "replace or repair the part"),
}


def hands_on_us(work: Work) -> int | None:
    """For how long at the end of some work its part is out of use; None for work that leaves it as it is."""
    name = WORKS[work].hands_on
    return None if name is None else us(assumed(name), US_PER_MIN)


def mends(work: Work, needed: Work) -> bool:
    """Whether some work includes what is needed."""
    return WORKS[work].depth >= WORKS[needed].depth
