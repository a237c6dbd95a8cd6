"""The topology that serves the greatest common share of every demand over direct links alone, exactly.

With w = demand ÷ rate of a pair (the greater of its two directions, because a bidirectional link serves
both), T links serve the share T/w. A share θ needs ⌈θ·w⌉ links for every pair and is feasible if and only if
the links of every block fit its uplinks. So each block has its own greatest θ, found by bisection, and the
smallest of them is the optimum. The certificate: any larger share needs at least ⌊θ·w⌋ + 1 links for every
pair, and one block does not have that many. All numbers are integers; the share is a fraction.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

HALVINGS = 60
"""Bisection steps, at most: a double cannot resolve more."""
ROUNDING = 1e-12
"""Relative bound on the rounding error of a share."""


@dataclass(frozen=True, eq=False, slots=True)
class OneHop:
    """The optimum.

    `needed` (B, B) are the fewest links that serve `served` of every demand, symmetric. `full` is the number
    of a block that cannot serve more, which is the certificate (see `proves`).
    """

    served: Fraction
    needed: IntArray
    full: int


def one_hop(plant: NetworkLayout, demand: IntArray) -> OneHop:
    """The optimum for a demand (B, B) in Mb/s.

    InvalidInput if all demands are 0, or if a block has fewer uplinks than blocks that it must reach.
    """
    wanted = np.maximum(demand, demand.T)
    if not wanted.any():
        raise InvalidInput("demand: all demands are 0; must have at least one demand")
    carried = plant.rates * MBPS_PER_GBPS
    share = wanted / np.where(carried > 0, carried, 1)
    _check_reach(plant, wanted)
    # At `low` no pair needs more than one link; beyond `high` the fractions alone exceed some block's
    # uplinks.
    low = 1.0 / float(share.max())
    busy = share.any(axis=1)
    high = float((plant.uplinks[busy] / share[busy].sum(axis=1)).min()) * (1.0 + ROUNDING)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (np.ceil(middle * share).sum(axis=1) <= plant.uplinks).all():
            low = middle
        else:
            high = middle
    return _exact(plant, wanted, low)


def _exact(plant: NetworkLayout, wanted: IntArray, nearly: float) -> OneHop:
    """The exact optimum from a share within rounding of it, pair by pair in integers."""
    carried = plant.rates * MBPS_PER_GBPS
    pairs = wanted > 0
    links = np.where(pairs, np.ceil(nearly * (1.0 - ROUNDING) * (wanted / np.where(pairs, carried, 1))), 0)
    needed = links.astype(np.int64)
    while True:
        served = least_served(plant, wanted, needed)
        more = links_beyond(plant, wanted, served)
        over = more.sum(axis=1) > plant.uplinks
        if over.any():
            return OneHop(served, needed_for(plant, wanted, served), int(np.argmax(over)))
        needed = more


def least_served(plant: NetworkLayout, wanted: IntArray, links: IntArray) -> Fraction:
    """The smallest share of any demand that these links serve directly."""
    rows, columns = np.nonzero(wanted)
    ratio = links[rows, columns] * plant.rates[rows, columns] / wanted[rows, columns]
    # Ties in floats are resolved exactly; there are few.
    near = np.flatnonzero(ratio <= ratio.min() * (1.0 + ROUNDING))
    return min(
        Fraction(int(links[a, b] * plant.rates[a, b]) * MBPS_PER_GBPS, int(wanted[a, b]))
        for a, b in zip(rows[near].tolist(), columns[near].tolist(), strict=True)
    )


def needed_for(plant: NetworkLayout, wanted: IntArray, served: Fraction) -> IntArray:
    """(B, B) ⌈served · wanted ÷ rate⌉: the fewest links that serve this share of every demand."""
    return _quotients(plant, wanted, served, round_up=True)


def links_beyond(plant: NetworkLayout, wanted: IntArray, served: Fraction) -> IntArray:
    """(B, B) ⌊served · wanted ÷ rate⌋ + 1: the fewest links that serve more than this share."""
    return np.where(wanted > 0, _quotients(plant, wanted, served, round_up=False) + 1, 0)


def _quotients(plant: NetworkLayout, wanted: IntArray, served: Fraction, *, round_up: bool) -> IntArray:
    """Integers of any size, because 64 bits may not suffice; the quotient fits again."""
    carried = np.where(wanted > 0, plant.rates, 1) * MBPS_PER_GBPS
    above, below = served.numerator, served.denominator
    if above * int(wanted.max()) < 2**62 and below * int(carried.max()) < 2**62:
        sign = -1 if round_up else 1
        quotients: IntArray = (sign * above * wanted) // (below * carried)
        return sign * quotients
    exact = wanted.astype(object) * above
    parts = carried.astype(object) * below
    return np.asarray(-(-exact // parts) if round_up else exact // parts, dtype=np.int64)


def proves(plant: NetworkLayout, demand: IntArray, found: OneHop) -> bool:
    """Whether the certificate is valid.

    The links must fit and serve the share, and any larger share must need more links at the full block than
    it has.
    """
    wanted = np.maximum(demand, demand.T)
    fits = bool((found.needed.sum(axis=1) <= plant.uplinks).all())
    serves = least_served(plant, wanted, found.needed) == found.served
    beyond = int(links_beyond(plant, wanted, found.served)[found.full].sum())
    return fits and serves and beyond > int(plant.uplinks[found.full])


def _check_reach(plant: NetworkLayout, wanted: IntArray) -> None:
    reach = (wanted > 0).sum(axis=1)
    if (reach > plant.uplinks).any():
        block = int(np.argmax(reach > plant.uplinks))
        raise InvalidInput(
            f"block {plant.blocks[block].name}: has demand with {reach[block]} others, but only "
            f"{plant.uplinks[block]} uplinks; must have at least one uplink for each"
        )
