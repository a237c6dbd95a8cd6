"""Link tests: what a module makes of its own light that its OCS sends back."""

import math

import numpy as np

from schemas.envelope import Envelope
from schemas.ocs import LinkLooped
from schemas.transceivers import LinkTested
from services.transceivers.design import design_of
from services.transceivers.state import TransceiversState
from shared.engine.service import Output
from shared.models.assumptions import assumed
from shared.models.optics.fabric_links import rounded, strand_log10_bers
from shared.models.optics.link import Strands
from shared.models.optics.made_modules import lanes_looped, made_modules
from shared.models.optics.palomar import DECIMALS
from shared.models.optics.strands import strands_looped
from shared.models.superpod.wiring import ENDS_PER_CUBE, STRANDS, ocs_radix


def on_looped(state: TransceiversState, body: LinkLooped, _message: Envelope) -> list[Output]:
    """The light meets this end's fibre and connectors on the way out and again on the way back."""
    end, radix = body.end, ocs_radix(state.cubes)
    ocs = strands_looped(state.seed, state.fabric, end, radix, state.technology, state.patched)
    expected_db = round(float(ocs.loss_db.max()) + state.config.fibre_loss_db, DECIMALS)
    if state.failed[end] > 0:
        return [LinkTested(end=end, loss_db=None, expected_db=expected_db, log10_ber=None, verdict="dark")]
    excess_db = state.excess_db[end]
    made = made_modules(state.seed, state.fabric, state.cubes * ENDS_PER_CUBE)
    strands = Strands(ocs, np.full(STRANDS, excess_db), np.full(STRANDS, excess_db))
    rates = strand_log10_bers(design_of(state.config), strands, lanes_looped(made, end, STRANDS))
    log10_ber = float(rounded(rates.max()))
    loss_db = round(expected_db + 2.0 * float(excess_db), DECIMALS)
    if loss_db - expected_db > assumed("link_test_tolerance_db"):
        verdict = "lossy"
    else:
        verdict = "errors" if log10_ber > math.log10(state.config.degraded_above_ber) else "clean"
    found = {"loss_db": loss_db, "expected_db": expected_db, "log10_ber": log10_ber, "verdict": verdict}
    return [LinkTested.model_validate({"end": end} | found)]
