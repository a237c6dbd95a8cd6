"""The score of a trainee: what was done at the desk of a drill, against the truth.

It is never one number: each figure states what was measured. Trainees are the callers that acknowledged the
alerts, named a culprit or took a hint; without tokens that is a client without a name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ops.drills.score.figures import FULL, Figure, share_of_time
from schemas.name_parts import is_within
from shared.basics.time_format import format_chip_hours, format_gap

if TYPE_CHECKING:
    from ops.drills.debrief_answer import DebriefAnswer
    from schemas.api.drill_journal import DrillJournal
    from schemas.envelope import Envelope

DESK_TYPES = frozenset({"AlertsAcknowledged", "CulpritNamed", "HintGiven"})
HARDWARE_FIELDS = {
    "DrainCube": "cube",
    "UndrainCube": "cube",
    "RestartOcs": "ocs",
    "CreateCrossConnects": "ocs",
    "RemoveCrossConnects": "ocs",
}
"""Request that acts on hardware → its field with the part."""
SLICE_TYPES = frozenset({"RequestSlice", "ReleaseSlice"})
"""Requests that act on no hardware, so they are never wrong. A TestLink only measures."""
Bearing = Literal["right", "wrong", "neutral"]


@dataclass(frozen=True, slots=True)
class Action:
    """A request of a trainee that was not refused. `part` is the hardware on which it acts. `right`: that is
    broken, or contains or is in what is broken."""

    at_us: int
    kind: str
    part: str | None
    bearing: Bearing
    message: str


@dataclass(frozen=True, slots=True)
class Saved:
    """Chip-microseconds of work that no fault took until the end of the drill: as it went, and on a copy
    without the requests of the trainee. `why` is the reason if it was not measured."""

    played_us: int = 0
    untouched_us: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True)
class TraineeScore:
    """The figures of a trainee. `since_us` is the time from which times are measured: the drill's first
    fault, or its first step. `culprits` are the right ones."""

    drill: str
    trainees: tuple[str | None, ...]
    since_us: int
    culprits: tuple[str, ...]
    actions: tuple[Action, ...]
    figures: tuple[Figure, ...] = ()
    no_score: str | None = None


def score_trainee(debrief: "DebriefAnswer", saved: Saved) -> TraineeScore:
    """Score the trainee of a drill that has ended."""
    drill = debrief.drill
    trainees = trainees_of(debrief)
    culprits = culprits_of(drill)
    method_us = next((span.from_us for span in drill.phases if span.phase == "method"), None)
    if method_us is None:
        why = f"no step ran: {drill.reason or drill.status}"
        return TraineeScore(drill.drill, trainees, drill.began_us, culprits, (), no_score=why)
    since_us = min([fault.began_us for fault in drill.faults], default=method_us)
    actions = tuple(_actions(debrief, trainees, since_us))
    figures = (
        _acknowledgement(debrief, actions, since_us),
        *_diagnosis(debrief, culprits, since_us),
        _hints(debrief),
        *_action_figures(debrief, actions, since_us),
        _recovery(drill, since_us),
        _chip_hours(saved),
    )
    return TraineeScore(drill.drill, trainees, since_us, culprits, actions, figures)


def culprits_of(drill: "DrillJournal") -> tuple[str, ...]:
    """The parts that are right to name: the answer of the document, else what the drill's faults broke."""
    game = drill.plan.trainee
    names: list[str] = []
    for answer in () if game is None else game.answer:
        drawn = {f"{{{one.target}}}": one.names for one in drill.targets}
        mark = next((mark for mark in drawn if mark in answer), None)
        names += [answer] if mark is None else [answer.replace(mark, name) for name in drawn[mark]]
    return tuple(dict.fromkeys(names or [fault.target for fault in drill.faults]))


def trainees_of(debrief: "DebriefAnswer") -> tuple[str | None, ...]:
    """The names of the callers at the desk; None for a client without a name."""
    desk = debrief.desk
    named: list[str | None] = [one.trainee for one in debrief.desk.culprits]
    if desk.acknowledged_us is not None:
        named.append(desk.acknowledged_by)
    hinted = [_body(one).get("trainee") for one in debrief.timeline if one.type == "HintGiven"]
    named += [None if name is None else str(name) for name in hinted]
    return tuple(dict.fromkeys(named))


def _body(message: "Envelope") -> dict[str, object]:
    return vars(message.body)


def is_of_trainee(message: "Envelope", trainees: Sequence[str | None]) -> bool:
    """Whether a message is a request of one of these trainees that changes the twin. A client without a name
    may also have started drills and injected faults, which trainees cannot."""
    acts = message.type in HARDWARE_FIELDS or message.type in SLICE_TYPES
    return acts and message.source.startswith("operator@") and _body(message).get("asked_by") in trainees


def _actions(debrief: "DebriefAnswer", trainees: Sequence[str | None], since_us: int) -> Iterator[Action]:
    refused = {one.cause for one in debrief.timeline if one.type.endswith("Refused")}
    broken = {*culprits_of(debrief.drill), *(undo.subject for undo in debrief.drill.undo if undo.subject)}
    broken |= {str(_body(one)["target"]) for one in debrief.timeline if one.type == "FaultBegan"}
    drained: set[str] = set()
    for message in debrief.timeline:
        is_own = is_of_trainee(message, trainees) and message.at_us >= since_us
        if not is_own or message.id in refused:
            continue
        field = HARDWARE_FIELDS.get(message.type)
        part = None if field is None else str(_body(message)[field])
        bearing: Bearing = "neutral"
        if part is not None and not (message.type == "UndrainCube" and part in drained):
            touches = any(is_within(part, one) or is_within(one, part) for one in broken)
            bearing = "right" if touches else "wrong"
        if message.type == "DrainCube" and part is not None:
            drained.add(part)
        yield Action(message.at_us, message.type, part, bearing, message.id)


# --- figures ------------------------------------------------------------------------------------------------


def _message_id(debrief: "DebriefAnswer", kind: str, at_us: int) -> str | None:
    return next((one.id for one in debrief.timeline if one.type == kind and one.at_us == at_us), None)


def _timed(name: str, took_us: int, allowed_us: int, message: str | None, helps: str) -> Figure:
    text = f"after {format_gap(took_us)}, par {format_gap(allowed_us)}"
    if took_us <= 0:
        text = f"{format_gap(took_us)} before the first fault, par {format_gap(allowed_us)}"
    is_late = took_us > allowed_us
    return Figure(name, share_of_time(took_us, allowed_us), text, message, helps if is_late else None)


def _acknowledgement(debrief: "DebriefAnswer", actions: Sequence[Action], since_us: int) -> Figure:
    """Until the trainee acknowledged the alerts or, if that was before there were any, did something else."""
    name, helps = "acknowledge", "acknowledge the alerts as soon as you see them"
    deeds = [(one.at_us, one.id) for one in debrief.timeline if one.type in DESK_TYPES]
    deeds += [(one.at_us, one.message) for one in actions]
    first = min((deed for deed in deeds if deed[0] >= since_us), default=None)
    if first is None:
        when = "before the first fault" if deeds else "never"
        return Figure(name, 0.0, when, helps=helps)
    return _timed(name, first[0] - since_us, debrief.desk.find_us, first[1], helps)


def _diagnosis(debrief: "DebriefAnswer", culprits: Sequence[str], since_us: int) -> Iterator[Figure]:
    """Until the first right culprit, and how many were wrong. One that contains a right one, or is a part of
    it, is neither right nor wrong."""
    named, name = debrief.desk.culprits, "diagnosis"
    right = next((one for one in named if one.culprit in culprits), None)
    helps = f"the culprit was {', '.join(culprits)}" if culprits else None
    if not culprits:
        yield Figure(name, None, "nothing was broken")
    elif right is None:
        yield Figure(name, 0.0, "no right culprit named", helps=helps)
    else:
        message = _message_id(debrief, "CulpritNamed", right.at_us)
        took_us = right.at_us - since_us
        yield _timed(name, took_us, debrief.desk.find_us, message, "compare what the disturbed slices share")
    wrong = [one for one in named if not _is_near(one.culprit, culprits)]
    if named:
        text = f"{len(wrong)} of {len(named)} named"
        message = _message_id(debrief, "CulpritNamed", wrong[0].at_us) if wrong else None
        helps = f"{wrong[0].culprit} was not broken" if wrong else None
        yield Figure("wrong culprits", FULL * (1 - len(wrong) / len(named)), text, message, helps)


def _is_near(name: str, culprits: Sequence[str]) -> bool:
    return any(is_within(name, one) or is_within(one, name) for one in culprits)


def _hints(debrief: "DebriefAnswer") -> Figure:
    taken = len(debrief.desk.hints)
    total = taken + debrief.desk.hints_left
    if not total:
        return Figure("hints", None, "the drill has none")
    message = next((one.id for one in debrief.timeline if one.type == "HintGiven"), None)
    helps = "fewer hints" if taken else None
    return Figure("hints", FULL * (1 - taken / total), f"{taken} of {total} taken", message, helps)


def _action_figures(debrief: "DebriefAnswer", actions: Sequence[Action], since_us: int) -> Iterator[Figure]:
    good = [action for action in actions if action.bearing != "wrong"]
    wrong = [action for action in actions if action.bearing == "wrong"]
    if good:
        helps = "act on what you know before you know all"
        first = good[0]
        yield _timed("action", first.at_us - since_us, debrief.desk.act_us, first.message, helps)
    else:
        yield Figure("action", 0.0, "none", helps="drain, restart or release what the fault disturbs")
    if actions:
        text = f"{len(wrong)} of {len(actions)} actions"
        helps_wrong = f"{wrong[0].part} was not broken ({wrong[0].kind})" if wrong else None
        message = wrong[0].message if wrong else None
        yield Figure("wrong actions", FULL * (1 - len(wrong) / len(actions)), text, message, helps_wrong)


def _recovery(drill: "DrillJournal", since_us: int) -> Figure:
    """Until every probe is true for good. What only the undo ended is no recovery."""
    name = "recovery"
    spans = {span.phase: span.from_us for span in drill.phases}
    undo_us = spans.get("undo", drill.ended_us or since_us)
    changes: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
    for probe in drill.probes:
        rows = changes.setdefault((probe.probe, probe.target), [])
        rows += [(one.at_us, one.verdict) for one in probe.changes]
    back_us, late = since_us, None
    for (probe_name, _), rows in changes.items():
        rows.sort()
        ends = [*(at_us for at_us, _ in rows[1:]), undo_us + 1]  # the undo begins once all probes are true
        for (at_us, verdict), until_us in zip(rows, ends, strict=False):
            if verdict == "violated" and until_us > since_us and at_us < undo_us:
                back_us = max(back_us, until_us)
                late = probe_name if until_us > undo_us else late
    if late is not None:
        helps = "act before the drill undoes its faults"
        return Figure(name, 0.0, f"probe {late} was violated until the undo", helps=helps)
    if back_us == since_us:
        return Figure(name, None, "no probe was violated")
    allowed_us = spans.get("settle", undo_us) - since_us + drill.plan.settle_us
    return _timed(name, back_us - since_us, allowed_us, None, "act earlier")


def _chip_hours(saved: Saved) -> Figure:
    name = "chip-hours"
    if saved.why is not None:
        return Figure(name, None, f"not measured: {saved.why}")
    gain_us = saved.played_us - saved.untouched_us
    word = "saved" if gain_us >= 0 else "lost"
    text = f"{format_chip_hours(abs(gain_us))} {word} against a copy on which nobody acts"
    helps = "leave healthy parts alone" if gain_us < 0 else None
    return Figure(name, None, text, helps=helps)
