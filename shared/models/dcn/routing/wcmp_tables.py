"""Shares as switches keep them: so many equal entries of a table for every pair of blocks (WCMP: Zhou and
others, EuroSys 2014)."""

import numpy as np

from shared.basics.checks import check_count
from shared.models.dcn.routing.path_loads import largest_use, trunk_loads
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

ENTRIES = 128
"""Of a pair's table: what one group of a switch holds in the order of."""
ENTRIES_MAX = 65_536
ROUNDING = 1e-9
"""Entries: a share that is this near below a whole entry has it."""
OVERFULL = 1_000.0
"""How many remainders a trunk weighs that would be fuller than the target by its whole capacity."""


def table_entries(share: FloatArray, entries: int) -> IntArray:
    """(B, B, B) how many of its entries each path of a pair has, `entries` in all where the pair has a path.

    Rounded by largest remainders, of equal ones the first: no share is off by an entry or more.
    """
    check_count("entries", entries, 1, ENTRIES_MAX)
    wanted = share * entries
    given = np.floor(wanted + ROUNDING).astype(np.int64)
    left = np.where(share.any(axis=2), entries - given.sum(axis=2), 0)
    order = np.argsort(given - wanted, axis=2, kind="stable")
    # The order of an order is the rank of each path.
    rank = np.argsort(order, axis=2, kind="stable")
    return given + (rank < left[:, :, None])


def fitted_entries(share: FloatArray, entries: int, demand: IntArray, carries: FloatArray) -> IntArray:
    """The same as `table_entries`, rounded so that no trunk (B, B) gets fuller by it if that can be.

    By largest remainders alone, a small trunk can be filled by one entry of a large demand. So the pairs
    choose anew, the largest demand first: of the paths that may have an entry more, those on which that
    fills no trunk beyond the fullest of the exact shares, among these the largest remainders.
    """
    table = table_entries(share, entries)
    load = trunk_loads(shares_of(table), demand)
    there = carries > 0.0
    per_load = np.where(there, 1.0 / np.where(there, carries, 1.0), np.inf)
    target = largest_use(trunk_loads(share, demand), carries)
    size = demand / entries
    for place in np.argsort(-demand, axis=None, kind="stable").tolist():
        tail, head = divmod(place, len(demand))
        one = float(size[tail, head])
        if one <= 0.0:
            break
        _carry(load, tail, head, -one * table[tail, head])
        wanted = share[tail, head] * entries
        given = np.floor(wanted + ROUNDING)
        used = np.maximum(
            (load[tail] + (given + 1.0) * one) * per_load[tail],
            (load[:, head] + (given + 1.0) * one) * per_load[:, head],
        )
        used[head] = (load[tail, head] + (given[head] + 1.0) * one) * per_load[tail, head]
        worth = OVERFULL * np.maximum(used - target, 0.0) - (wanted - given)
        worth[share[tail, head] <= 0.0] = np.inf
        given[np.argsort(worth, kind="stable")[: entries - int(given.sum())]] += 1.0
        table[tail, head] = given
        _carry(load, tail, head, one * given)
    return table


def _carry(load: FloatArray, tail: int, head: int, flow: FloatArray) -> None:
    """Adds the flow (B,) of one pair over each path to the loads (B, B)."""
    onward = flow.copy()
    onward[head] = 0.0
    load[tail] += flow
    load[:, head] += onward


def shares_of(entries: IntArray) -> FloatArray:
    """(B, B, B) the shares that such tables give."""
    total = entries.sum(axis=2, keepdims=True)
    return np.where(total > 0, entries / np.where(total > 0, total, 1), 0.0)
