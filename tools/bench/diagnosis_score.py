"""Scores of verdicts against the true faults, which the diagnosis never sees.

Declared beforehand: a batch of worn lasers must be found as worn lasers. Power cannot tell which of the two
mirrors of a circuit drifts, but cameras can. So either mirror counts only if the OCS lacks a camera, an
injection module or its controller. Every other kind must be identified at the right part. A fault counts once
its end has carried light for a day during the fault. Before that there is no evidence of it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.names import FaultKind
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.faults.fault_reach import affected_ends
from shared.models.faults.link_faults import LINK_FAULTS, PATH_FAULTS
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import ENDS_PER_CUBE, join_ends

HARD_KINDS: tuple[FaultKind, ...] = (*LINK_FAULTS, *PATH_FAULTS)
"""All faults that leave a link partly working. A dead module is reported by its host."""
CLASS: dict[str, str] = {"batch": "laser"}
"""Kinds that one end's readings cannot distinguish share a class."""
BLINDING: tuple[FaultKind, ...] = ("camera", "injector", "cpu", "fpga")
"""Parts without which an OCS does not see its mirrors."""
LIT_LEAST_US = US_PER_DAY
NOTHING, ELSEWHERE = "nothing", "elsewhere"


@dataclass
class TrueFault:
    """A fault that occurred: its link ends and its start; how long one of them has carried light since; its
    first diagnosed class (`ELSEWHERE`: the right class at a wrong part), and after how long."""

    kind: FaultKind
    target: str
    ends: tuple[int, ...]
    began_us: int
    lit_us: int = 0
    lit_since_us: int | None = None
    held_for: str = NOTHING
    after_us: int | None = None

    @property
    def counts(self) -> bool:
        return self.lit_us >= LIT_LEAST_US or self.held_for != NOTHING


@dataclass
class DiagnosisScore:
    """Sums over the logs of full pods, message by message. `given` and `right` are first verdicts by class,
    `false` those on links without a fault."""

    cubes: int
    ends_us: int
    active: dict[str, TrueFault] = field(default_factory=dict)
    over: list[TrueFault] = field(default_factory=list)
    given: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._plant = superpod_plant(self.cubes)
        self._blind: dict[str, str] = {}
        """Fault that blinds an OCS to its mirrors → the OCS."""
        self._joined = np.zeros(self.cubes * ENDS_PER_CUBE, dtype=np.bool_)

    def see(self, message: Envelope) -> None:
        """Count the next message of the log."""
        body, at_us = message.body, message.at_us
        if isinstance(body, FaultBegan) and body.kind in HARD_KINDS:
            ends = affected_ends(self._plant, body.kind, body.target)
            self.active[body.fault] = TrueFault(body.kind, body.target, ends, at_us)
            self._count_light(at_us)
        elif isinstance(body, FaultBegan) and body.kind in BLINDING:
            self._blind[body.fault] = body.target.rpartition("/")[0]
        elif isinstance(body, FaultEnded) and body.fault in self._blind:
            del self._blind[body.fault]
        elif isinstance(body, FaultEnded) and body.fault in self.active:
            self._count_light(at_us)
            self.over.append(self.active.pop(body.fault))
        elif isinstance(body, CircuitsConnected | CircuitsDisconnected):
            for joined in join_ends(body.joins):
                self._joined[joined] = isinstance(body, CircuitsConnected)
            self._count_light(at_us)
        elif isinstance(body, VerdictGiven) and body.after is None:
            self._judge(body, at_us)

    def truths(self) -> list[TrueFault]:
        """Return all faults that count, at the end of the log."""
        self._count_light(self.ends_us)
        return [truth for truth in (*self.over, *self.active.values()) if truth.counts]

    def _count_light(self, at_us: int) -> None:
        for truth in self.active.values():
            if truth.lit_since_us is not None:
                truth.lit_us += at_us - truth.lit_since_us
            is_lit = bool(self._joined[list(truth.ends)].any())
            truth.lit_since_us = at_us if is_lit else None

    def _judge(self, body: VerdictGiven, at_us: int) -> None:
        held = CLASS.get(body.kind, body.kind)
        self.given[held] += 1
        there = [truth for truth in self.active.values() if not set(truth.ends).isdisjoint(body.ends)]
        if not there:
            self.false.append(f"{body.kind} at {body.target}: {body.evidence}")
            return
        same = [truth for truth in there if CLASS.get(truth.kind, truth.kind) == held]
        hit = [truth for truth in same if _is_correct(truth, body, self._blind.values())]
        self.right[held] += bool(hit)
        for truth in hit or same or there:
            if truth.held_for == NOTHING:
                truth.held_for = held if hit else ELSEWHERE if same else held
                truth.after_us = at_us - truth.began_us


def _is_correct(truth: TrueFault, body: VerdictGiven, blind: Collection[str]) -> bool:
    """Whether the part is the right one, or cannot be distinguished from it. Mirrors cannot be distinguished
    on OCSes that are `blind`."""
    if truth.kind == "batch":
        return True
    ocs = truth.target.rpartition("/")[0]
    if truth.kind == "mirror" and ocs in blind:
        return ocs == body.target.rpartition("/")[0]
    return truth.target == body.target


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One kind of fault: how many there were, their first diagnosed classes, and the hours until then."""

    kind: str
    faults: int
    held_for: dict[str, int]
    hours: tuple[float, ...]

    @property
    def recall(self) -> float:
        right = self.held_for.get(CLASS.get(self.kind, self.kind), 0)
        return right / self.faults if self.faults else 1.0


def score_rows(scores: list[DiagnosisScore]) -> Iterator[ScoreRow]:
    """Return the confusion matrix: a row for each kind that occurred, in the order of the kinds."""
    by_kind: defaultdict[str, list[TrueFault]] = defaultdict(list)
    for score in scores:
        for truth in score.truths():
            by_kind[truth.kind].append(truth)
    for kind in HARD_KINDS:
        truths = by_kind[kind]
        if truths:
            hours = [truth.after_us / US_PER_HOUR for truth in truths if truth.after_us is not None]
            counts = Counter(truth.held_for for truth in truths)
            yield ScoreRow(kind, len(truths), dict(counts.most_common()), tuple(sorted(hours)))


def precision(scores: list[DiagnosisScore]) -> dict[str, tuple[int, int]]:
    """Return class → (right, given) of the first verdicts."""
    given, right = Counter[str](), Counter[str]()
    for score in scores:
        given += score.given
        right += score.right
    return {name: (right[name], count) for name, count in sorted(given.items())}
