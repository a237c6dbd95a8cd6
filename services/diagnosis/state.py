"""State of the diagnosis of one fabric: outliers, verdicts and repair attempts."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config.pods import AnyPodConfig
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind
from shared.basics.units import US_PER_DAY
from shared.engine.state import State
from shared.models.fabric_plants import plant_of
from shared.models.telemetry.outlier_thresholds import Inspection

VerdictEnd = Literal["repaired", "ineffective", "withdrawn"]


@dataclass(frozen=True, slots=True)
class LinkVerdict:
    """A verdict on some ends; fields as in `VerdictGiven`.

    `suspect` is the end at fault; None if the fault is between ends. `cause` is the id of the message that
    showed it.
    """

    kind: FaultKind
    target: str
    suspect: int | None
    work: RepairWork
    confidence: float
    ends: tuple[int, ...]
    evidence: str
    given_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class EndedLinkVerdict(LinkVerdict):
    """A verdict whose part was repaired by `repair`, effectively or not, or whose ends read as they should
    again."""

    ended_us: int = 0
    how: VerdictEnd = "withdrawn"
    repair: str | None = None


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """Work on a part because its ends were outliers: the suspected fault, the repair and its end.

    `read_normal_since`: the end at which this is recorded has read as it should since.
    """

    kind: FaultKind
    target: str
    work: RepairWork
    repair: str
    done_us: int
    read_normal_since: bool = False


@dataclass(frozen=True, slots=True)
class MirrorSighting:
    """A mirror that its camera sees off its place by `error_urad`. `spare` is its port if the fibre was
    moved."""

    error_urad: float
    spare: int | None


@dataclass
class DiagnosisState(State):
    """State of the diagnosis of one fabric. Tables are keyed by link-end number, verdicts by verdict number.

    After every kind of work was tried at a part, no further verdict is given on it.
    """

    has_ocs: bool
    """Whether links go through OCSes."""
    cubes: int
    recheck_after_s: int
    peer: npt.NDArray[np.int32]
    """Far end of each end's link; −1 for none."""
    technology: str = "palomar"
    """Technology of the OCSes, if the fabric has any."""
    given: int = 0
    repaired: int = 0
    withdrawn: int = 0
    ineffective: int = 0
    outliers: dict[int, Inspection] = field(default_factory=dict)
    """The current outlier ends, with the far ends of their links."""
    attempts: dict[int, tuple[RepairAttempt, ...]] = field(default_factory=dict)
    """Work since an end became an outlier, and recent work at former outliers."""
    rechecks: dict[int, int] = field(default_factory=dict)
    """Time of the recheck after a repair."""
    unseen: dict[int, int] = field(default_factory=dict)
    """Time since which an end cannot be read. Also ends that only a link test has found."""
    testing: dict[int, bool] = field(default_factory=dict)
    """Ends for which a link test decides whether a repair has helped."""
    partners: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Far ends with which an end was an outlier."""
    blind_arrays: dict[str, int] = field(default_factory=dict)
    """Time of failure of cameras and injection modules that OCSes reported, by name of the part."""
    misaligned_mirrors: dict[int, MirrorSighting] = field(default_factory=dict)
    """Mirrors that OCSes reported off their places, by logical port (`port_place`)."""
    verdicts: dict[int, LinkVerdict] = field(default_factory=dict)
    """Open verdicts."""
    ended: dict[int, EndedLinkVerdict] = field(default_factory=dict)
    """The last verdicts that ended."""

    def verdict_name(self, number: int) -> str:
        return f"{self.fabric}/verdict-{number}"


REPEAT_WINDOW_US = 7 * US_PER_DAY
"""If the same fault is found at an end within this time after its repair, the repair was ineffective.
Intermittent faults rarely stay away longer, and a new fault of the same kind at that end is rarer still."""
RECHECK_INSPECTIONS = 2
"""Number of inspections after a repair until the remaining outliers are judged again. The second one
certainly comes after the repair."""


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> DiagnosisState:
    """The diagnosis of a new fabric, without outliers."""
    plant = plant_of(config.kind, config.pod)
    return DiagnosisState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        has_ocs=plant.population("ocs") > 0,
        cubes=config.pod.cubes,
        recheck_after_s=RECHECK_INSPECTIONS * config.transceivers.inspection_interval_s,
        peer=plant.far_ends().astype(np.int32),
        technology=config.pod_ocs.technology if config.pod_ocs is not None else "palomar",
    )
