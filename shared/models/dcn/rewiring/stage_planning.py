"""Stages of a rewiring under traffic: drain, switch, qualify, undrain, each stage keeping a promised share of
every block's capacity.

The changes on one OCS fall into parts that share no port and are therefore independent. A stage takes as many
parts as the capacity floor allows, all in one control domain, so a mistake affects only that domain (Jupiter
Evolving, second-hand: domain by domain). Its circuits are drained. Then mirrors move, the new circuits are
qualified by their optics, and traffic returns. Unchanged circuits keep carrying traffic.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shared.basics.checks import check_not_negative
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S
from shared.models.dcn.dcn_assumptions import assumed
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.ocs_technologies import OcsTechnology, switching_speed
from shared.models.superpod.wiring import IntArray

ROUNDING = 1e-6
"""Gb/s: far below any link and far above rounding errors of sums."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of the steps of a stage other than switching (`shared.models.dcn.dcn_assumptions`)."""

    drain_s: float = assumed("drain_s")
    qualify_s: float = assumed("qualify_s")
    undrain_s: float = assumed("undrain_s")

    def __post_init__(self) -> None:
        for field in ("drain_s", "qualify_s", "undrain_s"):
            check_not_negative(field, getattr(self, field))


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """One stage: removed and made circuits (n, 3) of (OCS, North block, South block), one row for each
    circuit."""

    domain: int
    removed: IntArray
    made: IntArray
    kept: float
    """The smallest share of any block's capacity during the stage, relative to the lesser of before and after
    the rewiring."""
    seconds: float

    @property
    def switches(self) -> list[int]:
        """The OCSes that change."""
        return sorted({*self.removed[:, 0].tolist(), *self.made[:, 0].tolist()})


def plan_stages(
    plant: NetworkLayout, now: IntArray, then: IntArray, capacity_floor: float, timing: Timing | None = None
) -> list[Stage]:
    """The stages from circuits (K, B, B) to others, each keeping at least `capacity_floor` (0 … 1) of every
    block's capacity.

    InvalidInput names a block for which not even one part can be changed.
    """
    if not 0.0 <= capacity_floor <= 1.0:
        raise InvalidInput(f"capacity_floor: {capacity_floor} is not allowed; must be between 0 and 1")
    plan = _Plan(plant, now, then, capacity_floor, timing or Timing())
    stages = []
    while plan.waiting:
        stages.append(plan.next_stage())
    return stages


def block_capacity(plant: NetworkLayout, circuits: IntArray) -> FloatArray:
    """(B,) Gb/s one way of all circuits (…, B, B) of each block."""
    directed = circuits.reshape(-1, *plant.rates.shape).sum(axis=0)
    both: FloatArray = ((directed + directed.T) * plant.rates).sum(axis=1).astype(np.float64)
    return both


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """Circuits of one OCS that change together, and the Gb/s that each block loses and gains."""

    switch: int
    domain: int
    removed: list[tuple[int, int, int]]
    made: list[tuple[int, int, int]]
    lost: dict[int, float]
    gained: dict[int, float]


class _Plan:
    """The current capacity of every block, and the waiting parts."""

    def __init__(
        self, plant: NetworkLayout, now: IntArray, then: IntArray, capacity_floor: float, timing: Timing
    ) -> None:
        self.plant, self.capacity_floor, self.timing = plant, capacity_floor, timing
        before, after = block_capacity(plant, now), block_capacity(plant, then)
        self.carried = before.tolist()
        self.least = np.minimum(before, after).tolist()
        self.waiting = _parts(plant, now, then)

    def next_stage(self) -> Stage:
        """As many waiting parts as the capacity floor allows, of the first domain that has any."""
        for domain in sorted({part.domain for part in self.waiting}):
            taken, others, left = self._fill(domain)
            if taken:
                self.waiting = others
                return self._close(domain, taken, left)
        raise InvalidInput(self._stuck())

    def _fill(self, domain: int) -> tuple[list[_Part], list[_Part], list[float]]:
        """(parts that fit into a stage, the others, capacity of every block meanwhile)."""
        left = list(self.carried)
        taken: list[_Part] = []
        others: list[_Part] = []
        for part in self.waiting:
            if part.domain == domain and not self._too_much(part, left):
                taken.append(part)
                for block, lost in part.lost.items():
                    left[block] -= lost
            else:
                others.append(part)
        return taken, others, left

    def _too_much(self, part: _Part, left: list[float]) -> list[int]:
        """The blocks that would fall below the capacity floor without a part."""
        return [
            block
            for block, lost in part.lost.items()
            if left[block] - lost < self.capacity_floor * self.least[block] - ROUNDING
        ]

    def _close(self, domain: int, taken: list[_Part], left: list[float]) -> Stage:
        self.carried = list(left)
        for part in taken:
            for block, gained in part.gained.items():
                self.carried[block] += gained
        kept = min((a / b for a, b in zip(left, self.least, strict=True) if b > 0.0), default=1.0)
        removed, made = (
            np.array(sorted(circuits), dtype=np.int64).reshape(-1, 3)
            for circuits in (
                [one for part in taken for one in part.removed],
                [one for part in taken for one in part.made],
            )
        )
        seconds = switching_seconds(self.plant.technology, made)
        steps = (self.timing.drain_s if len(removed) else 0.0) + seconds
        if len(made):
            steps += self.timing.qualify_s + self.timing.undrain_s
        return Stage(domain, removed, made, kept, steps)

    def _stuck(self) -> str:
        part = self.waiting[0]
        block = self._too_much(part, self.carried)[0]
        share = (self.carried[block] - part.lost[block]) / self.least[block]
        name = self.plant.blocks[block].name
        return (
            f"capacity_floor: {self.capacity_floor} is not allowed; block {name} has "
            f"{len(part.removed)} circuits on OCS {part.switch} that can only change together, which leaves "
            f"{share:.4f} of its capacity; must be low enough for them"
        )


def switching_seconds(technology: OcsTechnology, made: IntArray) -> float:
    """Mean time until the slowest OCS has switched (`SwitchingSpeed`); parking mirrors takes no time."""
    if not len(made):
        return 0.0
    return switching_speed(technology).expected_us(len(made), int(np.bincount(made[:, 0]).max())) / US_PER_S


def _parts(plant: NetworkLayout, now: IntArray, then: IntArray) -> list[_Part]:
    """The changes, in parts that share no port, by OCS."""
    blocks = len(plant.blocks)
    domains = plant.domains
    change = then - now
    parts = []
    for switch in np.flatnonzero(change.any(axis=(1, 2))).tolist():
        tails, heads = np.nonzero(change[switch])
        # A block's North ports on this OCS are one vertex and its South ports another.
        graph = coo_array((np.ones(len(tails)), (tails, blocks + heads)), shape=(2 * blocks, 2 * blocks))
        _, label = connected_components(graph.tocsr(), directed=False)
        for part in np.unique(label[tails]).tolist():
            here = np.flatnonzero(label[tails] == part)
            rows = [(switch, a, b) for a, b in zip(tails[here].tolist(), heads[here].tolist(), strict=True)]
            removed = [row for row in rows for _ in range(int(-change[row]))]
            made = [row for row in rows for _ in range(int(change[row]))]
            lost, gained = _by_block(plant, removed), _by_block(plant, made)
            parts.append(_Part(switch, int(domains[switch]), removed, made, lost, gained))
    return parts


def _by_block(plant: NetworkLayout, circuits: list[tuple[int, int, int]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for _, tail, head in circuits:
        for block in (tail, head):
            found[block] = found.get(block, 0.0) + float(plant.rates[tail, head])
    return found
