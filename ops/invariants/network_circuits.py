"""Circuits of a datacenter network: one per port, and the reported links are those that the circuits make.

The links that carry traffic are derived from the log alone, independently of the services. A circuit counts
if it is connected, has light, is qualified and is not drained, and if its blocks and bundles are up.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsRestored, CircuitsRewired, OcsDown, OcsesDown, PortDown
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.topology import RewiringEnded, RewiringPlanned, StageBegun, StageUndrained
from schemas.messages.trunks import CircuitsQualified, TrunksChanged
from schemas.names import OcsCircuit, number_of

SHOWN = 3
"""Maximum number of circuits or pairs of blocks that are reported at a time."""
CHANGING = (
    CircuitsRewired,
    CircuitsRestored,
    CircuitsQualified,
    OcsDown,
    OcsesDown,
    PortDown,
    FaultBegan,
    FaultEnded,
    StageBegun,
    StageUndrained,
    RewiringEnded,
    TrunksChanged,
)
"""Messages that can change which links carry traffic, or that report it."""
End = tuple[int, int]
"""(OCS, North port)."""
Links = Counter[tuple[int, int]]
"""(block, block of a higher number) → links."""


def blocks_at(network: NetworkConfig) -> list[int]:
    """The block whose fibre enters each port, which is the same on either side of every OCS.

    Blocks are in order, each with an equal share of its uplinks."""
    rows = [row for row in network.blocks for _ in range(row.count)]
    halves = 2 * network.racks * network.switches
    return [block for block, row in enumerate(rows) for _ in range(row.uplinks // halves)]


def rate_table(network: NetworkConfig) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(B, B) rate of a link one way, in Gb/s: the lower rate of its two blocks."""
    generations = np.array([row.generation for row in network.blocks for _ in range(row.count)])
    found: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    found = np.minimum(generations[:, None], generations[None, :])
    return found


class NetworkCircuitChecker:
    """Follows every circuit, and checks the links at the end of a cascade, when no message is in flight.

    `capacity` is the total rate of the links that carry traffic, by block, in Gb/s."""

    def __init__(self) -> None:
        self._at: list[int] = []
        self._switches = 1
        self._rates = np.zeros((0, 0), dtype=np.int64)
        self._south: dict[End, int] = {}
        self._north: dict[End, int] = {}
        """(OCS, South port) → North port."""
        self._lit: set[End] = set()
        self._fit: set[End] = set()
        self._drained: set[End] = set()
        self._watched: dict[tuple[str, int], tuple[OcsCircuit, ...]] = {}
        self._broken: Counter[str] = Counter()
        self._rewirings: set[str] = set()
        self._told: Links = Counter()
        self._links: Links = Counter()
        self._changed = False
        self.judged = 0

    @property
    def capacity(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        found = np.zeros(len(self._rates), dtype=np.int64)
        for (one, other), links in self._links.items():
            found[[one, other]] += links * self._rates[one, other]
        return found

    def see(self, message: Envelope) -> Iterator[str]:
        if message.cause is None and self._changed:
            self._changed = False
            yield from self._judge()
        body = message.body
        yield from self._follow(body)
        if isinstance(body, TrunksChanged):
            for one, other, links in body.links:
                if self._told[one, other] == links:
                    yield f"block {one} to block {other}: {links} links were reported before"
                self._told[one, other] = links

    def _follow(self, body: Body) -> Iterator[str]:
        self._changed |= isinstance(body, CHANGING)
        match body:
            case FabricCommissioned(config=DcnConfig() as config):
                self._at, self._switches = blocks_at(config.network), config.network.switches
                self._rates = rate_table(config.network)
            case CircuitsRewired():
                yield from self._rewire(body)
            case CircuitsRestored():
                yield from self._restore(body)
            case OcsDown():
                self._darken([body.ocs])
            case OcsesDown():
                self._darken(list(body.ocses))
            case PortDown():
                ends = self._south if body.side == "N" else self._north
                if (body.ocs, body.port) in ends:
                    north = body.port if body.side == "N" else ends[body.ocs, body.port]
                    self._lit.discard((body.ocs, north))
            case FaultBegan(kind="block" | "bundle"):
                self._broken[body.target] += 1
            case FaultEnded(kind="block" | "bundle"):
                self._broken[body.target] -= 1
            case StageBegun():
                self._drained |= {(ocs, north) for ocs, north, _ in body.drained}
            case StageUndrained():
                self._drained -= {(ocs, north) for ocs, north, _ in body.circuits}
            case CircuitsQualified():
                unfit = set(body.unfit)
                for circuit in self._watched.pop((body.rewiring, body.stage), ()):
                    if circuit not in unfit:
                        self._fit.add(circuit[:2])
            case RewiringPlanned():
                self._rewirings.add(body.rewiring)
            case RewiringEnded():
                self._rewirings.discard(body.rewiring)
            case _:
                pass

    def _rewire(self, body: CircuitsRewired) -> Iterator[str]:
        for ocs, north, south in body.removed:
            if self._south.get((ocs, north)) != south:
                yield f"OCS {ocs}: N{north} to S{south} is removed, but was not connected"
            self._forget(ocs, north)
        for ocs, north, south in (*body.made, *body.missing):
            if (ocs, north) in self._south or (ocs, south) in self._north:
                yield f"OCS {ocs}: N{north} to S{south} is connected to a port that has a circuit"
            self._south[ocs, north], self._north[ocs, south] = south, north
            self._drained.add((ocs, north))
        self._lit |= {(ocs, north) for ocs, north, _ in body.made}
        if body.made or body.missing:
            self._watched[body.rewiring, body.stage] = (*body.made, *body.missing)

    def _forget(self, ocs: int, north: int) -> None:
        self._north.pop((ocs, self._south.pop((ocs, north), -1)), None)
        for there in (self._lit, self._fit, self._drained):
            there.discard((ocs, north))

    def _restore(self, body: CircuitsRestored) -> Iterator[str]:
        for north, south in body.circuits:
            if self._south.get((body.ocs, north)) != south:
                yield f"OCS {body.ocs}: N{north} to S{south} is restored, but was not connected"
            elif (body.ocs, north) in self._lit:
                yield f"OCS {body.ocs}: N{north} to S{south} is restored, but had light"
            else:
                self._lit.add((body.ocs, north))

    def _darken(self, ocses: list[int]) -> None:
        self._lit -= {end for end in self._lit if end[0] in ocses}

    def _judge(self) -> Iterator[str]:
        self.judged += 1
        self._links = self._carrying()
        wrong = [pair for pair in self._links | self._told if self._links[pair] != self._told[pair]]
        for one, other in sorted(wrong)[:SHOWN]:
            yield (
                f"block {one} to block {other}: {self._told[one, other]} links are reported, but their "
                f"circuits make "
                f"{self._links[one, other]}"
            )
        if not self._rewirings:
            stray = [end for end in self._south if end in self._drained or end not in self._fit]
            for ocs, north in sorted(stray)[:SHOWN]:
                what = "drained" if (ocs, north) in self._drained else "unfit"
                yield f"OCS {ocs}: N{north} is {what}, but no rewiring is in progress"

    def _carrying(self) -> Links:
        bad = {tuple(name.split("/")[1:]) for name, faults in self._broken.items() if faults}
        down = {number_of(part[0]) for part in bad if len(part) == 1}
        cut = {(number_of(part[0]), number_of(part[1])) for part in bad if len(part) > 1}
        found: Links = Counter()
        for ocs, north in (self._lit & self._fit) - self._drained:
            pair = self._at[north], self._at[self._south[ocs, north]]
            rack = ocs // self._switches
            if not (down.intersection(pair) or {(block, rack) for block in pair} & cut):
                found[min(pair), max(pair)] += 1
        return found
