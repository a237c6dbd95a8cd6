"""A cycle of a directed graph, if it has one: layers without predecessors are peeled off, all at once."""

import numpy as np

from shared.models.superpod.wiring import IntArray


def find_cycle(tails: IntArray, heads: IntArray, nodes: int) -> tuple[int, ...]:
    """The nodes of one cycle of the graph with edges tails[i] → heads[i] among 0 … nodes − 1, each followed
    by the next and the last by the first; () if there is none.

    Kahn's algorithm (1962) a layer at a time. What is left has a predecessor each, so walking back from
    any of it must come round.
    """
    by_tail = np.argsort(tails, kind="stable")
    ahead = heads[by_tail]
    begin = np.searchsorted(tails[by_tail], np.arange(nodes + 1))
    waiting = np.bincount(heads, minlength=nodes)
    layer = np.flatnonzero(waiting == 0)
    peeled = np.zeros(nodes, dtype=np.bool_)
    while layer.size:
        peeled[layer] = True
        counts = begin[layer + 1] - begin[layer]
        # The edges of the layer: each node's own run of `ahead`, one run after the other.
        edges = np.repeat(begin[layer] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        reached, times = np.unique(ahead[edges], return_counts=True)
        waiting[reached] -= times
        layer = reached[waiting[reached] == 0]
    if peeled.all():
        return ()
    left = ~peeled[tails] & ~peeled[heads]
    before = np.full(nodes, -1, dtype=np.int64)
    before[heads[left]] = tails[left]
    return _back(before, int(np.argmin(peeled)))


def _back(before: IntArray, node: int) -> tuple[int, ...]:
    """Walk back until a node comes again; the nodes between, in the direction of the edges."""
    walked: dict[int, int] = {}
    while node not in walked:
        walked[node] = len(walked)
        node = int(before[node])
    nodes = list(walked)[walked[node] :]
    return tuple(reversed(nodes))
