"""The rules of the diagnosis: what stands out becomes verdicts, and repairs tell whether they were right."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, replace

import numpy as np

from schemas.diagnosis import VerdictGiven, VerdictWithdrawn
from schemas.envelope import Envelope
from schemas.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.repairs import RepairCompleted
from schemas.sequencer import Tick
from schemas.transceivers import EndsStoodOut
from services.diagnosis.attribution import Suspicion, suspicions
from services.diagnosis.remedies import Remedy, remedies
from services.diagnosis.state import NO_END, DiagnosisState, EndedVerdict, Tried, Verdict, VerdictEnd
from shared.basics.units import US_PER_S
from shared.engine.ledger import keep_ended
from shared.engine.service import Output
from shared.models.superpod.wiring import join_ends, link_end
from shared.models.telemetry.looks import Look

SHAKEN_LINKS_MIN = 3
"""So many links of one OCS that lose light alike at the same time have that in common."""


def due(state: DiagnosisState) -> int | None:
    """When the first ends are judged again after a repair."""
    return min(state.checks.values(), default=None)


def on_tick(state: DiagnosisState, _tick: Tick, message: Envelope) -> list[Output]:
    """What was repaired and still stands out was repaired in vain, or there is more that is wrong."""
    ready = {end for end, at_us in state.checks.items() if at_us <= state.now_us}
    for end in ready:
        del state.checks[end]
    return _judge(state, ready, message.id)


def on_connected(state: DiagnosisState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    norths, souths = join_ends(body.joins)
    state.peer[norths], state.peer[souths] = souths, norths
    return []


def on_disconnected(state: DiagnosisState, body: CircuitsDisconnected, _message: Envelope) -> list[Output]:
    norths, souths = join_ends(body.joins)
    state.peer[norths] = state.peer[souths] = NO_END
    return []


def on_stood_out(state: DiagnosisState, body: EndsStoodOut, message: Envelope) -> list[Output]:
    for look in body.ends:
        state.looks[look.end] = Look(**{name: getattr(look, name) for name in Look.__slots__})
    for end in body.usual:
        state.looks.pop(end, None)
        state.tried.pop(end, None)
        state.checks.pop(end, None)
    said: list[Output] = []
    for number, verdict in list(state.verdicts.items()):
        if not any(end in state.looks for end in verdict.ends):
            _end(state, number, "withdrawn")
            said.append(VerdictWithdrawn(verdict=state.verdict_name(number), target=verdict.target))
    return said + _judge(state, {look.end for look in body.ends}, message.id)


def on_repair_completed(state: DiagnosisState, body: RepairCompleted, _message: Envelope) -> list[Output]:
    """Whatever was done to a part: its ends are looked at once more."""
    for number, verdict in list(state.verdicts.items()):
        if verdict.target != body.target:
            continue
        _end(state, number, "repaired")
        for end in verdict.ends:
            if end in state.looks:
                done = Tried(verdict.kind, body.target, body.work, body.repair)
                state.tried[end] = (*state.tried.get(end, ()), done)
                state.checks[end] = state.now_us + state.patience_s * US_PER_S
    return []


def _judge(state: DiagnosisState, fresh: set[int], cause: str) -> list[Output]:
    """Give verdicts on what stands out at these ends and of which nothing is held yet."""
    held = {end for verdict in state.verdicts.values() for end in verdict.ends} | state.checks.keys()
    found = [one for one in suspicions(state.looks) if one.end in fresh or one.other in fresh]
    free = [one for one in found if not held & {one.end, one.other}]
    said: list[Output] = []
    for remedy in _remedies(state, free):
        said += _give(state, remedy, cause)
    return said


def _remedies(state: DiagnosisState, found: list[Suspicion]) -> Iterable[Remedy]:
    """What could be done about each suspicion, the first of it that was not tried; of many links of one OCS
    that lose alike, about that OCS."""
    by_ocs: defaultdict[int, list[Suspicion]] = defaultdict(list)
    if state.kind == "superpod":
        for one in found:
            if one.kind == "fibre":
                by_ocs[link_end(one.end).ocs].append(one)
    shaken = {ocs: group for ocs, group in by_ocs.items() if _is_shaken(state, ocs, len(group))}
    for ocs, group in shaken.items():
        yield from _untried(state, remedies(state.fabric, group, ocs))
    for one in found:
        if not any(one in group for group in shaken.values()):
            yield from _untried(state, remedies(state.fabric, [one]))


def _is_shaken(state: DiagnosisState, ocs: int, links: int) -> bool:
    """Whether so many links that lose are most of those over an OCS."""
    connected = np.flatnonzero(state.peer != NO_END)
    over = sum(link_end(end).ocs == ocs for end in connected.tolist()) // 2
    return links >= SHAKEN_LINKS_MIN and 2 * links > over


def _untried(state: DiagnosisState, options: list[Remedy]) -> list[Remedy]:
    """The first that was not tried; none, where all were. Where the same was held for the matter before, that
    repair was in vain."""
    tried = [row for end in options[0].ends for row in state.tried.get(end, ())]
    for option in options:
        if not any(row.target == option.target and row.work == option.work for row in tried):
            same = [row.repair for row in tried if row.kind == option.kind]
            return [replace(option, after=same[-1] if same else None)]
    return []


def _give(state: DiagnosisState, remedy: Remedy, cause: str) -> list[Output]:
    number = state.given
    state.given += 1
    state.in_vain += remedy.after is not None
    row = {name: value for name, value in asdict(remedy).items() if name != "after"}
    state.verdicts[number] = Verdict(**row, given_us=state.now_us, cause=cause)
    _touch(state, number)
    return [VerdictGiven(verdict=state.verdict_name(number), **asdict(remedy))]


def _end(state: DiagnosisState, number: int, how: VerdictEnd) -> None:
    ended = EndedVerdict(**asdict(state.verdicts.pop(number)), ended_us=state.now_us, how=how)
    if how == "repaired":
        state.repaired += 1
    else:
        state.withdrawn += 1
    _touch(state, number)
    forgotten = keep_ended(state.ended, number, ended)
    if forgotten is not None:
        _touch(state, forgotten)


def _touch(state: DiagnosisState, number: int) -> None:
    state.touched.add(("verdicts", state.verdict_name(number)))
    state.touched.add(("summaries", f"{state.fabric}/diagnosis"))
