"""Faults of a link end itself: a dead module or cable, a dirty connector. The module reports on itself at
once."""

import math

import numpy as np

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.transceivers import ModuleReported
from services.transceivers.links import judge, recompute_ber, touch
from services.transceivers.power import on_power_back, on_power_lost
from services.transceivers.state import NO_END, EndFault, TransceiversState
from shared.engine.service import Output
from shared.models.plants import plant_of


def on_fault_began(state: TransceiversState, body: FaultBegan, _message: Envelope) -> list[Output]:
    if body.kind == "cube-power":
        return on_power_lost(state, body.fault, body.target)
    if body.kind not in ("link", "connector"):
        return []
    end = plant_of(state.kind, state.pod).parse(body.target).number
    before = condition(state, end)
    state.faults[body.fault] = EndFault(end, body.excess_loss_db if body.kind == "connector" else None)
    return _judge_end(state, end, before)


def on_fault_ended(state: TransceiversState, body: FaultEnded, _message: Envelope) -> list[Output]:
    if body.fault in state.unpowered:
        return on_power_back(state, body.fault)
    if body.fault not in state.faults:
        return []
    end = state.faults[body.fault].end
    before = condition(state, end)
    del state.faults[body.fault]
    return _judge_end(state, end, before)


def condition(state: TransceiversState, end: int) -> str:
    """What the module says of itself and its cable."""
    if state.failed[end] > 0:
        return "failed"
    return "degraded" if state.excess_db[end] > 0 else "ok"


def _judge_end(state: TransceiversState, end: int, before: str) -> list[Output]:
    """Add up the end's faults, exactly and so in any order, then judge the link and the module."""
    faults = [fault.excess_db for fault in state.faults.values() if fault.end == end]
    state.failed[end] = sum(excess is None for excess in faults)
    state.excess_db[end] = math.fsum(excess for excess in faults if excess is not None)
    said: list[Output] = []
    after = condition(state, end)
    if after != before:
        said.append(ModuleReported.model_validate({"end": end, "condition": after}))
    peer = int(state.peer[end])
    ends = np.array([end] if peer == NO_END else sorted({end, peer}))
    touch(state, ends)  # whatever is said: what the link carries is shown at both ends
    if peer != NO_END:
        recompute_ber(state, ends)
    return said + judge(state, ends)
