"""A complete plan for a demand: links, their circuits, the stages to reach them, and weights.

Each step has its own module; this one combines them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.models.dcn.engineering.topology_engineering import (
    EngineeredTopology,
    engineer,
    engineer_for_all,
)
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.rewired_circuits import rewired
from shared.models.dcn.rewiring.stage_planning import Stage, Timing, plan_stages
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.wcmp_tables import ENTRIES, fitted_entries
from shared.models.dcn.routing.weights import split_demand, use_of
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

CHAIN_MAX = 2
"""Circuits that may move for one link. This makes about 95 % of the links that a week changes, for hardly
more circuits than links, and the largest use is within 1 % of that with all links."""
CAPACITY_FLOOR = 0.75
"""The share of every block's capacity that a rewiring keeps: one control domain of four changes at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class DcnPlan:
    """`topology`: links, split and bound. `circuits` (K, B, B): the final circuits. `stages`: the way to
    them, empty if nothing ran before. `tables` (B, B, B): entries of each path. `worst_history_use`: the
    largest use of any demand that the links are for, with its own weights."""

    topology: EngineeredTopology
    circuits: IntArray
    stages: list[Stage]
    tables: IntArray
    worst_history_use: float


def plan(
    plant: NetworkLayout,
    demand: IntArray,
    now: IntArray | None = None,
    *,
    capacity_floor: float = CAPACITY_FLOOR,
    chain_max: int | None = CHAIN_MAX,
    history: Sequence[IntArray] = (),
    timing: Timing | None = None,
    entries: int = ENTRIES,
) -> DcnPlan:
    """The plan for a demand (B, B) in Mb/s, from the current circuits (K, B, B) or from dark fibre.

    `chain_max` None makes every link of the best topology found, regardless of the circuits moved. The links
    and their bound also cover the demands of `history`, such as the last week's; weights and tables are for
    the demand. InvalidInput as in the individual steps.
    """
    topology = _topology(plant, demand, history)
    if now is None:
        circuits, stages = matched_circuits(plant, topology.links), []
    else:
        circuits = rewired(plant, now, topology.links, chain_max)
        stages = plan_stages(plant, now, circuits, capacity_floor, timing)
        links = links_of(circuits)
        topology = EngineeredTopology(
            links, split_demand(trunk_capacity(plant, links), demand), topology.bound
        )
    carries = trunk_capacity(plant, topology.links)
    tables = fitted_entries(topology.split.shares(carries), entries, demand, carries)
    others = [use_of(carries, before) for before in history]
    return DcnPlan(topology, circuits, stages, tables, max([topology.split.use, *others]))


def _topology(plant: NetworkLayout, demand: IntArray, history: Sequence[IntArray]) -> EngineeredTopology:
    if not history:
        return engineer(plant, demand)
    found = engineer_for_all(plant, [*history, demand])
    return EngineeredTopology(
        found.links, split_demand(trunk_capacity(plant, found.links), demand), found.bound
    )
