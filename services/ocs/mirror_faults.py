"""Mirrors that point elsewhere than they are told, one that drifts or all of a chassis that shakes: the light
that this costs is for the optics to tell, what the cameras see of it for the OCS's own readings."""

import numpy as np

from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import MirrorSteady, MirrorStoodOut
from services.ocs.chassis import ocs_of
from services.ocs.ports import fail_mirror, logical_port, port_of, recover_port
from services.ocs.state import NO_PORT, SIDES, MirrorDrift, OcsState
from services.ocs.switch import Port, north_of
from shared.engine.service import CausedBy, Output
from shared.models.ocs.alignment import AlignmentLoop, FloatArray
from shared.models.ocs.patches import place_of, port_at
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA
from shared.models.optics.impairments import next_onset_step_us, onset_share
from shared.models.telemetry.ocs_readings import (
    OFF_BEYOND_URAD,
    OFF_TIMES,
    STEADY_SHARE,
    mirror_error_urad,
    ocs_calibration,
    usual_error_urad,
)


def start_drift(state: OcsState, body: FaultBegan, cause: str) -> list[Output]:
    """Circuits stand as they are made: nothing is told of it but what cameras see."""
    ocs, side, port = ocs_of(body.target), None, None
    if body.kind == "mirror":
        ocs, side, port = port_of(body.target)
    state.mirror_drifts[body.fault] = MirrorDrift(
        ocs, side, port, body.severity or 0.0, state.now_us, body.onset_us, cause
    )
    return []


def end_drift(state: OcsState, body: FaultEnded) -> list[Output]:
    """It is over, or the mirror was aligned anew."""
    state.mirror_drifts.pop(body.fault, None)
    return []


def mirror_loss_db(state: OcsState, at_us: int) -> FloatArray:
    """What every mirror loses for it points elsewhere, by where it is, of shape (OCSes, 2, radix)."""
    found = np.zeros((state.ocs_count, 2, state.radix))
    for one in state.mirror_drifts.values():
        share = onset_share(at_us - one.began_us, one.onset_us)
        side = slice(None) if one.side is None else one.side
        port = slice(None) if one.port is None else one.port
        found[one.ocs, side, port] += share * one.loss_db
    return found


# Mirrors that find no place any more, whatever they are to be joined to.
#
# The drivers hold such a mirror where it is, so that a circuit over it stands until it is switched. From then
# on every one fails to be aligned, and is tried again as any other that does. That the mirror is broken the
# OCS
# has to see (`misses`): then it gives it up, and its fibre is moved to a spare port.


def start_stray(state: OcsState, body: FaultBegan) -> list[Output]:
    """Nobody sees it before it is to turn."""
    port = port_of(body.target)
    state.stray_mirrors[body.fault] = place_of(port.side, port.ocs, port.number)
    return []


def end_stray(state: OcsState, body: FaultEnded, cause: str) -> list[Output]:
    """It finds its places, or its fibre was moved. One that was given up is in use again, unless it is dead
    for good by then."""
    mirror = state.stray_mirrors.pop(body.fault)
    if mirror in state.stray_mirrors.values():
        return []
    state.mirror_misses.pop(mirror, None)
    if state.failed_mirrors.pop(mirror, None) is None:
        return []
    return recover_port(state, body.target, cause)


def mark_failed_mirrors(state: OcsState) -> list[Output]:
    """Mirrors that have missed too often now are held for dead."""
    emitted: list[Output] = []
    for mirror, cause in sorted(state.suspect_mirrors.items()):
        misses = state.mirror_misses.pop(mirror)
        if mirror in state.failed_mirrors:
            continue
        state.failed_mirrors[mirror] = misses
        side, ocs, port = port_at(mirror)
        emitted += [
            CausedBy(cause, body)
            for body in fail_mirror(state, Port(ocs, side, port), failed_mirror_reason(misses))
            if not isinstance(body, CausedBy)
        ]
    state.suspect_mirrors.clear()
    return emitted


def failed_mirror_reason(misses: int) -> str:
    """Why a mirror was given up."""
    return f"given up: its mirror missed its place {misses} times in a row, and others of its array did not"


# What cameras see of mirrors that drift: one that is off its place is told of, once, and when it is back.
#
# Only mirrors that drift can stand out from the others of their arrays, so that only these are looked at:
# when
# they begin to, drift by a step, and when anything is made or comes back. A mirror is seen where a circuit is
# made over it, its array is lit and imaged, and the controller runs. All mirrors of a chassis that shakes are
# off, and none of them stands out.


def report_misaligned_mirrors(state: OcsState) -> list[Output]:
    """Say of which mirrors what is seen of them has changed."""
    if state.technology not in ALIGNED_BY_CAMERA:
        return []
    drifting = {
        place_of(one.side, one.ocs, one.port): one.cause
        for one in state.mirror_drifts.values()
        if one.side is not None and one.port is not None
    }
    emitted: list[Output] = []
    for mirror in sorted(drifting.keys() | state.misaligned_mirrors.keys()):
        side, ocs, number = port_at(mirror)
        port = logical_port(state, Port(ocs, side, number))
        if not _is_seen(state, port):
            continue
        error_urad, limit_urad = _error_urad(state, mirror)
        is_off = error_urad > limit_urad * (STEADY_SHARE if mirror in state.misaligned_mirrors else 1.0)
        if is_off == (mirror in state.misaligned_mirrors):
            continue
        spare = number if number != port.number else None
        if is_off:
            state.misaligned_mirrors[mirror] = error_urad
            told = MirrorStoodOut(
                ocs=ocs, side=SIDES[side], port=port.number, error_urad=error_urad, spare=spare
            )
            emitted.append(CausedBy(drifting[mirror], told))
        else:
            del state.misaligned_mirrors[mirror]
            emitted.append(MirrorSteady(ocs=ocs, side=SIDES[side], port=port.number, spare=spare))
    return emitted


def drift_steps_us(state: OcsState) -> list[int]:
    """When mirrors that drift do so by another step."""
    if not state.mirror_drifts or state.technology not in ALIGNED_BY_CAMERA:
        return []
    found = []
    for one in state.mirror_drifts.values():
        step_us = next_onset_step_us(state.now_us - one.began_us, one.onset_us)
        if one.port is not None and step_us is not None:
            found.append(one.began_us + step_us)
    return found


def _is_seen(state: OcsState, port: Port) -> bool:
    """Whether there is a circuit over the mirror of a port, and its camera sees it."""
    ocs, side = port.ocs, SIDES[port.side]
    north = north_of(state, port)
    if north == NO_PORT or not state.made[ocs, north]:
        return False
    if state.control_faults[ocs] or state.frozen_faults[ocs]:
        return False
    name = f"{state.fabric}/ocs-{ocs}"
    return not any(f"{name}/{word}-{side}" in state.broken for word in ("camera", "injector"))


def _error_urad(state: OcsState, mirror: int) -> tuple[float, float]:
    """What the camera says of a mirror, and beyond what it stands out."""
    side, ocs, port = port_at(mirror)
    own_db = all_db = 0.0
    for one in state.mirror_drifts.values():
        if one.ocs != ocs or (one.port is not None and (one.side, one.port) != (side, port)):
            continue
        lost_db = onset_share(state.now_us - one.began_us, one.onset_us) * one.loss_db
        own_db, all_db = (own_db, all_db + lost_db) if one.port is None else (own_db + lost_db, all_db)
    loop = AlignmentLoop(camera_noise_urad=state.config.camera_noise_urad)
    made = ocs_calibration(state.seed, state.fabric, state.ocs_count, state.radix)
    place = ocs, side, port
    seen = mirror_error_urad(state.seed, state.fabric, made, place, own_db + all_db, loop, state.now_us)
    return seen, max(OFF_BEYOND_URAD, OFF_TIMES * usual_error_urad(all_db, loop))
