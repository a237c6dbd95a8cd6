"""Claims on services and clusters that are turned up and down: their inputs are frozen, and their figures are
checked by hand."""

import re
from statistics import fmean

import numpy as np
import pytest

from ops.reproduce.claim import over_matrices
from ops.reproduce.dcn import campus_changes
from ops.reproduce.dcn.study import VERDICT, StudyOutcome, outcome
from ops.reproduce.registry import select_claims
from shared.models.dcn.demand.campus_services import Campus, service_demand, services_of
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.rewiring.matchings import matched_circuits
from shared.models.dcn.rewiring.stage_planning import Stage, plan_stages
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import packed_links, plant


def test_the_inputs_of_the_claims_are_frozen() -> None:
    """A changed default changes what the paper's figures are compared with. The basis of the claims says that
    no input was chosen after the figures; it must then be reviewed."""
    assert Campus() == Campus(
        seed=0,
        services=24.0,
        life_weeks=8.0,
        more_clusters=1.0,
        size_sigma=1.0,
        service_load=0.2,
        background_load=0.2,
    )
    assert (campus_changes.CAMPUSES, campus_changes.WEEKS, campus_changes.MIDDLE_H) == (24, (8, 16, 24), 72)
    assert [claim.stated.value for claim in campus_changes.CLAIMS] == [1.1, 1.1, 75.0]
    assert {claim.evidence.kind for claim in campus_changes.CLAIMS} == {"derived by us"}


def test_links_know_the_first_week_or_the_week_before_and_an_hour_is_measured() -> None:
    """One campus and week, computed by hand."""
    campus, network, week = Campus(seed=5), VERDICT.plant, 8
    services = services_of(network, campus, 10 * 168)
    calm = DemandModel(seed=5, load=0.2, hot_pairs=0, noise_sigma=0.0, swing=0.0)

    def links(begin: int) -> IntArray:
        mean = service_demand(network, services, begin, begin + 168) + demand_at(network, calm, 0)
        return engineer(network, np.rint(mean).astype(np.int64)).links

    at = week * 168 + 72 + 5
    background = demand_at(network, DemandModel(seed=5, load=0.2, hot_pairs=0), at)
    hour = np.rint(service_demand(network, services, at, at + 1) + background).astype(np.int64)
    week_found = campus_changes.weeks_of(campus)[0]
    assert week_found.fixed == outcome(network, links(0), hour)
    assert week_found.mesh == outcome(network, uniform_mesh(network), hour)
    assert week_found.following == outcome(network, links((week - 1) * 168), hour)


def week_of(fixed: float, mesh: float, following: float) -> campus_changes.Week:
    return campus_changes.Week(
        *(StudyOutcome(1.0, throughput, 1.0, 0.5) for throughput in (fixed, mesh, following))
    )


def test_a_gain_is_the_mean_over_the_weeks_of_a_campus() -> None:
    weeks = [week_of(1.0, 2.0, 2.0), week_of(3.0, 2.0, 4.0)]
    assert campus_changes._gain(weeks, "fixed") == pytest.approx(1.5)
    assert campus_changes._gain(weeks, "mesh") == pytest.approx(1.5)


def test_draws_have_descriptive_names() -> None:
    assert over_matrices([1.0, 2.0, 3.0], drawn="campuses").note.startswith("median of 3 campuses, 1 to 3")


def walked_by_hand(layout: NetworkLayout, circuits: IntArray, stages: list[Stage], turned: int) -> float:
    """Return the smallest remaining share of any other block's links at any moment, circuit by circuit."""
    now = [tuple(row) for row in np.argwhere(circuits).tolist() for _ in range(int(circuits[tuple(row)]))]

    def links(block: int) -> int:
        return sum(block in (tail, head) for _, tail, head in now)

    others = [n for n in range(len(layout.blocks)) if n != turned]
    before, least = {n: links(n) for n in others}, 1.0
    for stage in stages:
        for row in stage.removed.tolist():
            now.remove(tuple(row))
        least = min([least, *(links(n) / before[n] for n in others)])
        now += [tuple(row) for row in stage.made.tolist()]
    return least


def test_others_are_watched_circuit_by_circuit() -> None:
    network = plant(5, racks=8)
    now, then = (matched_circuits(network, packed_links(network, seed)) for seed in (1, 2))
    stages = plan_stages(network, now, then, 0.5)
    watch = campus_changes.watched(network, now, stages, 4)
    assert watch.each == pytest.approx(walked_by_hand(network, now, stages, 4))
    assert watch.each <= watch.together < 1.0
    assert watch.stages == len(stages)
    gone = [row for stage in stages for row in stage.removed[:, 1:].tolist() if 4 not in row]
    assert watch.disturbed == len(gone)
    assert watch.minutes == pytest.approx(sum(stage.seconds for stage in stages) / 60)


def test_a_cluster_change_moves_a_fifteenth_of_the_other_circuits_in_small_steps() -> None:
    """512 more uplinks take 256 circuits of other blocks, except a few links whose chains are too long. Freed
    circuits return to them."""
    up, down = campus_changes.turn_up_and_down(0)
    assert 250 <= up.disturbed < 320
    assert down.disturbed < up.disturbed
    for change in (up, down):
        assert 0.75 <= change.each <= change.together < 1.0
        assert 0.95 < change.end <= 1.01


@pytest.mark.slow("a study of clusters, once more")
def test_the_reported_gains_of_following_links_are_correct() -> None:
    """The gains are those of docs/results/papers.md: above both others, by less than a tenth, with shorter
    flows."""
    rows = {claim.name: claim.row() for claim in select_claims(("clusters",))}
    for other in ("fixed", "mesh"):
        row = rows[f"clusters/over-{other}"]
        assert row.interval is not None
        assert 1.0 < row.interval[0] < row.measured < 1.1
        assert not row.holds
        slow = re.search(r"flows take (\S+) and (\S+) ×", row.note)
        assert slow is not None
        assert float(slow[2]) < float(slow[1])
        gains = [getattr(week, other) for week in campus_changes.weeks_of(Campus(0))]
        assert fmean(week.throughput for week in gains) > 1.0
    assert rows["clusters/turned"].holds
