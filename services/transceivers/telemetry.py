"""Telemetry frames: one row for every connected link end, at a fixed cadence of simulated time."""

import numpy as np

from schemas.envelope import Envelope
from services.transceivers.optics import lane_log10_bers, path_loss_db, received_dbm, receiving
from services.transceivers.state import BOTH_STRANDS, NO_END, STATES, TransceiversState
from shared.basics.frames import arrow_frame
from shared.models.optics.modules import LANES_PER_LINK


def frame(state: TransceiversState, message: Envelope) -> bytes:
    """An Arrow IPC stream of one record batch: `end` (number), `state`, `loss_db` of the worse strand,
    `rx_power_dbm` of the weakest lane, `lane_bers` of all 8, before the outer code, and `ber`, the worst. A
    loss is null without circuits on both strands; what is received, also where this or the far end's module
    is dead."""
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/frames.py

    ends = np.flatnonzero(state.peer != NO_END)
    loss_db = path_loss_db(state, ends)
    lanes = (10.0 ** lane_log10_bers(state, ends)).astype(np.float32)
    unmade, deaf = state.lit[ends] != BOTH_STRANDS, ~receiving(state, ends)
    states = pa.DictionaryArray.from_arrays(pa.array(state.code[ends].astype(np.int8)), list(STATES))
    columns = {
        "end": pa.array(ends.astype(np.int32)),
        "state": states,
        "loss_db": pa.array(loss_db, mask=unmade),
        "rx_power_dbm": pa.array(received_dbm(state, ends), mask=deaf),
        "ber": pa.array(lanes.max(axis=1).astype(np.float64), mask=deaf),
        "lane_bers": pa.FixedSizeListArray.from_arrays(
            pa.array(lanes.ravel()), LANES_PER_LINK, mask=pa.array(deaf)
        ),
    }
    return arrow_frame(columns, state.fabric, message.at_us)
