"""Predictions of `lightwave reproduce` depend on the model: for each, a change to the model reverses the
verdict, while the question stays the same. Pods run for a shorter time than the command's, before and after
the change."""

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from ops.reproduce import lab_runs
from ops.reproduce.claim import EvidenceKind
from ops.reproduce.dcn import cost_and_power, study, topology_engineering
from ops.reproduce.optics import manufactured_parts
from ops.reproduce.pods import availability, live_pod
from ops.reproduce.pods import slice_topology as topology
from ops.reproduce.registry import CLAIMS, select_claims
from schemas.envelope import enclose
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join, Shape
from services.ocs import superpod_commands
from services.ocs.state import Circuits, OcsState
from services.ocs.switch import disconnect
from services.scheduler.recovery import cube_swaps, recovery
from services.scheduler.structures.pod_placement import FixedGridPlacement, SwitchedPlacement
from services.totals.availability_time import AvailabilitySpans
from shared.models.assumptions import assumed
from shared.models.availability import promised_goodput
from shared.models.availability.promised_goodput import Goodput
from shared.models.dcn.cost import PRICES
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import FloatArray
from shared.models.optics import palomar
from shared.models.superpod import shapes
from shared.models.superpod.shapes import grid_joins
from shared.models.superpod.wiring import CHIPS_PER_CUBE, IntArray
from shared.models.topology import (
    SliceTopology,
    cuts,
    graph,
    lattice,
    slice_topology,
    without_links,
    without_ocs,
)
from shared.models.topology.slice_figures import slice_figures
from shared.models.topology.spanning_trees import TreePacking
from tests.simulation.test_reproduce import KNOWN_NOT_TO_HOLD
from tests.unit.papers.test_slices import ring_bandwidth

GOODPUT = sys.modules[promised_goodput.__module__]
SLICE_FIGURES = sys.modules[slice_figures.__module__]
Patch = tuple[Any, str, Any]
"""(module or class, name in it, replacement)."""


@dataclass(frozen=True)
class Change:
    """A change to the model, and the runs that replace the command's before and after it."""

    model: tuple[Patch, ...]
    runs: tuple[Patch, ...] = ()


def cosets_of_no_twist(shape: Shape, twisted: bool) -> tuple[Shape, ...]:
    """Return the lattice of a torus whose twist has no effect."""
    half = shape[2] // 2
    if not twisted:
        return ((0, 0, 0),)
    if shape[0] == shape[1]:
        return ((0, 0, 0), (half, 0, 0), (0, half, 0), (half, half, 0))
    return ((0, 0, 0), (half, 0, 0))


def cosets_of_half_twists(shape: Shape, twisted: bool) -> tuple[Shape, ...]:
    """Return the lattice of a torus with one of the two moves of its twist: k×k×2k by the y wrap only,
    k×2k×2k along y only."""
    half = shape[2] // 2
    if not twisted:
        return ((0, 0, 0),)
    if shape[0] == shape[1]:
        return ((0, 0, 0), (half, 0, 0), (0, half, half), (half, half, half))
    return ((0, 0, 0), (half, half, 0))


def half_twists(grid: tuple[int, int, int]) -> dict[int, tuple[tuple[int, int], ...]]:
    """Return the same between cubes: crossed wrap → (dimension, cubes)."""
    nx, ny, _ = grid
    return {1: ((2, nx),)} if nx == ny else {0: ((1, nx),)}


def without_wrap_in_x(shape: Shape, twisted: bool = False) -> SliceTopology:
    torus = slice_topology(shape, twisted)
    last = torus.coordinates[:, 0] == shape[0] - 1
    return without_links(torus, [(chip, 0) for chip in last.nonzero()[0].tolist()])


def thin_in_x_and_y(shape: Shape, twisted: bool = False, cubes_in_pod: int = 64) -> SliceTopology:
    """Return cubes that are joined by one link of 16 in x and in y, and by all in z."""
    return without_ocs(slice_topology(shape, twisted, cubes_in_pod), [*range(1, 16), *range(17, 32)])


links_between = cuts.links_between


def two_links_each(topology: SliceTopology, half: cuts.Sides) -> int:
    """Count two links instead of one between neighbouring chips."""
    return 2 * links_between(topology, half)


def rings_only(of: SliceTopology) -> TreePacking:
    """Return an all-reduce that uses only rings."""
    return TreePacking(ring_bandwidth(of), is_exact=True)


def one_cube_without_ocs(
    host: float, chips: int, fabric: str, *, ocs_availability: float | None = None, **others: Any
) -> Goodput:
    """Return goodput without OCSes for slices of one cube, which pass none."""
    counted = None if chips == CHIPS_PER_CUBE else ocs_availability
    return promised_goodput(host, chips, fabric, ocs_availability=counted, **others)


def short_splices(name: str) -> float:
    """Return splices and connectors without a tail: all lose nearly as much as the mean."""
    return {"ocs_splice_loss_max_db": 0.02, "ocs_collimator_loss_db": 0.52}.get(name) or assumed(name)


touching = cube_swaps._touching


def touching_the_next_cube(cube: int, joins: tuple[Join, ...]) -> tuple[Join, ...]:
    """Let a swap also take a circuit of the next cube, whatever its owner."""
    return (*touching(cube, joins), (0, (cube + 1) % 64, (cube + 1) % 64))


def cutting_another(state: OcsState, circuits: Circuits) -> None:
    """Let the OCS park one more mirror: the first one that makes a circuit."""
    disconnect(state, circuits)
    ocs, north = (int(places[0]) for places in state.made.nonzero())
    state.made[ocs, north] = False


draws = cost_and_power._draws


def priced(**prices: float) -> Change:
    """Return a change that fixes some prices, while all others are drawn."""
    return Change(
        (
            (cost_and_power, "_draws", lambda: [drawn | prices for drawn in draws()]),
            (cost_and_power, "_answers", cost_and_power._answers.__wrapped__),
        )
    )


def hedged_on_even_trunks(share: float) -> Change:
    """Return a change that spreads this share of every demand by capacity on a mesh, as a planner without a
    forecast does."""

    def split(carries: FloatArray, demand: IntArray, hedge: float = 0.0) -> Split:
        used = carries[carries > 0.0]
        return split_demand(carries, demand, share if used.max() < 1.1 * used.min() else hedge)

    return Change(
        ((study, "split_demand", split), (topology_engineering, "compared", study.compared.__wrapped__))
    )


PRICES_KNOWN = {
    "cost/spine-free": {"spine_ports_per_uplink": 2.5},
    "power/spine-free": {"spine_ports_per_uplink": 3.0},
    "power/lightwave": {"module_w_per_gbps": 0.02},
    "power/packets": {"packet_ports_per_end": 1.2, "packet_modules_per_end": 1.5},
    "power/fabric-share": {"module_w_per_gbps": 0.01},
}
OUTSIDE = {"power/packets", "power/fabric-share"}
"""Rows that hold only with prices below the ranges that the twin assumes."""


NO_TWIST = (
    (lattice, "cosets", cosets_of_no_twist),
    (cuts, "cosets", cosets_of_no_twist),
    (graph, "grid_joins", lambda shape, twisted: grid_joins(shape, twisted=False)),
)
HALF_TWIST = (
    (lattice, "cosets", cosets_of_half_twists),
    (cuts, "cosets", cosets_of_half_twists),
    (shapes, "_twists", half_twists),
)
DETECT_HALF_A_TWIST = {"twist/gain-4x8x8"}
"""The other claims on twists also hold for half of one: they show that there is a twist, not which."""
OPEN: dict[Shape, SliceTopology] = {(8, 8, 8): topology._open((8, 8, 8))}
EVEN_OCSES = (
    (palomar, "assumed", short_splices),
    (manufactured_parts, "manufactured_ocses", palomar.manufactured_ocses.__wrapped__),
)
DRILL = live_pod.HOST_DRILLS[:1]
CHANGES = {
    "twist/gain-4x4x8": Change(NO_TWIST),
    "twist/gain-4x8x8": Change(NO_TWIST),
    "twist/diameter": Change(NO_TWIST),
    "twist/bisection": Change(NO_TWIST),
    "topology/wrap-bisection": Change(
        ((topology, "slice_topology", without_wrap_in_x), (topology, "_open", OPEN.get))
    ),
    "topology/bisection-growth": Change(((SLICE_FIGURES, "slice_topology", thin_in_x_and_y),)),
    "topology/bisection-over-v3-least": Change(((cuts, "links_between", two_links_each),)),
    "topology/bisection-over-v3-most": Change(((cuts, "links_between", two_links_each),)),
    "topology/most-symmetric": Change(((topology, "slice_topology", thin_in_x_and_y),)),
    "topology/cube-over-cigar": Change(((topology, "slice_topology", thin_in_x_and_y),)),
    "ocs/insertion-loss-all-pairs": Change(EVEN_OCSES),
    "goodput/lf-1024-99.9-static": Change(((GOODPUT, "HOSTS_PER_CUBE", 12),)),
    "goodput/one-cube": Change(((availability, "promised_goodput", one_cube_without_ocs),)),
    "dcn/flow-time": hedged_on_even_trunks(0.1),
    "dcn/throughput": hedged_on_even_trunks(0.37),
    **{name: priced(**prices) for name, prices in PRICES_KNOWN.items()},
    "slices/undisturbed": Change(
        ((cube_swaps, "_touching", touching_the_next_cube),), ((live_pod, "WORKLOAD_RUNS", DRILL),)
    ),
    "slices/swap": Change(
        ((SwitchedPlacement, "can_move", FixedGridPlacement.can_move),), ((live_pod, "HOST_DRILLS", DRILL),)
    ),
    "slices/bystanders": Change(
        ((recovery, "_preempt_for", lambda *_: []),), ((live_pod, "HOST_DRILLS", DRILL),)
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_prediction_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can hold, where it fails today."""
    (claim,) = select_claims((name,))
    for patch in CHANGES[name].runs:
        monkeypatch.setattr(*patch)
    assert claim.row().holds is (name not in KNOWN_NOT_TO_HOLD)
    monkeypatch.setattr(lab_runs, "_finished_runs", {})
    for patch in CHANGES[name].model:
        monkeypatch.setattr(*patch)
    assert claim.row().holds is (name in KNOWN_NOT_TO_HOLD)


def test_one_claim_distinguishes_the_papers_twist_from_half_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for patch in HALF_TWIST:
        monkeypatch.setattr(*patch)
    assert {one.name for one in select_claims(("twist",)) if not one.row().holds} == DETECT_HALF_A_TWIST


def test_an_all_reduce_by_rings_gains_more_than_the_ideal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of the claim states it."""
    (claim,) = select_claims(("topology/wrap-all-reduce-ideal",))
    assert not claim.row().holds
    monkeypatch.setattr(topology, "tree_packing", rings_only)
    assert claim.row().holds


def test_two_rows_turn_only_outside_of_the_ranges_of_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    names_found = {
        name
        for name, prices in PRICES_KNOWN.items()
        if any(not PRICES[price].low <= known <= PRICES[price].high for price, known in prices.items())
    }
    assert names_found == OUTSIDE <= KNOWN_NOT_TO_HOLD
    for name in OUTSIDE:
        ends = {price: PRICES[price].low for price in PRICES_KNOWN[name]}
        (claim,) = select_claims((name,))
        with monkeypatch.context() as patch:
            for replacement in priced(**ends).model:
                patch.setattr(*replacement)
            assert not claim.row().holds


def test_an_ocs_that_cuts_a_circuit_of_another_slice_disturbs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the scheduler is correct."""
    for runs in ("WORKLOAD_RUNS", "HOST_DRILLS"):
        monkeypatch.setattr(live_pod, runs, DRILL)
    (bystanders,) = select_claims(("slices/bystanders",))
    harmed = bystanders.row().measured
    monkeypatch.setattr(lab_runs, "_finished_runs", {})
    monkeypatch.setattr(superpod_commands, "disconnect", cutting_another)
    (undisturbed,) = select_claims(("slices/undisturbed",))
    undisturbed_row = undisturbed.row()
    assert undisturbed_row.measured > 0
    assert not undisturbed_row.holds
    assert undisturbed_row.note.startswith("0 joins of others in ")
    assert bystanders.row().measured > harmed


def test_every_prediction_has_such_a_change() -> None:
    assert {one.name for one in CLAIMS if one.evidence.kind is EvidenceKind.PREDICTED} == set(CHANGES)


def test_a_join_of_another_slice_that_is_taken_or_cut_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = ConnectCircuits(slice="slice-1", joins=((0, 1, 2),))
    taken = ConnectCircuits(slice="slice-2", joins=((0, 1, 3), (1, 1, 2)))
    cut = DisconnectCircuits(slice="slice-2", joins=((0, 4, 2),))
    again = DisconnectCircuits(slice="slice-1", joins=((0, 5, 5),))
    messages = tuple(
        enclose(body, fabric="pod-0", at_us=n, cause=None, source="scheduler@pod-0", seq=n)
        for n, body in enumerate((mine, taken, cut, again))
    )
    monkeypatch.setattr(
        live_pod,
        "lab_runs",
        lambda _: [lab_runs.ClaimRun(1.0, None, AvailabilitySpans((), (), {}), messages)],
    )
    (undisturbed,) = select_claims(("slices/undisturbed",))
    undisturbed_row = undisturbed.row()
    assert (undisturbed_row.measured, undisturbed_row.holds) == (2 * 32, False)
