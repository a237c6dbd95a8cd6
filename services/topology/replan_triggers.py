"""Triggers of topology planning: the conditions under which better trunks are searched for.

An operator's request searches at once (`logic.py`). Whether a found topology is worth a rewiring is decided
by `services/topology/rewiring_planner.py`.
"""

from schemas.messages.topology import PlanReason
from schemas.messages.traffic import TrafficCarried
from services.topology.state import TopologyState
from shared.basics.units import US_PER_HOUR, to_whole_us
from shared.models.dcn.routing.carried_traffic import PPM, ppm


def replan_reason(state: TopologyState, carried: TrafficCarried) -> PlanReason | None:
    """The reason to search for better trunks; None if there is none, or if it is too early to search again.

    The trunks serve too little of the demand (`topology.served_below`), the fullest one is too full
    (`use_above`), or too much demand takes a transit block (`transit_above`). There is no search while a
    rewiring is planned or under way, while new weights for the current trunks are pending, or within
    `topology.every_h` of the last search.
    """
    if not state.installed or state.current or carried.pending:
        return None
    reason = _exceeded_limit(state, carried)
    every_us = to_whole_us(state.config.every_h, US_PER_HOUR)
    is_too_early = state.last_search_us is not None and state.now_us - state.last_search_us < every_us
    return None if is_too_early else reason


def _exceeded_limit(state: TopologyState, carried: TrafficCarried) -> PlanReason | None:
    if carried.served_ppm < ppm(state.config.served_below):
        return "served"
    if carried.use_ppm > ppm(state.config.use_above):
        return "use"
    if carried.direct_ppm < PPM - ppm(state.config.transit_above):
        return "transit"
    return None
