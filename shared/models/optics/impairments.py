"""Impairments of a link end from all its faults together, as changes of light and readings.

A fault changes an input of the optics (launched power, sensitivity, loss with or without reflection,
circulator crosstalk, temperature) or the module's readings.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shared.basics.units import US_PER_MIN
from shared.models.assumptions import assumed
from shared.models.optics.manufactured_modules import Lanes
from shared.models.optics.multipath_interference import GHZ_PER_NM
from shared.models.superpod.wiring import STRANDS

DARK_DB = 60.0
"""Launch loss of a laser that is off: no receiver can detect the rest."""
ONSET_STEPS = 8
"""Steps in which a slow fault grows."""
BOTH = (0, 1)
NOT_STUCK = -1
NOTHING = (0.0, 0.0)
"""Loss by strand."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """All impairments of an end; the default is a sound end.

    - `dead`, `unpowered`, `worked_on`: the module has no light and no readings.
    - `dropped`: the link is down at the moment.
    - `dirt_db`: loss with reflection, for all lanes.
    - `lost_db`: by strand, loss without reflection at this end's side of the path, both directions.
    - `launch_loss_db`: by strand, launched power lost.
    - `sensitivity_loss_db`: more light that the receivers need. `leak_db`: more crosstalk of the circulator.
    - `excess_temperature_k`: above the temperature that the hall causes.
    - `worn`: used share (0 to 1) of a laser's bias reserve.
    - `reading_offset_db`: received power is read too high by this. `stuck_us`: time since when readings are
      stuck.
    - `late_us`: age of readings. `lying`: readings are unrelated to the light.
    """

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
        """Whether links over the end receive other light than as manufactured."""
        by_strand = self.lost_db != NOTHING or self.launch_loss_db != NOTHING
        return by_strand or bool(
            self.dirt_db or self.sensitivity_loss_db or self.leak_db or self.excess_temperature_k
        )

    @property
    def shows_dark(self) -> bool:
        """Whether the module of an end without a link has other readings than a sound one."""
        return bool(any(self.launch_loss_db) or self.excess_temperature_k or self.worn or self.misreads)

    @property
    def misreads(self) -> bool:
        """Whether the module's readings are wrong."""
        return bool(self.reading_offset_db or self.late_us or self.lying or self.stuck_us != NOT_STUCK)


SOUND = Impairment()


def impairment(
    kind: str, severity: float | None, share: float, strand: int | None, began_us: int = 0
) -> Impairment:
    """The effect of a fault of this kind on an end, when a `share` of it (0 to 1) has developed.

    `strand` is the affected one, None for both; the fault started at `began_us`. ValueError for kinds without
    effect on an end.
    """
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
    """A wearing laser.

    Power control raises the bias and hides the wear until its reserve is used; then the light falls.
    """
    hidden = assumed("laser_wear_hidden_share")
    worn = min(share / hidden, 1.0)
    launch_loss_db = severity_db * max(share - hidden, 0.0) / (1.0 - hidden)
    return Impairment(worn=worn, launch_loss_db=(launch_loss_db, launch_loss_db))


def _by_strand(amount: float, strand: int | None) -> tuple[float, float]:
    if strand is None:
        return (amount, amount)
    return (amount, 0.0) if strand == 0 else (0.0, amount)


def strand_loss(amount: float, strand: int) -> Impairment:
    """Loss without reflection, of one strand."""
    return Impairment(lost_db=_by_strand(amount, strand))


def combined(found: Iterable[Impairment]) -> Impairment:
    """All faults of an end together: amounts add up exactly, in any order; wear and delay are the worst."""
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
    """Developed share of a fault after this time, in steps of an eighth."""
    if elapsed_us >= onset_us:
        return 1.0
    return (ONSET_STEPS * elapsed_us // onset_us) / ONSET_STEPS


def next_onset_step_us(elapsed_us: int, onset_us: int) -> int | None:
    """Time of the next step; None when the fault has fully developed."""
    if elapsed_us >= onset_us:
        return None
    step = ONSET_STEPS * elapsed_us // onset_us + 1
    return -(-step * onset_us // ONSET_STEPS)


# Impairments as arrays for the optics.

FloatArray = npt.NDArray[np.float64]


class ImpairedEnds:
    """The impairments of some ends, in their order.

    Of shape (ends, strands): `lost_db` and `launch_loss_db`; of shape (ends, 1), for both strands: all
    others.
    """

    def __init__(self, impaired: Mapping[int, Impairment], ends: npt.NDArray[np.int64]) -> None:
        there = [(place, impaired[end]) for place, end in enumerate(ends.tolist()) if end in impaired]
        rows = np.zeros((len(ends), len(_row_of(SOUND))))
        if there:
            rows[[place for place, _ in there]] = [_row_of(wrong) for _, wrong in there]
        self.dirt_db = _columns(rows, 0)
        self.leak_db = _columns(rows, 1)
        self.sensitivity_loss_db = _columns(rows, 2)
        self.excess_temperature_k = _columns(rows, 3)
        self.worn = _columns(rows, 4)
        self.lost_db = _columns(rows, 5, STRANDS)
        self.launch_loss_db = _columns(rows, 5 + STRANDS, STRANDS)


def _columns(rows: FloatArray, first: int, width: int = 1) -> FloatArray:
    found: FloatArray = rows[:, first : first + width].copy()
    return found


def _row_of(wrong: Impairment) -> tuple[float, ...]:
    """What changes light or its reading, in the order of the columns of ImpairedEnds."""
    return (
        wrong.dirt_db,
        wrong.leak_db,
        wrong.sensitivity_loss_db,
        wrong.excess_temperature_k,
        wrong.worn,
        *wrong.lost_db,
        *wrong.launch_loss_db,
    )


def changed_lanes(made: Lanes, near: ImpairedEnds, far: ImpairedEnds) -> Lanes:
    """The lanes of shape (ends, strands, lanes) with the impairments of both ends."""
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
