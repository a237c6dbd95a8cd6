"""Faults of an OCS chassis and its parts, and restarts of its software.

The reasons why an OCS is dark are counted. The first takes the light away, and it returns with the removal of
the last. Palomar mirrors need their drivers to hold a position. Circuits are lost with the chassis, and
wanted circuits are made again when it is back (Lightwave Fabrics 3.2.2, Table C.1: not latching).

Supplies and fans are redundant. Without its CPU or FPGA an OCS executes no command. Its circuits stay,
including released ones, until the part is back. Without a camera or an injection module it can park mirrors,
which needs no alignment, but make no circuits. Its circuits stay, open loop. A failed driver board also takes
down the circuits over its mirrors.

A restart of the software takes some tens of seconds, in which the OCS executes no command. Its circuits stay,
including released ones, unless `ocs.restart_keeps` is false. Then the software resets all mirrors, every
circuit is lost, and the wanted ones are made again when the software runs.
"""

from collections.abc import Sequence

from schemas.config.pods import PodOcsConfig
from schemas.envelope import Envelope
from schemas.messages.ocs import (
    CircuitsParked,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsPartDown,
    OcsPartUp,
    OcsRestarted,
    OcsRestarting,
    OcsUp,
    RestartRefused,
)
from schemas.messages.operator import RestartOcs
from schemas.names import number_of
from services.ocs.manual_cross_connects import drop_manual_circuits
from services.ocs.ports import fail_board, recover_board
from services.ocs.state import ControllerRestart, OcsState
from services.ocs.switch import cancel_retries, remove_stale, schedule_restore, touch
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import CausedBy, Output
from shared.models.ocs.parts import PART, OcsPart, part_word


def add_fault(state: OcsState, part: str) -> bool:
    """Count one more fault of a part. Return whether it is the first."""
    state.broken[part] = state.broken.get(part, 0) + 1
    return state.broken[part] == 1


def remove_fault(state: OcsState, part: str) -> bool:
    """Count one fault fewer of a part. Return whether it was the last."""
    left = state.broken.pop(part) - 1
    if left:
        state.broken[part] = left
    return left == 0


def darken(state: OcsState, ocses: Sequence[int]) -> None:
    """Add one reason why these OCSes are dark."""
    state.chassis_faults[list(ocses)] += 1
    state.made[list(ocses)] = False
    for ocs in ocses:
        remove_stale(state, ocs)
        cancel_retries(state, ocs)
    touch(state, ocses)


def lighten(state: OcsState, ocses: Sequence[int], cause: str) -> None:
    """Remove one reason; if it was the last, the mirrors turn to the wanted circuits."""
    state.chassis_faults[list(ocses)] -= 1
    for ocs in ocses:
        if state.chassis_faults[ocs] == 0:
            schedule_restore(state, ocs, None, cause)
    touch(state, ocses)


def darken_by_chassis_fault(state: OcsState, ocs: int) -> list[Output]:
    """Add one reason that lies in the chassis itself. Emit OcsDown if there was none before."""
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    darken(state, (ocs,))
    return [OcsDown(ocs=ocs)] if own == 0 else []


def lighten_by_chassis_fault(state: OcsState, ocs: int, cause: str) -> list[Output]:
    """Remove one reason that lies in the chassis itself. Emit OcsUp if it was the last."""
    lighten(state, (ocs,), cause)
    own = state.chassis_faults[ocs] - state.housing_faults[ocs]
    return [OcsUp(ocs=ocs)] if own == 0 else []


def fail_part(state: OcsState, target: str) -> list[Output]:
    """Add one fault of a chassis part, or of the power of the whole chassis."""
    if not add_fault(state, target):
        return []
    ocs, part = parse_ocs(target), PART[part_word(target)]
    effect = _effect(state, part)
    touch(state, (ocs,))
    if effect == "mirrors":
        return [fail_board(state, target, ocs)]
    emitted: list[Output] = [OcsPartDown(part=target)]
    if part.effect == "light" and _broken_of_kind(state, target) != part.spare + 1:
        return emitted
    if effect == "light":
        return [*emitted, *darken_by_chassis_fault(state, ocs), *drop_manual_circuits(state, ocs)]
    if not state.held[ocs]:
        emitted.append(OcsHeld(ocs=ocs))
    (state.frozen_faults if effect == "commands" else state.blind_faults)[ocs] += 1
    return emitted


def recover_part(state: OcsState, target: str, cause: str) -> list[Output]:
    """Remove one fault of a chassis part, or of the power of the whole chassis."""
    if not remove_fault(state, target):
        return []
    ocs, part = parse_ocs(target), PART[part_word(target)]
    effect = _effect(state, part)
    touch(state, (ocs,))
    if effect == "mirrors":
        return [recover_board(state, target, ocs, cause)]
    emitted: list[Output] = [OcsPartUp(part=target)]
    if part.effect == "light" and _broken_of_kind(state, target) != part.spare:
        return emitted
    if effect == "light":
        return emitted + lighten_by_chassis_fault(state, ocs, cause)
    (state.frozen_faults if effect == "commands" else state.blind_faults)[ocs] -= 1
    if not state.frozen_faults[ocs]:
        emitted += park_stale(state, ocs)
    if not state.held[ocs]:
        cancel_retries(state, ocs)  # all missing circuits are made now
        schedule_restore(state, ocs, None, cause)
        emitted.append(OcsFreed(ocs=ocs))
    return emitted


def _effect(state: OcsState, part: OcsPart) -> str:
    """The effect of a part's failure: "light", "mirrors", "commands" or "alignment".

    OCSes of a pod that latch keep their circuits without power and drivers (Table C.1), but execute no
    commands meanwhile. A network's chassis goes dark with all its parts.
    """
    if state.latches and state.network is None and part.effect in ("light", "mirrors"):
        return "commands"
    return part.effect


def parse_ocs(target: str) -> int:
    """The number of the OCS that contains a part: 17 for `pod-0/ocs-17/cpu` and for `pod-0/ocs-17`."""
    return number_of(target.split("/")[1])


def _broken_of_kind(state: OcsState, target: str) -> int:
    """The number of broken parts of the same kind in the same chassis, including this part."""
    parent, _, last = target.rpartition("/")
    part = PART[part_word(target)]
    if part.count == 1:
        return int(target in state.broken)
    numbers = range(part.count)
    return sum(f"{parent}/{last.partition('-')[0]}-{number}" in state.broken for number in numbers)


def park_stale(state: OcsState, ocs: int) -> list[Output]:
    """Take away the released circuits that stayed on the mirrors while the controller was out."""
    circuits = remove_stale(state, ocs)
    return [CircuitsParked(ocs=ocs, circuits=circuits)] if circuits else []


def on_restart(state: OcsState, body: RestartOcs, message: Envelope) -> list[Output]:
    """Start the restart, or refuse it."""
    config, reason = state.config, _restart_refusal(state, body.ocs)
    if reason is not None or not isinstance(config, PodOcsConfig):
        return [
            RestartRefused(ocs=body.ocs, reason=reason or "OCSes of a datacenter network cannot be restarted")
        ]
    ocs, keeps = number_of(body.ocs), state.latches or config.restart_keeps
    due_us = state.now_us + to_whole_us(config.restart_s, US_PER_S)
    state.restarts[ocs] = ControllerRestart(due_us, keeps, message.id)
    emitted: list[Output] = [OcsRestarting(ocs=ocs, keeps=keeps)]
    if not state.held[ocs]:
        emitted.append(OcsHeld(ocs=ocs))
    state.frozen_faults[ocs] += 1
    touch(state, (ocs,))
    return emitted if keeps else emitted + darken_by_chassis_fault(state, ocs)


def complete_restarts(state: OcsState) -> list[Output]:
    """Finish restarts that are due: take away released circuits first, then make the missing ones."""
    emitted: list[Output] = []
    for ocs in sorted(ocs for ocs, restart in state.restarts.items() if restart.due_us <= state.now_us):
        restart = state.restarts.pop(ocs)
        state.frozen_faults[ocs] -= 1
        touch(state, (ocs,))
        now: list[Output] = [OcsRestarted(ocs=ocs)]
        if not state.frozen_faults[ocs]:
            now += park_stale(state, ocs)
        if not restart.keeps:
            now += lighten_by_chassis_fault(state, ocs, restart.cause)
        if not state.held[ocs]:
            if restart.keeps:
                cancel_retries(state, ocs)  # all missing circuits are made now
                schedule_restore(state, ocs, None, restart.cause)
            now.append(OcsFreed(ocs=ocs))
        emitted += [CausedBy(restart.cause, body) for body in now if not isinstance(body, CausedBy)]
    return emitted


def _restart_refusal(state: OcsState, name: str) -> str | None:
    fabric, _, part = name.partition("/")
    if state.network is not None or fabric != state.fabric:
        return f"not an OCS of superpod {state.fabric}; a name is like pod-0/ocs-17"
    ocs = number_of(part)
    if ocs >= state.ocs_count:
        last = f"{state.fabric}/ocs-{state.ocs_count - 1}"
        return f"no such OCS; must be between {state.fabric}/ocs-0 and {last}"
    if ocs in state.restarts:
        return "its software is already restarting"
    if state.chassis_faults[ocs]:
        return "it is down; its software starts when it is back"
    return None
