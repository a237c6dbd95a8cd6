"""Network faults that slow down a multislice job, and the trunk that limits its bandwidth."""

import numpy as np

from schemas.api.explain import Obstacle
from schemas.messages.demands import RingFlow
from services.failures.state import FailuresState, FaultRecord
from services.traffic.logic import split_of
from services.traffic.state import NO_HOUR, TrafficState
from shared.basics.time_format import format_time
from shared.models.dcn.demand.job_traffic import ring_flow
from shared.models.dcn.failure import demand_left
from shared.models.dcn.routing.carried_traffic import demand_of
from shared.models.dcn.routing.path_loads import trunk_capacity, unreachable_pairs
from shared.models.dcn.routing.ring_rates import narrowest_trunk
from shared.models.network.blocks import network_of


def network_impediments(traffic: TrafficState, failures: FailuresState, job: str) -> tuple[Obstacle, ...]:
    """The impediments of a job: faults that take links from its blocks, oldest first, then the trunk. Empty
    if this network does not carry the job."""
    ring = next((ring for ring in traffic.rings if ring[0] == job), None)
    if ring is None or traffic.hour == NO_HOUR:
        return ()
    blocks = {f"{traffic.fabric}/block-{block}" for block in ring[1]}
    faults = [
        Obstacle(
            kind="fault",
            name=failures.fault_name(number),
            why=f"{fault.kind} {fault.target} has been out of use since {format_time(fault.began_us)}",
        )
        for number, fault in sorted(failures.active.items())
        if _takes_links(failures, fault, blocks)
    ]
    return (*faults, _trunk(traffic, ring))


def _takes_links(failures: FailuresState, fault: FaultRecord, blocks: set[str]) -> bool:
    """Whether a fault takes down more than single links of these blocks.

    Every block is striped over all OCSes, and any other block may be a transit block, so any such fault
    counts. Of bundles, only those of the blocks themselves count.
    """
    if fault.kind == "bundle":
        return fault.target.rpartition("/")[0] in blocks
    if fault.kind == "power":
        network = failures.current_config.network_hardware
        return not (network and network_of(network).technology.latching)
    return fault.kind in ("rack", "ocs", "block")


def _trunk(traffic: TrafficState, ring: RingFlow) -> Obstacle:
    """The trunk that gives a ring the least bandwidth, or the trunk between two of its blocks that have no
    path."""
    plant, links = traffic.plant, traffic.links.astype(np.int64)
    carries = trunk_capacity(plant, links)
    demand = demand_left(plant, links, demand_of(traffic.model, traffic.hour, traffic.jobs))
    narrowest = narrowest_trunk(split_of(traffic), carries, demand, ring)
    if narrowest is None:
        lost = unreachable_pairs(carries, ring_flow(len(carries), ring[1], 1.0))
        tail, head = [*np.argwhere(lost).tolist(), [ring[1][0], ring[1][-1]]][0]
        ends = " to ".join([plant.blocks[block].pod or f"block-{block}" for block in (tail, head)])
        why = f"no path from {ends}, direct or through one transit block"
        return Obstacle(kind="trunk", name=_trunk_name(traffic.fabric, tail, head), why=why)
    tail, head = narrowest
    full = float(traffic.load[tail, head] / carries[tail, head])
    why = f"{full:.0%} full; of the trunks on its job's ring it gives the least bandwidth"
    return Obstacle(kind="trunk", name=_trunk_name(traffic.fabric, tail, head), why=why)


def _trunk_name(fabric: str, tail: int, head: int) -> str:
    return f"{fabric}/block-{min(tail, head)}/trunk-{max(tail, head)}"
