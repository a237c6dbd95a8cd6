"""Links that are too many for links that are missing, on one OCS at a time, with no other circuit moved.

The circuits of links that are too many hold ports, and some ports are free. Which North port of these joins
which South port is an assignment: 1 for a link that is missing, and a little less for a circuit that stays,
so that circuits are given up in whole rings, all of whose ports are used again, before anything else.
"""

from collections import Counter

import numpy as np
from scipy.optimize import linear_sum_assignment

from shared.models.dcn.ports import NORTH, SOUTH, PortBook

STAYS = 0.95
"""The worth of a circuit that stays: only whole rings, or very long chains, are worth giving up."""


def exchange(book: PortBook) -> None:
    """Makes missing links wherever that moves nothing else, in rings on every OCS."""
    for switch in range(book.switches):
        _exchange_on(book, switch)


def _exchange_on(book: PortBook, switch: int) -> None:
    tails, heads = _spare_circuits(book, switch)
    circuits = len(tails)
    for block, rooms in enumerate(book.room[NORTH]):
        tails += [block] * rooms[switch]
    for block, rooms in enumerate(book.room[SOUTH]):
        heads += [block] * rooms[switch]
    if not tails or not heads:
        return
    worth = book.lacking[tails][:, heads].astype(np.float64)
    if not worth.any():
        return
    worth[range(circuits), range(circuits)] = STAYS
    rows, columns = linear_sum_assignment(worth, maximize=True)
    joined = {
        int(row): int(column)
        for row, column in zip(rows, columns, strict=True)
        if worth[row, column] == 1.0 and not (row == column and row < circuits)
    }
    for ring in _rings(joined, circuits):
        given_up = [(tails[n], heads[n]) for n in sorted({n for pair in ring for n in pair if n < circuits})]
        made = [(tails[row], heads[column]) for row, column in ring]
        if _may(book, given_up, made):
            for tail, head in given_up:
                book.give_up(switch, tail, head)
            for tail, head in made:
                book.add(switch, tail, head)
                book.count(tail, head)


def _spare_circuits(book: PortBook, switch: int) -> tuple[list[int], list[int]]:
    """The North and South blocks of all circuits on an OCS whose link is too many."""
    tails: list[int] = []
    heads: list[int] = []
    for tail, others in enumerate(book.others[NORTH][switch]):
        for head in others:
            if head in book.over[tail]:
                tails.append(tail)
                heads.append(head)
    return tails, heads


def _rings(joined: dict[int, int], circuits: int) -> list[list[tuple[int, int]]]:
    """The new links (row, column) that hang together by circuits that are given up: row n and column n are
    the ports of circuit n, if there is such."""
    left, rings = dict(joined), []
    by_column = {column: row for row, column in joined.items()}
    while left:
        start = min(left)
        ring: list[tuple[int, int]] = []
        row: int | None = start
        while row is not None and row in left:  # on from the column's circuit to its row
            ring.append((row, left[row]))
            row = ring[-1][1] if left.pop(row) < circuits else None
        column: int | None = start if start < circuits else None
        while column is not None and by_column.get(column) in left:  # and back from the row's
            before = by_column[column]
            ring.append((before, left.pop(before)))
            column = before if before < circuits else None
        rings.append(ring)
    return rings


def _may(book: PortBook, given_up: list[tuple[int, int]], made: list[tuple[int, int]]) -> bool:
    """Whether so many links of each pair are too many, or missing: a pair may be there in both directions."""
    return all(
        book_of[one].get(other, 0) >= times
        for book_of, links in ((book.over, given_up), (book.under, made))
        for (one, other), times in Counter((min(pair), max(pair)) for pair in links).items()
    )
