"""The topology for one or several demands over direct and one-transit paths, with a bound on the distance to
the optimum.

As in `shared.models.dcn.routing.weights`, but the scarce resource is the uplinks of the blocks instead of
given trunks. A bidirectional link serves the greater of both directions, and of all demands, each of which is
routed on its own: flows f^m_ij of demands m take max(f^m_ij, f^m_ji) ÷ rate uplinks at both blocks. A block's
uplinks have a price q ≥ 0. The directions and demands of a trunk share the price of its links: Σ_m σ^m_ij +
σ^m_ji = 1. The lengths are l^m_ij = σ^m_ij·(q_i + q_j) ÷ rate. With smoothly priced paths, the dual is one
smooth function of q and σ, which a quasi-Newton method maximises.

By linear programming duality no topology, whole or fractional, has a smaller largest use than Σ_m Σ
D^m·distance(l^m) ÷ Σ q·uplinks, for any prices: this is the certificate. Transit pays off if a fast block
would waste its ports on slow ones, and if the two directions of a demand differ.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.engineering.baselines import whole_links, with_paths
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.weights import EXPONENT_MAX, Split, split_demand, use_of
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

FIRST_AIM = 1.003
"""The first target use, relative to the lower bound of the blocks: below the optimum prices only grow, which
improves the bound."""
MIDDLES = (0.5, 0.3)
"""Later targets, as positions between the bound and the best use so far: near the optimum links come close to
the target."""
NEAR_AIM = 1.02
"""The search stops at a use within this factor of the bound."""
STEPS_MIN, STEPS_MAX, STEPS_BLOCKS = 80, 160, 5_120
"""Steps per target: STEPS_BLOCKS over the number of blocks, within STEPS_MIN and STEPS_MAX."""
TRANSIT_PRIOR = 0.3
"""The weight of all transit paths together relative to the direct one, before prices."""
PRICE_MAX = 60.0
SKEW_MAX = 6.0
"""Bound on the logarithm of a share of a link's price; at twice this difference one direction bears all of
it."""
SKEW_FIRST = 1.5
WORST_AT_MOST = 1.01
"""Of several demands, the others are added whose use exceeds this multiple of the largest use of those
included."""
COUNTED_MAX = 8
"""Demands included, at most: each costs time in every step."""


@dataclass(frozen=True, eq=False, slots=True)
class EngineeredTopology:
    """`links` (B, B), whole and symmetric, and the split of demand over them.

    `bound` is a largest use that no topology can improve on; `split.use` above it is the gap.
    """

    links: IntArray
    split: Split
    bound: float


@dataclass(frozen=True, eq=False, slots=True)
class EngineeredForAll:
    """`links` (B, B) for several demands, the largest `use` of any of them with its own weights, and a
    `bound`.

    No topology for all of them can improve on `bound`. `counted` are the demands that the links were made
    for; the links serve the others as well.
    """

    links: IntArray
    use: float
    bound: float
    counted: tuple[int, ...]


def engineer(plant: NetworkLayout, demand: IntArray) -> EngineeredTopology:
    """Links for a demand (B, B) in Mb/s; all uplinks are used if possible.

    Blocks that lost all uplinks in a failure must have no demand. InvalidInput if all demands are 0.
    """
    links, splits, bound = _engineered(plant, [demand])
    return EngineeredTopology(links, splits[0], min(bound, splits[0].use))


def engineer_for_all(plant: NetworkLayout, demands: list[IntArray]) -> EngineeredForAll:
    """Links for several demands, such as those of the last week, each of which gets its own weights.

    The links are made for the largest demand; then for it and the one with the worst use, and so on. This
    ends when no other demand is worse than those included, or after COUNTED_MAX. A bound for some demands is
    a bound for all.
    """
    if not demands:
        raise InvalidInput("demands: none given; must be at least one")
    counted = [max(range(len(demands)), key=lambda n: (int(demands[n].sum()), -n))]
    best: EngineeredForAll | None = None
    bound = max(_Search(plant, [demand]).bound for demand in demands)
    while True:
        links, _, lower = _engineered(plant, [demands[n] for n in counted])
        uses = [use_of(trunk_capacity(plant, links), demand) for demand in demands]
        bound, worst = max(bound, lower), max(range(len(demands)), key=lambda n: (uses[n], -n))
        if best is None or uses[worst] < best.use:
            best = EngineeredForAll(links, uses[worst], bound, tuple(sorted(counted)))
        fullest = max(uses[n] for n in counted)
        if worst in counted or uses[worst] <= WORST_AT_MOST * fullest or len(counted) == COUNTED_MAX:
            return EngineeredForAll(best.links, best.use, min(bound, best.use), best.counted)
        counted.append(worst)


def _engineered(plant: NetworkLayout, demands: list[IntArray]) -> tuple[IntArray, list[Split], float]:
    """(links, the split of each demand, the bound)."""
    if not all(demand.any() for demand in demands):
        raise InvalidInput("demand: all demands are 0; must have at least one demand")
    search = _Search(plant, demands)
    found: list[tuple[float, IntArray, list[Split]]] = []
    aim = FIRST_AIM * search.bound
    for middle in (*MIDDLES, None):
        search.run(aim)
        links = with_paths(plant, whole_links(plant, search.taken / search.use), peak_of(demands))
        splits = [split_demand(trunk_capacity(plant, links), demand) for demand in demands]
        found.append((max(split.use for split in splits), links, splits))
        least = min(use for use, _, _ in found)
        if least <= NEAR_AIM * search.bound or middle is None:
            break
        aim = search.bound * (least / search.bound) ** middle
    _, links, splits = min(found, key=lambda one: one[0])
    return links, splits, search.bound


def peak_of(demands: list[IntArray]) -> IntArray:
    """(B, B) the most that each pair requested in any of the matrices; weights and links for it serve all of
    them."""
    peak: IntArray = np.stack(demands).max(axis=0)
    return peak


class _Search:
    """The dual function of M demands, and the best fractional links found."""

    def __init__(self, plant: NetworkLayout, demands: list[IntArray]) -> None:
        blocks = len(plant.blocks)
        wired = plant.uplinks > 0
        self.there = plant.may_join & wired[:, None] & wired[None, :]
        # A block without uplinks is joined to none and uses none.
        self.uplinks = np.maximum(plant.uplinks, 1).astype(np.float64)
        self.per_load = np.where(
            self.there, 1.0 / (np.where(self.there, plant.rates, 1) * MBPS_PER_GBPS), 0.0
        )
        """(B, B) uplinks for a load of 1 Mb/s."""
        self.unit = float(self.per_load[self.there].min())
        self.demand = np.stack(demands).astype(np.float64)
        self.prior = TRANSIT_PRIOR / max(blocks - 2, 1)
        self.steps = min(STEPS_MAX, max(STEPS_MIN, STEPS_BLOCKS // blocks))
        fastest = np.where(self.there, self.per_load, np.inf).min(axis=1)
        self.fastest = np.where(self.there.any(axis=1), fastest, 0.0)
        # A slow block's uplinks are worth less: prices per capacity are of the same order.
        self.scale = np.where(self.fastest > 0.0, self.unit / np.maximum(self.fastest, self.unit), 1.0)
        self.taken: FloatArray = np.zeros((blocks, blocks))
        self.use, self.bound = np.inf, self._bound_of_blocks()
        self.aim = self.bound

    def run(self, aim: float) -> None:
        """One search for links whose largest use is `aim`."""
        self.use, self.aim = np.inf, aim
        blocks = len(self.uplinks)
        wanted = np.maximum(self.demand, 1.0)
        mean = wanted.mean(axis=0)
        skew = np.log(wanted) - 0.5 * np.log(mean * mean.T)
        skew = np.minimum(np.maximum(skew, -SKEW_FIRST), SKEW_FIRST)
        found = minimize(
            self._falling,
            np.concatenate([np.ones(blocks), skew.reshape(-1)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, PRICE_MAX)] * blocks + [(-SKEW_MAX, SKEW_MAX)] * skew.size,
            options={"maxiter": self.steps, "maxfun": self.steps},
        )
        self.bound = max(self.bound, self._bound_by(np.asarray(found.x, dtype=np.float64)))

    def _falling(self, point: FloatArray) -> tuple[float, FloatArray]:
        """(minus the dual function, its gradient) at prices and skews, as fractions of all demand."""
        prices, share = self._unfolded(point)
        price = (prices[:, None] + prices[None, :]) * self.per_load / self.unit
        weight = np.exp(-np.minimum(share * price, EXPONENT_MAX)) * self.there
        turned = weight.transpose(0, 2, 1)
        into = weight + self.prior * (weight @ weight)
        wanted = self.demand / np.where(into > 0.0, into, 1.0)
        load = weight * (wanted + self.prior * (wanted @ turned + turned @ wanted))
        self._note(load)
        total = float(self.demand.sum())
        given = self.aim * self.uplinks / self.unit
        value = float(given @ prices) + float((self.demand * np.log(np.where(into > 0.0, into, 1.0))).sum())
        borne = (share * load).sum(axis=0)
        borne += borne.T
        needed = (borne * self.per_load / self.unit).sum(axis=1)
        by_skew = -price * share * (load - borne)
        gradient = np.concatenate([(given - needed) * self.scale, by_skew.reshape(-1)])
        return value / total, gradient / total

    def _unfolded(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """((B,) prices, (M, B, B) the share of a link's price for each demand and direction)."""
        blocks = len(self.uplinks)
        bears = np.exp(point[blocks:]).reshape(self.demand.shape)
        both = bears.sum(axis=0)
        return point[:blocks] * self.scale, bears / (both + both.T)

    def _note(self, load: FloatArray) -> None:
        most = load.max(axis=0)
        taken = np.maximum(most, most.T) * self.per_load
        use = float((taken.sum(axis=1) / self.uplinks).max())
        if use < self.use:
            self.use, self.taken = use, taken

    def _bound_of_blocks(self) -> float:
        """A block's traffic in either direction must pass its uplinks, at best at its fastest rate."""
        need = np.maximum(self.demand.sum(axis=1), self.demand.sum(axis=2)).max(axis=0)
        return float((need * self.fastest / self.uplinks).max())

    def _bound_by(self, point: FloatArray) -> float:
        prices, share = self._unfolded(point)
        spanned = float(self.uplinks @ prices)
        if spanned <= 0.0:
            return 0.0
        needed = 0.0
        for part, demand in zip(share, self.demand, strict=True):
            length = np.where(self.there, part * (prices[:, None] + prices[None, :]) * self.per_load, np.inf)
            distance = np.minimum(length, (length[:, :, None] + length[None, :, :]).min(axis=1))
            wanted = demand > 0.0
            needed += float(demand[wanted] @ distance[wanted])
        return needed / spanned
