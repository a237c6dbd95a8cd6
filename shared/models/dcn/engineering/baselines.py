"""Baseline topology, a uniform mesh, and rounding of fractional links to whole ones."""

import numpy as np

from shared.models.dcn.routing.path_loads import trunk_capacity, unreachable_pairs
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

ROUNDS = 30
"""Rounds of row and column scaling that share out the remaining uplinks; each round improves the fit."""


def uniform_mesh(plant: NetworkLayout) -> IntArray:
    """(B, B) links of a mesh independent of demand: in proportion to the uplinks of both blocks, using all if
    possible."""
    share = plant.uplinks / float(plant.uplinks.max())
    return whole_links(plant, np.where(plant.may_join, 1e-6 * share[:, None] * share[None, :], 0.0))


def whole_links(plant: NetworkLayout, wanted: FloatArray) -> IntArray:
    """(B, B) whole links for symmetric fractions (B, B) that fit the uplinks.

    Leftover uplinks are first shared out in proportion. Then each pair gets its integer part, and the largest
    remainders get one more while both blocks have free uplinks.
    """
    shared = _with_leftover_uplinks(plant, wanted)
    links = np.floor(shared + 1e-9).astype(np.int64)
    room = (plant.uplinks - links.sum(axis=1)).tolist()
    ones, others = np.nonzero(np.triu(plant.may_join))
    rest = (shared - links)[ones, others]
    order = np.argsort(-rest, kind="stable")
    ordered = list(zip(ones[order].tolist(), others[order].tolist(), strict=True))
    # Every pair gets at most one per round, so the last uplinks are spread as well.
    while True:
        before = sum(room)
        for one, other in ordered:
            if room[one] > 0 and room[other] > 0:
                _link(links, room, one, other)
        if sum(room) == before:
            return links


def with_paths(plant: NetworkLayout, links: IntArray, wanted: IntArray) -> IntArray:
    """(B, B) links with one more for each pair of a demand (B, B) without a direct or one-transit path.

    Rounding can starve a small demand. A full block gives up a link of its largest trunk.
    """
    links = links.copy()
    wired = plant.uplinks > 0
    may = plant.may_join & wired[:, None] & wired[None, :]
    for _ in range(len(links) ** 2):
        lost = unreachable_pairs(trunk_capacity(plant, links), wanted) & may
        if not lost.any():
            break
        one, other = np.argwhere(lost)[0].tolist()
        freed = []
        for block in (one, other):
            if links[block].sum() >= plant.uplinks[block]:
                freed.append(int(links[block].argmax()))
                _add(links, block, freed[-1], -1)
        _add(links, one, other, 1)
        if len(freed) == 2 and plant.may_join[freed[0], freed[1]]:
            _add(links, freed[0], freed[1], 1)
    return links


def _add(links: IntArray, one: int, other: int, count: int) -> None:
    links[one, other] += count
    links[other, one] += count


def _with_leftover_uplinks(plant: NetworkLayout, wanted: FloatArray) -> FloatArray:
    """(B, B) the fractions plus the blocks' leftover uplinks, in proportion to the fractions."""
    room = np.maximum(plant.uplinks - wanted.sum(axis=1), 0.0)
    more = np.where(plant.may_join, wanted + 1e-3 * wanted.max(), 0.0)
    for _ in range(ROUNDS):
        factor = np.sqrt(room / np.maximum(more.sum(axis=1), 1e-12))
        more *= factor[:, None]
        more *= factor[None, :]
    fits = np.minimum(1.0, room / np.maximum(more.sum(axis=1), 1e-12))
    shared: FloatArray = wanted + more * np.minimum(fits[:, None], fits[None, :])
    return shared


def _link(links: IntArray, room: list[int], one: int, other: int) -> None:
    _add(links, one, other, 1)
    room[one] -= 1
    room[other] -= 1
