"""What a technician does to a part: the kinds of work, what each mends and how long it takes.

At a link end the more thorough work includes the lesser: who replaces a module plugs in again what was
plugged, and cleans it before.
"""

from dataclasses import dataclass

from shared.basics.units import US_PER_MIN, to_whole_us
from shared.models.assumptions import assumed
from shared.models.faults.fault_definition import RepairTime, WorkKind


@dataclass(frozen=True, slots=True)
class WorkDefinition:
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
    at_link_ends: bool = False


WORK_DEFINITIONS: dict[WorkKind, WorkDefinition] = {
    "clean": WorkDefinition(
        1, "clean the connector", "clean_h", "cleaning_succeeds", "cleaning_hands_on_min", at_link_ends=True
    ),
    "reseat": WorkDefinition(
        2,
        "unplug, lay and plug in the fibre again",
        "reseat_h",
        "reseating_succeeds",
        "reseating_hands_on_min",
        at_link_ends=True,
    ),
    "replace": WorkDefinition(
        3, "replace the module", "link_repair_h", hands_on="replacing_hands_on_min", at_link_ends=True
    ),
    "align": WorkDefinition(1, "align the mirror again"),
    "mend": WorkDefinition(9, "replace or repair the part"),
}


def hands_on_us(work: WorkKind) -> int | None:
    """For how long at the end of some work its part is out of use; None for work that leaves it as it is."""
    name = WORK_DEFINITIONS[work].hands_on
    return None if name is None else to_whole_us(assumed(name), US_PER_MIN)


def covers(work: WorkKind, needed: WorkKind) -> bool:
    """Whether some work includes what is needed."""
    return WORK_DEFINITIONS[work].depth >= WORK_DEFINITIONS[needed].depth
