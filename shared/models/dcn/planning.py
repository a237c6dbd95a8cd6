"""A whole plan for a demand: links, the circuits that make them, the stages that lead there, and the weights.

The parts are each of their own module; this is how they follow from each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.models.dcn.engineering.topology_engineering import (
    EngineeredTopology,
    engineer,
    engineer_for_all,
)
from shared.models.dcn.rewiring.matchings import circuits_of, links_of
from shared.models.dcn.rewiring.rewired_circuits import rewired
from shared.models.dcn.rewiring.rewiring_stages import Stage, Timing, plan_stages
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.wcmp_tables import ENTRIES, fitted_entries
from shared.models.dcn.routing.weights import split_demand, use_of
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

CHAIN_MAX = 2
"""Circuits that may move for one link: some 95 % of the links that a week changes are had so, for hardly more
circuits than links, and the largest use is within 1 % of what all of them give."""
PROMISE = 0.75
"""The share of every block's capacity that a rewiring leaves: one control domain of four at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class DcnPlan:
    """`topology`: links, split and bound. `circuits` (K, B, B): where they run in the end. `stages`: how
    they come there, none where nothing ran before. `tables` (B, B, B): entries of each path. `use_of_all`:
    the largest use of any demand that the links are for, by weights of its own."""

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
    promise: float = PROMISE,
    chain_max: int | None = CHAIN_MAX,
    history: Sequence[IntArray] = (),
    timing: Timing | None = None,
    entries: int = ENTRIES,
) -> DcnPlan:
    """The plan for a demand (B, B) in Mb/s, from the circuits that run now (K, B, B), or from dark fibre.

    `chain_max` None asks for every link of the best topology found, whatever it moves. The links, and their
    bound, are for those of `history` as well, such as the last week's; weights and tables are for the demand.
    InvalidInput as of its parts.
    """
    topology = _topology(plant, demand, history)
    if now is None:
        circuits, stages = circuits_of(plant, topology.links), []
    else:
        circuits = rewired(plant, now, topology.links, chain_max)
        stages = plan_stages(plant, now, circuits, promise, timing)
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
