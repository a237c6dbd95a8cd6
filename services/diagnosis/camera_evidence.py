"""Which of a circuit's two mirrors drifted: links alone cannot tell, the cameras of its OCS can.

An OCS tells of a mirror that it sees off its place, and when it is back. Where it tells of neither, for a
camera is dead or it sees nothing, either may be the one.
"""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.ocs import MirrorSteady, MirrorStoodOut, PortPatched
from services.diagnosis.attribution import EVEN_ODDS, Suspicion, farther_off
from services.diagnosis.state import DiagnosisState, MirrorSighting
from shared.engine.service import Output
from shared.models.ocs.patches import SIDES, place_of
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.ocs_readings import OFF_BEYOND_URAD, error_scatter


def on_mirror_stood_out(state: DiagnosisState, body: MirrorStoodOut, _message: Envelope) -> list[Output]:
    state.misaligned_mirrors[place_of(SIDES.index(body.side), body.ocs, body.port)] = MirrorSighting(
        body.error_urad, body.spare
    )
    return []


def on_mirror_steady(
    state: DiagnosisState, body: MirrorSteady | PortPatched, _message: Envelope
) -> list[Output]:
    """It is back, or the fibre is at another."""
    state.misaligned_mirrors.pop(place_of(SIDES.index(body.side), body.ocs, body.port), None)
    return []


def with_camera_evidence(state: DiagnosisState, one: Suspicion) -> Suspicion:
    """The same, of the mirror that is off by more, if any was told of."""
    if not state.misaligned_mirrors or one.kind != "mirror" or one.strand is None or one.other is None:
        return one
    seen = {end: state.misaligned_mirrors.get(_mirror_at(end, one.strand)) for end in (one.end, one.other)}
    own, other = (None if at is None else at.error_urad for at in (seen[one.end], seen[one.other]))
    sure = farther_off(own, other, OFF_BEYOND_URAD, error_scatter())
    end, far = (one.end, one.other) if sure >= EVEN_ODDS else (one.other, one.end)
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
        evidence_at_other=there,
        spare=worse.spare,
    )


def _mirror_at(number: int, strand: int) -> int:
    end = link_end(number)
    return place_of(SIDES.index(end.side(strand)), end.ocs, end.port)
