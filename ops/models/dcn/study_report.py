"""Reports of `lightwave dcn`: plants, plans and splits as JSON or tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from ops.models.dcn.figure_meanings import MEANINGS, figure_text
from ops.models.dcn.study_rows import (
    BlockLeft,
    CapacityLeft,
    DemandFigures,
    FailureContent,
    GrowthRow,
    ImpactContent,
    OcsCircuits,
    PlanContent,
    PlannedTopology,
    PlantContent,
    RewiringFigures,
    StageRow,
    StudyTrunk,
)
from ops.report.tables import text_table
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.failure import FailureImpact
from shared.models.dcn.growth import AlternativeWork, GrowthStep
from shared.models.dcn.planning import DcnPlan
from shared.models.dcn.rewiring.matchings import links_of
from shared.models.dcn.rewiring.rewired_circuits import circuits_made, fewest_circuits_made
from shared.models.dcn.rewiring.stage_planning import ROUNDING, Stage
from shared.models.dcn.routing.fair_share import fair_share, slowdown
from shared.models.dcn.routing.path_loads import mean_path, trunk_capacity
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

TRUNKS_SHOWN = 12
"""Rows of the table; JSON has all."""


def plant_content(plant: NetworkLayout, demand: IntArray) -> PlantContent:
    """The parts of a network, and the `demand` (B, B) of its blocks in Mb/s."""
    sends, receives = demand.sum(axis=1), demand.sum(axis=0)
    return {
        "racks": plant.racks,
        "ocs": plant.ocs_count,
        "technology": plant.technology.name,
        "blocks": [
            {
                "name": block.name,
                "generation_gbps": block.generation,
                "uplinks": block.uplinks,
                "ports_on_ocs": 2 * int(plant.ports[n]),
                "capacity_gbps": block.gbps,
                "sends_gbps": _gbps(sends[n]),
                "receives_gbps": _gbps(receives[n]),
                "pod": block.pod,
                "customer": block.customer,
                "modules": block.modules,
            }
            for n, block in enumerate(plant.blocks)
        ],
    }


def plant_table(content: PlantContent) -> str:
    """The summary line, and a row per block."""
    return f"{plant_line(content)}\n\n{rows_table(content['blocks'])}"


def plant_line(content: PlantContent) -> str:
    """Numbers of blocks, racks and OCSes in one line."""
    racks, ocs, blocks = content["racks"], content["ocs"], len(content["blocks"])
    return f"{blocks} blocks on {racks} racks of {ocs // racks} OCSes ({content['technology']})"


def trunk_rows(plant: NetworkLayout, links: IntArray, load: FloatArray) -> list[StudyTrunk]:
    """A row per trunk, the fullest first. `links` (B, B) are counts, `load` (B, B) is in Mb/s."""
    carries = trunk_capacity(plant, links)
    used = load / np.where(carries > 0.0, carries, 1.0)
    rows: list[StudyTrunk] = [
        {
            "between": plant.blocks[one].name,
            "and": plant.blocks[other].name,
            "links": int(links[one, other]),
            "gbps": _gbps(carries[one, other]),
            "use": round(float(used[one, other]), 4),
            "use_back": round(float(used[other, one]), 4),
        }
        for one, other in np.argwhere(np.triu(links)).tolist()
    ]
    return sorted(rows, key=lambda row: -max(row["use"], row["use_back"]))


def trunk_table(rows: Sequence[StudyTrunk]) -> str:
    """The fullest trunks, and the number of further ones."""
    more = len(rows) - TRUNKS_SHOWN
    return rows_table(rows[:TRUNKS_SHOWN]) + (f"\n… and {more:,} trunks with lower use" if more > 0 else "")


def traffic_content(
    share: FloatArray, demand: IntArray, carries: FloatArray, load: FloatArray
) -> DemandFigures:
    """Path length, throughput and slowdown of a demand (B, B) that is split by `share` (B, B, B)."""
    longer = slowdown(share, demand, carries)
    return {
        "demand_gbps": _gbps(demand.sum()),
        "mean_path": round(mean_path(load, demand), 4),
        "slowdown": round(longer, 4) if np.isfinite(longer) else None,
        "throughput": round(fair_share(share, demand, carries).throughput, 6),
    }


def plan_content(
    plant: NetworkLayout, plan: DcnPlan, load: FloatArray, now: IntArray | None
) -> PlannedTopology:
    """The trunks and circuits of a plan, and the stages from the circuits `now` (K, B, B), if any run."""
    split, bound = plan.topology.split, plan.topology.bound
    return {
        "largest_use": round(split.use, 4),
        "largest_use_of_all": round(plan.worst_history_use, 4),
        "lower_bound": round(bound, 4),
        "trunks": trunk_rows(plant, plan.topology.links, load),
        "changes": None if now is None else changes_content(now, plan.circuits, plan.stages),
        "stages": stage_rows(plant, plan.stages),
        "circuits": circuit_rows(plant, plan.circuits),
    }


def changes_content(now: IntArray, then: IntArray, stages: list[Stage]) -> RewiringFigures:
    """The changes from one set of circuits (K, B, B) to another, next to the minimum of any plan."""
    return {
        "circuits_made": circuits_made(now, then),
        "circuits_removed": circuits_made(then, now),
        "circuits_kept": int(np.minimum(now, then).sum()),
        "at_least_made": fewest_circuits_made(now, links_of(then)),
        "stages": len(stages),
        "seconds": round(sum(stage.seconds for stage in stages), 3),
        "least_capacity_kept": round(min((stage.kept for stage in stages), default=1.0), 4),
    }


def stage_rows(plant: NetworkLayout, stages: list[Stage]) -> list[StageRow]:
    """A row per stage."""
    return [
        {
            "domain": f"domain-{stage.domain}",
            "seconds": round(stage.seconds, 3),
            "capacity_kept": round(stage.kept, 4),
            "ocs": len(stage.switches),
            "removed": _named(plant, stage.removed),
            "made": _named(plant, stage.made),
        }
        for stage in stages
    ]


def _named(plant: NetworkLayout, circuits: IntArray) -> list[list[str]]:
    names = [block.name for block in plant.blocks]
    return [[f"ocs-{switch}", names[tail], names[head]] for switch, tail, head in circuits.tolist()]


def circuit_rows(plant: NetworkLayout, circuits: IntArray) -> list[OcsCircuits]:
    """The circuits of every OCS, in the form that `ops.models.dcn.input_files.read_circuits` reads."""
    names = [block.name for block in plant.blocks]
    return [
        {
            "ocs": f"ocs-{switch}",
            "rack": f"rack-{switch // plant.switches}",
            "domain": f"domain-{plant.domains[switch]}",
            "circuits": [
                [names[tail], names[head]]
                for tail, head in np.argwhere(circuits[switch]).tolist()
                for _ in range(int(circuits[switch, tail, head]))
            ],
        }
        for switch in range(plant.ocs_count)
    ]


def plan_table(content: PlanContent) -> str:
    """The figures, the fullest trunks and the stages."""
    figures: dict[str, object] = {
        "largest_use": content["largest_use"],
        "largest_use_of_all": content["largest_use_of_all"],
        "lower_bound": content["lower_bound"],
        "mean_path": content["mean_path"],
        "throughput": content["throughput"],
        "slowdown": content["slowdown"],
        **(content["changes"] or {}),
    }
    parts = [figure_table(figures), trunk_table(content["trunks"])]
    return "\n\n".join([*parts, *stage_tables(content["stages"])])


def stage_tables(stages: Sequence[StageRow]) -> list[str]:
    """A table of the stages with the number of their circuits; an empty list if there are none."""
    rows = [
        {"stage": n, **row, "removed": len(row["removed"]), "made": len(row["made"])}
        for n, row in enumerate(stages)
    ]
    return [rows_table(rows)] if rows else []


def capacity_left(demand: IntArray, impact: FailureImpact) -> CapacityLeft:
    """The capacity that blocks keep after a failure, and the part of `demand` (B, B) that has no path."""
    return {
        "least_left": round(float(impact.left.min()), 6),
        "mean_left": round(float(impact.left.mean()), 6),
        "most_left": round(float(impact.left.max()), 6),
        "cut_off_gbps": _gbps((demand - impact.demand).sum()),
    }


def impact_content(plant: NetworkLayout, demand: IntArray, impact: FailureImpact) -> ImpactContent:
    """`capacity_left`, and a row per block."""
    blocks: list[BlockLeft] = [
        {"name": block.name, "capacity_left": round(float(impact.left[n]), 6)}
        for n, block in enumerate(plant.blocks)
    ]
    return {**capacity_left(demand, impact), "blocks": blocks}


def failure_table(content: FailureContent) -> str:
    """The remaining capacity, the largest use, and the stages."""
    figures: dict[str, object] = {
        "least_left": content["least_left"],
        "mean_left": content["mean_left"],
        "most_left": content["most_left"],
        "cut_off_gbps": content["cut_off_gbps"],
        **{f"largest_use_{when}": use for when, use in content["largest_use"].items()},
        **content["changes"],
    }
    return "\n\n".join(
        [figure_table(figures), rows_table(content["blocks"]), *stage_tables(content["stages"])]
    )


def step_content(step: GrowthStep, capacity_floor: float) -> GrowthRow:
    """A step of growth, and whether it keeps the share `capacity_floor` of every block's capacity."""
    return {
        "step": step.what,
        "change": step.change,
        "strands_laid": step.laid,
        "manual_changes": step.by_hand,
        "stages": len(step.stages),
        "circuits_drained": step.disturbed,
        "capacity_kept": round(step.kept, 4),
        "keeps_capacity_floor": step.kept >= capacity_floor - ROUNDING,
        "hours": _hours(step.seconds),
        "largest_use": None if step.use is None else round(step.use, 4),
        "panel_manual_strands": step.panel.strands,
        "panel_hours": _hours(step.panel.seconds),
        "spine_prebuilt_manual_strands": _strands(step.spine_prebuilt),
        "spine_prebuilt_hours": _work_hours(step.spine_prebuilt),
        "spine_grown_manual_strands": _strands(step.spine_grown),
        "spine_grown_hours": _work_hours(step.spine_grown),
    }


def _strands(work: AlternativeWork | None) -> int | None:
    return None if work is None else work.strands


def _work_hours(work: AlternativeWork | None) -> float | None:
    return None if work is None else _hours(work.seconds)


def growth_table(rows: Sequence[GrowthRow], capacity_floor: float) -> str:
    """The steps, and the names of those that keep less than the capacity floor."""
    short = [row["step"] for row in rows if not row["keeps_capacity_floor"]]
    if not short:
        return rows_table(rows)
    one = len(short) == 1
    return (
        f"{rows_table(rows)}\n\n{', '.join(short)} {'keeps' if one else 'keep'} less than the capacity "
        f"floor of {capacity_floor:g}, because racks and modules are changed by hand; the capacity floor "
        "applies only to the stages in which circuits move"
    )


def _hours(seconds: float) -> float:
    return round(seconds / 3_600, 3)


def figure_table(figures: Mapping[str, object]) -> str:
    """A table with a row per figure, and what it means."""
    rows = [(name, figure_text(name, value), MEANINGS.get(name)) for name, value in figures.items()]
    return text_table(("FIGURE", "VALUE", "MEANING"), rows, below="MEANING")


def rows_table(rows: Sequence[Mapping[str, object]]) -> str:
    """A table of rows with the same fields."""
    headers = [name.upper().replace("_", "-") for name in rows[0]] if rows else []
    return text_table(headers, [[figure_text(name, value) for name, value in row.items()] for row in rows])


def _gbps(mbps: float | np.integer | np.floating) -> float:
    return round(float(mbps) / MBPS_PER_GBPS, 3)
