"""Claims about the datacenter network: engineered links against a uniform mesh, paths, losses and growth.
Their setup is frozen in `ops.reproduce.dcn.study`."""

from dataclasses import replace
from functools import lru_cache
from statistics import median

from ops.reproduce.claim import (
    JUPITER_SOURCE,
    Evidence,
    Measured,
    PaperClaim,
    Stated,
    derived,
    on_machines,
    over_matrices,
    predicted,
    second_hand,
)
from ops.reproduce.dcn.study import (
    UNEVEN,
    VARIANTS,
    VERDICT,
    Gain,
    Study,
    compared,
    hour_and_before,
    medians,
    more_throughput,
    time_saved,
)
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.failure import names_of, remaining_after, survivors
from shared.models.dcn.growth import GrowthStep, growth_steps
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.routing.path_loads import capacity_shares, mean_path, trunk_capacity, trunk_loads
from shared.models.dcn.routing.weights import split_demand
from shared.models.network.blocks import RACK_STEPS, Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray

LF = "[LF] 4.2"
FROZEN = (
    "nothing fitted; assumed: demand, the defaults of the demand model, set with network and measures before "
    "the rows were run (docs/results/papers.md)"
)
VARIED = {
    "mixed": f"of blocks of {', '.join(map(str, VARIANTS['mixed'].generations))} Gb/s in turn, by our choice",
    "uneven": f"of demand {UNEVEN:g} × as uneven as by default, by our choice",
    "blind": "against a mesh whose traffic ignores demand too, spread by capacity: our reading",
}
HALVINGS = 6
"""Bisection steps for the hedge: to two per cent of all demand."""
CLOSE, STEPS_MAX = 5e-4, 4_000
"""Required accuracy of weights for claims where 1/32 matters, and the maximum number of steps."""
RACKS = 32
GROWN_BLOCKS = (8, 12)
"""Blocks of the network that grows: 8 on an eighth of the racks, then 4 more."""


TIME_NOTE = (
    "flows share trunks; the round trip that a transit adds to a short flow does not count; no figure if a "
    "trunk is full on both, 100 % if one is full on the mesh alone"
)
THROUGHPUT_NOTE = "of flows that take all available capacity, in proportion to the demand"


def _gain(study: Study, of: Gain, percent: float) -> Measured:
    """Return the median gain in percent. The note of the verdict states the mesh that would give the paper's
    figure."""
    pairs = compared(study)
    fitted = _fitted(of, percent) if study == VERDICT else ""
    return over_matrices([of(*pair) for pair in pairs], medians(pairs) + fitted)


def _fitted(of: Gain, percent: float) -> str:
    """Describe the mesh's hedge that would give the paper's figure, and the gain if engineered links hedge as
    much."""
    fit = _fitting_hedge(of, percent)
    if fit is None:
        return ""
    both = over_matrices([of(*pair) for pair in compared(_hedged(fit, fit))]).value
    return (
        f"; fitted: a mesh that spreads {100.0 * fit:.0f} % of every demand by capacity would give the "
        f"paper's figure, against engineered links that spread none; if both spread as much {both:.1f} %"
    )


@lru_cache(maxsize=4)
def _fitting_hedge(of: Gain, percent: float) -> float | None:
    """Return the hedge of the mesh that would give the paper's figure; None if none does. The gain rises with
    the hedge."""
    low, high = 0.0, 1.0
    if not _median_gain(low, of) < percent < _median_gain(high, of):
        return None
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _median_gain(middle, of) < percent else (low, middle)
    return high


def _median_gain(hedge: float, of: Gain) -> float:
    return over_matrices([of(*pair) for pair in compared(_hedged(hedge, 0.0))]).value


def _hedged(mesh: float, engineered: float) -> Study:
    return replace(VERDICT, mesh_hedge=mesh, engineered_hedge=engineered)


def _against_mesh() -> list[PaperClaim]:
    found = []
    for name, said, percent, of in (
        ("flow-time", "shortens flow completion by 10 %", 10, time_saved),
        ("throughput", "raises TCP throughput by 30 %", 30, more_throughput),
    ):
        claim = f"Topology and traffic engineering {said} against a uniform mesh"
        found.append(_gain_claim(f"dcn/{name}", claim, LF, percent, predicted(FROZEN), VERDICT, of))
        for variant, reason in VARIED.items():
            found.append(
                _gain_claim(
                    f"dcn/{name}-{variant}",
                    f"{claim}, {reason.partition(',')[0].partition(':')[0]}",
                    f"{LF} (derived)",
                    percent,
                    derived(f"{reason}; a sensitivity of dcn/{name}, and no verdict"),
                    VARIANTS[variant],
                    of,
                )
            )
    return found


def _gain_claim(
    name: str,
    claim: str,
    source: str,
    percent: float,
    evidence: Evidence,
    study: Study,
    of: Gain,
) -> PaperClaim:
    return PaperClaim(
        name,
        claim,
        source,
        on_machines(percent, "%"),
        evidence,
        "model",
        lambda: _gain(study, of, percent),
        THROUGHPUT_NOTE if of is more_throughput else TIME_NOTE,
    )


def _mean_path() -> Measured:
    """Return the trunks per bit on engineered links. The note has the mesh's, and the hedge that would give
    the paper's."""
    pairs = compared(VERDICT)
    hedged = _hedge_for(1.4)
    mesh = median(mesh.path for mesh, _ in pairs)
    return over_matrices(
        [engineered.path for _, engineered in pairs],
        f"on the mesh {mesh:.2f}, some transit on both needless (dcn/needless-transit); with "
        f"{100 * hedged:.0f} % of every demand spread by capacity it would be 1.4; we do not know how much "
        "Jupiter spreads",
    )


def _hedge_for(path: float) -> float:
    """Return the share of every demand to spread by capacity for a given mean path, on the first matrix."""
    plant = VERDICT.plant
    hour, before = hour_and_before(VERDICT, plant, 0)
    carries = trunk_capacity(plant, engineer(plant, before).links)
    plain = mean_path(trunk_loads(split_demand(carries, hour).shares(carries), hour), hour)
    spread = mean_path(trunk_loads(capacity_shares(carries), hour), hour)
    return (path - plain) / (spread - plain)


@lru_cache(maxsize=1)
def _planned() -> tuple[NetworkLayout, IntArray, IntArray]:
    """Return (plant, the hour's demand, circuits) of the first matrix."""
    plant = VERDICT.plant
    hour, before = hour_and_before(VERDICT, plant, 0)
    return plant, hour, matched_circuits(plant, engineer(plant, before).links)


def _use_without_rack() -> Measured:
    """Return the largest use without the worst rack, with weights solved again, over the use with all
    racks."""
    plant, hour, circuits = _planned()

    def use(left: IntArray) -> float:
        carries = trunk_capacity(plant, links_of(left))
        return split_demand(carries, hour, gap=CLOSE, steps_max=STEPS_MAX).use

    racks = names_of(plant, "rack")
    uses = [use(survivors(circuits, remaining_after(plant, [rack]))) / use(circuits) for rack in racks]
    return Measured(max(uses), note=f"median of racks {median(uses):.5f}")


def _growing(blocks: int) -> list[Block]:
    return [Block(f"ab-{n}", 400, 256) for n in range(blocks)]


@lru_cache(maxsize=1)
def _growth() -> tuple[IntArray, list[GrowthStep]]:
    """Return (initial links, steps): racks from an eighth to all, then blocks one at a time."""
    few, many = GROWN_BLOCKS
    now, later = (
        layout_of(_growing(few), racks=RACKS // RACK_STEPS[0]),
        layout_of(_growing(many), racks=RACKS),
    )

    def demand(plant: NetworkLayout) -> IntArray:
        return hour_and_before(VERDICT, plant, 0)[0]

    first = plan(now, demand(now)).circuits
    return links_of(first), list(growth_steps(now, later, first, demand))


def _trunks_changed() -> Measured:
    first, steps = _growth()
    racks = [step for step in steps if step.change == "new rack"]
    changed = sum(int((links_of(step.circuits) != first).any()) for step in racks)
    by_hand = [step.by_hand for step in racks]
    kept = min(step.kept for step in racks)
    return Measured(
        changed,
        note=f"{len(racks)} racks; for each, {min(by_hand)} to {max(by_hand)} strands move by hand; "
        f"meanwhile every block keeps {100.0 * kept:.1f} % of its capacity or more",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    *_against_mesh(),
    PaperClaim(
        "dcn/mean-path",
        "60 % of traffic is direct and the rest takes one transit block: 1.4 blocks on average",
        f"{JUPITER_SOURCE} (second-hand)",
        on_machines(1.4, "trunks"),
        second_hand("computed: weights for the minimum largest use, which spread little beyond that"),
        "model",
        _mean_path,
    ),
    PaperClaim(
        "dcn/rack-lost-use",
        "Without any one rack, the fullest trunk's use rises by a 31st, with weights solved again",
        f"{JUPITER_SOURCE} (derived)",
        Stated(RACKS / (RACKS - 1), "×", 2.0 * CLOSE),
        derived("it is our conclusion that an even loss has an even effect: no paper states it for trunks"),
        "model",
        _use_without_rack,
        "the worst rack, within the proved accuracy of both weights; a trunk of about 34 links has one or "
        "two on a rack, so it loses more or less than a 32nd, and others take over its traffic",
    ),
    PaperClaim(
        "dcn/growth-racks",
        "Racks are added, from an eighth to all, without changing any trunk",
        "[LF] 2.1 (derived)",
        Stated(0, "racks that change a trunk"),
        derived("the paper states that a fabric grows as needed, but not what growth disturbs"),
        "model",
        _trunks_changed,
    ),
)
