"""Plants and demands of a datacenter network, for tests."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from schemas.config.network_hardware import GENERATIONS_GBPS
from shared.models.network.blocks import UPLINKS, Block, FloatArray, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray


def plant(
    blocks: int = 6, generations: Sequence[int] = (100,), uplinks: Sequence[int] = (512,), racks: int = 32
) -> NetworkLayout:
    """Blocks ab-0 … in turn of these generations and numbers of uplinks, on racks of four OCSes."""
    return layout_of(
        [
            Block(f"ab-{n}", generations[n % len(generations)], uplinks[n % len(uplinks)])
            for n in range(blocks)
        ],
        racks=racks,
    )


def plants(most: int = 6) -> st.SearchStrategy[NetworkLayout]:
    """Any plant of a few blocks."""
    one = st.tuples(st.sampled_from(GENERATIONS_GBPS), st.sampled_from(UPLINKS))
    return st.lists(one, min_size=2, max_size=most).map(
        lambda rows: layout_of([Block(f"ab-{n}", *row) for n, row in enumerate(rows)])
    )


def direct_shares(blocks: int) -> FloatArray:
    """(B, B, B) shares with all demand on the direct path."""
    share = np.zeros((blocks, blocks, blocks))
    for head in range(blocks):
        share[:, head, head] = 1.0
        share[head, head, head] = 0.0
    return share


def demands(blocks: int, most: int = 10**8) -> st.SearchStrategy[IntArray]:
    """Any demand between so many blocks, with one pair at least that wants something."""
    numbers = st.one_of(st.just(0), st.integers(1, most))
    matrix = st.lists(numbers, min_size=blocks**2, max_size=blocks**2)
    return matrix.map(lambda values: _off_diagonal(values, blocks)).filter(lambda demand: bool(demand.any()))


def _off_diagonal(values: list[int], blocks: int) -> IntArray:
    demand = np.array(values, dtype=np.int64).reshape(blocks, blocks)
    demand[range(blocks), range(blocks)] = 0
    return demand


def packed_links(found: NetworkLayout, seed: int, left: float = 0.0) -> IntArray:
    """Links at random, until no two blocks have a free uplink, or this share of all uplinks is left."""
    rng = np.random.default_rng(seed)
    blocks = len(found.blocks)
    room = (found.uplinks * (1.0 - left)).astype(np.int64)
    links = np.zeros((blocks, blocks), dtype=np.int64)
    while np.count_nonzero(room) > 1:
        one, other = rng.choice(np.flatnonzero(room), 2, replace=False)
        times = int(rng.integers(1, min(room[one], room[other], 40) + 1))
        links[one, other] += times
        links[other, one] += times
        room[[one, other]] -= times
    return links
