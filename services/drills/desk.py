"""The rules of the trainee's desk: acknowledge alerts, name a culprit, take a hint."""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.drill_requests import AcknowledgeAlerts, NameCulprit, TakeHint
from schemas.messages.drills import AlertsAcknowledged, CulpritNamed, DeskRefused, HintGiven
from schemas.names import number_of
from services.drills.state import Desk, DrillRun, DrillsState, Named
from shared.engine.service import Output

CULPRITS_MAX = 50
"""Maximum number of culprits that are named in one drill."""


def on_acknowledge(state: DrillsState, body: AcknowledgeAlerts, _message: Envelope) -> list[Output]:
    """Note that a trainee has seen the alerts."""
    found = _open_desk(state, body.drill)
    if isinstance(found, DeskRefused):
        return [found]
    number, run, desk = found
    if desk.acknowledged_us is not None:
        who = desk.acknowledged_by or "a client without a name"
        return [DeskRefused(subject=body.drill, reason=f"{who} has acknowledged its alerts already")]
    desk = replace(desk, acknowledged_us=state.now_us, acknowledged_by=body.asked_by)
    state.put(number, run, desk=desk)
    return [AlertsAcknowledged(drill=body.drill, trainee=body.asked_by)]


def on_name(state: DrillsState, body: NameCulprit, _message: Envelope) -> list[Output]:
    """Note the part that a trainee names as broken."""
    found = _open_desk(state, body.drill)
    if isinstance(found, DeskRefused):
        return [found]
    number, run, desk = found
    if len(desk.culprits) >= CULPRITS_MAX:
        reason = f"{CULPRITS_MAX} culprits are named already, which is the maximum"
        return [DeskRefused(subject=body.drill, reason=reason)]
    named = Named(body.culprit, state.now_us, body.asked_by)
    state.put(number, run, desk=replace(desk, culprits=(*desk.culprits, named)))
    return [CulpritNamed(drill=body.drill, culprit=body.culprit, trainee=body.asked_by)]


def on_hint(state: DrillsState, body: TakeHint, _message: Envelope) -> list[Output]:
    """Give the next hint."""
    found = _open_desk(state, body.drill)
    if isinstance(found, DeskRefused):
        return [found]
    number, run, desk = found
    hints, taken = desk.game.hints, desk.hints_taken
    if taken >= len(hints):
        reason = f"all {len(hints)} hints are given" if hints else "it has no hints"
        return [DeskRefused(subject=body.drill, reason=reason)]
    state.put(number, run, desk=replace(desk, hints_taken=taken + 1))
    return [HintGiven(drill=body.drill, number=taken + 1, hint=hints[taken], trainee=body.asked_by)]


def _open_desk(state: DrillsState, name: str) -> tuple[int, DrillRun, Desk] | DeskRefused:
    """(number, drill, desk) of a running drill with a game, or why there is none. The refusal is the
    same for a drill without a game and for a missing one: trainees do not see drills."""
    fabric, _, _ = name.partition("/drill-")
    number = number_of(name)
    run = state.running.get(number) if fabric == state.fabric else None
    if run is not None and run.desk is not None:
        return number, run, run.desk
    ended = state.ended.get(number) if fabric == state.fabric else None
    if ended is not None and ended.desk is not None:
        return DeskRefused(subject=name, reason="its game is over")
    return DeskRefused(subject=name, reason="there is no game of this name")
