"""Camera evidence: which of a circuit's two mirrors drifted. Readings of links alone cannot tell.

An OCS reports when it sees a mirror off its place, and when the mirror is back. If it reports neither,
because a camera is broken or sees nothing, either mirror may have drifted.
"""

from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.ocs import MirrorSteady, MirrorStoodOut, PortPatched
from services.diagnosis.attribution import EVEN_ODDS, Suspicion, farther_off
from services.diagnosis.state import DiagnosisState, MirrorSighting
from shared.engine.service import Output
from shared.models.ocs.patched_fibres import SIDES, port_place
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.ocs_readings import OFF_BEYOND_URAD, error_scatter


def on_mirror_stood_out(state: DiagnosisState, body: MirrorStoodOut, _message: Envelope) -> list[Output]:
    state.misaligned_mirrors[port_place(SIDES.index(body.side), body.ocs, body.port)] = MirrorSighting(
        body.error_urad, body.spare
    )
    return []


def on_mirror_steady(
    state: DiagnosisState, body: MirrorSteady | PortPatched, _message: Envelope
) -> list[Output]:
    """Forget a mirror that is back in place, or whose fibre was moved to another."""
    state.misaligned_mirrors.pop(port_place(SIDES.index(body.side), body.ocs, body.port), None)
    return []


def with_camera_evidence(state: DiagnosisState, suspicion: Suspicion) -> Suspicion:
    """The suspicion with the mirror that cameras see farther off, if any was reported."""
    if (
        not state.misaligned_mirrors
        or suspicion.kind != "mirror"
        or suspicion.strand is None
        or suspicion.other is None
    ):
        return suspicion
    seen = {
        end: state.misaligned_mirrors.get(_mirror_at(end, suspicion.strand))
        for end in (suspicion.end, suspicion.other)
    }
    own, other = (
        None if at is None else at.error_urad for at in (seen[suspicion.end], seen[suspicion.other])
    )
    sure = farther_off(own, other, OFF_BEYOND_URAD, error_scatter())
    end, far = (suspicion.end, suspicion.other) if sure >= EVEN_ODDS else (suspicion.other, suspicion.end)
    worse = seen[end]
    if worse is None:
        return suspicion
    evidence, there = (
        f"{suspicion.evidence}; a camera sees the mirror at {which} end {worse.error_urad:.0f} µrad off"
        for which in ("this", "the other")
    )
    return replace(
        suspicion,
        end=end,
        other=far,
        confidence=max(sure, 1.0 - sure),
        evidence=evidence,
        evidence_at_other=there,
        spare=worse.spare,
    )


def _mirror_at(number: int, strand: int) -> int:
    end = link_end(number)
    return port_place(SIDES.index(end.side(strand)), end.ocs, end.port)
