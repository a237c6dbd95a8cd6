"""WCMP tables: shares as equal entries of a switch table for every pair of blocks (Zhou and others, EuroSys
2014)."""

import numpy as np

from shared.basics.checks import check_count
from shared.models.dcn.routing.path_loads import largest_use, trunk_loads
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

ENTRIES = 128
"""Entries of a pair's table: the order of magnitude of one group of a switch."""
ENTRIES_MAX = 65_536
ROUNDING = 1e-9
"""Entries: a share this close below a whole entry counts as the entry."""
OVERFULL = 1_000.0
"""Remainders that equal an overload of the target by a trunk's whole capacity."""


def table_entries(share: FloatArray, entries: int) -> IntArray:
    """(B, B, B) entries of each path of a pair, `entries` in total if the pair has a path.

    Rounded by largest remainders, the first of equal ones; no share is off by an entry or more.
    """
    check_count("entries", entries, 1, ENTRIES_MAX)
    wanted = share * entries
    given = np.floor(wanted + ROUNDING).astype(np.int64)
    left = np.where(share.any(axis=2), entries - given.sum(axis=2), 0)
    order = np.argsort(given - wanted, axis=2, kind="stable")
    # The argsort of an argsort is the rank of each path.
    rank = np.argsort(order, axis=2, kind="stable")
    return given + (rank < left[:, :, None])


def fitted_entries(share: FloatArray, entries: int, demand: IntArray, carries: FloatArray) -> IntArray:
    """Like `table_entries`, rounded so that no trunk (B, B) gets fuller if possible.

    With largest remainders alone, one entry of a large demand can fill a small trunk. So the pairs choose
    again, the largest demand first. Of the paths that may get another entry, they prefer those that fill no
    trunk beyond the fullest of the exact shares; among these, the largest remainders.
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
    """(B, B, B) the shares of the tables."""
    total = entries.sum(axis=2, keepdims=True)
    return np.where(total > 0, entries / np.where(total > 0, total, 1), 0.0)
