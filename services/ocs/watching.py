"""What cameras see of mirrors that drift: one that is off its place is told of, once, and when it is back.

Only mirrors that drift can stand out from the others of their arrays, so that only these are looked at: when
they begin to, drift by a step, and when anything is made or comes back. A mirror is seen where a circuit is
made over it, its array is lit and imaged, and the controller runs. All mirrors of a chassis that shakes are
off, and none of them stands out.
"""

from schemas.ocs import MirrorSteady, MirrorStoodOut
from services.ocs.ports import logical
from services.ocs.state import NO_PORT, SIDES, OcsState
from services.ocs.switch import Port, north_of
from shared.engine.service import CausedBy, Output
from shared.models.ocs.alignment import Loop
from shared.models.ocs.patches import place_of, port_at
from shared.models.optics.impairments import come_share, next_step_us
from shared.models.technologies import ALIGNED_BY_CAMERA
from shared.models.telemetry.ocs_readings import (
    OFF_BEYOND_URAD,
    OFF_TIMES,
    STEADY_SHARE,
    calibration,
    mirror_error_urad,
    usual_error_urad,
)


def watch(state: OcsState) -> list[Output]:
    """Say of which mirrors what is seen of them has changed."""
    if state.technology not in ALIGNED_BY_CAMERA:
        return []
    drifting = {
        place_of(one.side, one.ocs, one.port): one.cause
        for one in state.drifts.values()
        if one.side is not None and one.port is not None
    }
    said: list[Output] = []
    for mirror in sorted(drifting.keys() | state.off.keys()):
        side, ocs, number = port_at(mirror)
        port = logical(state, Port(ocs, side, number))
        if not _is_seen(state, port):
            continue
        error_urad, limit_urad = _error_urad(state, mirror)
        is_off = error_urad > limit_urad * (STEADY_SHARE if mirror in state.off else 1.0)
        if is_off == (mirror in state.off):
            continue
        spare = number if number != port.number else None
        if is_off:
            state.off[mirror] = error_urad
            told = MirrorStoodOut(
                ocs=ocs, side=SIDES[side], port=port.number, error_urad=error_urad, spare=spare
            )
            said.append(CausedBy(drifting[mirror], told))
        else:
            del state.off[mirror]
            said.append(MirrorSteady(ocs=ocs, side=SIDES[side], port=port.number, spare=spare))
    return said


def steps_us(state: OcsState) -> list[int]:
    """When mirrors that drift do so by another step."""
    if not state.drifts or state.technology not in ALIGNED_BY_CAMERA:
        return []
    found = []
    for one in state.drifts.values():
        step_us = next_step_us(state.now_us - one.began_us, one.onset_us)
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
    for one in state.drifts.values():
        if one.ocs != ocs or (one.port is not None and (one.side, one.port) != (side, port)):
            continue
        lost_db = come_share(state.now_us - one.began_us, one.onset_us) * one.loss_db
        own_db, all_db = (own_db, all_db + lost_db) if one.port is None else (own_db + lost_db, all_db)
    loop = Loop(camera_noise_urad=state.config.camera_noise_urad)
    made = calibration(state.seed, state.fabric, state.ocs_count, state.radix)
    place = ocs, side, port
    seen = mirror_error_urad(state.seed, state.fabric, made, place, own_db + all_db, loop, state.now_us)
    return seen, max(OFF_BEYOND_URAD, OFF_TIMES * usual_error_urad(all_db, loop))
