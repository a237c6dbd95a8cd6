"""Rules of the diagnosis: outliers become verdicts, and repairs show whether these were right."""

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
from services.diagnosis.camera_evidence import with_camera_evidence
from services.diagnosis.failed_cameras import is_blind, is_explained_by_drift
from services.diagnosis.remedies import Remedy, ends_of, is_last_resort, remedy, shake_remedy
from services.diagnosis.state import (
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
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import join_ends, link_end
from shared.models.telemetry.outlier_thresholds import Inspection

PARTNERS_KEPT_MAX = 8
SHAKEN_LINKS_MIN = 3
"""Minimum number of links over one OCS that lose light alike at the same time to suspect the OCS."""


def due(state: DiagnosisState) -> int | None:
    """The time of the next recheck after a repair."""
    return min(state.rechecks.values(), default=None)


def on_tick(state: DiagnosisState, _tick: Tick, message: Envelope) -> list[Output]:
    """Recheck ends after a repair. If an end is still an outlier, the repair was ineffective or there is
    another fault."""
    ready = sorted(end for end, at_us in state.rechecks.items() if at_us <= state.now_us)
    emitted: list[Output] = []
    for end in ready:
        del state.rechecks[end]
        if end in state.unseen:
            emitted += _request_test(state, end)
    return emitted + _give_verdicts(state, {*ready} - state.unseen.keys(), message.id)


def _request_test(state: DiagnosisState, end: int) -> list[Output]:
    """Request a link test of an end without a link.

    An end with a link is inspected instead. If it had one at the last recheck already, the inspection has
    found nothing.
    """
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
    """Apply a changed interval of inspections. If they stop, pending ones are still awaited."""
    interval_s = body.of("transceivers").get("inspection_interval_s")
    if isinstance(interval_s, int) and interval_s:
        state.recheck_after_s = RECHECK_INSPECTIONS * interval_s
    return []


def on_stood_out(state: DiagnosisState, body: EndsStoodOut, message: Envelope) -> list[Output]:
    """Give verdicts on new outliers, and withdraw those whose suspect reads as it should again."""
    _expire_attempts(state)
    fresh = {inspection.end for inspection in body.ends}
    for inspection in body.ends:
        state.outliers[inspection.end] = Inspection(
            **{name: getattr(inspection, name) for name in Inspection.__slots__}
        )
        state.unseen.pop(inspection.end, None)
        state.testing.pop(inspection.end, None)
        known = state.partners.get(inspection.end, ())
        if inspection.far is not None and inspection.far not in known and not is_blind(state, inspection.end):
            state.partners[inspection.end] = (*known, inspection.far)[-PARTNERS_KEPT_MAX:]
    for end in body.usual:
        _clear_end(state, end)
    in_verdict = {end for verdict in state.verdicts.values() for end in verdict.ends}
    for end in body.unseen:
        if end in in_verdict or end in state.attempts:
            state.unseen[end] = state.now_us
        else:
            state.outliers.pop(end, None)
    emitted: list[Output] = []
    for number, verdict in list(state.verdicts.items()):
        if _is_over(state, verdict):
            for end in verdict.ends:
                if end in state.unseen:
                    _clear_end(state, end)
            fresh |= state.outliers.keys() & set(verdict.ends)
            _end(state, number, "withdrawn")
            emitted.append(VerdictWithdrawn(verdict=state.verdict_name(number), target=verdict.target))
    return emitted + _give_verdicts(state, fresh, message.id)


def _is_over(state: DiagnosisState, verdict: LinkVerdict) -> bool:
    """Whether the suspect of a verdict, or else all its ends, read as they should.

    Ends that cannot be read, or that a link test found and that were not read since, do not.
    """
    ends = verdict.ends if verdict.suspect is None else (verdict.suspect,)
    return not any(end in state.outliers or end in state.unseen for end in ends)


def on_repair_completed(state: DiagnosisState, body: RepairCompleted, _message: Envelope) -> list[Output]:
    """Record what was done to a part, and schedule a recheck of its ends."""
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
    """Give a verdict from a link test, of diagnosis or an operator. It is certain, because there is no other
    end."""
    end = body.end
    if body.verdict == "open":  # the end is being worked on: test it later
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
        evidence = "a link test shows bit errors with normal light"
    else:
        evidence = f"a link test shows {body.loss_db - body.expected_db:.1f} dB more loss than expected"
    last = next((row.kind for row in reversed(attempts) if _is_end_work(row)), None)
    suspicion = Suspicion(last or kind, end, CONFIDENCE_MAX, evidence)
    option = remedy(state.fabric, suspicion, attempts)
    if option is None:
        return []
    state.unseen.setdefault(end, state.now_us)
    return _give_verdict(state, option, message.id)


def _is_end_work(row: RepairAttempt) -> bool:
    """Whether a link test can show if this attempt has helped: it was work at an end, for an open fault."""
    return not row.read_normal_since and WORK_DEFINITIONS[row.work].at_link_ends


def on_test_refused(state: DiagnosisState, body: LinkTestRefused, _message: Envelope) -> list[Output]:
    """Recheck the end later: it carries a link again, or its OCS cannot test now."""
    for end in list(state.testing):
        if link_end(end).name(state.fabric) == body.end:
            state.rechecks[end] = state.now_us + state.recheck_after_s * US_PER_S
    return []


def _clear_end(state: DiagnosisState, end: int) -> None:
    """Clear an end that is no longer an outlier.

    Its last attempts are remembered for a while, in case they only hid the fault; but not if nothing more can
    be done.
    """
    tables = (state.outliers, state.rechecks, state.unseen, state.testing, state.partners)
    for table in tables:
        table.pop(end, None)
    name = link_end(end).name(state.fabric)
    own = [row for row in state.attempts.pop(end, ()) if row.target == name]
    if own and not any(is_last_resort(row.work) for row in own):
        state.attempts[end] = tuple(replace(row, read_normal_since=True) for row in own)


def _expire_attempts(state: DiagnosisState) -> None:
    """Drop old attempts at ends that have read as they should since."""
    long_ago_us = state.now_us - REPEAT_WINDOW_US
    for end, rows in list(state.attempts.items()):
        if end in state.outliers or end in state.unseen or rows[-1].done_us > long_ago_us:
            continue
        del state.attempts[end]


def _give_verdicts(state: DiagnosisState, fresh: set[int], cause: str) -> list[Output]:
    """Give verdicts on these ends if they are outliers and in no open verdict."""
    in_verdict = {end for verdict in state.verdicts.values() for end in verdict.ends} | state.rechecks.keys()
    candidates = [
        suspicion
        for suspicion in suspicions(_with_far_ends(state, fresh))
        if suspicion.end in fresh or suspicion.other in fresh
    ]
    free = [
        suspicion
        for suspicion in candidates
        if not in_verdict & {suspicion.end, suspicion.other} and not is_explained_by_drift(state, suspicion)
    ]
    free = [
        _with_partner_evidence(state, suspicion)
        for suspicion in free
        if not _is_known_to_shake(state, suspicion)
    ]
    free = [with_camera_evidence(state, suspicion) for suspicion in free]
    emitted: list[Output] = []
    for option in _remedies(state, free):
        emitted += _give_verdict(state, option, cause)
    return emitted


def _with_far_ends(state: DiagnosisState, ends: set[int]) -> dict[int, Inspection]:
    """Those of these ends that are outliers, with the far ends of their links. Suspicions about them depend
    on no other end."""
    own = ends & state.outliers.keys()
    fars = {state.outliers[end].far for end in own} & state.outliers.keys()
    return {end: state.outliers[end] for end in own | fars if end is not None}


def _is_known_to_shake(state: DiagnosisState, suspicion: Suspicion) -> bool:
    """Whether a link loses light like all others over an OCS with a verdict "shake"; its ends join that
    verdict."""
    if suspicion.kind != "fibre" or not state.has_ocs:
        return False
    target = f"{state.fabric}/ocs-{link_end(suspicion.end).ocs}"
    for number, verdict in state.verdicts.items():
        if verdict.kind == "shake" and verdict.target == target:
            more = {end for end in (suspicion.end, suspicion.other) if end is not None}
            state.verdicts[number] = replace(verdict, ends=tuple(sorted({*verdict.ends, *more})))
            _touch(state, number)
            return True
    return False


def _with_partner_evidence(state: DiagnosisState, suspicion: Suspicion) -> Suspicion:
    """The suspicion; of its two ends, the one that was an outlier with more partners is the likelier.

    Not all these partners are at fault.
    """
    if suspicion.other is None or suspicion.kind == "mirror":
        return suspicion
    own, other = (len(state.partners.get(end, ())) for end in (suspicion.end, suspicion.other))
    if own == other:
        return suspicion
    more = max(own, other) - 1
    partners = "another partner" if more == 1 else f"{more} other partners"
    ends = (suspicion.end, suspicion.other) if own > other else (suspicion.other, suspicion.end)
    evidence, there = (
        f"{suspicion.evidence_at(end)}; {which} end also stood out with {partners}"
        for end, which in zip(ends, ("this", "the other"), strict=True)
    )
    return replace(
        suspicion,
        end=ends[0],
        other=ends[1],
        evidence=evidence,
        evidence_at_other=there,
        confidence=CONFIDENCE_MAX,
    )


def _remedies(state: DiagnosisState, candidates: list[Suspicion]) -> list[Remedy]:
    """The remedies of suspicions. If many links over one OCS lose light alike, the remedy is for the OCS."""
    by_ocs: defaultdict[int, list[Suspicion]] = defaultdict(list)
    if state.has_ocs:
        for suspicion in candidates:
            if suspicion.kind == "fibre":
                by_ocs[link_end(suspicion.end).ocs].append(suspicion)
    shaking = {ocs: group for ocs, group in by_ocs.items() if _is_shaken(state, ocs, group)}
    options = [
        shake_remedy(state.fabric, group, ocs, _attempts(state, group)) for ocs, group in shaking.items()
    ]
    for suspicion in candidates:
        if not any(suspicion in group for group in shaking.values()):
            options.append(remedy(state.fabric, suspicion, _attempts(state, [suspicion])))
    return [option for option in options if option is not None]


def _is_shaken(state: DiagnosisState, ocs: int, group: list[Suspicion]) -> bool:
    """Whether an OCS shakes.

    This is so if most links over it lose light, or if a link does whose ends were both outliers with other
    partners as well. The OCS is what they have in common.
    """
    if any(_stood_out_with_others(state, suspicion) for suspicion in group):
        return True
    links = len(group)
    connected = np.flatnonzero(state.peer != NO_END)
    over = sum(link_end(end).ocs == ocs for end in connected.tolist()) // 2
    return links >= SHAKEN_LINKS_MIN and 2 * links > over


def _stood_out_with_others(state: DiagnosisState, suspicion: Suspicion) -> bool:
    ends = (suspicion.end, suspicion.other)
    return all(end is not None and len(state.partners.get(end, ())) > 1 for end in ends)


def _attempts(state: DiagnosisState, group: list[Suspicion]) -> list[RepairAttempt]:
    """The attempts at these ends in order of time; an attempt for both ends of a link counts once."""
    rows = {row: None for end in ends_of(group) for row in state.attempts.get(end, ())}
    return sorted(rows, key=lambda row: row.done_us)


def _give_verdict(state: DiagnosisState, option: Remedy, cause: str) -> list[Output]:
    number = state.given
    state.given += 1
    if option.after is not None:
        _mark_ineffective(state, option.after)
    row = {name: value for name, value in asdict(option).items() if name != "after"}
    state.verdicts[number] = LinkVerdict(**row, given_us=state.now_us, cause=cause)
    _touch(state, number)
    published = {name: value for name, value in asdict(option).items() if name != "suspect"}
    return [VerdictGiven(verdict=state.verdict_name(number), **published)]


def _mark_ineffective(state: DiagnosisState, repair: str) -> None:
    """Mark the verdict of a repair as ineffective; counted once for each repair."""
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
