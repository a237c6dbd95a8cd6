"""What is wrong with a link end at a moment, as light and readings have it: all faults of an end together.

A fault is a change of what the optics take: launched power, light needed, loss with or without reflection,
crosstalk of the circulator, temperature; or of what the module says of itself.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shared.basics.units import US_PER_MIN
from shared.models.assumptions import assumed

DARK_DB = 60.0
"""What a laser that is off launches less: nothing is left that a receiver could tell."""
ONSET_STEPS = 8
"""A fault that comes slowly grows in so many steps."""
BOTH = (0, 1)
NOT_STUCK = -1
NOTHING = (0.0, 0.0)
"""Of a loss, by strand."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """All that is wrong with an end; the default is a sound one.

    `dead` and `unpowered` modules have no light and no readings, nor has one that is `worked_on`; `dropped`
    is a link for the moment. By strand: `lost_db` is loss that does not reflect, at this end's side of the
    path, both ways; `dimmed_db` is launched power lost. For all lanes: `dirt_db` loss that reflects,
    `deaf_db` light that the receivers need more, `leak_db` crosstalk of the circulator more, `hotter_k`
    warmer than the hall makes it, `worn` of the bias that is left to a laser (0 to 1). Readings: `reads_db`
    that received power is read too high, `stuck_us` since when they do not change, `late_us` old, `lying`
    unrelated to anything."""

    dead: bool = False
    unpowered: bool = False
    worked_on: bool = False
    dropped: bool = False
    dirt_db: float = 0.0
    lost_db: tuple[float, float] = NOTHING
    dimmed_db: tuple[float, float] = NOTHING
    deaf_db: float = 0.0
    leak_db: float = 0.0
    hotter_k: float = 0.0
    worn: float = 0.0
    reads_db: float = 0.0
    stuck_us: int = NOT_STUCK
    late_us: int = 0
    lying: bool = False

    @property
    def changes_light(self) -> bool:
        """Whether links over the end receive otherwise than as made."""
        by_strand = self.lost_db != NOTHING or self.dimmed_db != NOTHING
        return by_strand or bool(self.dirt_db or self.deaf_db or self.leak_db or self.hotter_k)

    @property
    def shows_dark(self) -> bool:
        """Whether the module of an end without a link says otherwise than a sound one would."""
        return bool(any(self.dimmed_db) or self.hotter_k or self.worn or self.misreads)

    @property
    def misreads(self) -> bool:
        """Whether what the module says of itself is wrong."""
        return bool(self.reads_db or self.late_us or self.lying or self.stuck_us != NOT_STUCK)


SOUND = Impairment()


def impairment(
    kind: str, severity: float | None, share: float, strand: int | None, began_us: int = 0
) -> Impairment:
    """What a fault of this kind does to an end that it strikes, when a `share` of it has come (0 to 1).

    `strand` is the one that is struck, None for both; it began at `began_us`. ValueError for kinds that do
    nothing to an end."""
    amount = share * (severity or 0.0)
    match kind:
        case "link":
            return Impairment(dead=True)
        case "cube-power":
            return Impairment(unpowered=True)
        case "connector":
            return Impairment(dirt_db=amount)
        case "fibre" | "mirror" | "shake":
            return Impairment(lost_db=_by_strand(amount, strand))
        case "laser" | "batch":
            return _worn(severity or 0.0, share)
        case "receiver":
            return Impairment(deaf_db=amount)
        case "transmitter":
            return Impairment(dimmed_db=_by_strand(DARK_DB, strand))
        case "circulator":
            return Impairment(leak_db=amount)
        case "heat":
            droop_db = assumed("laser_droop_db_per_k") * amount
            return Impairment(hotter_k=amount, dimmed_db=(droop_db, droop_db))
        case "calibration":
            return Impairment(reads_db=amount)
        case "stuck":
            return Impairment(stuck_us=began_us)
        case "late":
            return Impairment(late_us=round(amount * US_PER_MIN))
        case "lying":
            return Impairment(lying=True)
        case "flap":
            return Impairment(dropped=share > 0.0)
    raise ValueError(f"kind {kind!r}: does nothing to a link end")


def _worn(severity_db: float, share: float) -> Impairment:
    """Control of the power raises the bias of a laser that wears, and hides it so until there is no more to
    raise; then the light falls."""
    hidden = assumed("laser_wear_hidden_share")
    worn = min(share / hidden, 1.0)
    dimmed_db = severity_db * max(share - hidden, 0.0) / (1.0 - hidden)
    return Impairment(worn=worn, dimmed_db=(dimmed_db, dimmed_db))


def _by_strand(amount: float, strand: int | None) -> tuple[float, float]:
    if strand is None:
        return (amount, amount)
    return (amount, 0.0) if strand == 0 else (0.0, amount)


def lost_on(amount: float, strand: int) -> Impairment:
    """Loss that does not reflect, of one strand."""
    return Impairment(lost_db=_by_strand(amount, strand))


def together(found: Iterable[Impairment]) -> Impairment:
    """Of all faults of an end: amounts add up exactly, and so in any order; wear and delay are the worst."""
    all_of = list(found)
    if len(all_of) < 2:
        return all_of[0] if all_of else SOUND

    def total(name: str) -> float:
        return math.fsum(getattr(one, name) for one in all_of)

    def by_strand(name: str) -> tuple[float, float]:
        first, second = (math.fsum(getattr(one, name)[strand] for one in all_of) for strand in BOTH)
        return first, second

    return Impairment(
        dead=any(one.dead for one in all_of),
        unpowered=any(one.unpowered for one in all_of),
        worked_on=any(one.worked_on for one in all_of),
        dropped=any(one.dropped for one in all_of),
        dirt_db=total("dirt_db"),
        lost_db=by_strand("lost_db"),
        dimmed_db=by_strand("dimmed_db"),
        deaf_db=total("deaf_db"),
        leak_db=total("leak_db"),
        hotter_k=total("hotter_k"),
        worn=max((one.worn for one in all_of), default=0.0),
        reads_db=total("reads_db"),
        stuck_us=min((one.stuck_us for one in all_of if one.stuck_us != NOT_STUCK), default=NOT_STUCK),
        late_us=max((one.late_us for one in all_of), default=0),
        lying=any(one.lying for one in all_of),
    )


def come_share(elapsed_us: int, onset_us: int) -> float:
    """How much of a fault has come after so long, in steps of an eighth."""
    if elapsed_us >= onset_us:
        return 1.0
    return (ONSET_STEPS * elapsed_us // onset_us) / ONSET_STEPS


def next_step_us(elapsed_us: int, onset_us: int) -> int | None:
    """After how long the next step comes; None when all of the fault has come."""
    if elapsed_us >= onset_us:
        return None
    step = ONSET_STEPS * elapsed_us // onset_us + 1
    return -(-step * onset_us // ONSET_STEPS)
