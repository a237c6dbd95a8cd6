"""OCSes that reported a broken camera or injection module.

Their mirrors drift, so links over them lose light without another fault. No repair of these links is
requested until the part works again, if the loss looks like drift: on the way, without reflection, and no
larger than the possible drift since. A larger loss is another fault, as is one that remains afterwards.
"""

import math

from schemas.envelope import Envelope
from schemas.messages.ocs import OcsPartDown, OcsPartUp
from services.diagnosis.attribution import Suspicion
from services.diagnosis.state import DiagnosisState
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.service import Output
from shared.models.ocs.camera_alignment import drift_loss_db
from shared.models.ocs.drift import array_of
from shared.models.ocs_technologies import DRIFTING
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.outlier_thresholds import THRESHOLDS

DRIFT_TAIL = 1e-6
"""Probability of the largest drift that counts as possible. Two tilts in a random walk lose an
exponentially distributed amount."""
DRIFT_KINDS = ("mirror", "fibre")
"""Suspicions that drifting mirrors can explain: loss of one strand, or of both."""


def on_part_down(state: DiagnosisState, body: OcsPartDown, _message: Envelope) -> list[Output]:
    if array_of(body.part) is not None and state.technology in DRIFTING:
        state.blind_arrays[body.part] = state.now_us
    return []


def on_part_up(state: DiagnosisState, body: OcsPartUp, _message: Envelope) -> list[Output]:
    """Recheck the ends at an OCS whose part works again: the loss by drift is gone."""
    if state.blind_arrays.pop(body.part, None) is None:
        return []
    array = array_of(body.part)
    in_verdict = {end for verdict in state.verdicts.values() for end in verdict.ends}
    for end in state.outliers.keys() - in_verdict:
        if array is not None and link_end(end).ocs == array[0]:
            state.rechecks.setdefault(end, state.now_us + state.recheck_after_s * US_PER_S)
    return []


def is_blind(state: DiagnosisState, end: int) -> bool:
    """Whether the mirrors of a link end drift, by the reports of its OCS."""
    return bool(state.blind_arrays) and bool(_since_us(state, link_end(end).ocs))


def is_explained_by_drift(state: DiagnosisState, suspicion: Suspicion) -> bool:
    """Whether drifting mirrors explain the loss of a link."""
    if not state.blind_arrays or suspicion.kind not in DRIFT_KINDS:
        return False
    since_us = _since_us(state, link_end(suspicion.end).ocs)
    if not since_us:
        return False
    hours = [(state.now_us - at_us) / US_PER_HOUR for at_us in since_us.values()]
    drifted_db = -math.log(DRIFT_TAIL) * sum(drift_loss_db(hour, arrays=1) for hour in hours)
    return suspicion.lost_db <= 2.0 * THRESHOLDS["rx_db"].beyond + drifted_db


def _since_us(state: DiagnosisState, ocs: int) -> dict[int, int]:
    """Side of an OCS → time since which its array is blind."""
    since_us: dict[int, int] = {}
    for part, at_us in state.blind_arrays.items():
        array = array_of(part)
        if array is not None and array[0] == ocs:
            since_us[array[1]] = min(at_us, since_us.get(array[1], at_us))
    return since_us
