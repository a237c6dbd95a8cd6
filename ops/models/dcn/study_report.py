"""Reports of `lightwave dcn`: plants, plans and splits as JSON or tables."""

from typing import Any

import numpy as np

from ops.report.tables import text_table
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.failure import FailureImpact
from shared.models.dcn.growth import GrowthStep
from shared.models.dcn.planning import DcnPlan
from shared.models.dcn.rewiring.matchings import links_of
from shared.models.dcn.rewiring.rewired_circuits import circuits_made, fewest_circuits_made
from shared.models.dcn.rewiring.stage_planning import ROUNDING, Stage
from shared.models.dcn.routing.fair_share import fair_share, slowdown
from shared.models.dcn.routing.path_loads import mean_path, trunk_capacity
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

TRUNKS_SHOWN = 12
"""Rows of a table; JSON has all."""


def plant_content(plant: NetworkLayout, demand: IntArray) -> dict[str, Any]:
    """What a network is built of, and what its blocks want to send, in Gb/s."""
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


def plant_table(content: dict[str, Any]) -> str:
    """The blocks, a row each, below the racks."""
    return f"{plant_line(content)}\n\n{rows_table(content['blocks'])}"


def plant_line(content: dict[str, Any]) -> str:
    """Racks, OCSes and blocks in one line."""
    racks, ocs, blocks = content["racks"], content["ocs"], len(content["blocks"])
    return f"{blocks} blocks on {racks} racks of {ocs // racks} OCSes ({content['technology']})"


def trunk_rows(plant: NetworkLayout, links: IntArray, load: FloatArray) -> list[dict[str, Any]]:
    """Every trunk, the fullest first: its links, what each way carries, and how full either way is."""
    carries = trunk_capacity(plant, links)
    used = load / np.where(carries > 0.0, carries, 1.0)
    rows = [
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


def trunk_table(rows: list[dict[str, Any]]) -> str:
    """The fullest trunks, and how many are not shown."""
    more = len(rows) - TRUNKS_SHOWN
    return rows_table(rows[:TRUNKS_SHOWN]) + (f"\n… and {more:,} trunks less full" if more > 0 else "")


def traffic_content(
    share: FloatArray, demand: IntArray, carries: FloatArray, load: FloatArray
) -> dict[str, Any]:
    """What demand meets on these trunks by these shares, beside its largest use."""
    longer = slowdown(share, demand, carries)
    return {
        "demand_gbps": _gbps(demand.sum()),
        "mean_path": round(mean_path(load, demand), 4),
        "slowdown": round(longer, 4) if np.isfinite(longer) else None,
        "throughput": round(fair_share(share, demand, carries).throughput, 6),
    }


def plan_content(
    plant: NetworkLayout, plan: DcnPlan, load: FloatArray, now: IntArray | None
) -> dict[str, Any]:
    """A plan: how full it leaves the network, trunks, circuits, what changes, and stages."""
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


def changes_content(now: IntArray, then: IntArray, stages: list[Stage]) -> dict[str, Any]:
    """What leads from some circuits (K, B, B) to others, beside what any plan must do."""
    return {
        "circuits_made": circuits_made(now, then),
        "circuits_removed": circuits_made(then, now),
        "circuits_kept": int(np.minimum(now, then).sum()),
        "at_least_made": fewest_circuits_made(now, links_of(then)),
        "stages": len(stages),
        "seconds": round(sum(stage.seconds for stage in stages), 3),
        "least_capacity_kept": round(min((stage.kept for stage in stages), default=1.0), 4),
    }


def stage_rows(plant: NetworkLayout, stages: list[Stage]) -> list[dict[str, Any]]:
    """Every stage with its circuits as [OCS, block of the North port, block of the South port]."""
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


def circuit_rows(plant: NetworkLayout, circuits: IntArray) -> list[dict[str, Any]]:
    """The circuits of every OCS as [block of the North port, block of the South port], as
    `ops.models.dcn.input_files.read_circuits` takes them."""
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


def plan_table(content: dict[str, Any]) -> str:
    """The figures, the fullest trunks and the stages."""
    figures = {
        name: content[name]
        for name in (
            "largest_use",
            "largest_use_of_all",
            "lower_bound",
            "mean_path",
            "throughput",
            "slowdown",
        )
    }
    changes = content["changes"] or {}
    parts = [figure_table(figures | changes), trunk_table(content["trunks"])]
    return "\n\n".join([*parts, *stage_tables(content["stages"])])


def stage_tables(stages: list[dict[str, Any]]) -> list[str]:
    """The stages, circuits counted; no table where there are none."""
    rows = [
        {"stage": n, **row, "removed": len(row["removed"]), "made": len(row["made"])}
        for n, row in enumerate(stages)
    ]
    return [rows_table(rows)] if rows else []


def impact_content(plant: NetworkLayout, demand: IntArray, impact: FailureImpact) -> dict[str, Any]:
    """What is left of every block's capacity, and how much demand has no path any more."""
    blocks = [
        {"name": block.name, "capacity_left": round(float(impact.left[n]), 6)}
        for n, block in enumerate(plant.blocks)
    ]
    return {
        "least_left": round(float(impact.left.min()), 6),
        "mean_left": round(float(impact.left.mean()), 6),
        "most_left": round(float(impact.left.max()), 6),
        "cut_off_gbps": _gbps((demand - impact.demand).sum()),
        "blocks": blocks,
    }


def failure_table(content: dict[str, Any]) -> str:
    """What is left, how full it is, and what is changed."""
    figures = {name: content[name] for name in ("least_left", "mean_left", "most_left", "cut_off_gbps")}
    used = {f"largest_use_{when}": use for when, use in content["largest_use"].items()}
    return "\n\n".join(
        [
            figure_table(figures | used | content["changes"]),
            rows_table(content["blocks"]),
            *stage_tables(content["stages"]),
        ]
    )


def step_content(step: GrowthStep, promise: float) -> dict[str, Any]:
    """A step of growth: what people and OCSes do, what that disturbs, whether it keeps the promise, and the
    same step elsewhere."""
    content: dict[str, Any] = {
        "step": step.what,
        "change": step.change,
        "strands_laid": step.laid,
        "by_hand": step.by_hand,
        "stages": len(step.stages),
        "circuits_drained": step.disturbed,
        "capacity_kept": round(step.kept, 4),
        "keeps_promise": step.kept >= promise - ROUNDING,
        "hours": _hours(step.seconds),
        "largest_use": None if step.use is None else round(step.use, 4),
    }
    for where, beside in (
        ("panel", step.panel),
        ("spine_prebuilt", step.spine_prebuilt),
        ("spine_grown", step.spine_grown),
    ):
        content[f"{where}_by_hand"] = None if beside is None else beside.strands
        content[f"{where}_hours"] = None if beside is None else _hours(beside.seconds)
    return content


def growth_table(rows: list[dict[str, Any]], promise: float) -> str:
    """The steps, and which of them keep less than the promise."""
    short = [row["step"] for row in rows if not row["keeps_promise"]]
    if not short:
        return rows_table(rows)
    one = len(short) == 1
    return (
        f"{rows_table(rows)}\n\n{', '.join(short)} {'keeps' if one else 'keep'} less than the promise of "
        f"{promise:g}, by hand: racks and modules are changed while people are at it, and the promise binds "
        "only the stages in which circuits move"
    )


def _hours(seconds: float) -> float:
    return round(seconds / 3_600, 3)


def figure_table(figures: dict[str, Any]) -> str:
    """Figures by name, a row each."""
    return text_table(("FIGURE", "VALUE"), [(name, _shown(value)) for name, value in figures.items()])


def rows_table(rows: list[dict[str, Any]]) -> str:
    """Values of the same names, a row each."""
    headers = [name.upper().replace("_", "-") for name in rows[0]] if rows else []
    return text_table(headers, [[_shown(value) for value in row.values()] for row in rows])


def _shown(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    )


def _gbps(mbps: Any) -> float:
    return round(float(mbps) / MBPS_PER_GBPS, 3)
