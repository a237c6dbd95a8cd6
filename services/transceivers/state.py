"""State of the link ends of one fabric. Arrays are indexed by link-end number, 96 a cube."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from schemas.config.pods import AnyPodConfig, PodConfig
from schemas.config.transceivers import TransceiversConfig
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.state import TRANSIENT, State
from shared.models.fabric_plants import plant_of
from shared.models.optics.impairments import Impairment
from shared.models.optics.link_design import design_of
from shared.models.optics.manufactured_modules import manufactured_modules
from shared.models.optics.pod_links import direct_log10_bers
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import ENDS_PER_CUBE
from shared.models.telemetry.installed_modules import InstalledModules
from shared.models.telemetry.outlier_thresholds import Inspection

BOTH_STRANDS = 3

LINK_STATES = ("dark", "up", "degraded", "down")
"""Link states by code."""
DARK, UP, DEGRADED, DOWN = range(len(LINK_STATES))


@dataclass(frozen=True, slots=True)
class EndFault:
    """An active fault of some link ends, or of one `strand` of them.

    It grows to its severity over `onset_us`. `next_us` is the time at which it changes by itself; None if it
    does not. `cause` is the id of the message that reported it. For an intermittent fault, `is_out` is true
    while the link is down, and `outages` counts the outages so far. For a fault of a `mirror`, given by its
    place, `ends` has the end whose fibre uses it now.
    """

    ends: tuple[int, ...]
    kind: str
    severity: float | None
    began_us: int
    onset_us: int
    strand: int | None
    next_us: int | None
    cause: str
    is_out: bool = False
    outages: int = 0
    mirror: int | None = None


@dataclass(frozen=True, slots=True)
class ReplacedModule:
    """A module that replaced another at a link end: its generation and the time of its installation."""

    generation: int
    since_us: int


@dataclass(frozen=True, slots=True)
class DriftingArray:
    """A mirror array without control since `began_us`, because of `faults` of its camera or monitor beam.

    After `steps` hourly steps its mirrors are off by `tilts` in nanoradians and cost `loss_db` in dB, both by
    physical port. `cause` is the id of the message that reported the first fault.
    """

    faults: tuple[str, ...]
    began_us: int
    cause: str
    steps: int = 0
    tilts: tuple[tuple[int, ...], ...] = ()
    loss_db: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LightRecord:
    """What the light at an end has depended on since `since_us`."""

    since_us: int
    far: int
    """Far end of its circuit; −1 for none."""
    lit: int
    own: Impairment
    """Including drift, as is `other`."""
    other: Impairment
    """Impairment of the far end."""
    patched: tuple[tuple[int, int], ...]
    """Moved fibres of both ends, as (place of the port, physical port)."""
    replaced: tuple[tuple[int, ReplacedModule], ...]
    """Replaced modules among both ends."""

    def is_same_as(self, other: "LightRecord") -> bool:
        """Whether this equals another record, apart from `since_us`."""
        return replace(self, since_us=other.since_us) == other


@dataclass(frozen=True, slots=True)
class EndMasks:
    """Masks by link end.

    `moved`: the fibre of one of its ports uses a spare port. `changed`: a moved fibre or an impairment
    changes the light of its link. `dropped`: its link is in a short outage. `misreading`: the impairments of
    the ends whose modules read wrong.
    """

    moved: npt.NDArray[np.bool_]
    changed: npt.NDArray[np.bool_]
    dropped: npt.NDArray[np.bool_]
    misreading: Mapping[int, Impairment]


@dataclass
class TransceiversState(State):
    """State of the link ends of one fabric."""

    config: TransceiversConfig
    kind: str
    """Kind of the fabric; it decides what lies between the two ends of a link."""
    pod: PodConfig
    next_frame_us: int | None
    peer: npt.NDArray[np.int32]
    """Far end of the wanted circuit or of the fixed fibres; −1 for none."""
    lit: npt.NDArray[np.uint8]
    """Bit s is set if strand s is made."""
    loss_db: npt.NDArray[np.float64]
    """Loss of the worse strand's fibre and OCS, without connector faults; NaN without a wanted circuit."""
    worst_lane_log10_ber: npt.NDArray[np.float64]
    """Of the worst lane that the end receives, with all faults; NaN without a wanted circuit."""
    excess_db: npt.NDArray[np.float64]
    """Loss that the end's connector faults add."""
    failed: npt.NDArray[np.bool_]
    """Whether the end's module or cable is dead, without power, or being worked on."""
    code: npt.NDArray[np.uint8]
    """Index into LINK_STATES."""
    changed_us: npt.NDArray[np.int64]
    technology: str = "palomar"
    """Technology of the OCSes, if the fabric has any."""
    first_light_us: int | None = None
    """Time at which links over fixed fibres are first evaluated; they count as up before. None if there are
    none or it is done."""
    faults: dict[str, EndFault] = field(default_factory=dict)
    patched: dict[int, int] = field(default_factory=dict)
    """Ports of OCSes whose fibre uses a spare port (`shared.models.ocs.patched_fibres`)."""
    impaired: dict[int, Impairment] = field(default_factory=dict)
    """Combined impairments of ends that are not sound."""
    outages: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Times of the outages of an end in the last day."""
    light_history: dict[int, tuple[LightRecord, ...]] = field(default_factory=dict)
    """Records of ends with stuck or late sensors, in order of time."""
    worked_on: dict[int, str] = field(default_factory=dict)
    """Ends that a technician works on, with the repair."""
    commissioned_us: int = 0
    """Time at which all modules were new."""
    replaced: dict[int, ReplacedModule] = field(default_factory=dict)
    drifting: dict[int, DriftingArray] = field(default_factory=dict)
    """Mirror arrays without control, by 2 × OCS + side."""
    next_inspection_us: int | None = None
    """Time of the next inspection of all ends; None if no end could be an outlier."""
    early_inspection_us: int | None = None
    """Time of an earlier inspection of `early_ends`."""
    early_ends: dict[int, bool] = field(default_factory=dict)
    reported: dict[int, Inspection] = field(default_factory=dict)
    """Outlier ends of the last inspection, as they were reported."""
    unseen: dict[int, bool] = field(default_factory=dict)
    """Ends of `reported` that cannot be read since."""
    draw_seed: int = 0
    """Key of the draws of outages and struck strands; `seed` is the key of the manufactured parts."""
    modules: InstalledModules | None = field(default=None, metadata=TRANSIENT)
    """Cache of `services.transceivers.modules`."""
    masks: EndMasks | None = field(default=None, metadata=TRANSIENT)
    """Cache of `services.transceivers.link_optics`."""

    @property
    def cubes(self) -> int:
        return self.pod.cubes


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> TransceiversState:
    """The link ends of a new fabric: dark, except those that fixed fibres join."""
    cubes = config.pod.cubes
    ends = cubes * ENDS_PER_CUBE
    state = TransceiversState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.transceivers,
        kind=config.kind,
        pod=config.pod,
        technology=config.pod_ocs.technology if config.pod_ocs is not None else "palomar",
        next_frame_us=next_frame_due_us(config.transceivers.telemetry_interval_s, at_us),
        peer=plant_of(config.kind, config.pod).far_ends().astype(np.int32),
        lit=np.zeros(ends, dtype=np.uint8),
        loss_db=np.full(ends, np.nan),
        worst_lane_log10_ber=np.full(ends, np.nan),
        excess_db=np.zeros(ends),
        failed=np.zeros(ends, dtype=np.bool_),
        code=np.full(ends, DARK, dtype=np.uint8),
        changed_us=np.full(cubes, at_us, dtype=np.int64),
        commissioned_us=at_us,
        draw_seed=config.seed,
    )
    _light_fixed_fibres(state)
    return state


def _light_fixed_fibres(state: TransceiversState) -> None:
    """Light the links over fixed fibres.

    Nothing is emitted for links that are up. If the configuration degrades any, all are evaluated at once.
    """
    joined = state.peer != NO_END
    if not joined.any():
        return
    state.lit[joined] = BOTH_STRANDS
    state.loss_db[joined] = state.config.fibre_loss_db
    ends, peers = np.flatnonzero(joined), state.peer[joined].astype(np.int64)
    design = design_of(state.config)
    made = manufactured_modules(state.seed, state.fabric, len(state.peer))
    state.worst_lane_log10_ber[joined] = direct_log10_bers(made, design, ends, peers)
    state.code[joined] = UP
    if (state.worst_lane_log10_ber[joined] > math.log10(state.config.degraded_above_ber)).any():
        state.first_light_us = state.now_us
