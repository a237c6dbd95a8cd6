"""Plants and demands of datacenter networks, for tests."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from schemas.config.network_hardware import GENERATIONS_GBPS
from shared.models.network.blocks import UPLINKS, Block, FloatArray, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray


def plant(
    blocks: int = 6, generations: Sequence[int] = (100,), uplinks: Sequence[int] = (512,), racks: int = 32
) -> NetworkLayout:
    """Return a plant with blocks ab-0, ab-1, … on racks of four OCSes. Generations and uplinks repeat in
    turn."""
    return layout_of(
        [
            Block(f"ab-{n}", generations[n % len(generations)], uplinks[n % len(uplinks)])
            for n in range(blocks)
        ],
        racks=racks,
    )


def plants(most: int = 6) -> st.SearchStrategy[NetworkLayout]:
    """Draw a plant with a few blocks."""
    block = st.tuples(st.sampled_from(GENERATIONS_GBPS), st.sampled_from(UPLINKS))
    return st.lists(block, min_size=2, max_size=most).map(
        lambda rows: layout_of([Block(f"ab-{n}", *row) for n, row in enumerate(rows)])
    )


def direct_shares(blocks: int) -> FloatArray:
    """Return shares of shape (B, B, B) with all demand on the direct path."""
    share = np.zeros((blocks, blocks, blocks))
    for head in range(blocks):
        share[:, head, head] = 1.0
        share[head, head, head] = 0.0
    return share


def demands(blocks: int, most: int = 10**8) -> st.SearchStrategy[IntArray]:
    """Draw a demand between `blocks` blocks; at least one pair has demand."""
    numbers = st.one_of(st.just(0), st.integers(1, most))
    matrix = st.lists(numbers, min_size=blocks**2, max_size=blocks**2)
    return matrix.map(lambda values: _off_diagonal(values, blocks)).filter(lambda demand: bool(demand.any()))


def _off_diagonal(values: list[int], blocks: int) -> IntArray:
    demand = np.array(values, dtype=np.int64).reshape(blocks, blocks)
    demand[range(blocks), range(blocks)] = 0
    return demand


def packed_links(layout: NetworkLayout, seed: int, left: float = 0.0) -> IntArray:
    """Draw links until no two blocks have free uplinks, or until the share `left` of all uplinks remains."""
    rng = np.random.default_rng(seed)
    blocks = len(layout.blocks)
    room = (layout.uplinks * (1.0 - left)).astype(np.int64)
    links = np.zeros((blocks, blocks), dtype=np.int64)
    while np.count_nonzero(room) > 1:
        a, b = rng.choice(np.flatnonzero(room), 2, replace=False)
        times = int(rng.integers(1, min(room[a], room[b], 40) + 1))
        links[a, b] += times
        links[b, a] += times
        room[[a, b]] -= times
    return links
