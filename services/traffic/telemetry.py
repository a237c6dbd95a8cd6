"""Telemetry frames: one row for every trunk and direction with links, at a fixed interval of simulated
time."""

import numpy as np

from schemas.envelope import Envelope
from services.traffic.state import TrafficState
from shared.basics.telemetry_frames import arrow_frame
from shared.models.dcn.routing.path_loads import trunk_capacity


def frame(state: TrafficState, message: Envelope) -> bytes:
    """An Arrow IPC stream of one record batch. The columns are:

    - `tail` and `head`: numbers of the two blocks
    - `links` that carry traffic between them
    - `load_mbps` and `carries_mbps` (capacity) from `tail` to `head`
    """
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

    tails, heads = np.nonzero(state.links)
    carries = trunk_capacity(state.plant, state.links.astype(np.int64))
    columns = {
        "tail": pa.array(tails.astype(np.int32)),
        "head": pa.array(heads.astype(np.int32)),
        "links": pa.array(state.links[tails, heads]),
        "load_mbps": pa.array(state.load[tails, heads]),
        "carries_mbps": pa.array(carries[tails, heads]),
    }
    return arrow_frame(columns, state.fabric, message.at_us)
