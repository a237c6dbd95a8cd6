"""Wiring of blocks to OCS ports, and conversion between port circuits and links.

On every OCS a block has the same ports on the North and on the South side, after those of the previous
blocks; the rest are spares. A circuit joins a North port to a South port of the same OCS.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.names import OcsCircuit
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import BoolArray, NetworkLayout
from shared.models.superpod.wiring import PALOMAR_RADIX, SPARE_PORTS, IntArray

NO_BLOCK = -1
NO_PORT = -1


@dataclass(frozen=True, eq=False, slots=True)
class Wiring:
    """`block_at` (radix,) is the block whose fibre enters a port, −1 for a spare; the same on both sides of
    every OCS.

    `first` (B + 1,) is the first port of every block, followed by the first spare.
    """

    block_at: IntArray
    first: IntArray

    @property
    def radix(self) -> int:
        return len(self.block_at)

    @property
    def ports_wired(self) -> int:
        return int(self.first[-1])

    def ports_of(self, block: int) -> range:
        return range(int(self.first[block]), int(self.first[block + 1]))


@lru_cache(maxsize=16)
def wiring_of(plant: NetworkLayout) -> Wiring:
    """The ports of every block; the same object for the same plant."""
    first = np.concatenate([[0], np.cumsum(plant.ports)])
    # OCSes with many ports are modelled only with the ports that are useful.
    radix = min(plant.technology.ports, max(PALOMAR_RADIX, int(first[-1]) + SPARE_PORTS))
    block_at = np.full(radix, NO_BLOCK)
    block_at[: int(first[-1])] = np.repeat(np.arange(len(plant.blocks)), plant.ports)
    for array in (block_at, first):
        array.setflags(write=False)
    return Wiring(block_at, first)


def circuit_counts(plant: NetworkLayout, south_of: IntArray, counts: BoolArray | None = None) -> IntArray:
    """(K, B, B) circuits between blocks, from the South port of every North port (K, radix), −1 for none.

    With `counts` (K, radix), only circuits of those North ports.
    """
    there = south_of != NO_PORT
    if counts is not None:
        there = there & counts
    blocks = len(plant.blocks)
    block_at = wiring_of(plant).block_at
    ocs, north = np.nonzero(there)
    tails, heads = block_at[north], block_at[south_of[ocs, north]]
    flat = np.bincount((ocs * blocks + tails) * blocks + heads, minlength=plant.ocs_count * blocks * blocks)
    return flat.astype(np.int64).reshape(plant.ocs_count, blocks, blocks)


def links_between(plant: NetworkLayout, south_of: IntArray, counts: BoolArray | None = None) -> IntArray:
    """(B, B) links between blocks that such circuits make, symmetric."""
    there = south_of != NO_PORT
    if counts is not None:
        there = there & counts
    blocks = len(plant.blocks)
    block_at = wiring_of(plant).block_at
    ocs, north = np.nonzero(there)
    pair = block_at[north] * blocks + block_at[south_of[ocs, north]]
    directed = np.bincount(pair, minlength=blocks * blocks).astype(np.int64).reshape(blocks, blocks)
    return directed + directed.T


def set_links(links: npt.NDArray[np.int32], changed: Iterable[tuple[int, int, int]]) -> None:
    """Sets in symmetric links (B, B) the new number between some pairs of blocks."""
    ones, others, counts = np.array([*changed], dtype=np.int64).T
    links[ones, others] = counts
    links[others, ones] = counts


def assign_ports(
    plant: NetworkLayout,
    south_of: IntArray,
    removed: Iterable[OcsCircuit],
    made: Iterable[OcsCircuit],
    unfit: Collection[OcsCircuit] = (),
) -> tuple[tuple[OcsCircuit, ...], tuple[OcsCircuit, ...]]:
    """Converts circuits by (OCS, North block, South block) to circuits by ports: (removed, made).

    A removed circuit is the one on the lowest matching North port. A made circuit gets the lowest free ports,
    and an `unfit` circuit only if there is no other. `south_of` (K, radix) is the current state and is not
    changed. InvalidInput if there is no such circuit, or no free port.
    """
    wiring = wiring_of(plant)
    after = south_of.copy()
    gone, come = [], []
    for ocs, tail, head in removed:
        norths = [n for n in wiring.ports_of(tail) if after[ocs, n] in wiring.ports_of(head)]
        if not norths:
            raise InvalidInput(f"OCS {ocs}: no circuit from block {tail} to block {head} to remove")
        gone.append((ocs, norths[0], int(after[ocs, norths[0]])))
        after[ocs, norths[0]] = NO_PORT
    taken = [set(row[row != NO_PORT].tolist()) for row in after]
    for ocs, tail, head in made:
        norths = [n for n in wiring.ports_of(tail) if after[ocs, n] == NO_PORT]
        souths = [s for s in wiring.ports_of(head) if s not in taken[ocs]]
        if not norths or not souths:
            side, block = ("South", head) if norths else ("North", tail)
            raise InvalidInput(f"OCS {ocs}: block {block} has no free {side} port")
        pairs = ((n, s) for n in norths for s in souths if (ocs, n, s) not in unfit)
        north, south = next(pairs, (norths[0], souths[0]))
        come.append((ocs, north, south))
        after[ocs, north] = south
        taken[ocs].add(south)
    return tuple(gone), tuple(come)
