"""What remains of a network after a failure, and the recovery.

Every block is striped evenly over all OCSes, so all blocks lose the same share: a rack of 32 takes 1/32 of
every block's capacity (Jupiter Evolving, second-hand). Recovery has three steps. At once, every pair
continues over its remaining paths with the old weights. Seconds later, weights are solved again. If that is
not enough, the topology is planned again for the remaining ports.

A failed *control* domain fails static: its circuits keep working, but cannot be changed. A failed *power*
domain is dark, unless its OCSes latch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.models.dcn.engineering.baselines import whole_links
from shared.models.dcn.engineering.topology_engineering import (
    EngineeredTopology,
    engineer,
)
from shared.models.dcn.planning import CAPACITY_FLOOR, CHAIN_MAX
from shared.models.dcn.rewiring.matchings import links_of
from shared.models.dcn.rewiring.rewired_circuits import rewired
from shared.models.dcn.rewiring.stage_planning import (
    Stage,
    Timing,
    block_capacity,
    plan_stages,
)
from shared.models.dcn.routing.path_loads import (
    capacity_shares,
    largest_use,
    path_capacity,
    trunk_capacity,
    trunk_loads,
    unreachable_pairs,
)
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import CONTROL_DOMAINS, BoolArray, FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

MIN_GAIN = 0.01
"""Minimum gain in the largest use: a smaller improvement is not worth moving circuits."""
FAILURE_KINDS = ("ocs", "rack", "power", "control", "block", "bundle")
_PART = re.compile(r"(?P<word>ocs|rack|power|control|bundle)-(?P<number>0|[1-9][0-9]{0,5})")


@dataclass(frozen=True, eq=False, slots=True)
class Remaining:
    """What remains after a failure.

    `ports` (K, B) remain on each side of every OCS. `held` (K,) OCSes keep their circuits and accept no new
    ones. `up` (B,) are the remaining blocks.
    """

    ports: IntArray
    held: BoolArray
    up: BoolArray


def names_of(plant: NetworkLayout, kind: str) -> list[str]:
    """Names of the parts of one kind (FAILURE_KINDS) that can fail; a bundle is a block's fibres to a rack,
    `block-5/bundle-3`."""
    blocks = [block.name for block in plant.blocks]
    racks = [f"rack-{n}" for n in range(plant.racks)]
    found = {
        "ocs": [f"ocs-{n}" for n in range(plant.ocs_count)],
        "rack": racks,
        "power": [f"power-{n}" for n in range(CONTROL_DOMAINS)],
        "control": [f"control-{n}" for n in range(CONTROL_DOMAINS)],
        "block": blocks,
        "bundle": [f"{block}/bundle-{rack}" for block in blocks for rack in range(plant.racks)],
    }
    if kind not in found:
        raise InvalidInput(f"kind: {kind} is not a known kind; must be one of {', '.join(FAILURE_KINDS)}")
    return found[kind]


def remaining_after(plant: NetworkLayout, names: Sequence[str]) -> Remaining:
    """What remains when all of these parts fail together. InvalidInput names an unknown part."""
    blocks = len(plant.blocks)
    ports = np.tile(plant.ports, (plant.ocs_count, 1))
    held = np.zeros(plant.ocs_count, dtype=np.bool_)
    up = np.ones(blocks, dtype=np.bool_)
    for name in names:
        part, _, bundle = name.partition("/")
        if part in {block.name for block in plant.blocks}:
            block = plant.number(part)
            if bundle:
                ports[_switches(plant, bundle, ("bundle",), f"{part}/"), block] = 0
            else:
                up[block] = False
                ports[:, block] = 0
            continue
        dark = _switches(plant, name, ("ocs", "rack", "power", "control"))
        if part.startswith("control") or (part.startswith("power") and plant.technology.latching):
            held |= dark
        else:
            ports[dark] = 0
    return Remaining(ports, held & ports.any(axis=1), up)


def _switches(plant: NetworkLayout, name: str, words: tuple[str, ...], of: str = "") -> BoolArray:
    """(K,) the OCSes of a part, or those that a bundle of block `of` leads to."""
    named = _PART.fullmatch(name)
    counts = {
        "ocs": plant.ocs_count,
        "rack": plant.racks,
        "power": CONTROL_DOMAINS,
        "control": CONTROL_DOMAINS,
    }
    counts["bundle"] = plant.racks
    if named is None or named["word"] not in words or int(named["number"]) >= counts[named["word"]]:
        some = [f"{word}-{n}" for word in words for n in range(counts[word])]
        some += [one.name for one in plant.blocks]
        ranges = ", ".join(f"{word}-0 to {word}-{counts[word] - 1}" for word in words)
        more = ", blocks, and a block's fibres to a rack, like block-5/bundle-3" if "ocs" in words else ""
        hint = closest_match_hint(name, some)
        if named is not None and named["word"] in words:  # the number is too large
            hint = f"; the nearest is {named['word']}-{counts[named['word']] - 1}"
        raise InvalidInput(f"{of}{name}: no part that can fail has this name; must be {ranges}{more}{hint}")
    part = np.arange(plant.ocs_count)
    if named["word"] != "ocs":
        part = part // plant.switches if named["word"] in ("rack", "bundle") else plant.domains
    found: BoolArray = part == int(named["number"])
    return found


def survivors(circuits: IntArray, loss: Remaining) -> IntArray:
    """(K, B, B) the circuits that still carry light: both of their blocks have ports there."""
    there = loss.ports > 0
    left: IntArray = circuits * (there[:, :, None] & there[:, None, :])
    return left


def capacity_left(plant: NetworkLayout, circuits: IntArray, loss: Remaining) -> FloatArray:
    """(B,) the remaining share of every block's capacity; 1 if it had none."""
    before, after = block_capacity(plant, circuits), block_capacity(plant, survivors(circuits, loss))
    return np.where(before > 0.0, after / np.where(before > 0.0, before, 1.0), 1.0)


def demand_left(plant: NetworkLayout, links: IntArray, demand: IntArray) -> IntArray:
    """(B, B) the demand with a direct or one-transit path over these links; the rest is cut off."""
    return np.where(unreachable_pairs(trunk_capacity(plant, links), demand), 0, demand)


def shares_left(share: FloatArray, carries: FloatArray) -> FloatArray:
    """(B, B, B) the old shares over the paths whose trunks (B, B) remain.

    Switches drop missing paths. Pairs that lost all of their paths use all remaining ones by capacity.
    """
    left = share * (path_capacity(carries) > 0.0)
    total = left.sum(axis=2, keepdims=True)
    return np.where(total > 0.0, left / np.where(total > 0.0, total, 1.0), capacity_shares(carries))


@dataclass(frozen=True, eq=False, slots=True)
class FailureImpact:
    """The immediate effect of a failure.

    Remaining links (B, B), share (B,) of every block's capacity, demand (B, B) that still has a path, and the
    largest use with the old shares.
    """

    links: IntArray
    left: FloatArray
    demand: IntArray
    use: float


def failure_impact(
    plant: NetworkLayout, demand: IntArray, circuits: IntArray, share: FloatArray, loss: Remaining
) -> FailureImpact:
    """The effect before anything is solved again; `share` (B, B, B) are the old weights."""
    links = links_of(survivors(circuits, loss))
    carries = trunk_capacity(plant, links)
    remaining_demand = demand_left(plant, links, demand * (loss.up[:, None] & loss.up[None, :]))
    use = largest_use(trunk_loads(shares_left(share, carries), remaining_demand), carries)
    return FailureImpact(links, capacity_left(plant, circuits, loss), remaining_demand, use)


@dataclass(frozen=True, eq=False, slots=True)
class FailureRecovery:
    """What a failure leaves, and the result of recovery.

    `rerouted`: the split of demand over the remaining circuits. `topology`, `circuits` (K, B, B) and
    `stages`: planned again, or the remaining ones if a new plan would improve the largest use by less than
    MIN_GAIN.
    """

    demand: IntArray
    """(B, B) the remaining demand, between blocks that are up and still joined."""
    rerouted: Split
    topology: EngineeredTopology
    circuits: IntArray
    stages: list[Stage]


def replan_after_failure(
    plant: NetworkLayout,
    demand: IntArray,
    circuits: IntArray,
    loss: Remaining,
    *,
    capacity_floor: float = CAPACITY_FLOOR,
    chain_max: int = CHAIN_MAX,
    timing: Timing | None = None,
) -> FailureRecovery:
    """New weights and a new topology for a demand (B, B) on the remaining ports, from the old circuits.

    Circuits of held OCSes stay and count. InvalidInput if no demand remains, or if the capacity floor, a
    share of what remains, cannot be kept.
    """
    aim = recovery_target(plant, demand, circuits, loss)
    moved = circuits_for_target(plant, aim, loss, chain_max)
    found = links_of(moved)
    split = split_over(plant, found, aim.demand)
    if split is None or split.use > (1.0 - MIN_GAIN) * aim.rerouted.use:
        kept = EngineeredTopology(links_of(aim.left), aim.rerouted, aim.topology.bound)
        return FailureRecovery(aim.demand, aim.rerouted, kept, aim.left, [])
    stages = plan_stages(plant, aim.left, moved, capacity_floor, timing)
    topology = EngineeredTopology(found, split, aim.topology.bound)
    return FailureRecovery(aim.demand, aim.rerouted, topology, moved, stages)


@dataclass(frozen=True, eq=False, slots=True)
class RecoveryTarget:
    """What remains, and the best topology for it.

    `left` (K, B, B) are the circuits that still carry light, and `rerouted` is the split of `demand` (B, B)
    over them. `topology` is engineered for the remaining ports.
    """

    demand: IntArray
    left: IntArray
    rerouted: Split
    topology: EngineeredTopology


def recovery_target(
    plant: NetworkLayout, demand: IntArray, circuits: IntArray, loss: Remaining
) -> RecoveryTarget:
    """The target for a demand (B, B), from the old circuits (K, B, B).

    Circuits of held OCSes stay and count. InvalidInput if no demand remains.
    """
    left = survivors(circuits, loss)
    links = links_of(left)
    remaining_demand = demand_left(plant, links, demand * (loss.up[:, None] & loss.up[None, :]))
    rerouted = split_demand(trunk_capacity(plant, links), remaining_demand)
    held = links_of(left * loss.held[:, None, None]).sum(axis=1)
    engineered = engineer(replace(plant, uplinks=_room(loss) + held), remaining_demand)
    return RecoveryTarget(remaining_demand, left, rerouted, engineered)


def circuits_for_target(
    plant: NetworkLayout, aim: RecoveryTarget, loss: Remaining, chain_max: int = CHAIN_MAX
) -> IntArray:
    """(K, B, B) circuits close to the target, most of them unchanged."""
    held = aim.left * loss.held[:, None, None]
    free = replace(plant, uplinks=_room(loss))
    wanted = _fitted(free, np.maximum(aim.topology.links - links_of(held), 0))
    return rewired(free, aim.left - held, wanted, chain_max, ports=loss.ports * ~loss.held[:, None]) + held


def split_over(plant: NetworkLayout, links: IntArray, demand: IntArray) -> Split | None:
    """The split of a demand over links (B, B); None if some of it would be cut off."""
    carries = trunk_capacity(plant, links)
    return None if unreachable_pairs(carries, demand).any() else split_demand(carries, demand)


def _room(loss: Remaining) -> IntArray:
    """(B,) ports that can take other circuits."""
    room: IntArray = 2 * (loss.ports * ~loss.held[:, None]).sum(axis=0)
    return room


def _fitted(free: NetworkLayout, links: IntArray) -> IntArray:
    """(B, B) links reduced in proportion where a block has too few changeable uplinks.

    Held circuits count, but may not be among the wanted links.
    """
    wanted = links.sum(axis=1)
    if (wanted <= free.uplinks).all():
        return links
    fits = np.minimum(1.0, free.uplinks / np.maximum(wanted, 1))
    return whole_links(free, links * np.minimum(fits[:, None], fits[None, :]))
