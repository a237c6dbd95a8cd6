"""What a technician does to a part: the kinds of work, what each mends and how long it takes.

At a link end the more thorough work includes the lesser: who replaces a module plugs in again what was
plugged, and cleans it before.
"""

from dataclasses import dataclass

from shared.models.fault_row import RepairTime, Work


@dataclass(frozen=True, slots=True)
class WorkRow:
    """`hours` is the parameter of `repairs` that has the mean time, None for that of the kind of fault; work
    of a higher `depth` includes all that has a lower one; `succeeds` is the assumption that has how often it
    mends what it can, None for always."""

    depth: int
    meaning: str
    hours: RepairTime | None = None
    succeeds: str | None = None


WORKS: dict[Work, WorkRow] = {
    "clean": WorkRow(1, "clean the connector", "clean_h", "cleaning_succeeds"),
    "reseat": WorkRow(2, "plug in and lay the fibre anew", "reseat_h", "reseating_succeeds"),
    "replace": WorkRow(3, "replace the module", "link_repair_h"),
    "align": WorkRow(1, "align the mirror anew"),
    "mend": WorkRow(9, "replace or repair the part"),
}


def mends(work: Work, needed: Work) -> bool:
    """Whether some work includes what is needed."""
    return WORKS[work].depth >= WORKS[needed].depth
