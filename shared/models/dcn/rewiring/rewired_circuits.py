"""New circuits for changed trunks that change few of the current circuits.

Any plan makes at least as many circuits as links are missing between the blocks (`fewest_circuits_made`).
Finding matchings with the fewest changes is hard in general; this heuristic comes close. All circuits that
may stay do stay. A new link takes a pair of ports on one OCS that are free or used by surplus links; those
are given up only if their ports are needed. If the two ports are on different OCSes, the shortest chain of
circuits that helps moves between the two (König's alternating path). If blocks only have ports of the same
side, circuits are reversed first. One of these is always possible, so all links get their circuits.
"""

import numpy as np

from shared.models.dcn.rewiring.matchings import check_links, links_of
from shared.models.dcn.rewiring.port_assignment import (
    NORTH,
    SOUTH,
    BlockCircuit,
    PortAssignment,
    exchange,
    lowest,
    places,
)
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

TRIED_MAX = 64
"""Pairs of OCSes tried for a chain, for one link."""


def rewired(
    plant: NetworkLayout,
    now: IntArray,
    links: IntArray,
    chain_max: int | None = None,
    *,
    ports: IntArray | None = None,
) -> IntArray:
    """(K, B, B) circuits that make these links (B, B), most of them unchanged from `now` (K, B, B).

    The last few links are the most expensive, because their ports are far apart. With `chain_max`, a link
    that needs a longer chain is not made, and surplus links stay while nothing needs their ports. This gives
    most of the change for few circuits; `links_of` gives the resulting links.

    `ports` (K, B) is needed if a block does not have the same number on each side of every OCS because of
    failures. Links that then find no port are not made either.
    """
    check_links(plant, links)
    assignment = PortAssignment(plant.ports if ports is None else ports, now, links - links_of(now))
    exchange(assignment)
    for one, other in assignment.missing():
        ways = [(one, other), (other, one)]
        made_it = _place(assignment, ways, chain_max)
        if not made_it and chain_max is None and ports is None:
            _turn_round(assignment, one, other)
            made_it = _place(assignment, ways)
            if not made_it:
                raise AssertionError(f"no ports for a link between blocks {one} and {other}")
        if made_it:
            assignment.count(one, other)
    if chain_max is None:
        assignment.drop_rest()
    return assignment.circuits()


def circuits_made(now: IntArray, then: IntArray) -> int:
    """Number of circuits in `then` that are not in `now`."""
    return int(np.maximum(then - now, 0).sum())


def fewest_circuits_made(now: IntArray, links: IntArray) -> int:
    """Number of missing links between blocks: at least this many circuits must be made."""
    return int(np.maximum(links - links_of(now), 0).sum()) // 2


def _place(assignment: PortAssignment, ways: list[tuple[int, int]], chain_max: int | None = None) -> bool:
    """Makes a circuit in one of these directions with the fewest other changes; False if impossible."""
    return _on_one_switch(assignment, ways) or _by_a_chain(assignment, ways, chain_max)


def _on_one_switch(assignment: PortAssignment, ways: list[tuple[int, int]]) -> bool:
    """Uses an OCS where both ports are free or can be freed, with the fewest links given up."""
    spare = [(assignment.spare(NORTH, tail), assignment.spare(SOUTH, head)) for tail, head in ways]
    for given_up in range(3):
        for (tail, head), (north, south) in zip(ways, spare, strict=True):
            free = assignment.free[NORTH][tail], assignment.free[SOUTH][head]
            found = (free[0] & free[1], free[0] & south | north & free[1], north & south)[given_up]
            if found:
                switch = lowest(found)
                assignment.release(NORTH, tail, switch)
                assignment.release(SOUTH, head, switch)
                assignment.add(switch, tail, head)
                return True
    return False


def _by_a_chain(assignment: PortAssignment, ways: list[tuple[int, int]], chain_max: int | None) -> bool:
    """Uses an OCS with the North port and another with the South port, with the shortest chain of moves."""
    best: tuple[int, int, int, int] | None = None
    longest = None if chain_max is None else chain_max + 1
    for tail, head in ways:
        norths = places(assignment.free[NORTH][tail] | assignment.spare(NORTH, tail))
        souths = places(assignment.free[SOUTH][head] | assignment.spare(SOUTH, head))
        pairs = [(first, second) for first in norths for second in souths]
        for first, second in pairs[:: max(1, len(pairs) // TRIED_MAX)]:
            chain = _chain(assignment, first, second, head, longest)
            if chain is not None:
                best, longest = (tail, head, first, second), len(chain)
    if best is None:
        return False
    tail, head, first, second = best
    assignment.release(NORTH, tail, first)
    assignment.release(SOUTH, head, second)
    # What was given up is no longer spare, so the chain is computed again.
    chain = _chain(assignment, first, second, head, None)
    if chain is None:
        return False
    for source, a, b in chain:
        assignment.remove(source, a, b)
        target = second if source == first else first
        assignment.release(*((NORTH, a) if source == first else (SOUTH, b)), target)
        assignment.add(target, a, b)
    assignment.release(SOUTH, head, first)
    assignment.add(first, tail, head)
    return True


def _chain(
    assignment: PortAssignment, first: int, second: int, head: int, longest: int | None
) -> list[BlockCircuit] | None:
    """The circuits that change their OCS, in order, so that a block gets a South port on the first OCS for
    one on the second.

    None if the chain reaches `longest`, or if a block on the way has no port on one of the two OCSes. A
    circuit to the block moves to the second OCS. If its other end has no port there, one of that block's
    circuits moves to the first, and so on. No circuit moves twice.
    """
    chain: list[BlockCircuit] = []
    moved: set[tuple[int, int, int, int]] = set()
    if assignment.has_port(SOUTH, head, first):
        return chain
    while longest is None or len(chain) + 1 < longest:
        found = _unmoved(assignment, moved, first, SOUTH, head)
        if found is None:
            return None
        chain.append((first, *found))
        tail = found[0]
        if assignment.has_port(NORTH, tail, second):
            return chain
        if longest is not None and len(chain) + 1 >= longest:
            return None
        found = _unmoved(assignment, moved, second, NORTH, tail)
        if found is None:
            return None
        chain.append((second, *found))
        head = found[1]
        if assignment.has_port(SOUTH, head, first):
            return chain
    return None


def _unmoved(
    assignment: PortAssignment, moved: set[tuple[int, int, int, int]], switch: int, side: int, block: int
) -> tuple[int, int] | None:
    """(tail, head) of a block's circuit on an OCS that the chain has not moved yet, which is then marked.

    None if there is none, because ports have failed.
    """
    others = assignment.others[side][switch][block]
    for place, other in enumerate(others):
        tail, head = (block, other) if side == NORTH else (other, block)
        nth = others[:place].count(other)
        if (switch, tail, head, nth) not in moved:
            moved.add((switch, tail, head, nth))
            return tail, head
    return None


def _turn_round(assignment: PortAssignment, one: int, other: int) -> None:
    """Reverses a chain of circuits when two blocks only have ports of the same side.

    The chain goes from one of the two to a block that has a port of the other side.
    """
    side = SOUTH if assignment.free[NORTH][one] | assignment.spare(NORTH, one) else NORTH
    came = {one: one, other: other}
    waiting = [one, other]
    for block in waiting:
        if assignment.free[side][block] | assignment.spare(side, block):
            break
        for after in assignment.partners(side, block):
            if after not in came:
                came[after] = block
                waiting.append(after)
    chain = []
    while came[block] != block:
        chain.append((came[block], block) if side == NORTH else (block, came[block]))
        block = came[block]
    for tail, head in chain:
        assignment.remove(lowest(assignment.held[tail][head]), tail, head)
    for tail, head in chain:
        if not _place(assignment, [(head, tail)]):
            raise AssertionError(f"no ports to reverse a circuit between blocks {tail} and {head}")
