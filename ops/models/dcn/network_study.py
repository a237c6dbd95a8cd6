"""A datacenter network from its files, and the computations of `lightwave dcn` on it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ops.models.dcn.input_files import SiteNetwork, read_circuits, read_demands
from ops.models.dcn.study_report import (
    capacity_left,
    changes_content,
    circuit_rows,
    impact_content,
    plan_content,
    plant_content,
    stage_rows,
    step_content,
    traffic_content,
    trunk_rows,
)
from ops.models.dcn.study_rows import (
    EachFailureRow,
    FailureContent,
    ForwardingTable,
    GrowthRow,
    OcsCircuits,
    PlanContent,
    PlantContent,
    RewiringFigures,
    ShownContent,
    SplitContent,
    SplitFigures,
    StageRow,
    UseAfterFailure,
)
from ops.models.dcn.topology_page import topology_page
from ops.report.safe_text import shortened
from schemas.config.dcn import TopologyConfig
from shared.basics.errors import InvalidInput
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer, peak_of
from shared.models.dcn.failure import (
    failure_impact,
    names_of,
    remaining_after,
    replan_after_failure,
    survivors,
)
from shared.models.dcn.growth import growth_steps
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.isolation import check_isolation
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.stage_planning import Timing
from shared.models.dcn.routing.path_loads import (
    check_paths,
    largest_use,
    trunk_capacity,
    trunk_loads,
    worst_use,
)
from shared.models.dcn.routing.path_program import exact_split
from shared.models.dcn.routing.wcmp_tables import fitted_entries, shares_of
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

WORST_PAIRS = 4
"""Default number of block pairs whose demand is higher than forecast."""


@dataclass(frozen=True, eq=False, slots=True)
class NetworkStudy:
    """A plant, the demand of its blocks, (B, B) in Mb/s, and the current circuits (K, B, B), if any run.

    Methods that return a tuple return the JSON content and an HTML page.
    """

    fabric: str
    plant: NetworkLayout
    demand: IntArray
    circuits: IntArray | None
    demand_label: str
    """The source of the demand, for people."""
    matrices: list[IntArray]
    """The matrices whose peak is `demand`, the latest last."""
    config: TopologyConfig
    """Planning parameters of the fabric, the defaults of all options."""
    hedge: float
    """Share of every demand that the fabric spreads over all paths."""

    @property
    def timing(self) -> Timing:
        return Timing(self.config.drain_s, self.config.qualify_s, self.config.undrain_s)

    def capacity_floor(self, given: float | None) -> float:
        """The given capacity floor, or else that of the site file."""
        return self.config.capacity_floor if given is None else given

    def plant_content(self) -> PlantContent:
        return plant_content(self.plant, self.demand)

    def shown(self) -> tuple[ShownContent, str]:
        """The blocks, and the trunk loads with the best weights. InvalidInput without demand or paths."""
        links, topology = self._links()
        carries = self._carries(links)
        split = split_demand(carries, self.demand)
        load = trunk_loads(split.shares(carries), self.demand)
        rows = trunk_rows(self.plant, links, load)
        content: ShownContent = {
            **self.plant_content(),
            "topology": topology,
            "largest_use": round(split.use, 4),
            "trunks": rows,
        }
        return content, self._page(links, load, topology)

    def planned(
        self, capacity_floor: float | None = None, chain_max: int | None = None
    ) -> tuple[PlanContent, str]:
        """The plan from the current circuits: links for all matrices, weights for the last one."""
        self._check_demanded()
        *history, last = self.matrices
        found = plan(
            self.plant,
            last,
            self.circuits,
            capacity_floor=self.capacity_floor(capacity_floor),
            chain_max=self.config.chain_max if chain_max is None else chain_max,
            history=history,
            timing=self.timing,
        )
        links = found.topology.links
        carries = trunk_capacity(self.plant, links)
        share = found.topology.split.shares(carries)
        load = trunk_loads(share, last)
        now = found.circuits if self.circuits is None else self.circuits
        pairs = check_isolation(self.plant, now, found.stages, found.circuits, found.tables)
        content: PlanContent = {
            "demand": self.demand_label,
            "pairs_checked_for_isolation": pairs,
            **traffic_content(share, last, carries, load),
            **plan_content(self.plant, found, load, self.circuits),
        }
        return content, self._page(links, load, "Planned topology")

    def split(
        self, hedge: float | None, entries: int, factor: float, pairs: int | None, *, exact: bool
    ) -> tuple[SplitContent, str]:
        """Weights for the current topology, and their worst use if the demand of `pairs` block pairs is
        `factor` times as high. `pairs` defaults to WORST_PAIRS, or all if there are fewer. `exact` adds the
        optimum of the linear program. Raises InvalidInput for more pairs than there are."""
        self._check_demanded()
        most = len(self.plant.blocks) * (len(self.plant.blocks) - 1)
        if pairs is not None and pairs > most:
            raise InvalidInput(f"pairs {pairs}: too many; must be 0 to {most}")
        pairs = min(WORST_PAIRS, most) if pairs is None else pairs
        links, topology = self._links()
        carries = self._carries(links)
        found = split_demand(carries, self.demand, self.hedge if hedge is None else hedge)
        share = found.shares(carries)
        tables = fitted_entries(share, entries, self.demand, carries)
        load = trunk_loads(share, self.demand)
        optimum: SplitFigures = {}
        if exact:
            optimum = {"optimum": round(exact_split(carries, self.demand).use, 4)}
        content: SplitContent = {
            "topology": topology,
            "demand": self.demand_label,
            "largest_use": round(found.use, 4),
            "lower_bound": round(found.bound, 4),
            **optimum,
            "largest_use_by_tables": round(
                largest_use(trunk_loads(shares_of(tables), self.demand), carries), 4
            ),
            "worst_use": round(worst_use(share, self.demand, carries, factor, pairs), 4),
            **traffic_content(share, self.demand, carries, load),
            "trunks": trunk_rows(self.plant, links, load),
            "tables": self._tables(tables),
        }
        return content, self._page(links, load, topology)

    def failed(self, parts: list[str], capacity_floor: float | None = None) -> tuple[FailureContent, str]:
        """The effect of parts that fail together, and the topology that is planned for the rest."""
        loss = remaining_after(self.plant, [self._part(name) for name in parts])
        circuits, split, carries = self._running()
        impact = failure_impact(self.plant, self.demand, circuits, split.shares(carries), loss)
        before = round(split.use, 4)
        left = survivors(circuits, loss)
        uses: UseAfterFailure
        changes: RewiringFigures
        stages: list[StageRow]
        rows: list[OcsCircuits]
        if impact.demand.any():
            found = replan_after_failure(
                self.plant,
                self.demand,
                circuits,
                loss,
                capacity_floor=self.capacity_floor(capacity_floor),
                chain_max=self.config.chain_max,
                timing=self.timing,
            )
            check_isolation(self.plant, left, found.stages, found.circuits)
            uses = {
                "before": before,
                "at_once": round(impact.use, 4),
                "rerouted": round(found.rerouted.use, 4),
                "planned_anew": round(found.topology.split.use, 4),
            }
            changes = changes_content(left, found.circuits, found.stages)
            stages, rows = stage_rows(self.plant, found.stages), circuit_rows(self.plant, found.circuits)
            links = found.topology.links
            shares = found.topology.split.shares(trunk_capacity(self.plant, links))
            load = trunk_loads(shares, found.demand)
        else:  # no demand is left to plan for
            uses = {"before": before, "at_once": None, "rerouted": None, "planned_anew": None}
            changes = changes_content(left, left, [])
            stages, rows = [], circuit_rows(self.plant, left)
            links, load = links_of(left), np.zeros(self.demand.shape)
        content: FailureContent = {
            "failed": parts,
            "demand": self.demand_label,
            **impact_content(self.plant, self.demand, impact),
            "largest_use": uses,
            "changes": changes,
            "stages": stages,
            "circuits": rows,
        }
        return content, self._page(links, load, f"Without {', '.join(parts)}")

    def each_failed(self, kind: str) -> list[EachFailureRow]:
        """The effect of each part of a kind, at once and with new weights."""
        circuits, split, carries = self._running()
        share = split.shares(carries)
        rows: list[EachFailureRow] = []
        for name in names_of(self.plant, kind):
            impact = failure_impact(
                self.plant, self.demand, circuits, share, remaining_after(self.plant, [name])
            )
            left = impact.demand.any()
            rerouted = split_demand(trunk_capacity(self.plant, impact.links), impact.demand) if left else None
            rows.append(
                {
                    "failed": name,
                    **capacity_left(self.demand, impact),
                    "use_at_once": round(impact.use, 4) if left else None,
                    "use_rerouted": round(rerouted.use, 4) if rerouted else None,
                }
            )
        return rows

    def grown(
        self, later: SiteNetwork, demands: list[Path], hour: int, capacity_floor: float | None = None
    ) -> list[GrowthRow]:
        """The steps to another network, a row each. `hour` is that of the drawn demand, unless `demands` are
        files with recorded demand."""
        plant = later.plant
        matrices = [matrix for path in demands for matrix in read_demands(path, plant, later.fabric)]
        peak = peak_of(matrices) if matrices else None

        def demand_of(then: NetworkLayout) -> IntArray:
            if peak is None:
                return later.demand_while_growing(then, hour)
            places = [plant.number(block.name) for block in then.blocks]
            return peak[np.ix_(places, places)]

        circuits, _, _ = self._running()
        rows = []
        for step in growth_steps(
            self.plant, plant, circuits, demand_of, capacity_floor=self.capacity_floor(capacity_floor)
        ):
            if step.stages:
                before = np.pad(circuits, [(0, 0)] + [(0, len(step.plant.blocks) - circuits.shape[1])] * 2)
                check_isolation(step.plant, before, step.stages, step.circuits)
            circuits = step.circuits
            rows.append(step_content(step, self.capacity_floor(capacity_floor)))
        return rows

    def _running(self) -> tuple[IntArray, Split, FloatArray]:
        """(circuits, split of the demand, trunk capacities) of the current topology, or else of a planned
        one."""
        self._check_demanded()
        if self.circuits is None:
            topology = engineer(self.plant, self.demand)
            return (
                matched_circuits(self.plant, topology.links),
                topology.split,
                trunk_capacity(self.plant, topology.links),
            )
        carries = self._carries(links_of(self.circuits))
        return self.circuits, split_demand(carries, self.demand), carries

    def _links(self) -> tuple[IntArray, str]:
        if self.circuits is None:
            return uniform_mesh(self.plant), "Uniform mesh"
        return links_of(self.circuits), "The current topology"

    def _carries(self, links: IntArray) -> FloatArray:
        """The trunk capacities; raises InvalidInput if there is no demand, or if a demand has no path."""
        self._check_demanded()
        carries = trunk_capacity(self.plant, links)
        check_paths(self.plant, carries, self.demand)
        return carries

    def _check_demanded(self) -> None:
        """Raise InvalidInput if no block has demand. If no two blocks can be joined, the error names that
        cause."""
        if self.demand.any():
            return
        if not self.plant.may_join.any():
            raise InvalidInput(
                f"{self.fabric}: no two of its blocks can be joined; two must have the same customer "
                "and compatible modules"
            )
        raise InvalidInput(f"demand ({self.demand_label}): no demand; must have at least one")

    def _part(self, name: str) -> str:
        """The part name without its fabric: `rack-3` for `dcn-0/rack-3`. Long invalid names are cut for the
        error."""
        return shortened(name.removeprefix(f"{self.fabric}/"))

    def _tables(self, tables: IntArray) -> list[ForwardingTable]:
        names = [block.name for block in self.plant.blocks]
        return [
            {
                "from": names[tail],
                "to": names[head],
                "entries": {
                    "direct" if over == head else names[over]: int(tables[tail, head, over])
                    for over in np.flatnonzero(tables[tail, head]).tolist()
                },
            }
            for tail, head in np.argwhere(self.demand).tolist()
        ]

    def _page(self, links: IntArray, load: FloatArray, title: str) -> str:
        use = largest_use(load, trunk_capacity(self.plant, links))
        note = f"{self.demand_label}; largest use {use:.3f}; point at a curve or a disc for its figures."
        return topology_page(self.plant, links, load, title, note)


def study_of(
    network: SiteNetwork, demands: list[Path], hour: int, state: Path | None, history_h: int = 0
) -> NetworkStudy:
    """The study of a site file's network. `demands` are files with recorded demand. Without them, the demand
    is drawn from the site's seed for this hour and the `history_h` hours before it. `state` is a file with
    the current circuits. Raises InvalidInput that names file, block and field."""
    plant = network.plant
    matrices = [matrix for path in demands for matrix in read_demands(path, plant, network.fabric)]
    if matrices:
        demand_label = ", ".join(path.name for path in demands)
    else:
        hours = range(max(hour - history_h, 0), hour + 1)
        matrices = [network.demand_at(one) for one in hours]
        demand_label = f"seed {network.config.seed}, hour {hours[0]}{f' to {hour}' if len(hours) > 1 else ''}"
    if len(matrices) > 1:
        demand_label += f": {len(matrices):,} matrices"
    circuits = None if state is None else read_circuits(state, plant, network.fabric)
    config = network.config
    return NetworkStudy(
        network.fabric,
        plant,
        peak_of(matrices),
        circuits,
        demand_label,
        matrices,
        config.topology,
        config.traffic.hedge,
    )
