"""What is known at the link ends of one fabric. Arrays are indexed by link-end number, 96 a cube."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from schemas.config.pods import AnyPodConfig, PodConfig, SuperpodConfig
from schemas.config.transceivers import TransceiversConfig
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.state import TRANSIENT, State
from shared.models.fabric_plants import plant_of
from shared.models.optics.fabric_links import direct_log10_bers
from shared.models.optics.impairments import Impairment
from shared.models.optics.link_design import design_of
from shared.models.optics.manufactured_modules import manufactured_modules
from shared.models.superpod.wiring import ENDS_PER_CUBE
from shared.models.telemetry.inspections import Inspection
from shared.models.telemetry.installed_modules import InstalledModules

NO_END = -1
BOTH_STRANDS = 3

LINK_STATES = ("dark", "up", "degraded", "down")
"""Link states by code."""
DARK, UP, DEGRADED, DOWN = range(len(LINK_STATES))


@dataclass(frozen=True, slots=True)
class EndFault:
    """An active fault of some link ends, or of one `strand` of them. It grows to its severity over
    `onset_us`. `next_us` is when it changes by itself, None if it does not any more; `cause` is the id of the
    message that told of it. Of one that comes and goes `out` tells whether the link is down now, and
    `outages` how many there were. Of one of a `mirror`, given by its place, `ends` has the end whose fibre is
    before it now."""

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
    """One that took the place of another at a link end: of which generation, and since when it is there."""

    generation: int
    since_us: int


@dataclass(frozen=True, slots=True)
class DriftingArray:
    """An array of mirrors that nothing holds, because of some `faults` of its camera or monitor beam, since
    `began_us`. After so many `steps` of their walk mirrors are off by `tilts`, in nanoradians, and cost
    `loss_db`, both by physical port; `cause` is the id of the message that told of the first fault."""

    faults: tuple[str, ...]
    began_us: int
    cause: str
    steps: int = 0
    tilts: tuple[tuple[int, ...], ...] = ()
    loss_db: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LightRecord:
    """What the light at an end depended on since `since_us`: the far end of its circuit (−1 none), which
    strands were made, all that was wrong with it and with its far end, drifting mirrors with it, the ports of
    both whose fibre was moved, each with where to, and which of the two had another module than at first."""

    since_us: int
    far: int
    lit: int
    own: Impairment
    other: Impairment
    patched: tuple[tuple[int, int], ...]
    replaced: tuple[tuple[int, ReplacedModule], ...]

    def is_same_as(self, other: "LightRecord") -> bool:
        """Whether nothing has changed since another."""
        return replace(self, since_us=other.since_us) == other


@dataclass(frozen=True, slots=True)
class EndMasks:
    """By link end: `moved` where the fibre of one of its ports is at a spare one; `unlike` where that or what
    is wrong with the end changes the light of its link; `dropped` where its link is down for a moment."""

    moved: npt.NDArray[np.bool_]
    changed: npt.NDArray[np.bool_]
    dropped: npt.NDArray[np.bool_]


@dataclass
class TransceiversState(State):
    """`peer` is the far end that a circuit is wanted to, or that fixed fibres lead to (−1 none); `lit` has
    bit s set where strand s is made; `loss_db` is that of the worse strand's fibre and OCS, without connector
    faults, `log10_ber` that of the worst lane that the end receives, with all faults (both NaN where no
    circuit is wanted); `excess_db` is what the end's connector faults add; `failed` tells whether its module
    or cable is dead, or without power; `impaired` has all that is wrong with ends that are not sound, and
    `outages` when links of ends have dropped in the last day; `remembered` what was at ends whose sensors are
    stuck or late, in order of time (`services.transceivers.sensor_history`); `worked_on` the ends that a
    technician has in hand, each with the repair; `code` indexes STATES. The `kind` of the fabric
    decides what lies between two ends, and the `technology` of its OCSes, if it has any, what that loses.

    `patched` has the ports of OCSes whose fibre is at a spare one (`shared.models.ocs.patches`), `adrift` the
    arrays of mirrors that no camera holds, by 2 × OCS + side.

    `draws` keys when links drop, and which strands faults strike, where `seed` keys how all was made.

    At `commissioned_us` all modules were new; `replaced` has the ends with others now. `modules` is what
    follows from that, where somebody has asked for it (`services.transceivers.modules`), and `marks` what
    follows from `impaired` and `patched` (`services.transceivers.link_optics`).

    The next look at all ends is at `look_us`, None where nothing could stand out; at those of `soon`, whose
    links are not well, one is at `soon_us` before that. `told` has those that stood out at the last look, as
    they were told of, and those of them that are `unseen`: that cannot be read since.

    Links that are lit for good are up until they are first judged, at `first_light_us`; that is None where
    there are none, and once it was done.
    """

    config: TransceiversConfig
    kind: str
    pod: PodConfig
    next_frame_us: int | None
    peer: npt.NDArray[np.int32]
    lit: npt.NDArray[np.uint8]
    loss_db: npt.NDArray[np.float64]
    log10_ber: npt.NDArray[np.float64]
    excess_db: npt.NDArray[np.float64]
    failed: npt.NDArray[np.bool_]
    code: npt.NDArray[np.uint8]
    changed_us: npt.NDArray[np.int64]
    technology: str = "palomar"
    first_light_us: int | None = None
    faults: dict[str, EndFault] = field(default_factory=dict)
    patched: dict[int, int] = field(default_factory=dict)
    impaired: dict[int, Impairment] = field(default_factory=dict)
    outages: dict[int, tuple[int, ...]] = field(default_factory=dict)
    light_history: dict[int, tuple[LightRecord, ...]] = field(default_factory=dict)
    worked_on: dict[int, str] = field(default_factory=dict)
    commissioned_us: int = 0
    replaced: dict[int, ReplacedModule] = field(default_factory=dict)
    drifting: dict[int, DriftingArray] = field(default_factory=dict)
    next_inspection_us: int | None = None
    early_inspection_us: int | None = None
    early_ends: dict[int, bool] = field(default_factory=dict)
    reported: dict[int, Inspection] = field(default_factory=dict)
    unseen: dict[int, bool] = field(default_factory=dict)
    draw_seed: int = 0
    modules: InstalledModules | None = field(default=None, metadata=TRANSIENT)
    masks: EndMasks | None = field(default=None, metadata=TRANSIENT)

    @property
    def cubes(self) -> int:
        return self.pod.cubes


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> TransceiversState:
    """The link ends of a new fabric: dark, but for those that fixed fibres join to another."""
    cubes = config.pod.cubes
    ends = cubes * ENDS_PER_CUBE
    state = TransceiversState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.transceivers,
        kind=config.kind,
        pod=config.pod,
        technology=config.ocs.technology if isinstance(config, SuperpodConfig) else "palomar",
        next_frame_us=next_frame_due_us(config.transceivers.telemetry_interval_s, at_us),
        peer=plant_of(config.kind, config.pod).far_ends().astype(np.int32),
        lit=np.zeros(ends, dtype=np.uint8),
        loss_db=np.full(ends, np.nan),
        log10_ber=np.full(ends, np.nan),
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
    """Light what fixed fibres join. Nobody is told of links that are up; where by the configuration they are
    not, the first look at them comes at once."""
    joined = state.peer != NO_END
    if not joined.any():
        return
    state.lit[joined] = BOTH_STRANDS
    state.loss_db[joined] = state.config.fibre_loss_db
    ends, peers = np.flatnonzero(joined), state.peer[joined].astype(np.int64)
    design = design_of(state.config)
    made = manufactured_modules(state.seed, state.fabric, len(state.peer))
    state.log10_ber[joined] = direct_log10_bers(made, design, ends, peers)
    state.code[joined] = UP
    if (state.log10_ber[joined] > math.log10(state.config.degraded_above_ber)).any():
        state.first_light_us = state.now_us
