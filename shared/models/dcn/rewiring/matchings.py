"""From trunks to circuits: splits the links between all blocks into one matching for every OCS.

An OCS joins a North port to a South port. A block has q ports on each side of every one of K OCSes, and up to
2·q·K links. First every link gets a direction, North to South, so that each block has at most q·K of either:
an Euler tour does this (Petersen 1891). Then the directed links, a bipartite graph, are halved repeatedly.
Along Euler tours every second link goes to one half, so every block's links and those of every pair are
halved, up to one link (Gabow 1976). Uplinks are powers of two, and so is K. In the end each pair's links of
one direction on any two OCSes, racks or domains differ by at most one for each OCS. So the loss of a rack
affects all blocks alike.

Rows of many links are halved by their counts; only the odd links need tours. Once no row has more than two
links, every link has a slot at its block on either side, and the spare slots are joined with each other.
Halves of q·K slots stay even, so the slots 2n and 2n + 1 go to different halves and become slot n there.

Tours are not walked. All their steps at once are one permutation, and doubling the steps finds the tour of
each link.
"""

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.network.blocks import BoolArray, NetworkLayout
from shared.models.superpod.wiring import IntArray


def matched_circuits(plant: NetworkLayout, links: IntArray) -> IntArray:
    """(K, B, B) circuits on every OCS, from a North port of the row's block to a South port of the column's,
    for links (B, B).

    Always possible for valid links; InvalidInput if this plant cannot have the links.
    """
    check_links(plant, links)
    blocks, switches = len(links), plant.ocs_count
    directed = north_to_south(links)
    tails, heads = np.nonzero(directed)
    counts = directed[tails, heads]
    ocs = np.zeros(1, dtype=np.int64)
    while len(ocs) < switches and counts.max(initial=0) > 2:
        tails, heads, counts = _halved(len(ocs) * blocks, tails, heads, counts)
        ocs = _two_of_each(ocs)
    circuits = np.zeros((switches, blocks, blocks), dtype=np.int64)
    if len(ocs) < switches:
        circuits.reshape(-1)[_places(plant, ocs, tails, heads, counts)] = 1
    else:
        circuits[ocs[tails // blocks], tails % blocks, heads % blocks] = counts
    return circuits


def halved(circuits: IntArray) -> tuple[IntArray, IntArray]:
    """Splits the circuits (K, B, B) of every OCS into two halves.

    Of each block's circuits on either side, and of each pair's, half go to each part, up to one circuit.
    """
    switches, blocks = circuits.shape[:2]
    groups, tails, heads = np.nonzero(circuits)
    vertices, at = switches * blocks, groups * blocks
    tails, heads, counts = _halved(vertices, at + tails, at + heads, circuits[groups, tails, heads])
    found = np.zeros((2 * vertices, blocks), dtype=np.int64)
    found[tails, heads % blocks] = counts
    first, second = found.reshape(2, *circuits.shape)
    return first, second


def check_links(plant: NetworkLayout, links: IntArray) -> None:
    """InvalidInput names the block or the pair if this plant cannot have links (B, B)."""
    names = [block.name for block in plant.blocks]
    if links.shape != plant.rates.shape:
        shape = "×".join(map(str, links.shape))
        raise InvalidInput(f"links: a matrix of {shape} is not allowed; must be {len(names)}×{len(names)}")
    for what, wrong in (
        ("is negative", links < 0),
        ("differs from the number in the other direction", links != links.T),
        (
            "is not allowed; must be 0 within a block and between blocks of two customers or grids",
            (links != 0) & ~plant.may_join,
        ),
    ):
        if wrong.any():
            tail, head = np.argwhere(wrong)[0].tolist()
            raise InvalidInput(f"links {names[tail]}, {names[head]}: {links[tail, head]} {what}")
    taken = links.sum(axis=1)
    if (taken > plant.uplinks).any():
        block = int(np.argmax(taken > plant.uplinks))
        allowed = f"must be at most its {plant.uplinks[block]} uplinks"
        raise InvalidInput(f"block {names[block]}: {taken[block]} links are not allowed; {allowed}")


def links_of(circuits: IntArray) -> IntArray:
    """(B, B) the links that circuits (…, B, B) make, both directions together."""
    directed: IntArray = circuits.reshape(-1, *circuits.shape[-2:]).sum(axis=0)
    return directed + directed.T


def north_to_south(links: IntArray) -> IntArray:
    """(B, B) how many of the links (B, B) start at a North port of the row's block: half, up to one for each
    pair and block."""
    half = links // 2
    tails, heads = np.nonzero(np.triu(links % 2))
    single = np.flatnonzero((links % 2).sum(axis=1) % 2)
    # Blocks with an odd number of these get one more link, to a dummy block.
    ends = np.empty(2 * (len(tails) + len(single)), dtype=np.int64)
    ends[0::2] = np.concatenate([tails, single])
    ends[1::2] = np.concatenate([heads, np.full(len(single), len(links))])
    # The number of ends at a block is even: each pairs with the next.
    order = _order(ends)
    partner = np.empty_like(order)
    partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
    leaves = _one_of_each(partner)[: len(tails)]
    directed = half.copy()
    directed[ends[leaves], ends[leaves ^ 1]] += 1
    return directed


def _halved(
    vertices: int, tails: IntArray, heads: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Splits the links into two halves; the vertices of the second half are numbered after those of the
    first.

    A row is the links of one pair and direction; rows are in the order of their tails.
    """
    odd = np.flatnonzero((counts & 1) > 0)
    first = counts >> 1
    second = first.copy()
    to_first = _alternate(tails.take(odd), heads.take(odd))
    first[odd] += to_first
    second[odd] += ~to_first
    kept, left = np.flatnonzero(first > 0), np.flatnonzero(second > 0)
    return (
        np.concatenate([tails.take(kept), tails.take(left) + vertices]),
        np.concatenate([heads.take(kept), heads.take(left) + vertices]),
        np.concatenate([first.take(kept), second.take(left)]),
    )


def _alternate(tails: IntArray, heads: IntArray) -> BoolArray:
    """(E,) whether a link is in the first half, which has half of the links of each tail and head, up to one.

    Links are in the order of their tails.
    """
    norths, souths = np.bincount(tails), np.bincount(heads)
    north_room, south_room = norths + (norths & 1), souths + (souths & 1)
    north = _slots(norths, north_room)
    far = np.full(max(int(north_room.sum()), int(south_room.sum())), -1)
    far[north.take(_order(heads))] = _slots(souths, south_room)
    _join_spare(far)
    first: BoolArray = _first_half(far).take(north >> 1) == north
    return first


def _places(
    plant: NetworkLayout, ocs: IntArray, tails: IntArray, heads: IntArray, counts: IntArray
) -> IntArray:
    """(E,) position of every link in (K, B, B). No row has more than two links.

    Vertices are group number × B + block; `ocs` gives the OCSes that each group is halved to.
    """
    blocks, switches = len(plant.blocks), plant.ocs_count
    rows = np.repeat(np.arange(len(counts)), counts)
    # The two links of a row come first at their head, where they pair, so they go to different halves.
    order = _order((2 * heads + (counts == 1)).take(rows))
    room = np.tile(plant.uplinks // (2 * len(ocs)), len(ocs))
    north, south = (
        _slots(np.bincount(ends.take(rows), minlength=len(room)), room) for ends in (tails, heads)
    )
    far = np.full(int(room.sum()), -1)
    far[north.take(order)] = south
    spare = _join_spare(far)
    half = len(far) // 2
    while len(ocs) < switches:
        first = _first_half(far)
        far = far.take(np.concatenate([first, first ^ 1])) >> 1
        far[half:] += half
        spare = (spare >> 1) + half * (first.take(spare >> 1) != spare)
        ocs = _two_of_each(ocs)
    block = np.repeat(np.arange(blocks), plant.ports)
    places: IntArray = (ocs[:, None] * blocks + block).reshape(-1) * blocks
    return np.delete(places + np.tile(block, switches).take(far), spare)


def _two_of_each(ocs: IntArray) -> IntArray:
    """(2G,) the OCSes that the first halves of all groups (G,) are halved to, then those of the second
    halves."""
    return np.concatenate([2 * ocs, 2 * ocs + 1])


def _slots(taken: IntArray, room: IntArray) -> IntArray:
    """(E,) the slots in use, where each vertex (V,) has `room` slots and uses the first ones."""
    free = room - taken
    slots: IntArray = np.arange(int(taken.sum())) + np.repeat(np.cumsum(free) - free, taken)
    return slots


def _join_spare(far: IntArray) -> IntArray:
    """Joins the free North slots, −1 in `far` (S,), with the free South slots; returns them."""
    spare = np.flatnonzero(far < 0)
    free = np.ones(len(far) + 1, dtype=np.bool_)
    free[far] = False  # -1 indexes the extra last entry
    far[spare] = np.flatnonzero(free[:-1])
    return spare


def _first_half(far: IntArray) -> IntArray:
    """(S/2,) the North slots of half of the links, one of every two slots 2n and 2n + 1 on both sides.

    `far` (S,) are the South slots of all links.
    """
    near = np.empty_like(far)
    near[far] = np.arange(len(far))
    return _one_of_each(near.take(far ^ 1))


def _one_of_each(partner: IntArray) -> IntArray:
    """(E/2,) either 2n or 2n + 1 for every n, such that one of every two partners (E,) is included."""
    tour = _least_on_tour(partner ^ 1)
    chosen: IntArray = np.arange(0, len(partner), 2) + (tour[1::2] < tour[0::2])
    return chosen


def _order(vertices: IntArray) -> IntArray:
    """(E,) the ends in the order of their vertices; small numbers use radix sort."""
    small = vertices.astype(np.uint16) if vertices.max(initial=0) < 2**16 else vertices
    return np.argsort(small, kind="stable")


def _least_on_tour(step: IntArray) -> IntArray:
    """(E,) the smallest number on the cycle of each element of a permutation."""
    numbers = np.arange(len(step))
    longer = np.flatnonzero(step.take(step) != numbers)
    if 2 * len(longer) > len(step):
        return _least_by_doubling(step)
    # In a mesh most cycles have at most two elements. The others are renumbered and handled separately.
    number = np.empty_like(step)
    number[longer] = numbers[: len(longer)]
    least = np.minimum(numbers, step)
    least[longer] = longer.take(_least_by_doubling(number.take(step.take(longer))))
    return least


def _least_by_doubling(step: IntArray) -> IntArray:
    least = np.minimum(np.arange(len(step)), step)
    while True:
        # No number is out of range; "wrap" is the fastest mode.
        step = step.take(step, mode="wrap")
        further = np.minimum(least, least.take(step, mode="wrap"))
        if (further == least).all():
            return least
        least = further
