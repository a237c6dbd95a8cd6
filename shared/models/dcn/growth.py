"""Growing a network while it carries traffic, by a rack, a block or a newer block, and turning a block down.

- A *rack* is added next to an installed one: half of the strands of every block on that rack move to it by
  hand. The circuits of each OCS are halved along Euler tours, so no trunk changes, and every block lacks half
  a rack meanwhile. A network grows from an eighth of its racks to a quarter, a half and all of them.
- A *block* gets new strands, which disturbs nothing; then circuits are moved to it in stages.
- A *newer* block gets new modules one control domain at a time. Its strands and circuits stay, because an OCS
  is independent of the rate. Then the topology is adapted. A radix of 512 uplinks instead of 256 adds strands
  as well.

For comparison the same steps are computed with jumpers moved by hand at a patch panel, and with a spine: one
that is built in full on the first day, or one that grows and takes every block's strands again.

A turndown is the reverse of adding a block. The block's own traffic has ended. Its circuits are replaced by
links between the others, for their demand, in stages that keep the capacity floor; then its strands are dark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.dcn_assumptions import assumed
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.planning import CAPACITY_FLOOR, CHAIN_MAX, plan
from shared.models.dcn.rewiring.matchings import halved
from shared.models.dcn.rewiring.rewired_circuits import circuits_made, rewired
from shared.models.dcn.rewiring.stage_planning import Stage, block_capacity, plan_stages
from shared.models.network.blocks import CONTROL_DOMAINS, Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray

GrowthKind = Literal["new rack", "newer block", "larger block", "new block"]
DemandOfPlant = Callable[[NetworkLayout], IntArray]
"""Function from a plant to the demand of its blocks, (B, B) Mb/s."""


@dataclass(frozen=True, eq=False, slots=True)
class AlternativeWork:
    """The same step in another design.

    `strands` are the strands, jumpers and modules plugged by hand in addition to the strands laid in any
    case.
    """

    strands: int
    seconds: float


@dataclass(frozen=True, eq=False, slots=True)
class GrowthStep:
    """One step, and the network after it.

    `what` is the part that changes: a block name or the new rack. `change`: a larger block has more uplinks
    and the same generation. `laid` strands are new and disturb nothing. `by_hand` strands or modules in use
    are drained, changed by hand and used again; then OCSes execute `stages`. `kept` is the least share of any
    block's capacity meanwhile, of the lesser of before and after; a newer block lacks one domain.
    """

    what: str
    change: GrowthKind
    plant: NetworkLayout
    circuits: IntArray
    laid: int
    by_hand: int
    stages: list[Stage]
    disturbed: int
    """Circuits that carried traffic before and were drained."""
    kept: float
    seconds: float
    use: float | None
    """The largest use afterwards; None for a rack, which changes no trunk."""
    panel: AlternativeWork
    spine_prebuilt: AlternativeWork | None
    spine_grown: AlternativeWork | None
    """None for a rack, which a spine network does not have."""


def growth_steps(
    now: NetworkLayout,
    later: NetworkLayout,
    circuits: IntArray,
    demand: DemandOfPlant,
    *,
    capacity_floor: float = CAPACITY_FLOOR,
) -> Iterator[GrowthStep]:
    """The steps from a plant with circuits (K, B, B) to another: racks, newer blocks in order, then new
    blocks.

    InvalidInput names a change that growth cannot make.
    """
    _check_growth(now, later)
    plant = now
    while plant.racks < later.racks:
        for step in _doubled(plant, circuits):
            yield step
        plant, circuits = step.plant, step.circuits
    places = {block.name: block for block in later.blocks}
    for block in now.blocks:
        if places[block.name] != block:
            step = _newer(plant, circuits, places[block.name], demand, capacity_floor)
            yield step
            plant, circuits = step.plant, step.circuits
    names = {block.name for block in now.blocks}
    for block in later.blocks:
        if block.name not in names:
            step = _joined(plant, circuits, block, demand, capacity_floor)
            yield step
            plant, circuits = step.plant, step.circuits


def _check_growth(now: NetworkLayout, later: NetworkLayout) -> None:
    if now.switches != later.switches or now.technology != later.technology:
        raise InvalidInput("switches, technology: cannot change; a network grows by racks of one kind")
    if later.racks < now.racks or later.racks_full != now.racks_full:
        raise InvalidInput(
            f"racks: {later.racks} of {later.racks_full} is not allowed after {now.racks} of "
            f"{now.racks_full}; must be at least {now.racks} of {now.racks_full}"
        )
    places = {block.name: block for block in later.blocks}
    for block in now.blocks:
        after = places.get(block.name)
        if after is None:
            raise InvalidInput(f"block {block.name}: missing in the later network; must be kept")
        for field in ("generation", "uplinks"):
            if getattr(after, field) < getattr(block, field):
                was, then = getattr(block, field), getattr(after, field)
                raise InvalidInput(
                    f"block {block.name}: {field} {then} is not allowed after {was}; must not be less"
                )
        for field in ("customer", "modules"):
            if getattr(after, field) != getattr(block, field):
                raise InvalidInput(
                    f"block {block.name}: {field} {getattr(after, field)} is not allowed after "
                    f"{getattr(block, field)}; must not change"
                )


def _with(plant: NetworkLayout, blocks: Sequence[Block], racks: int | None = None) -> NetworkLayout:
    return layout_of(
        blocks,
        racks=plant.racks if racks is None else racks,
        racks_full=plant.racks_full,
        switches=plant.switches,
        technology=plant.technology.name,
    )


def _by_hand_s(strands: int, each: str = "strand_by_hand_s") -> float:
    return strands * assumed(each) / assumed("technicians")


def _around_s() -> float:
    """Time around manual work: drain traffic, qualify links, undrain."""
    return assumed("drain_s") + assumed("qualify_s") + assumed("undrain_s")


def _doubled(plant: NetworkLayout, circuits: IntArray) -> Iterator[GrowthStep]:
    """Doubles the racks. Rack 2r + 1 goes next to old rack r, which is now 2r, so that domains stay the same.

    In between, racks without a new neighbour have more ports than the others.
    """
    double = _with(plant, plant.blocks, 2 * plant.racks)
    _, move = halved(circuits)
    shape = (plant.racks, plant.switches, *plant.rates.shape)
    placed = np.zeros((plant.racks, 2, plant.switches, *plant.rates.shape), dtype=np.int64)
    placed[:, 0] = circuits.reshape(shape)
    capacity = block_capacity(plant, circuits)
    for rack in range(plant.racks):
        moved = move.reshape(shape)[rack]
        placed[rack, 0] -= moved
        placed[rack, 1] += moved
        lost = block_capacity(plant, moved)
        kept = 1.0 - float((lost / np.where(capacity > 0.0, capacity, 1.0)).max())
        strands = plant.switches * int(plant.ports.sum())
        beside = AlternativeWork(strands, _by_hand_s(strands) + _around_s())
        yield GrowthStep(
            f"rack-{2 * rack + 1}",
            "new rack",
            double,
            placed.reshape(double.ocs_count, *plant.rates.shape).copy(),
            laid=0,
            by_hand=strands,
            stages=[],
            disturbed=int(moved.sum()),
            kept=kept,
            seconds=beside.seconds,
            use=None,
            panel=beside,
            spine_prebuilt=None,
            spine_grown=None,
        )


def _newer(
    plant: NetworkLayout, circuits: IntArray, block: Block, demand: DemandOfPlant, capacity_floor: float
) -> GrowthStep:
    """Replaces a block by one of a newer generation or with more uplinks."""
    place = plant.number(block.name)
    was = plant.blocks[place]
    after = _with(plant, [block if n == place else one for n, one in enumerate(plant.blocks)])
    found = plan(after, demand(after), circuits, capacity_floor=capacity_floor)
    modules, kept, drained, seconds = 0, 1.0, 0, 0.0
    if block.generation != was.generation:
        # An OSFP module has two uplinks.
        modules = was.uplinks // 2
        kept, drained = _domains_of(plant, circuits, place)
        seconds = CONTROL_DOMAINS * _around_s() + _by_hand_s(modules, "module_by_hand_s")
    jumpers = circuits_made(circuits, found.circuits)
    old = int(plant.uplinks.sum())
    restriped = round(old * (block.uplinks - was.uplinks) / (old + block.uplinks - was.uplinks))
    return GrowthStep(
        block.name,
        "larger block" if block.generation == was.generation else "newer block",
        after,
        found.circuits,
        laid=block.uplinks - was.uplinks,
        by_hand=modules,
        stages=found.stages,
        disturbed=drained + circuits_made(found.circuits, circuits),
        kept=min([kept, *(stage.kept for stage in found.stages)]),
        seconds=seconds + sum(stage.seconds for stage in found.stages),
        use=found.topology.split.use,
        panel=AlternativeWork(modules + jumpers, seconds + _panel_s(found.stages, jumpers)),
        spine_prebuilt=AlternativeWork(modules, seconds),
        spine_grown=AlternativeWork(modules + restriped, seconds + _restriping_s(restriped)),
    )


def _domains_of(plant: NetworkLayout, circuits: IntArray, block: int) -> tuple[float, int]:
    """(least remaining share of any block's capacity while a block's modules are changed domain by domain,
    its circuits)."""
    own = np.zeros_like(circuits)
    own[:, block, :] = circuits[:, block, :]
    own[:, :, block] = circuits[:, :, block]
    capacity = block_capacity(plant, circuits)
    lost = max(
        float((block_capacity(plant, own[plant.domains == domain]) / np.maximum(capacity, 1.0)).max())
        for domain in range(CONTROL_DOMAINS)
    )
    return 1.0 - lost, int(own.sum())


def _joined(
    plant: NetworkLayout, circuits: IntArray, block: Block, demand: DemandOfPlant, capacity_floor: float
) -> GrowthStep:
    """Adds one block."""
    after = _with(plant, [*plant.blocks, block])
    there = np.pad(circuits, ((0, 0), (0, 1), (0, 1)))
    found = plan(after, demand(after), there, capacity_floor=capacity_floor)
    jumpers = circuits_made(there, found.circuits)
    old = int(plant.uplinks.sum())
    restriped = round(old * block.uplinks / (old + block.uplinks))
    return GrowthStep(
        block.name,
        "new block",
        after,
        found.circuits,
        laid=block.uplinks,
        by_hand=0,
        stages=found.stages,
        disturbed=circuits_made(found.circuits, there),
        kept=min([1.0, *(stage.kept for stage in found.stages)]),
        seconds=sum(stage.seconds for stage in found.stages),
        use=found.topology.split.use,
        panel=AlternativeWork(jumpers, _panel_s(found.stages, jumpers)),
        spine_prebuilt=AlternativeWork(0, 0.0),
        spine_grown=AlternativeWork(restriped, _restriping_s(restriped)),
    )


def _panel_s(stages: list[Stage], jumpers: int) -> float:
    """Time of the same stages when a jumper is moved by hand for every circuit."""
    return len(stages) * _around_s() + _by_hand_s(jumpers)


def _restriping_s(strands: int) -> float:
    """Time to move strands to new spine blocks, a quarter of the spine at a time."""
    return CONTROL_DOMAINS * _around_s() + _by_hand_s(strands) if strands else 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Turndown:
    """Final `circuits` (K, B, B), none of them the block's, and the `stages` to reach them."""

    circuits: IntArray
    stages: list[Stage]


def turn_down(
    plant: NetworkLayout,
    circuits: IntArray,
    block: str,
    demand: IntArray,
    *,
    capacity_floor: float = CAPACITY_FLOOR,
    chain_max: int | None = CHAIN_MAX,
) -> Turndown:
    """Removes a block without demand from circuits (K, B, B), for the others' demand (B, B) in Mb/s.

    With `chain_max` of `rewired`, a few links between the others are not made. InvalidInput names an unknown
    block or one with demand, or a capacity floor that leaves no room.
    """
    gone = plant.number(block)
    if demand[gone].any() or demand[:, gone].any():
        raise InvalidInput(f"block {block}: still has demand; must be idle before it is turned down")
    others = [n for n in range(len(plant.blocks)) if n != gone]
    left = layout_of(
        [plant.blocks[n] for n in others],
        racks=plant.racks,
        racks_full=plant.racks_full,
        switches=plant.switches,
        technology=plant.technology.name,
    )
    links = np.zeros_like(demand)
    among = np.array(others)[:, None], np.array(others)[None, :]
    links[among] = engineer(left, demand[among]).links
    then = rewired(plant, circuits, links, chain_max)
    # A short chain leaves circuits whose ports are not needed; those of this block are removed in any case.
    then[:, gone, :] = 0
    then[:, :, gone] = 0
    return Turndown(then, plan_stages(plant, circuits, then, capacity_floor))
