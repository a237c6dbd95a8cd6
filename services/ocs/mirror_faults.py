"""Mirrors that drift, shake, or find no place.

A drift or a shaking chassis costs light, which the optics model accounts for. What cameras see of it appears
in the OCS's own readings. Only drifting mirrors can be outliers among the mirrors of their arrays, so only
these are checked: when a drift starts, moves by a step, and when circuits are made or restored. A mirror is
visible if a circuit is made over it, its array is lit and imaged, and the controller runs. If the whole
chassis shakes, all its mirrors are off and none is an outlier.

The drivers keep a stray mirror where it is, so its circuit stays until it is switched. After that every
alignment fails and is retried like any other. The OCS has to find out by itself that the mirror is broken
(`stray_mirrors`). It then gives the mirror up, and the fibre is moved to a spare port.
"""

import numpy as np

from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import MirrorSteady, MirrorStoodOut
from services.ocs.chassis import parse_ocs
from services.ocs.ports import fail_mirror, logical_port, parse_port, recover_port
from services.ocs.state import MirrorDrift, OcsState
from services.ocs.switch import Port, north_of
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.camera_alignment import AlignmentLoop, FloatArray
from shared.models.ocs.patched_fibres import SIDES, port_at, port_place
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
    """Record a drift. Circuits stay made, so nothing is emitted until cameras see the drift."""
    ocs, side, port = parse_ocs(body.target), None, None
    if body.kind == "mirror":
        ocs, side, port = parse_port(body.target)
    state.mirror_drifts[body.fault] = MirrorDrift(
        ocs, side, port, body.severity or 0.0, state.now_us, body.onset_us, cause
    )
    return []


def end_drift(state: OcsState, body: FaultEnded) -> list[Output]:
    """Remove a drift: it ended, or the mirror was aligned again."""
    state.mirror_drifts.pop(body.fault, None)
    return []


def mirror_loss_db(state: OcsState, at_us: int) -> FloatArray:
    """The loss in dB of each mirror through drift, by physical port, of shape (OCSes, 2, radix)."""
    loss_db = np.zeros((state.ocs_count, 2, state.radix))
    for drift in state.mirror_drifts.values():
        share = onset_share(at_us - drift.began_us, drift.onset_us)
        side = slice(None) if drift.side is None else drift.side
        port = slice(None) if drift.port is None else drift.port
        loss_db[drift.ocs, side, port] += share * drift.loss_db
    return loss_db


def start_stray(state: OcsState, body: FaultBegan) -> list[Output]:
    """Record a stray mirror. It shows only at the next connect."""
    port = parse_port(body.target)
    state.stray_mirrors[body.fault] = port_place(port.side, port.ocs, port.number)
    return []


def end_stray(state: OcsState, body: FaultEnded, cause: str) -> list[Output]:
    """Remove a stray mirror: it was repaired, or its fibre was moved.

    If the mirror was given up, the port is in use again, unless it is permanently dead by then.
    """
    mirror = state.stray_mirrors.pop(body.fault)
    if mirror in state.stray_mirrors.values():
        return []
    state.mirror_misses.pop(mirror, None)
    if state.failed_mirrors.pop(mirror, None) is None:
        return []
    return recover_port(state, body.target, cause)


def mark_failed_mirrors(state: OcsState) -> list[Output]:
    """Give up the mirrors that have missed too often."""
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
    """The reason for giving up a mirror."""
    return f"given up: its mirror missed its place {misses} times in a row, and others of its array did not"


def report_misaligned_mirrors(state: OcsState) -> list[Output]:
    """Emit a message for each mirror that becomes an outlier, or no longer is one."""
    if state.technology not in ALIGNED_BY_CAMERA:
        return []
    drifting = {
        port_place(drift.side, drift.ocs, drift.port): drift.cause
        for drift in state.mirror_drifts.values()
        if drift.side is not None and drift.port is not None
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
            stood_out = MirrorStoodOut(
                ocs=ocs, side=SIDES[side], port=port.number, error_urad=error_urad, spare=spare
            )
            emitted.append(CausedBy(drifting[mirror], stood_out))
        else:
            del state.misaligned_mirrors[mirror]
            emitted.append(MirrorSteady(ocs=ocs, side=SIDES[side], port=port.number, spare=spare))
    return emitted


def drift_steps_us(state: OcsState) -> list[int]:
    """The times at which drifting mirrors move by another step."""
    if not state.mirror_drifts or state.technology not in ALIGNED_BY_CAMERA:
        return []
    steps_us = []
    for drift in state.mirror_drifts.values():
        step_us = next_onset_step_us(state.now_us - drift.began_us, drift.onset_us)
        if drift.port is not None and step_us is not None:
            steps_us.append(drift.began_us + step_us)
    return steps_us


def _is_seen(state: OcsState, port: Port) -> bool:
    """Whether a circuit is made over the mirror of a port and its camera sees it."""
    ocs, side = port.ocs, SIDES[port.side]
    north = north_of(state, port)
    if north == NO_PORT or not state.made[ocs, north]:
        return False
    if state.control_faults[ocs] or state.frozen_faults[ocs]:
        return False
    name = f"{state.fabric}/ocs-{ocs}"
    return not any(f"{name}/{word}-{side}" in state.broken for word in ("camera", "injector"))


def _error_urad(state: OcsState, mirror: int) -> tuple[float, float]:
    """The pointing error that the camera reads for a mirror, and the limit beyond which it is an outlier."""
    side, ocs, port = port_at(mirror)
    own_db = all_db = 0.0
    for drift in state.mirror_drifts.values():
        if drift.ocs != ocs or (drift.port is not None and (drift.side, drift.port) != (side, port)):
            continue
        lost_db = onset_share(state.now_us - drift.began_us, drift.onset_us) * drift.loss_db
        own_db, all_db = (own_db, all_db + lost_db) if drift.port is None else (own_db + lost_db, all_db)
    loop = AlignmentLoop(camera_noise_urad=state.config.camera_noise_urad)
    made = ocs_calibration(state.seed, state.fabric, state.ocs_count, state.radix)
    place = ocs, side, port
    seen = mirror_error_urad(state.seed, state.fabric, made, place, own_db + all_db, loop, state.now_us)
    return seen, max(OFF_BEYOND_URAD, OFF_TIMES * usual_error_urad(all_db, loop))
