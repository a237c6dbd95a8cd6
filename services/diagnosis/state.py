"""What the diagnosis of one fabric remembers: what stands out, what is held for the matter, and what was
tried."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.config.pods import AnyPodConfig, SuperpodConfig
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind
from shared.basics.units import US_PER_DAY
from shared.engine.state import State
from shared.models.fabric_plants import plant_of
from shared.models.telemetry.inspections import Inspection

NO_END = -1
VerdictEnd = Literal["repaired", "ineffective", "withdrawn"]


@dataclass(frozen=True, slots=True)
class LinkVerdict:
    """What is held for the matter with some ends; fields as in `VerdictGiven`. `suspect` is the end that is
    held for bad, None for what is between ends; `cause` is the id of the message that showed it."""

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
    """One whose part was repaired, by `repair`, perhaps in vain, or whose ends read as they should again."""

    ended_us: int = 0
    how: VerdictEnd = "withdrawn"
    repair: str | None = None


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """What was done to a part because its ends stood out: for which kind of fault, by which repair and until
    when. `was_usual`: the end at which this is kept has read as it should since."""

    kind: FaultKind
    target: str
    work: RepairWork
    repair: str
    done_us: int
    read_normal_since: bool = False


@dataclass(frozen=True, slots=True)
class MirrorSighting:
    """A mirror that its camera sees off its place, by so much; at which `spare` it is, if not at the port
    where its fibre was wired."""

    error_urad: float
    spare: int | None


@dataclass
class DiagnosisState(State):
    """Tables by link-end number. `looks`: those that stand out now, with the far ends of their links;
    `tried`: what was done since they stand out, or lately at ends that did; `partners`: the far ends with
    which each did; `unseen`: since when no light tells whether they still do, or that a link test has found;
    `checks`: when they are judged again after a repair; `testing`: those of which a link test is to tell
    whether it has helped.

    The `technology` is that of the fabric's OCSes, if it has any; `blind` has the cameras and injection
    modules that OCSes have said are broken, where mirrors need them: since when, by name; `off` the mirrors
    that OCSes have said are off, by the port where their fibre was wired (`place_of`).

    Verdicts by number: open ones, and the last that ended. `peer` is the far end of each end's link (−1
    none). Of what has been tried in every way nothing more is held.
    """

    kind: str
    cubes: int
    recheck_after_s: int
    peer: npt.NDArray[np.int32]
    technology: str = "palomar"
    given: int = 0
    repaired: int = 0
    withdrawn: int = 0
    ineffective: int = 0
    outliers: dict[int, Inspection] = field(default_factory=dict)
    attempts: dict[int, tuple[RepairAttempt, ...]] = field(default_factory=dict)
    rechecks: dict[int, int] = field(default_factory=dict)
    unseen: dict[int, int] = field(default_factory=dict)
    testing: dict[int, bool] = field(default_factory=dict)
    partners: dict[int, tuple[int, ...]] = field(default_factory=dict)
    blind_arrays: dict[str, int] = field(default_factory=dict)
    misaligned_mirrors: dict[int, MirrorSighting] = field(default_factory=dict)
    verdicts: dict[int, LinkVerdict] = field(default_factory=dict)
    ended: dict[int, EndedLinkVerdict] = field(default_factory=dict)

    def verdict_name(self, number: int) -> str:
        return f"{self.fabric}/verdict-{number}"


REPEAT_WINDOW_US = 7 * US_PER_DAY
"""What is found again at an end so soon after it was repaired for the same was not mended: what comes and
goes is seldom away for longer, and that another fault of the kind strikes there meanwhile is rarer still."""
RECHECK_INSPECTIONS = 2
"""Looks after a repair until ends that still stand out are judged again: by the second one surely."""


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> DiagnosisState:
    """Nothing stands out."""
    return DiagnosisState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        kind=config.kind,
        cubes=config.pod.cubes,
        recheck_after_s=RECHECK_INSPECTIONS * config.transceivers.look_interval_s,
        peer=plant_of(config.kind, config.pod).far_ends().astype(np.int32),
        technology=config.ocs.technology if isinstance(config, SuperpodConfig) else "palomar",
    )
