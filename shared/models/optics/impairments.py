"""What is wrong with a link end at a moment, as light and readings have it: all faults of an end together.

A fault is a change of what the optics take: launched power, light needed, loss with or without reflection,
crosstalk of the circulator, temperature; or of what the module says of itself.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shared.basics.units import US_PER_MIN
from shared.models.assumptions import assumed
from shared.models.optics.beat import GHZ_PER_NM
from shared.models.optics.manufactured_modules import Lanes
from shared.models.superpod.wiring import STRANDS

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
    launch_loss_db: tuple[float, float] = NOTHING
    sensitivity_loss_db: float = 0.0
    leak_db: float = 0.0
    excess_temperature_k: float = 0.0
    worn: float = 0.0
    reading_offset_db: float = 0.0
    stuck_us: int = NOT_STUCK
    late_us: int = 0
    lying: bool = False

    @property
    def changes_light(self) -> bool:
        """Whether links over the end receive otherwise than as made."""
        by_strand = self.lost_db != NOTHING or self.launch_loss_db != NOTHING
        return by_strand or bool(
            self.dirt_db or self.sensitivity_loss_db or self.leak_db or self.excess_temperature_k
        )

    @property
    def shows_dark(self) -> bool:
        """Whether the module of an end without a link says otherwise than a sound one would."""
        return bool(any(self.launch_loss_db) or self.excess_temperature_k or self.worn or self.misreads)

    @property
    def misreads(self) -> bool:
        """Whether what the module says of itself is wrong."""
        return bool(self.reading_offset_db or self.late_us or self.lying or self.stuck_us != NOT_STUCK)


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
            return Impairment(sensitivity_loss_db=amount)
        case "transmitter":
            return Impairment(launch_loss_db=_by_strand(DARK_DB, strand))
        case "circulator":
            return Impairment(leak_db=amount)
        case "heat":
            droop_db = assumed("laser_droop_db_per_k") * amount
            return Impairment(excess_temperature_k=amount, launch_loss_db=(droop_db, droop_db))
        case "calibration":
            return Impairment(reading_offset_db=amount)
        case "stuck":
            return Impairment(stuck_us=began_us)
        case "late":
            return Impairment(late_us=round(amount * US_PER_MIN))
        case "lying":
            return Impairment(lying=True)
        case "flap":
            return Impairment(dropped=share > 0.0)
    raise ValueError(f"kind: {kind!r} has no effect on a link end")


def _worn(severity_db: float, share: float) -> Impairment:
    """Control of the power raises the bias of a laser that wears, and hides it so until there is no more to
    raise; then the light falls."""
    hidden = assumed("laser_wear_hidden_share")
    worn = min(share / hidden, 1.0)
    launch_loss_db = severity_db * max(share - hidden, 0.0) / (1.0 - hidden)
    return Impairment(worn=worn, launch_loss_db=(launch_loss_db, launch_loss_db))


def _by_strand(amount: float, strand: int | None) -> tuple[float, float]:
    if strand is None:
        return (amount, amount)
    return (amount, 0.0) if strand == 0 else (0.0, amount)


def strand_loss(amount: float, strand: int) -> Impairment:
    """Loss that does not reflect, of one strand."""
    return Impairment(lost_db=_by_strand(amount, strand))


def combined(found: Iterable[Impairment]) -> Impairment:
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
        launch_loss_db=by_strand("launch_loss_db"),
        sensitivity_loss_db=total("sensitivity_loss_db"),
        leak_db=total("leak_db"),
        excess_temperature_k=total("excess_temperature_k"),
        worn=max((one.worn for one in all_of), default=0.0),
        reading_offset_db=total("reading_offset_db"),
        stuck_us=min((one.stuck_us for one in all_of if one.stuck_us != NOT_STUCK), default=NOT_STUCK),
        late_us=max((one.late_us for one in all_of), default=0),
        lying=any(one.lying for one in all_of),
    )


def onset_share(elapsed_us: int, onset_us: int) -> float:
    """How much of a fault has come after so long, in steps of an eighth."""
    if elapsed_us >= onset_us:
        return 1.0
    return (ONSET_STEPS * elapsed_us // onset_us) / ONSET_STEPS


def next_onset_step_us(elapsed_us: int, onset_us: int) -> int | None:
    """After how long the next step comes; None when all of the fault has come."""
    if elapsed_us >= onset_us:
        return None
    step = ONSET_STEPS * elapsed_us // onset_us + 1
    return -(-step * onset_us // ONSET_STEPS)


# What is wrong with ends, as the arrays that the optics take.

FloatArray = npt.NDArray[np.float64]
AnyFloat = float | tuple[float, float]


class ImpairedEnds:
    """What is wrong with some ends, in their order. Of shape (ends, strands): `lost_db` and `dimmed_db`; of
    shape (ends, 1) for both strands alike: all others."""

    def __init__(self, impaired: Mapping[int, Impairment], ends: npt.NDArray[np.int64]) -> None:
        self._places = [(place, impaired[end]) for place, end in enumerate(ends.tolist()) if end in impaired]
        self._count = len(ends)
        self.dirt_db = self._each(lambda wrong: wrong.dirt_db)
        self.leak_db = self._each(lambda wrong: wrong.leak_db)
        self.sensitivity_loss_db = self._each(lambda wrong: wrong.sensitivity_loss_db)
        self.excess_temperature_k = self._each(lambda wrong: wrong.excess_temperature_k)
        self.lost_db = self._each(lambda wrong: wrong.lost_db, STRANDS)
        self.launch_loss_db = self._each(lambda wrong: wrong.launch_loss_db, STRANDS)
        self.worn = self._each(lambda wrong: wrong.worn)

    def _each(self, amount: Callable[[Impairment], AnyFloat], width: int = 1) -> FloatArray:
        found = np.zeros((self._count, width))
        for place, wrong in self._places:
            found[place] = amount(wrong)
        return found


def changed_lanes(made: Lanes, near: ImpairedEnds, far: ImpairedEnds) -> Lanes:
    """The lanes of shape (ends, strands, lanes) with what is wrong at both ends."""
    offset_ghz = made.offset_ghz
    if offset_ghz is not None:
        drift_ghz = (
            -assumed("laser_drift_nm_per_k")
            * GHZ_PER_NM
            * (near.excess_temperature_k - far.excess_temperature_k)
        )
        offset_ghz = offset_ghz + drift_ghz[..., None]
    return replace(
        made,
        far_launch_db=made.far_launch_db - far.launch_loss_db[..., None],
        near_launch_db=made.near_launch_db - near.launch_loss_db[..., None],
        sensitivity_db=made.sensitivity_db + near.sensitivity_loss_db[..., None],
        offset_ghz=offset_ghz,
    )
