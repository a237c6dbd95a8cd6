"""Plans rewirings: which trunks are worth a change, and the stages to get there."""

from dataclasses import dataclass

import numpy as np

from schemas.config.dcn import TopologyConfig
from schemas.messages.topology import PlanReason, TopologyKept
from services.topology.state import Rewiring, StagePlan, TopologyState
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S, to_whole_us
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.failure import (
    RecoveryTarget,
    Remaining,
    circuits_for_target,
    demand_left,
    recovery_target,
    split_over,
    survivors,
)
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.stage_planning import (
    Stage,
    Timing,
    block_capacity,
    plan_stages,
)
from shared.models.dcn.routing.carried_traffic import carry_demand, demand_of, ppm
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import NetworkLayout
from shared.models.network.wiring import circuit_counts
from shared.models.superpod.wiring import IntArray

PlanResult = Rewiring | TopologyKept
NEARLY_FULL = 0.9
"""Ratio of a block's use to the largest trunk use, above which the block is named as the limit."""
ROUGH_GAP = 0.05
"""Optimality gap of the weights that are used only to find the busiest hour."""
USE_SLACK = 0.01
"""Maximum increase of the largest use, as a share of it, in exchange for less transit."""


def initial_rewiring(state: TopologyState, cause: str) -> Rewiring:
    """A rewiring that makes a uniform mesh in one stage, because there is no traffic yet."""
    plant = state.plant
    made = np.argwhere(circuits := matched_circuits(plant, uniform_mesh(plant)))
    rows = tuple(
        (ocs, tail, head) for ocs, tail, head in made.tolist() for _ in range(int(circuits[ocs, tail, head]))
    )
    takes_us = to_whole_us(state.config.qualify_s + state.config.undrain_s, US_PER_S)
    return Rewiring(
        reason="as-installed",
        approval="automatic",
        cause=cause,
        planned_us=state.now_us,
        stages=(StagePlan((), rows, None, 0, takes_us),),
        stages_planned=1,
        circuits=len(rows),
        takes_us=takes_us,
        use_ppm=0,
        use_then_ppm=0,
        transit_ppm=0,
        transit_then_ppm=0,
        bound_ppm=0,
        least_gbps=(0.0,) * len(plant.blocks),
    )


def plan_rewiring(state: TopologyState, reason: PlanReason, cause: str) -> PlanResult:
    """Plan a rewiring, or return why the topology is kept.

    1. Take the demand of the recent hour in which the fullest trunk is fullest.

    2. Leave out dark OCSes, and keep the circuits of those without control. Blocks that are down count as up,
    because they will soon be back.

    3. Engineer the trunks, and change as few circuits as possible, in stages that keep the capacity floor.

    4. Keep the topology if neither the largest use nor transit falls by enough.
    """
    config, plant, loss = state.config, state.plant, _loss(state)
    now = circuit_counts(plant, state.south_of.astype(np.int64))
    timing = Timing(config.drain_s, config.qualify_s, config.undrain_s)
    try:
        target = recovery_target(plant, _peak_demand(state, survivors(now, loss)), now, loss)
        gain = _gain(state, target, target.topology.links, target.topology.split)
        why = gain.why_not(config)
        if why is not None:
            return _keep_topology(reason, gain, why + _bound_by(plant, target.demand, gain.use))
        circuits = circuits_for_target(plant, target, loss, config.chain_max)
        links = links_of(circuits)
        split = split_over(plant, links, target.demand)
        if split is None:
            return _keep_topology(
                reason, gain, "some demand would have no path with at most one transit block"
            )
        gain = _gain(state, target, links, split)
        why = gain.why_not(config)
        if why is not None:
            return _keep_topology(reason, gain, why)
        stages = plan_stages(plant, target.left, circuits, config.capacity_floor, timing)
    except InvalidInput as error:
        return _keep_topology(reason, RewiringGain(0.0, 0.0, 0.0, 0.0), str(error))
    if not stages:
        return _keep_topology(reason, gain, "the current trunks are already the best")
    least = np.minimum(block_capacity(plant, target.left), block_capacity(plant, circuits))
    return Rewiring(
        reason=reason,
        approval=config.approval,
        cause=cause,
        planned_us=state.now_us,
        stages=tuple(_stage(stage) for stage in stages),
        stages_planned=len(stages),
        circuits=sum(len(stage.made) for stage in stages),
        takes_us=to_whole_us(sum(stage.seconds for stage in stages), US_PER_S),
        bound_ppm=ppm(target.topology.bound),
        least_gbps=tuple(least.tolist()),
        use_ppm=ppm(gain.use),
        use_then_ppm=ppm(gain.use_then),
        transit_ppm=ppm(gain.transit),
        transit_then_ppm=ppm(gain.transit_then),
    )


@dataclass(frozen=True, slots=True)
class RewiringGain:
    """Largest use and transit share of the demand, before and after a rewiring."""

    use: float
    use_then: float
    transit: float
    transit_then: float

    def why_not(self, config: TopologyConfig) -> str | None:
        """Why the rewiring is not worth it, in a sentence; None if it is."""
        if self.use_then <= (1.0 - config.gain_min) * self.use and self.use_then < self.use:
            return None
        if self.use_then > (1.0 + USE_SLACK) * self.use:
            return "the largest use would rise"
        if self.transit - self.transit_then >= config.transit_gain_min:
            return None
        return (
            f"the largest use would fall by less than {config.gain_min:.0%}, and transit by "
            f"less than {config.transit_gain_min:.0%} of the demand"
        )


def _keep_topology(reason: PlanReason, gain: RewiringGain, why: str) -> TopologyKept:
    return TopologyKept(
        reason=reason,
        use_ppm=ppm(gain.use),
        use_then_ppm=ppm(gain.use_then),
        transit_ppm=ppm(gain.transit),
        transit_then_ppm=ppm(gain.transit_then),
        why=why,
    )


def _gain(state: TopologyState, target: RecoveryTarget, links: IntArray, split: Split) -> RewiringGain:
    """The gain of new links (B, B) and their split over what is left of the current ones."""
    plant = state.plant
    now = carry_demand(target.rerouted, trunk_capacity(plant, links_of(target.left)), target.demand)
    then = carry_demand(split, trunk_capacity(plant, links), target.demand)
    return RewiringGain(now.use, then.use, 1.0 - now.direct, 1.0 - then.direct)


def _bound_by(plant: NetworkLayout, demand: IntArray, use: float) -> str:
    """A note if a block's own uplinks are nearly as full as the fullest trunk, which no rewiring changes."""
    block_demand = np.maximum(demand.sum(axis=0), demand.sum(axis=1))
    capacity = np.array([block.gbps * MBPS_PER_GBPS for block in plant.blocks])
    shares = block_demand / capacity
    block = int(np.argmax(shares))
    if shares[block] < NEARLY_FULL * use:
        return ""
    return f"; the demand of {plant.blocks[block].name} is {shares[block]:.0%} of the capacity of its uplinks"


def _peak_demand(state: TopologyState, circuits: IntArray) -> IntArray:
    """The demand (B, B) in Mb/s of the recent hour in which the fullest of these trunks is fullest.

    Rough weights are enough to find that hour.
    """
    plant, first = state.plant, max(0, state.hour - state.config.history_h)
    hours = [demand_of(state.model, hour, state.jobs) for hour in range(first, state.hour + 1)]
    links = links_of(circuits)
    carries = trunk_capacity(plant, links)
    served = [demand_left(plant, links, demand) for demand in hours]
    uses = [split_demand(carries, demand, gap=ROUGH_GAP).use if demand.any() else 0.0 for demand in served]
    return hours[int(np.argmax(uses))]


def _stage(stage: Stage) -> StagePlan:
    removed, made = (
        tuple((ocs, tail, head) for ocs, tail, head in rows.tolist()) for rows in (stage.removed, stage.made)
    )
    return StagePlan(removed, made, stage.domain, ppm(stage.kept), to_whole_us(stage.seconds, US_PER_S))


def _loss(state: TopologyState) -> Remaining:
    """The hardware that a plan can use.

    Blocks that are down and bundles that are cut count as working: a plan without them would be wrong as soon
    as they are back.
    """
    plant = state.plant
    ports = np.tile(plant.ports, (plant.ocs_count, 1))
    ports[state.dark > 0] = 0
    uncontrolled = (state.control_faults > 0)[plant.domains] & (state.dark == 0)
    return Remaining(ports, uncontrolled, np.ones(len(plant.blocks), dtype=np.bool_))
