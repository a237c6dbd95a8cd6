"""The rules of the diagnosis: what stands out becomes verdicts, and repairs tell whether they were right."""

from collections import defaultdict
from dataclasses import asdict, replace

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.diagnosis import TestWanted, VerdictGiven, VerdictWithdrawn
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected, LinkTestRefused
from schemas.messages.repairs import RepairCompleted
from schemas.messages.sequencer import Tick
from schemas.messages.transceivers import EndsStoodOut, LinkTested
from schemas.names import FaultKind
from services.diagnosis.attribution import CONFIDENCE_MAX, Suspicion, suspicions
from services.diagnosis.blind_ocses import is_blind, is_explained_by_drift
from services.diagnosis.camera_evidence import with_camera_evidence
from services.diagnosis.remedies import Remedy, ends_of, is_last_resort, remedy, shake_remedy
from services.diagnosis.state import (
    NO_END,
    RECHECK_INSPECTIONS,
    REPEAT_WINDOW_US,
    DiagnosisState,
    EndedLinkVerdict,
    LinkVerdict,
    RepairAttempt,
    VerdictEnd,
)
from shared.basics.units import US_PER_S
from shared.engine.ended_rows import add_ended
from shared.engine.service import Output
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.superpod.wiring import join_ends, link_end
from shared.models.telemetry.inspections import Inspection

PARTNERS_KEPT_MAX = 8
SHAKEN_LINKS_MIN = 3
"""So many links of one OCS that lose light alike at the same time have that in common."""


def due(state: DiagnosisState) -> int | None:
    """When the first ends are judged again after a repair."""
    return min(state.rechecks.values(), default=None)


def on_tick(state: DiagnosisState, _tick: Tick, message: Envelope) -> list[Output]:
    """What was repaired and still stands out was repaired in vain, or there is more that is wrong."""
    ready = sorted(end for end, at_us in state.rechecks.items() if at_us <= state.now_us)
    said: list[Output] = []
    for end in ready:
        del state.rechecks[end]
        if end in state.unseen:
            said += _request_test(state, end)
    return said + _give_verdicts(state, {*ready} - state.unseen.keys(), message.id)


def _request_test(state: DiagnosisState, end: int) -> list[Output]:
    """Have an end tested that carries no link. If it carries one, it is looked at; if it did so at the last
    check already, a look at it has shown nothing."""
    if state.peer[end] == NO_END:
        state.testing[end] = True
        return [TestWanted(end=link_end(end).name(state.fabric))]
    if end in state.testing:
        _clear_end(state, end)
    else:
        state.testing[end] = True
        state.rechecks[end] = state.now_us + state.recheck_after_s * US_PER_S
    return []


def on_connected(state: DiagnosisState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    norths, souths = join_ends(body.joins)
    state.peer[norths], state.peer[souths] = souths, norths
    return []


def on_disconnected(state: DiagnosisState, body: CircuitsDisconnected, _message: Envelope) -> list[Output]:
    norths, souths = join_ends(body.joins)
    state.peer[norths] = state.peer[souths] = NO_END
    return []


def on_parameters_changed(state: DiagnosisState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Looks come at another pace from now on; where none comes any more, those that came are waited for."""
    interval_s = body.of("transceivers").get("look_interval_s")
    if isinstance(interval_s, int) and interval_s:
        state.recheck_after_s = RECHECK_INSPECTIONS * interval_s
    return []


def on_stood_out(state: DiagnosisState, body: EndsStoodOut, message: Envelope) -> list[Output]:
    """Verdicts on what is new; and those are withdrawn whose suspect was read, and reads as it should."""
    _expire_attempts(state)
    fresh = {look.end for look in body.ends}
    for look in body.ends:
        state.outliers[look.end] = Inspection(**{name: getattr(look, name) for name in Inspection.__slots__})
        state.unseen.pop(look.end, None)
        state.testing.pop(look.end, None)
        known = state.partners.get(look.end, ())
        if look.far is not None and look.far not in known and not is_blind(state, look.end):
            state.partners[look.end] = (*known, look.far)[-PARTNERS_KEPT_MAX:]
    for end in body.usual:
        _clear_end(state, end)
    held = {end for verdict in state.verdicts.values() for end in verdict.ends}
    for end in body.unseen:
        if end in held or end in state.attempts:
            state.unseen[end] = state.now_us
        else:
            state.outliers.pop(end, None)
    said: list[Output] = []
    for number, verdict in list(state.verdicts.items()):
        if _is_over(state, verdict):
            for end in verdict.ends:
                if end in state.unseen:
                    _clear_end(state, end)
            fresh |= state.outliers.keys() & set(verdict.ends)
            _end(state, number, "withdrawn")
            said.append(VerdictWithdrawn(verdict=state.verdict_name(number), target=verdict.target))
    return said + _give_verdicts(state, fresh, message.id)


def _is_over(state: DiagnosisState, verdict: LinkVerdict) -> bool:
    """Whether what was held for bad reads as it should: a suspect by itself, else all ends. Of what cannot be
    read, or was found by a link test and not read since, nobody knows that."""
    ends = verdict.ends if verdict.suspect is None else (verdict.suspect,)
    return not any(end in state.outliers or end in state.unseen for end in ends)


def on_repair_completed(state: DiagnosisState, body: RepairCompleted, _message: Envelope) -> list[Output]:
    """Whatever was done to a part: its ends are looked at once more."""
    for number, verdict in list(state.verdicts.items()):
        if verdict.target != body.target:
            continue
        _end(state, number, "repaired", body.repair)
        done = RepairAttempt(verdict.kind, body.target, body.work, body.repair, state.now_us)
        for end in verdict.ends:
            if end in state.outliers or end in state.unseen:
                state.attempts[end] = (*state.attempts.get(end, ()), done)
                wait_s = 0 if end in state.unseen else state.recheck_after_s
                state.rechecks[end] = state.now_us + max(wait_s * US_PER_S, 1)
    return []


def on_link_tested(state: DiagnosisState, body: LinkTested, message: Envelope) -> list[Output]:
    """What a test tells of an end, whoever asked for it, is sure: there is no other end."""
    end = body.end
    if body.verdict == "open":  # it is told when that is done
        if end in state.testing:
            state.rechecks[end] = state.now_us + state.recheck_after_s * US_PER_S
        return []
    was_wanted = state.testing.pop(end, None) is not None
    if body.verdict in ("clean", "dark"):
        if was_wanted and end in state.unseen:
            _clear_end(state, end)
        return []
    if any(end in verdict.ends for verdict in state.verdicts.values()):
        return []
    attempts = state.attempts.get(end, ())
    kind: FaultKind = "connector" if body.verdict == "lossy" else "receiver"
    if body.loss_db is None or body.verdict == "errors":
        said = "in a link test it errs at the light that it should have"
    else:
        said = f"in a link test it loses {body.loss_db - body.expected_db:.1f} dB more than it should"
    last = next((row.kind for row in reversed(attempts) if _is_end_work(row)), None)
    one = Suspicion(last or kind, end, CONFIDENCE_MAX, said)
    found = remedy(state.fabric, one, attempts)
    if found is None:
        return []
    state.unseen.setdefault(end, state.now_us)
    return _give_verdict(state, found, message.id)


def _is_end_work(row: RepairAttempt) -> bool:
    """Whether a link test tells if this has helped: it was done to an end, and for what is not over."""
    return not row.read_normal_since and WORK_DEFINITIONS[row.work].at_link_ends


def on_test_refused(state: DiagnosisState, body: LinkTestRefused, _message: Envelope) -> list[Output]:
    """The end is to carry a link again, or its OCS cannot test now: it is seen to later."""
    for end in list(state.testing):
        if link_end(end).name(state.fabric) == body.end:
            state.rechecks[end] = state.now_us + state.recheck_after_s * US_PER_S
    return []


def _clear_end(state: DiagnosisState, end: int) -> None:
    """Nothing stands out at an end any more. What was done to it last is remembered for a while, in case that
    has only hidden what it should mend; but not if nothing more could be done."""
    tables = (state.outliers, state.rechecks, state.unseen, state.testing, state.partners)
    for table in tables:
        table.pop(end, None)
    name = link_end(end).name(state.fabric)
    own = [row for row in state.attempts.pop(end, ()) if row.target == name]
    if own and not any(is_last_resort(row.work) for row in own):
        state.attempts[end] = tuple(replace(row, read_normal_since=True) for row in own)


def _expire_attempts(state: DiagnosisState) -> None:
    """Of ends that have read as they should since."""
    long_ago_us = state.now_us - REPEAT_WINDOW_US
    for end, rows in list(state.attempts.items()):
        if end in state.outliers or end in state.unseen or rows[-1].done_us > long_ago_us:
            continue
        del state.attempts[end]


def _give_verdicts(state: DiagnosisState, fresh: set[int], cause: str) -> list[Output]:
    """Give verdicts on what stands out at these ends and of which nothing is held yet."""
    held = {end for verdict in state.verdicts.values() for end in verdict.ends} | state.rechecks.keys()
    found = [one for one in suspicions(state.outliers) if one.end in fresh or one.other in fresh]
    free = [one for one in found if not held & {one.end, one.other} and not is_explained_by_drift(state, one)]
    free = [_with_partner_evidence(state, one) for one in free if not _is_known_to_shake(state, one)]
    free = [with_camera_evidence(state, one) for one in free]
    said: list[Output] = []
    for option in _remedies(state, free):
        said += _give_verdict(state, option, cause)
    return said


def _is_known_to_shake(state: DiagnosisState, one: Suspicion) -> bool:
    """Whether a link loses as all others over an OCS that is held for shaking: it is one more of them."""
    if one.kind != "fibre" or state.kind != "superpod":
        return False
    target = f"{state.fabric}/ocs-{link_end(one.end).ocs}"
    for number, verdict in state.verdicts.items():
        if verdict.kind == "shake" and verdict.target == target:
            more = {end for end in (one.end, one.other) if end is not None}
            state.verdicts[number] = replace(verdict, ends=tuple(sorted({*verdict.ends, *more})))
            _touch(state, number)
            return True
    return False


def _with_partner_evidence(state: DiagnosisState, one: Suspicion) -> Suspicion:
    """Of two ends that may be at fault, that which stood out with more partners: it, and not all of them."""
    if one.other is None or one.kind == "mirror":
        return one
    own, other = (len(state.partners.get(end, ())) for end in (one.end, one.other))
    if own == other:
        return one
    more = max(own, other) - 1
    partners = "another partner" if more == 1 else f"{more} other partners"
    ends = (one.end, one.other) if own > other else (one.other, one.end)
    said, there = (
        f"{one.evidence_at(end)}; so it was with {partners} of {which} end"
        for end, which in zip(ends, ("this", "the other"), strict=True)
    )
    return replace(
        one, end=ends[0], other=ends[1], evidence=said, evidence_at_other=there, confidence=CONFIDENCE_MAX
    )


def _remedies(state: DiagnosisState, found: list[Suspicion]) -> list[Remedy]:
    """What to do about each suspicion; of many links of one OCS that lose alike, about that OCS."""
    by_ocs: defaultdict[int, list[Suspicion]] = defaultdict(list)
    if state.kind == "superpod":
        for one in found:
            if one.kind == "fibre":
                by_ocs[link_end(one.end).ocs].append(one)
    shaking = {ocs: group for ocs, group in by_ocs.items() if _is_shaken(state, ocs, group)}
    options = [
        shake_remedy(state.fabric, group, ocs, _attempts(state, group)) for ocs, group in shaking.items()
    ]
    for one in found:
        if not any(one in group for group in shaking.values()):
            options.append(remedy(state.fabric, one, _attempts(state, [one])))
    return [option for option in options if option is not None]


def _is_shaken(state: DiagnosisState, ocs: int, group: list[Suspicion]) -> bool:
    """Whether so many links that lose are most of those over an OCS, or a link over it does of which both
    ends did with others as well: what all these have in common is the OCS."""
    if any(_stood_out_with_others(state, one) for one in group):
        return True
    links = len(group)
    connected = np.flatnonzero(state.peer != NO_END)
    over = sum(link_end(end).ocs == ocs for end in connected.tolist()) // 2
    return links >= SHAKEN_LINKS_MIN and 2 * links > over


def _stood_out_with_others(state: DiagnosisState, one: Suspicion) -> bool:
    ends = (one.end, one.other)
    return all(end is not None and len(state.partners.get(end, ())) > 1 for end in ends)


def _attempts(state: DiagnosisState, group: list[Suspicion]) -> list[RepairAttempt]:
    """What was done about these ends, in order of time; about both ends of a link the same once."""
    rows = {row: None for end in ends_of(group) for row in state.attempts.get(end, ())}
    return sorted(rows, key=lambda row: row.done_us)


def _give_verdict(state: DiagnosisState, found: Remedy, cause: str) -> list[Output]:
    number = state.given
    state.given += 1
    if found.after is not None:
        _mark_ineffective(state, found.after)
    row = {name: value for name, value in asdict(found).items() if name != "after"}
    state.verdicts[number] = LinkVerdict(**row, given_us=state.now_us, cause=cause)
    _touch(state, number)
    told = {name: value for name, value in asdict(found).items() if name != "suspect"}
    return [VerdictGiven(verdict=state.verdict_name(number), **told)]


def _mark_ineffective(state: DiagnosisState, repair: str) -> None:
    """The verdict on which a repair acted was not the end of the matter; counted once a repair."""
    for number, verdict in state.ended.items():
        if verdict.repair == repair and verdict.how == "repaired":
            state.ended[number] = replace(verdict, how="ineffective")
            state.ineffective += 1
            _touch(state, number)


def _end(state: DiagnosisState, number: int, how: VerdictEnd, repair: str | None = None) -> None:
    verdict = asdict(state.verdicts.pop(number))
    ended = EndedLinkVerdict(**verdict, ended_us=state.now_us, how=how, repair=repair)
    if how == "withdrawn":
        state.withdrawn += 1
    else:
        state.repaired += 1
    _touch(state, number)
    forgotten = add_ended(state.ended, number, ended)
    if forgotten is not None:
        _touch(state, forgotten)


def _touch(state: DiagnosisState, number: int) -> None:
    state.changed_documents.add(("verdicts", state.verdict_name(number)))
    state.changed_documents.add(("summaries", f"{state.fabric}/diagnosis"))
