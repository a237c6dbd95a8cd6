"""From the circuits that run now to those of other trunks, with few circuits changed.

No plan makes fewer circuits than there are links missing between the blocks (`fewest_made`). To find
matchings with the fewest changes is hard in general; what is done here comes near it. All circuits that may
stay stay. A link that is to be made takes a pair of ports that are free on one OCS, or held by links that
are too many; those are given up only where their ports are wanted. Where one OCS has the one port and
another the other, a chain of circuits moves between the two (König's alternating path), the shortest of
those that do. Where blocks have ports of the wrong side only, circuits are turned round first. One of these
can always be done, so all links get their circuits.
"""

import numpy as np

from shared.models.dcn.rewiring.matchings import check_links, links_of
from shared.models.dcn.rewiring.port_book import (
    NORTH,
    SOUTH,
    Circuit,
    PortBook,
    exchange,
    lowest,
    places,
)
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray

TRIED_MAX = 64
"""Pairs of OCSes between which a chain is looked for, of one link."""


def rewired(
    plant: NetworkLayout,
    now: IntArray,
    links: IntArray,
    chain_max: int | None = None,
    *,
    ports: IntArray | None = None,
) -> IntArray:
    """(K, B, B) circuits that make these links (B, B), most of them where they are now (K, B, B).

    The last few links cost the most, for their ports are far from each other. With `chain_max`, a link that
    takes a longer chain is not made, and links that are too many stay where nothing needs their ports: most
    of the change for few circuits. What then runs is told by `links_of`.

    `ports` (K, B) where a block has not the same number on each side of every OCS, for some have failed: then
    there may be links that find none, which are not made, either.
    """
    check_links(plant, links)
    book = PortBook(plant.ports if ports is None else ports, now, links - links_of(now))
    exchange(book)
    for one, other in book.missing():
        ways = [(one, other), (other, one)]
        made_it = _place(book, ways, chain_max)
        if not made_it and chain_max is None and ports is None:
            _turn_round(book, one, other)
            made_it = _place(book, ways)
            if not made_it:
                raise AssertionError(f"no ports for a link between blocks {one} and {other}")
        if made_it:
            book.count(one, other)
    if chain_max is None:
        book.drop_rest()
    return book.circuits()


def circuits_made(now: IntArray, then: IntArray) -> int:
    """How many circuits there are then that are not there now."""
    return int(np.maximum(then - now, 0).sum())


def fewest_circuits_made(now: IntArray, links: IntArray) -> int:
    """How many links are missing between blocks: so many circuits at least have to be made."""
    return int(np.maximum(links - links_of(now), 0).sum()) // 2


def _place(book: PortBook, ways: list[tuple[int, int]], chain_max: int | None = None) -> bool:
    """A circuit one of these ways round, with as little else changed as can be; False if there is none."""
    return _on_one_switch(book, ways) or _by_a_chain(book, ways, chain_max)


def _on_one_switch(book: PortBook, ways: list[tuple[int, int]]) -> bool:
    """Where an OCS has both ports free, or as good as free; the fewest links are given up."""
    spare = [(book.spare(NORTH, tail), book.spare(SOUTH, head)) for tail, head in ways]
    for given_up in range(3):
        for (tail, head), (north, south) in zip(ways, spare, strict=True):
            free = book.free[NORTH][tail], book.free[SOUTH][head]
            found = (free[0] & free[1], free[0] & south | north & free[1], north & south)[given_up]
            if found:
                switch = lowest(found)
                book.release(NORTH, tail, switch)
                book.release(SOUTH, head, switch)
                book.add(switch, tail, head)
                return True
    return False


def _by_a_chain(book: PortBook, ways: list[tuple[int, int]], chain_max: int | None) -> bool:
    """Where one OCS has the North port and another the South port: the shortest chain that this moves."""
    best: tuple[int, int, int, int] | None = None
    longest = None if chain_max is None else chain_max + 1
    for tail, head in ways:
        norths = places(book.free[NORTH][tail] | book.spare(NORTH, tail))
        souths = places(book.free[SOUTH][head] | book.spare(SOUTH, head))
        pairs = [(first, second) for first in norths for second in souths]
        for first, second in pairs[:: max(1, len(pairs) // TRIED_MAX)]:
            chain = _chain(book, first, second, head, longest)
            if chain is not None:
                best, longest = (tail, head, first, second), len(chain)
    if best is None:
        return False
    tail, head, first, second = best
    book.release(NORTH, tail, first)
    book.release(SOUTH, head, second)
    # What was given up is spare no more, so the chain is looked for again.
    chain = _chain(book, first, second, head, None)
    if chain is None:
        return False
    for source, a, b in chain:
        book.remove(source, a, b)
        target = second if source == first else first
        book.release(*((NORTH, a) if source == first else (SOUTH, b)), target)
        book.add(target, a, b)
    book.release(SOUTH, head, first)
    book.add(first, tail, head)
    return True


def _chain(book: PortBook, first: int, second: int, head: int, longest: int | None) -> list[Circuit] | None:
    """The circuits that change their OCS, in order, so that a block gets a South port on the first OCS for
    one that it has on the second; None where they are as many as `longest` or more, or a block on the way has
    no port on one of the two at all.

    A circuit to the block moves to the second OCS; where its other end has no port there, one of that block's
    moves to the first; and so on. No circuit moves twice.
    """
    chain: list[Circuit] = []
    moved: set[tuple[int, int, int, int]] = set()
    if book.has_port(SOUTH, head, first):
        return chain
    while longest is None or len(chain) + 1 < longest:
        found = _unmoved(book, moved, first, SOUTH, head)
        if found is None:
            return None
        chain.append((first, *found))
        tail = found[0]
        if book.has_port(NORTH, tail, second):
            return chain
        if longest is not None and len(chain) + 1 >= longest:
            return None
        found = _unmoved(book, moved, second, NORTH, tail)
        if found is None:
            return None
        chain.append((second, *found))
        head = found[1]
        if book.has_port(SOUTH, head, first):
            return chain
    return None


def _unmoved(
    book: PortBook, moved: set[tuple[int, int, int, int]], switch: int, side: int, block: int
) -> tuple[int, int] | None:
    """(tail, head) of a block's circuit on an OCS that the chain has not moved yet, which is noted; None
    where it has none, for ports have failed."""
    others = book.others[side][switch][block]
    for place, other in enumerate(others):
        tail, head = (block, other) if side == NORTH else (other, block)
        nth = others[:place].count(other)
        if (switch, tail, head, nth) not in moved:
            moved.add((switch, tail, head, nth))
            return tail, head
    return None


def _turn_round(book: PortBook, one: int, other: int) -> None:
    """Two blocks have ports of the same side only: turns round a chain of circuits from one of the two to a
    block that has a port of the other side."""
    side = SOUTH if book.free[NORTH][one] | book.spare(NORTH, one) else NORTH
    came = {one: one, other: other}
    waiting = [one, other]
    for block in waiting:
        if book.free[side][block] | book.spare(side, block):
            break
        for after in book.partners(side, block):
            if after not in came:
                came[after] = block
                waiting.append(after)
    chain = []
    while came[block] != block:
        chain.append((came[block], block) if side == NORTH else (block, came[block]))
        block = came[block]
    for tail, head in chain:
        book.remove(lowest(book.held[tail][head]), tail, head)
    for tail, head in chain:
        if not _place(book, [(head, tail)]):
            raise AssertionError(f"no ports to reverse a circuit between blocks {tail} and {head}")
