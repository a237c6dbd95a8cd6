"""From trunks to circuits: the links between all blocks split into one matching for every OCS.

An OCS joins a North port to a South port. A block has q ports on each side of every one of K OCSes, and up
to 2·q·K links. First every link gets a direction, North to South, so that each block has at most q·K of
either: an Euler tour does it (Petersen 1891). Then the directed links, a bipartite graph, are halved again
and again: along Euler tours every second link goes to the one half, so every block's links, and those of
every pair, halve but for one (Gabow 1976). Uplinks are powers of two, and so is K. In the end each pair's
links of one direction on any two OCSes, racks or domains differ by one at most for each OCS: what is lost
with a rack is lost by all alike.

Tours are not walked. The links' ends are paired off at every block; the steps of all tours at once are one
permutation, and who is on which tour is found by doubling the steps.
"""

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.network.blocks import Plant
from shared.models.superpod.wiring import IntArray


def circuits_of(plant: Plant, links: IntArray) -> IntArray:
    """(K, B, B) circuits from a North port of the row's block to a South port of the column's, on every
    OCS, for links (B, B). Always possible; InvalidInput where the links are none that this plant can
    have."""
    check_links(plant, links)
    blocks, switches = len(links), plant.ocs_count
    directed = north_to_south(links)
    tails, heads = np.nonzero(directed)
    counts = directed[tails, heads]
    groups = np.zeros_like(tails)
    for _ in range(switches.bit_length() - 1):
        groups, tails, heads, counts = _halved(blocks, groups, tails, heads, counts)
    circuits = np.zeros((switches, blocks, blocks), dtype=np.int64)
    circuits[groups, tails, heads] = counts
    return circuits


def halved(circuits: IntArray) -> tuple[IntArray, IntArray]:
    """The circuits (K, B, B) of every OCS as two halves: of each block's on either side, and of each pair's,
    half go to the one and half to the other, but for one."""
    switches, blocks = circuits.shape[:2]
    groups, tails, heads = np.nonzero(circuits)
    found = np.zeros((2 * switches, blocks, blocks), dtype=np.int64)
    groups, tails, heads, counts = _halved(blocks, groups, tails, heads, circuits[groups, tails, heads])
    found[groups, tails, heads] = counts
    return found[0::2], found[1::2]


def check_links(plant: Plant, links: IntArray) -> None:
    """InvalidInput names the block or the pair where links (B, B) are none that this plant can have."""
    names = [block.name for block in plant.blocks]
    if links.shape != plant.rates.shape:
        shape = "×".join(map(str, links.shape))
        raise InvalidInput(f"links: a matrix of {shape}; allowed is one of {len(names)}×{len(names)}")
    for what, wrong in (
        ("are fewer than none", links < 0),
        ("are not as many as the other way round", links != links.T),
        (
            "may not be: one block, or blocks of two customers or grids",
            (links != 0) & ~plant.may_join,
        ),
    ):
        if wrong.any():
            tail, head = np.argwhere(wrong)[0].tolist()
            raise InvalidInput(f"links {names[tail]}, {names[head]}: {links[tail, head]} {what}")
    taken = links.sum(axis=1)
    if (taken > plant.uplinks).any():
        block = int(np.argmax(taken > plant.uplinks))
        allowed = f"allowed are at most its {plant.uplinks[block]} uplinks"
        raise InvalidInput(f"block {names[block]}: {taken[block]} links; {allowed}")


def links_of(circuits: IntArray) -> IntArray:
    """(B, B) the links that circuits (…, B, B) make, in both directions together."""
    directed: IntArray = circuits.reshape(-1, *circuits.shape[-2:]).sum(axis=0)
    return directed + directed.T


def north_to_south(links: IntArray) -> IntArray:
    """(B, B) how many of the links (B, B) go from a North port of the row's block: halves, but for one of any
    pair and one of any block."""
    half = links // 2
    tails, heads = np.nonzero(np.triu(links % 2))
    single = np.flatnonzero((links % 2).sum(axis=1) % 2)
    # Blocks with an odd number of these have one more link, to a block that is none.
    ends = np.empty(2 * (len(tails) + len(single)), dtype=np.int64)
    ends[0::2] = np.concatenate([tails, single])
    ends[1::2] = np.concatenate([heads, np.full(len(single), len(links))])
    dart = np.arange(len(ends))
    tour = _least_on_tour(_paired(ends)[dart ^ 1])
    leaves = np.flatnonzero(tour < tour[dart ^ 1])
    real = leaves[leaves < 2 * len(tails)]
    directed = half.copy()
    directed[ends[real], ends[real ^ 1]] += 1
    return directed


def _halved(
    blocks: int, groups: IntArray, tails: IntArray, heads: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Every group of links as two: groups 2g and 2g + 1. A row is the links of one pair and direction."""
    odd = np.flatnonzero((counts & 1) > 0)
    first = np.zeros(len(counts), dtype=np.int64)
    first[odd] = _alternate(groups[odd] * blocks + tails[odd], groups[odd] * blocks + heads[odd])
    some = (counts >> 1) + first
    others = counts - some
    kept, left = np.flatnonzero(some > 0), np.flatnonzero(others > 0)
    return (
        np.concatenate([2 * groups.take(kept), 2 * groups.take(left) + 1]),
        np.concatenate([tails.take(kept), tails.take(left)]),
        np.concatenate([heads.take(kept), heads.take(left)]),
        np.concatenate([some.take(kept), others.take(left)]),
    )


def _alternate(tails: IntArray, heads: IntArray) -> IntArray:
    """(E,) 1 for half of the links of a bipartite graph: half of those of each tail and each head but for
    one."""
    north, south = _paired(tails), _paired(heads)
    # Links of an odd number leave one end on each side alone: one that is none joins these.
    if len(tails) % 2:
        lone = len(tails)
        alone_north, alone_south = (
            int(np.flatnonzero(ends == np.arange(lone))[0]) for ends in (north, south)
        )
        north, south = np.append(north, alone_north), np.append(south, alone_south)
        north[alone_north] = south[alone_south] = lone
    tour = _least_on_tour(south.take(north))
    return (tour < tour.take(north)).astype(np.int64)[: len(tails)]


def _paired(vertices: IntArray) -> IntArray:
    """(E,) the partner of every end: another of its vertex; the odd ones out of all vertices pair with each
    other, and a last one with itself."""
    small = vertices.astype(np.uint16) if vertices.max(initial=0) < 2**16 else vertices
    order = np.argsort(small, kind="stable")
    at = vertices.take(order)
    starts = np.flatnonzero(np.concatenate(([True], at[1:] != at[:-1]))[: len(at)])
    sizes = np.diff(starts, append=len(at))
    last = (starts + sizes - 1)[(sizes & 1) > 0]
    ends = order
    if len(last):
        odd = np.zeros(len(at), dtype=np.bool_)
        odd[last] = True
        ends = np.concatenate([order[~odd], order[odd]])
    partner = np.empty(len(ends), dtype=np.int64)
    even = len(ends) // 2 * 2
    partner[ends[0:even:2]] = ends[1:even:2]
    partner[ends[1:even:2]] = ends[0:even:2]
    partner[ends[even:]] = ends[even:]
    return partner


def _least_on_tour(step: IntArray) -> IntArray:
    """(E,) the least number on the cycle of each element of a permutation."""
    least = np.minimum(np.arange(len(step)), step)
    while True:
        step = step.take(step)
        further = np.minimum(least, least.take(step))
        if (further == least).all():
            return least
        least = further
