"""The topology that serves the greatest common share of every demand over direct links alone, exactly.

With w = demand ÷ rate of a pair (the greater of its two directions: a bidirectional link serves both), T
links serve the share T/w. For a share θ every pair needs ⌈θ·w⌉ links, and θ can be had if and only if the
links of every block fit its uplinks. So each block has a greatest θ of its own, found by bisection, and the
smallest of them is the optimum. The certificate: any larger share needs at least ⌊θ·w⌋ + 1 links of every
pair, and at one block these are more than it has. All is in whole numbers: the share is a fraction.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

HALVINGS = 60
"""At most: a double tells no more apart."""
ROUNDING = 1e-12
"""Relative: more than the operations on a share can be off by."""


@dataclass(frozen=True, eq=False, slots=True)
class OneHop:
    """The optimum. `needed` (B, B) are the fewest links that serve `served` of every demand, symmetric;
    `full` is the number of a block that cannot do more, which is the certificate (see `proves`)."""

    served: Fraction
    needed: IntArray
    full: int


def one_hop(plant: NetworkLayout, demand: IntArray) -> OneHop:
    """The optimum for a demand (B, B) in Mb/s. InvalidInput where nothing is demanded, or a block has fewer
    uplinks than blocks that it must reach."""
    wanted = np.maximum(demand, demand.T)
    if not wanted.any():
        raise InvalidInput("demand: all demands are 0; must have at least one demand")
    carried = plant.rates * MBPS_PER_GBPS
    share = wanted / np.where(carried > 0, carried, 1)
    _check_reach(plant, wanted)
    # At `low` no pair needs more than one link; beyond `high` some block's fractions alone are too many.
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
    """From a share within rounding of the optimum to the optimum itself, pair by pair in whole numbers."""
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
    # Ties in floats are told apart exactly; there are few.
    near = np.flatnonzero(ratio <= ratio.min() * (1.0 + ROUNDING))
    return min(
        Fraction(int(links[a, b] * plant.rates[a, b]) * MBPS_PER_GBPS, int(wanted[a, b]))
        for a, b in zip(rows[near].tolist(), columns[near].tolist(), strict=True)
    )


def needed_for(plant: NetworkLayout, wanted: IntArray, served: Fraction) -> IntArray:
    """(B, B) ⌈served · wanted ÷ rate⌉: the fewest links that serve so much of every demand."""
    return _quotients(plant, wanted, served, round_up=True)


def links_beyond(plant: NetworkLayout, wanted: IntArray, served: Fraction) -> IntArray:
    """(B, B) ⌊served · wanted ÷ rate⌋ + 1: the fewest links that serve more than this share."""
    return np.where(wanted > 0, _quotients(plant, wanted, served, round_up=False) + 1, 0)


def _quotients(plant: NetworkLayout, wanted: IntArray, served: Fraction, *, round_up: bool) -> IntArray:
    """Whole numbers of any size where 64 bits might not do; the quotient fits again."""
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
    """Whether the certificate holds: the links fit and serve the share, and at the block that is full any
    larger share needs more links than it has."""
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
