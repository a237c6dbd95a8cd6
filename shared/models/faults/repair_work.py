"""Kinds of repair work: what each repairs and how long it takes.

At a link end more thorough work includes the lesser: replacing a module includes plugging in again and
cleaning.
"""

from dataclasses import dataclass

from shared.basics.units import US_PER_MIN, to_whole_us
from shared.models.assumptions import assumed
from shared.models.faults.fault_definition import WorkKind


@dataclass(frozen=True, slots=True)
class WorkDefinition:
    """The definition of one kind of work.

    - `depth`: work includes all work of a lower depth.
    - `hours`: parameter of `repairs` with the mean time; None for the time of the kind of fault.
    - `succeeds`: assumption with the probability of success; None means always.
    - `hands_on`: assumption with the minutes at the end during which the part is out of use; None if it is
      not affected.
    - `at_link_ends`: the work is at link ends, and can be done without further training.
    """

    depth: int
    meaning: str
    hours: str | None = None
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
    """Time at the end of the work during which the part is out of use; None if the part is not affected."""
    name = WORK_DEFINITIONS[work].hands_on
    return None if name is None else to_whole_us(assumed(name), US_PER_MIN)


def covers(work: WorkKind, needed: WorkKind) -> bool:
    """Whether some work includes the needed work."""
    return WORK_DEFINITIONS[work].depth >= WORK_DEFINITIONS[needed].depth
