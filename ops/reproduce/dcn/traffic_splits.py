"""Claims that depend on how traffic is split: a hedge that caps every path, on a mesh and on engineered
links, and needless transit. Network, demand and links are those of `ops.reproduce.dcn.study`."""

from functools import lru_cache
from statistics import median

from ops.reproduce.claim import (
    JUPITER_SOURCE,
    Measured,
    PaperClaim,
    Stated,
    derived,
    on_machines,
    over_matrices,
)
from ops.reproduce.dcn.study import (
    VERDICT,
    Gain,
    StudyOutcome,
    hours_and_links,
    medians,
    more_throughput,
    outcome_of,
    time_saved,
)
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.routing.path_loads import mean_path, trunk_capacity, trunk_loads
from shared.models.dcn.routing.path_program import SolverMethod, capped_split, least_transit
from shared.models.dcn.routing.weights import TRANSIT_PRIOR, split_demand
from shared.models.superpod.wiring import IntArray

SPREAD = 1 / 9
"""S of the cap D·C_p ÷ (S·ΣC) on every path: assumed. With this S, a bit passes 1.4 trunks on a mesh, the
second-hand figure for Jupiter."""
SPREADS = (1 / 50, 1 / 6)
"""Other values of S: almost no hedge, and one with which a bit passes 1.6 trunks."""
PROVED = 1.0
"""Proved accuracy of the largest use, in percent."""


@lru_cache(maxsize=8)
def capped(spread: float, method: SolverMethod = "highs-ds") -> tuple[tuple[StudyOutcome, StudyOutcome], ...]:
    """Return the outcomes (on the mesh, on engineered links) for each matrix, both with capped paths."""
    plant = VERDICT.plant
    mesh = uniform_mesh(plant)

    def outcome(links: IntArray, demand: IntArray) -> StudyOutcome:
        carries = trunk_capacity(plant, links)
        return outcome_of(capped_split(carries, demand, spread, method).share, demand, carries)

    return tuple((outcome(mesh, hour), outcome(links, hour)) for hour, links in hours_and_links(VERDICT))


def _capped_gain(of: Gain) -> Measured:
    """Return the median gain in percent. The note has the results of another solver and of other caps."""

    def gain(pairs: tuple[tuple[StudyOutcome, StudyOutcome], ...]) -> float:
        return over_matrices([of(*pair) for pair in pairs]).value

    pairs = capped(SPREAD)
    others = "".join(
        f"; with S = {spread:.2g} {gain(capped(spread)):.1f} %, {medians(capped(spread))}"
        for spread in SPREADS
    )
    return over_matrices(
        [of(*pair) for pair in pairs],
        f"{medians(pairs)}; interior points find another optimal split, with "
        f"{gain(capped(SPREAD, 'highs-ipm')):.1f} %{others}",
    )


def _needless_transit() -> Measured:
    """Return the percentage of the demand that takes a transit block on engineered links, above the minimum
    at the same largest use."""
    plant = VERDICT.plant
    mesh = uniform_mesh(plant)
    paths = []
    for hour, links in hours_and_links(VERDICT):
        row = []
        for carries in (trunk_capacity(plant, links), trunk_capacity(plant, mesh)):
            split = split_demand(carries, hour)
            for share in (split.shares(carries), least_transit(carries, hour, split.use)):
                row.append(mean_path(trunk_loads(share, hour), hour))
        paths.append(row)
    ours, least, mesh_ours, mesh_least = (median(column) for column in zip(*paths, strict=True))
    return over_matrices(
        [100.0 * (row[0] - row[1]) for row in paths],
        f"{ours:.3f} trunks per bit against {least:.3f} by linear program, on the mesh {mesh_ours:.3f} "
        f"against {mesh_least:.3f} (medians)",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    *(
        PaperClaim(
            f"dcn/{name}-capped",
            f"Topology and traffic engineering {said} against a uniform mesh, both with a hedge that caps "
            "every path",
            "[LF] 4.2 (derived)",
            on_machines(percent, "%"),
            derived(
                "a path of capacity C_p takes at most D·C_p ÷ (S·ΣC) of a demand D, S = 1/9 by our choice; "
                "then minimum largest use, then minimum transit, by linear program; a sensitivity of "
                f"dcn/{name}, and no verdict"
            ),
            "model",
            measure,
            "the hedge is that of Jupiter Evolving, second-hand",
        )
        for name, said, percent, measure in (
            ("flow-time", "shortens flow completion by 10 %", 10, lambda: _capped_gain(time_saved)),
            ("throughput", "raises TCP throughput by 30 %", 30, lambda: _capped_gain(more_throughput)),
        )
    ),
    PaperClaim(
        "dcn/needless-transit",
        "Weights take no more transit than the same largest use requires",
        f"{JUPITER_SOURCE} (derived)",
        Stated(0, "% of the demand", PROVED),
        derived(
            "no paper states this; by linear program, for the links from which dcn/mean-path and the transit "
            "of live networks are measured"
        ),
        "model",
        _needless_transit,
        f"where trunks have no price, all transit paths together weigh {TRANSIT_PRIOR:g} of the direct one: "
        f"{100.0 * TRANSIT_PRIOR / (1.0 + TRANSIT_PRIOR):.1f} % take one, even in an idle network",
    ),
)
