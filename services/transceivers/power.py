"""Cubes without power: all their modules are dark, and say nothing of it."""

import numpy as np

from services.transceivers.links import judge, touch
from services.transceivers.state import NO_END, TransceiversState
from shared.engine.service import Output
from shared.models.plants import plant_of
from shared.models.superpod.wiring import IntArray


def ends_of(state: TransceiversState, target: str) -> IntArray:
    """The link ends that lose their power with this part."""
    plant = plant_of(state.kind, state.pod)
    return plant.ends_on(plant.parse(target))


def on_power_lost(state: TransceiversState, fault: str, target: str) -> list[Output]:
    """The links of all these modules are down at once."""
    ends = ends_of(state, target)
    state.unpowered[fault] = tuple(ends.tolist())
    return _judge_both(state, ends)


def on_power_back(state: TransceiversState, fault: str) -> list[Output]:
    ends = np.array(state.unpowered.pop(fault), dtype=np.int64)
    return _judge_both(state, ends)


def _judge_both(state: TransceiversState, ends: IntArray) -> list[Output]:
    """Judge the links of these ends; what is shown of them has changed at both ends."""
    peers = state.peer[ends].astype(np.int64)
    both = np.unique(np.concatenate((ends, peers[peers != NO_END])))
    touch(state, both)
    return [*judge(state, both)]
