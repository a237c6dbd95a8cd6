"""OCSes that have said that a camera or an injection module of theirs is broken: their mirrors drift, so that
links over them lose light, and nothing else need be the matter with these.

Nobody is sent to such links until the part is back, for what is lost there as mirrors lose that drift: on the
way, without a reflection, and no more than they can have drifted since. What is more than that is another
matter, as is what still stands out after.
"""

import math

from schemas.envelope import Envelope
from schemas.messages.ocs import OcsPartDown, OcsPartUp
from services.diagnosis.attribution import Suspicion
from services.diagnosis.state import DiagnosisState
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.service import Output
from shared.models.ocs.alignment import drift_loss_db
from shared.models.ocs.drift import array_of
from shared.models.ocs_technologies import DRIFTING
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.inspections import THRESHOLDS

DRIFT_TAIL = 1e-6
"""A mirror that has drifted by more is not believed in. Two tilts that walk lose an amount that is
distributed exponentially."""
DRIFT_KINDS = ("mirror", "fibre")
"""What a link over mirrors that drift would be held for otherwise: loss of one strand, or of both."""


def on_part_down(state: DiagnosisState, body: OcsPartDown, _message: Envelope) -> list[Output]:
    if array_of(body.part) is not None and state.technology in DRIFTING:
        state.blind_arrays[body.part] = state.now_us
    return []


def on_part_up(state: DiagnosisState, body: OcsPartUp, _message: Envelope) -> list[Output]:
    """What its mirrors had lost is gone; what still stands out at the next looks has to be judged."""
    if state.blind_arrays.pop(body.part, None) is None:
        return []
    array = array_of(body.part)
    held = {end for verdict in state.verdicts.values() for end in verdict.ends}
    for end in state.outliers.keys() - held:
        if array is not None and link_end(end).ocs == array[0]:
            state.rechecks.setdefault(end, state.now_us + state.recheck_after_s * US_PER_S)
    return []


def is_blind(state: DiagnosisState, end: int) -> bool:
    """Whether the mirrors of a link end drift, as its OCS has said."""
    return bool(state.blind_arrays) and bool(_since_us(state, link_end(end).ocs))


def is_explained_by_drift(state: DiagnosisState, one: Suspicion) -> bool:
    """Whether mirrors that drift explain what a link loses."""
    if not state.blind_arrays or one.kind not in DRIFT_KINDS:
        return False
    since_us = _since_us(state, link_end(one.end).ocs)
    if not since_us:
        return False
    hours = [(state.now_us - at_us) / US_PER_HOUR for at_us in since_us.values()]
    drifted_db = -math.log(DRIFT_TAIL) * sum(drift_loss_db(hour, arrays=1) for hour in hours)
    return one.lost_db <= 2.0 * THRESHOLDS["rx_db"].beyond + drifted_db


def _since_us(state: DiagnosisState, ocs: int) -> dict[int, int]:
    """Side of an OCS → since when the array there is blind."""
    found: dict[int, int] = {}
    for part, at_us in state.blind_arrays.items():
        array = array_of(part)
        if array is not None and array[0] == ocs:
            found[array[1]] = min(at_us, found.get(array[1], at_us))
    return found
