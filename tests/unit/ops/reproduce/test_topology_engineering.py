"""Claims on the datacenter network: their inputs are frozen, and their figures are checked by hand."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from scipy.stats import binom

from ops.models.dcn.input_files import read_network
from ops.reproduce.claim import over_matrices
from ops.reproduce.dcn import cost_and_power, multipod_rings, topology_engineering, traffic_splits
from ops.reproduce.dcn.study import (
    MATRICES,
    VARIANTS,
    VERDICT,
    Study,
    StudyOutcome,
    compared,
    hour_and_before,
    hours_and_links,
    more_throughput,
    outcome,
    time_saved,
)
from ops.reproduce.registry import select_claims
from shared.models.dcn.cost import PAPER
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.routing.path_loads import capacity_shares, trunk_capacity
from shared.models.dcn.routing.path_program import capped_split, exact_split
from shared.models.network.blocks import Block, layout_of, network_of


def test_the_inputs_of_the_verdict_are_frozen() -> None:
    """A changed default of the demand changes what the papers are compared with. The basis of the claims says
    that no input was chosen after the figures; it must then be reviewed."""
    assert DemandModel() == DemandModel(
        seed=0,
        load=0.4,
        block_sigma=0.4,
        noise_sigma=0.25,
        hot_pairs=8,
        hot_share=0.1,
        hot_days=3.0,
        swing=0.3,
    )
    assert Study(generations=(400,), unevenness=1.0, mesh_hedge=0.0) == VERDICT
    plant = VERDICT.plant
    assert (len(plant.blocks), set(plant.uplinks.tolist()), plant.ocs_count) == (16, {512}, 128)
    assert MATRICES == 24


def test_links_are_made_for_the_day_before_and_measured_in_each_hour_of_a_day() -> None:
    plant = VERDICT.plant
    for number in (0, 5, 23):
        model = DemandModel(seed=number)
        hour, before = hour_and_before(VERDICT, plant, number)
        assert (hour == demand_at(plant, model, 24 + number)).all()
        days = np.stack([demand_at(plant, model, hour_number) for hour_number in range(number, 24 + number)])
        assert before == pytest.approx(days.mean(axis=0), abs=0.5001)


def test_a_variant_changes_one_thing() -> None:
    plain = VERDICT.model(3)
    for name, study in VARIANTS.items():
        parts = (
            study.generations != VERDICT.generations,
            study.model(3) != plain,
            (study.mesh_hedge, study.engineered_hedge) != (VERDICT.mesh_hedge, VERDICT.engineered_hedge),
        )
        assert sum(parts) == 1, name
    assert VARIANTS["uneven"].model(3).block_sigma == 2 * plain.block_sigma


def test_two_blocks_by_hand() -> None:
    plant = layout_of(Block(f"ab-{n}", 100, 256) for n in range(2))
    links = np.array([[0, 256], [256, 0]])
    result = outcome(plant, links, np.array([[0, 128], [64, 0]]) * 100_000)
    assert result.use == pytest.approx(0.5)
    assert result.path == pytest.approx(1.0)
    # 2 of 3 parts at a use of ½ take twice as long, the third at ¼ four thirds. Long flows fill both
    # directions.
    assert result.slowdown == pytest.approx((2 * 2 + 4 / 3) / 3)
    assert result.throughput == pytest.approx(512 / 192)


def hour_of(slowdown: float, throughput: float = 1.0) -> StudyOutcome:
    return StudyOutcome(slowdown, throughput, 1.0, 0.5)


def test_gains_are_percent_of_the_mesh() -> None:
    assert time_saved(hour_of(2.0), hour_of(1.8)) == pytest.approx(10.0)
    assert time_saved(hour_of(math.inf), hour_of(3.0)) == 100.0
    assert time_saved(hour_of(2.0), hour_of(math.inf)) == -math.inf
    assert math.isnan(time_saved(hour_of(math.inf), hour_of(math.inf)))
    assert more_throughput(hour_of(1, 2.0), hour_of(1, 2.6)) == pytest.approx(30.0)


@pytest.mark.parametrize("count", [6, 21, 24])
def test_a_median_has_the_interval_of_the_binomial_distribution(count: int) -> None:
    """The interval is the narrowest pair of order statistics that contains the median of any distribution in
    95 of 100 draws."""
    measured = over_matrices([float(n) for n in range(1, count + 1)][::-1], "more")
    assert measured.value == (count + 1) / 2
    assert measured.note == f"median of {count} matrices, 1 to {count}; more"
    assert measured.interval is not None
    low, high = measured.interval
    assert low + high == count + 1

    def coverage(first: float) -> float:
        return float(binom.cdf(count - first, count, 0.5) - binom.cdf(first - 1, count, 0.5))

    assert coverage(low) >= 0.95 > coverage(low + 1)


def test_matrices_without_a_figure_are_left_out_and_counted() -> None:
    measured = over_matrices([math.nan, 1.0, 3.0, math.nan, 100.0])
    assert (measured.value, measured.interval) == (3.0, None)
    assert measured.note == "median of 3 matrices, 1 to 100; 2 more have no figure"
    nothing = over_matrices([math.nan, math.nan])
    assert math.isnan(nothing.value)
    assert nothing.note == "none of the 2 matrices has a figure"


def test_the_verdict_is_the_plain_study_and_sensitivities_are_ours() -> None:
    for topic in ("dcn/flow-time", "dcn/throughput"):
        plain, *others = select_claims((f"{topic}*",))
        assert plain.evidence.kind == "predicted"
        assert [one.name for one in others] == [f"{topic}-{name}" for name in (*VARIANTS, "capped")]
        assert {one.evidence.kind for one in others} == {"derived by us"}
        assert {one.stated for one in others} == {plain.stated}


def test_the_gain_over_a_mesh_grows_with_its_hedge() -> None:
    """The fit in the note depends on it."""
    gains = [
        topology_engineering._median_gain(hedge, more_throughput) for hedge in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    assert all(a < b for a, b in pairwise(gains))
    fit = topology_engineering._fitting_hedge(more_throughput, 30.0)
    assert fit is not None
    step = 0.5**topology_engineering.HALVINGS
    below, above = (topology_engineering._median_gain(hedge, more_throughput) for hedge in (fit - step, fit))
    assert below < 30.0 <= above


def test_the_hedge_of_the_note_gives_the_reported_mean_path() -> None:
    plant = VERDICT.plant
    hour, before = hour_and_before(VERDICT, plant, 0)
    links = engineer(plant, before).links
    assert outcome(plant, links, hour, topology_engineering._hedge_for(1.4)).path == pytest.approx(
        1.4, abs=0.02
    )


def test_a_hedge_on_both_sides_reduces_the_gain() -> None:
    """The note of the fit also states it."""
    fit = 0.38
    mesh_only, both = (
        over_matrices(
            [more_throughput(*pair) for pair in compared(topology_engineering._hedged(fit, engineered))]
        ).value
        for engineered in (0.0, fit)
    )
    assert both < 10.0 < 25.0 < mesh_only
    plain, hedged = compared(VERDICT)[0][1], compared(replace(VERDICT, engineered_hedge=fit))[0][1]
    assert hedged.path > plain.path


def test_no_path_takes_more_than_its_cap_on_either_side() -> None:
    plant = VERDICT.plant
    hour, links = hours_and_links(VERDICT)[0]
    for joined in (uniform_mesh(plant), links):
        carries = trunk_capacity(plant, joined)
        capped = capped_split(carries, hour, traffic_splits.SPREAD)
        assert (capped.share <= capacity_shares(carries) / traffic_splits.SPREAD + 1e-6).all()
        free = capped_split(carries, hour, 1e-3)
        assert free.use == pytest.approx(exact_split(carries, hour).use, abs=2e-3)
        assert capped.use >= free.use - 1e-6


@pytest.mark.slow("a study of a network, once more")
def test_caps_lengthen_paths_and_increase_the_gain() -> None:
    """The conclusion of the section depends on it."""
    rows = {claim.name: claim.row() for claim in select_claims(("dcn/flow-time*", "dcn/throughput*"))}
    for topic in ("dcn/flow-time", "dcn/throughput"):
        assert rows[topic].measured < rows[f"{topic}-capped"].measured < rows[topic].paper_value
    pairs = traffic_splits.capped(traffic_splits.SPREAD)
    assert median(mesh.path for mesh, _ in pairs) == pytest.approx(1.4, abs=0.05)
    assert all(engineered.path < mesh.path for mesh, engineered in pairs)


def test_transit_is_compared_with_the_smallest_possible() -> None:
    (claim,) = select_claims(("dcn/needless-transit",))
    row = claim.row()
    ours, least, mesh, mesh_least = map(float, re.findall(r"\b1\.\d{3}\b", row.note.partition("; ")[2]))
    assert 1.0 < least < ours < mesh_least < mesh
    assert row.measured == pytest.approx(100.0 * (ours - least), abs=0.3)


def test_pods_of_the_claim_are_attached_to_blocks_of_the_example_campus() -> None:
    blocks = network_of(read_network(Path("ops/sites/campus.yaml")).config.network).blocks
    pods = [block for block in blocks if block.pod]
    assert {(block.generation, block.uplinks) for block in pods} == {
        (multipod_rings.POD_BLOCK.generation, multipod_rings.POD_BLOCK.uplinks)
    }
    (claim,) = select_claims(("dcn/inside-over-across",))
    assert claim.row().measured == pytest.approx(4096 * 6 * 50e9 * 8 / (512 * 400e9))


def test_parts_of_the_hybrid_leave_out_hours_without_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the background alone fills a trunk, the gain has no parts."""
    rates = [(0.0,) * 4, (1.0, 2.0, 1.0, 3.0), (0.0,) * 4, (2.0, 6.0, 4.0, 6.0), (1.0, 4.0, 3.0, 4.0)]
    monkeypatch.setattr(multipod_rings, "_ring_rates", lambda: rates)
    measured = multipod_rings._hybrid()
    assert measured.value == 3.0
    assert (
        "2 more have no figure; with chosen pods alone 3.00 ×, with engineered links alone 2.00 ×"
        in measured.note
    )


def test_bills_are_those_of_the_command_and_every_answer_has_a_row() -> None:
    """Each answer of `dcn cost` is next to a paper's figure, in percent."""
    rows = {claim.name: claim.row() for claim in cost_and_power.CLAIMS}
    stated = {round(row.paper_value, 6) for name, row in rows.items() if name != "power/fabric-share"}
    assert stated == {
        round(100.0 * (value - (1.0 if name.startswith("pod_") and "share" not in name else 0.0)), 6)
        for name, (value, _) in PAPER.items()
    }
    assert all(
        "which depends most on" in row.note for name, row in rows.items() if name != "power/fabric-share"
    )
    costly = {name for name, row in rows.items() if row.kind == "calibrated"}
    assert costly == {"cost/lightwave", "cost/packets", "cost/fabric-share"}


def test_a_claim_that_depends_on_the_calibrated_price_is_no_prediction() -> None:
    """A claim counts as a prediction only where `chip_system_cost` does not change it."""
    dear = [drawn | {"chip_system_cost": 20_000.0} for drawn in cost_and_power._draws()]
    for claim in cost_and_power.CLAIMS:
        with pytest.MonkeyPatch.context() as patch:
            plain = claim.row().measured
            patch.setattr(cost_and_power, "_draws", lambda: dear)
            patch.setattr(cost_and_power, "_answers", cost_and_power._answers.__wrapped__)
            moved = claim.row().measured != plain
        assert moved is (claim.evidence.kind == "calibrated"), claim.name


def test_the_verdict_on_a_bill_is_that_of_all_prices_and_within_their_span() -> None:
    """Prices at ends of their ranges, all on one side, do not decide the verdict."""
    for claim in cost_and_power.CLAIMS:
        match = re.search(
            r"90 % of them give (\S+) to ([^;]+); the standard prices give ([^;,]+)",
            claim.row().note,
        )
        assert match is not None, claim.name
        low, high, standard = map(float, match.groups())
        measured = claim.row().measured
        assert low < measured < high
        if claim.name.endswith("/spine-free"):
            assert standard > high, claim.name
