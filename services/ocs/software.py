"""An OCS whose software is restarted: for some tens of seconds nothing that it is told is done.

As without its controller, its circuits hold, those given up too, unless its software sets all mirrors anew
when it starts (`ocs.restart_keeps`): then every circuit is lost, and made again when it runs.
"""

from schemas.config import PodOcsConfig
from schemas.envelope import Envelope
from schemas.names import number_of
from schemas.ocs import OcsFreed, OcsHeld, OcsRestarted, OcsRestarting, RestartRefused
from schemas.operator import RestartOcs
from services.ocs.chassis import darken_by_own, lighten_by_own
from services.ocs.parts import park
from services.ocs.restores import forget_realignments, restore_later
from services.ocs.state import OcsState, Restart
from services.ocs.switch import touch
from shared.basics.units import US_PER_S, us
from shared.engine.service import CausedBy, Output


def on_restart(state: OcsState, body: RestartOcs, message: Envelope) -> list[Output]:
    """Begin, or refuse to."""
    config, reason = state.config, _why_not(state, body.ocs)
    if reason is not None or not isinstance(config, PodOcsConfig):
        return [RestartRefused(ocs=body.ocs, reason=reason or "a network's OCSes are not restarted")]
    ocs, keeps = number_of(body.ocs), state.latches or config.restart_keeps
    due_us = state.now_us + us(config.restart_s, US_PER_S)
    state.restarts[ocs] = Restart(due_us, keeps, message.id)
    said: list[Output] = [OcsRestarting(ocs=ocs, keeps=keeps)]
    if not state.held[ocs]:
        said.append(OcsHeld(ocs=ocs))
    state.frozen_faults[ocs] += 1
    touch(state, (ocs,))
    return said if keeps else said + darken_by_own(state, ocs)


def settle_restarts(state: OcsState) -> list[Output]:
    """The software runs again: first it takes away what was given up meanwhile, then it makes what is
    missing."""
    said: list[Output] = []
    for ocs in sorted(ocs for ocs, restart in state.restarts.items() if restart.due_us <= state.now_us):
        restart = state.restarts.pop(ocs)
        state.frozen_faults[ocs] -= 1
        touch(state, (ocs,))
        now: list[Output] = [OcsRestarted(ocs=ocs)]
        if not state.frozen_faults[ocs]:
            now += park(state, ocs)
        if not restart.keeps:
            now += lighten_by_own(state, ocs, restart.cause)
        if not state.held[ocs]:
            if restart.keeps:
                forget_realignments(state, ocs)  # all that is missing turns now
                restore_later(state, ocs, None, restart.cause)
            now.append(OcsFreed(ocs=ocs))
        said += [CausedBy(restart.cause, body) for body in now if not isinstance(body, CausedBy)]
    return said


def _why_not(state: OcsState, name: str) -> str | None:
    fabric, _, part = name.partition("/")
    if state.network is not None or fabric != state.fabric:
        return f"no OCS of a superpod {state.fabric}; names are like pod-0/ocs-17"
    ocs = number_of(part)
    if ocs >= state.ocs_count:
        last = f"{state.fabric}/ocs-{state.ocs_count - 1}"
        return f"there is no such OCS; allowed are {state.fabric}/ocs-0 to {last}"
    if ocs in state.restarts:
        return "its software is being restarted already"
    if state.chassis_faults[ocs]:
        return "it is down; its software starts with it"
    return None
