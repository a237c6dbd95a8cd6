"""Link tests: how a module receives its own light, which its OCS sends back."""

import math
from dataclasses import replace

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.ocs import LinkLooped
from schemas.messages.transceivers import LinkTested
from services.transceivers.modules import modules_of
from services.transceivers.state import TransceiversState
from shared.engine.service import Output
from shared.models.assumptions import assumed
from shared.models.optics.impairments import DARK_DB, SOUND, ImpairedEnds
from shared.models.optics.link_design import Strands, design_of
from shared.models.optics.manufactured_modules import lanes_looped
from shared.models.optics.ocs_strands import strands_looped
from shared.models.optics.palomar import DECIMALS
from shared.models.optics.pod_links import rounded, strand_log10_bers
from shared.models.superpod.wiring import STRANDS, ocs_radix


def on_looped(state: TransceiversState, body: LinkLooped, _message: Envelope) -> list[Output]:
    """Measure the looped light. It passes this end's fibre and connectors on the way out and on the way
    back."""
    end, radix = body.end, ocs_radix(state.cubes)
    ocs = strands_looped(state.seed, state.fabric, end, radix, state.technology, state.patched)
    expected_db = round(float(ocs.loss_db.max()) + state.config.fibre_loss_db, DECIMALS)
    if end in state.worked_on:
        return [LinkTested(end=end, loss_db=None, expected_db=expected_db, log10_ber=None, verdict="open")]
    if state.failed[end] > 0:
        return [LinkTested(end=end, loss_db=None, expected_db=expected_db, log10_ber=None, verdict="dark")]
    wrong = ImpairedEnds(state.impaired, np.array([end]))
    dirt_db, lost_db, leak_db = (
        np.broadcast_to(array[0], (STRANDS,)) for array in (wrong.dirt_db, wrong.lost_db, wrong.leak_db)
    )
    dark = state.impaired.get(end, SOUND).launch_loss_db
    if max(dark) >= DARK_DB:
        return [LinkTested(end=end, loss_db=None, expected_db=expected_db, log10_ber=None, verdict="dark")]
    made = lanes_looped(modules_of(state).made, end, STRANDS)
    launch_loss_db = wrong.launch_loss_db[0]
    lanes = replace(
        made,
        far_launch_db=made.far_launch_db - launch_loss_db[::-1, None],
        near_launch_db=made.near_launch_db - launch_loss_db[:, None],
        sensitivity_db=made.sensitivity_db + wrong.sensitivity_loss_db[0],
    )
    strands = Strands(ocs, dirt_db, dirt_db, lost_db, lost_db[::-1], leak_db)
    rates = strand_log10_bers(design_of(state.config), strands, lanes)
    log10_ber = float(rounded(rates.max()))
    misread_db = state.impaired.get(end, SOUND).reading_offset_db
    more_db = float((dirt_db + dirt_db + (lost_db + lost_db[::-1])).max()) - misread_db
    loss_db = round(expected_db + more_db, DECIMALS)
    if abs(loss_db - expected_db) > assumed("link_test_tolerance_db"):
        verdict = "lossy"
    else:
        verdict = "errors" if log10_ber > math.log10(state.config.degraded_above_ber) else "clean"
    measured = {"loss_db": loss_db, "expected_db": expected_db, "log10_ber": log10_ber, "verdict": verdict}
    return [LinkTested.model_validate({"end": end} | measured)]
