"""Proof of a routing table: every pair is reached, deadlocks are impossible, and the load of links.

Works on ways hop by hop, so it applies to any table. Deadlock freedom after Dally and Seitz (1987). In the
channel-dependency graph, channel a leads to channel b if some packet may hold a while it requests b. This
graph must have no cycle. A channel is one direction of a link on one virtual channel.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shared.models.superpod.wiring import FACES, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.routing.routed_paths import Paths

# Finds a cycle of a directed graph: nodes without predecessors are removed, a layer at a time.


def find_cycle(tails: IntArray, heads: IntArray, nodes: int) -> tuple[int, ...]:
    """The nodes of one cycle of the graph with edges tails[i] → heads[i] among 0 … nodes − 1; () if there is
    none.

    Each node is followed by the next and the last by the first. Kahn's algorithm (1962) a layer at a time.
    Every remaining node has a predecessor, so walking back must repeat a node.
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
    """Walks back until a node repeats; returns the nodes between, in the direction of the edges."""
    walked: dict[int, int] = {}
    while node not in walked:
        walked[node] = len(walked)
        node = int(before[node])
    nodes = list(walked)[walked[node] :]
    return tuple(reversed(nodes))


EXAMPLES_MAX = 8
"""Unreached pairs that a proof names, at most."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One direction of a link, from a chip by a direction of FACES, on one virtual channel."""

    chip: int
    direction: int
    virtual: int

    def name(self, topology: SliceTopology) -> str:
        """Display name, such as `chip (0, 3, 1) +x, virtual channel 1`."""
        place = ", ".join(str(c) for c in topology.coordinates[self.chip])
        return f"chip ({place}) {FACES[self.direction]}, virtual channel {self.virtual}"


@dataclass(frozen=True, eq=False, slots=True)
class Proof:
    """The result of checking a table."""

    pairs: int
    """Ordered pairs of different chips."""
    reached: int
    """Pairs whose way uses existing links from its source to its target."""
    unreached: tuple[tuple[int, int], ...]
    """Some of the others, as (source, target)."""
    virtual_channels: int
    """Maximum number used on any link."""
    dependencies: int
    """Pairs of channels such that a packet may hold the first and request the second."""
    cycle: tuple[Channel, ...]
    """Channels that each wait for the next, the last for the first; empty if the table is free of
    deadlock."""
    load: IntArray
    """(N, 6): ways over each link, one from every chip to every other."""
    mean_hops: float
    """Over the ordered pairs reached, a chip with itself included."""
    max_hops: int

    @property
    def holds(self) -> bool:
        """Whether every pair is reached and no deadlock is possible."""
        return self.reached == self.pairs and not self.cycle


def prove(topology: SliceTopology, paths: Iterable[Paths], virtual_channels: int) -> Proof:
    """Follows every way of a table that uses virtual channels 0 … virtual_channels − 1.

    A pair is reached if the links of its way exist and are contiguous from source to target.
    """
    chips = topology.chips
    ledger = _Traversal(topology, virtual_channels)
    for block in paths:
        ledger.follow(block)
    reached = ledger.reached.reshape(chips, chips)
    unreached = np.argwhere(~reached & ~np.eye(chips, dtype=np.bool_))
    tails, heads = ledger.dependencies()
    pairs = chips * (chips - 1)
    count = pairs - len(unreached)
    return Proof(
        pairs=pairs,
        reached=count,
        unreached=tuple((int(a), int(b)) for a, b in unreached[:EXAMPLES_MAX]),
        virtual_channels=ledger.channels_used(),
        dependencies=len(tails),
        cycle=tuple(ledger.channel(number) for number in find_cycle(tails, heads, ledger.channels)),
        load=ledger.load.reshape(chips, len(FACES)),
        mean_hops=ledger.hops / (count + chips),
        max_hops=ledger.max_hops,
    )


def dependencies_of(
    topology: SliceTopology, paths: Iterable[Paths], virtual_channels: int
) -> tuple[IntArray, IntArray, int]:
    """The channel-dependency graph of a table: (tails, heads, channels).

    Channel c is virtual channel c mod virtual_channels of link c div virtual_channels.
    """
    ledger = _Traversal(topology, virtual_channels)
    for block in paths:
        ledger.follow(block)
    return *ledger.dependencies(), ledger.channels


class _Traversal:
    """State of the ways followed so far. Channel numbers are link × virtual channels + virtual."""

    def __init__(self, topology: SliceTopology, virtual_channels: int) -> None:
        links = topology.chips * len(FACES)
        self.topology = topology
        self.virtual = virtual_channels
        self.channels = links * virtual_channels
        self.onward = topology.neighbours.ravel()
        self.reached = np.zeros(topology.chips**2, dtype=np.bool_)
        self.used = np.zeros(self.channels, dtype=np.bool_)
        self.requested = np.zeros((self.channels, len(FACES) * virtual_channels), dtype=np.bool_)
        """Whether a packet on a channel may ask for each channel of the chip where it comes out."""
        self.load = np.zeros(links, dtype=np.int64)
        self.hops = 0
        self.max_hops = 0

    def follow(self, block: Paths) -> None:
        """Follows some ways hop by hop, all at once; drops those that are interrupted."""
        ways = np.arange(len(block.sources))
        at = block.sources
        held = np.empty(0, dtype=np.int64)
        hops = np.zeros(len(ways), dtype=np.int64)
        ended = []
        for hop, (links, channels) in enumerate(zip(block.links, block.channels, strict=True)):
            link = links[ways].astype(np.int64)
            ended.append((ways[link == NO_LINK], at[link == NO_LINK]))
            starts = (link != NO_LINK) & (link // len(FACES) == at) & (self.onward[link] != NO_LINK)
            ways, link = ways[starts], link[starts]
            virtual = channels[ways]
            channel = link * self.virtual + virtual
            if hop:
                self.requested[held[starts], link % len(FACES) * self.virtual + virtual] = True
            held = channel
            self.used[channel] = True
            self.load += np.bincount(link, minlength=len(self.load))
            at = self.onward[link]
            hops[ways] += 1
        ended.append((ways, at))
        way = np.concatenate([part for part, _ in ended])
        arrived = way[np.concatenate([part for _, part in ended]) == block.targets[way]]
        self.reached[block.sources[arrived] * self.topology.chips + block.targets[arrived]] = True
        self.hops += int(hops[arrived].sum())
        self.max_hops = max(self.max_hops, int(hops[arrived].max(initial=0)))

    def dependencies(self) -> tuple[IntArray, IntArray]:
        """All (tail, head) by number of channel."""
        tails, columns = np.nonzero(self.requested)
        chip = self.onward[tails // self.virtual]
        return tails, chip * len(FACES) * self.virtual + columns

    def channels_used(self) -> int:
        used = self.used.reshape(-1, self.virtual).any(axis=0)
        return int(np.flatnonzero(used).max(initial=-1)) + 1

    def channel(self, number: int) -> Channel:
        link, virtual = divmod(number, self.virtual)
        return Channel(*divmod(link, len(FACES)), virtual)


def throughput_of(topology: SliceTopology, load: IntArray) -> float | None:
    """All-to-all throughput per chip, in units of one link's bandwidth in one direction.

    Every chip sends equally to all chips, itself included, until the busiest link is full. None if nothing is
    sent.
    """
    busiest = int(load.max(initial=0))
    return topology.chips / busiest if busiest else None
