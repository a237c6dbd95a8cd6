"""Which of a circuit's two mirrors drifted: links alone cannot tell, the cameras of its OCS can.

An OCS tells of a mirror that it sees off its place, and when it is back. Where it tells of neither, for a
camera is dead or it sees nothing, either may be the one.
"""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.ocs import MirrorSteady, MirrorStoodOut, PortPatched
from services.diagnosis.attribution import ONE_OF_TWO, Suspicion, more_off
from services.diagnosis.state import DiagnosisState, Sighting
from shared.engine.service import Output
from shared.models.ocs.patches import SIDES, place_of
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.ocs_readings import OFF_BEYOND_URAD, error_scatter


def on_stood_out(state: DiagnosisState, body: MirrorStoodOut, _message: Envelope) -> list[Output]:
    state.off[place_of(SIDES.index(body.side), body.ocs, body.port)] = Sighting(body.error_urad, body.spare)
    return []


def on_steady(state: DiagnosisState, body: MirrorSteady | PortPatched, _message: Envelope) -> list[Output]:
    """It is back, or the fibre is at another."""
    state.off.pop(place_of(SIDES.index(body.side), body.ocs, body.port), None)
    return []


def by_camera(state: DiagnosisState, one: Suspicion) -> Suspicion:
    """The same, of the mirror that is off by more, if any was told of."""
    if not state.off or one.kind != "mirror" or one.strand is None or one.other is None:
        return one
    seen = {end: state.off.get(_mirror_at(end, one.strand)) for end in (one.end, one.other)}
    own, other = (None if at is None else at.error_urad for at in (seen[one.end], seen[one.other]))
    sure = more_off(own, other, OFF_BEYOND_URAD, error_scatter())
    end, far = (one.end, one.other) if sure >= ONE_OF_TWO else (one.other, one.end)
    worse = seen[end]
    if worse is None:
        return one
    said, there = (
        f"{one.evidence}; a camera sees the mirror at {which} end {worse.error_urad:.0f} µrad off"
        for which in ("this", "the other")
    )
    return replace(
        one,
        end=end,
        other=far,
        confidence=max(sure, 1.0 - sure),
        evidence=said,
        evidence_there=there,
        spare=worse.spare,
    )


def _mirror_at(number: int, strand: int) -> int:
    end = link_end(number)
    return place_of(SIDES.index(end.side(strand)), end.ocs, end.port)
