"""Port allocation on the OCSes while circuits are moved one by one.

Sets of OCSes are integers with one bit for each OCS. So "where has this block a North port and that one a
South port" is one operation.
"""

from collections import Counter

import numpy as np
from scipy.optimize import linear_sum_assignment

from shared.models.superpod.wiring import IntArray

NORTH, SOUTH = 0, 1
BlockCircuit = tuple[int, int, int]
"""(OCS, block of the North port, block of the South port)."""


class PortAssignment:
    """The current circuits, the free ports, and the number of surplus links between two blocks."""

    def __init__(self, ports: IntArray, circuits: IntArray, change: IntArray) -> None:
        """`circuits` (K, B, B) at the start, `ports` (B,) or (K, B) of each side, wanted `change` (B, B) in
        links."""
        self.switches, blocks = circuits.shape[:2]
        free = ports - circuits.sum(axis=2), ports - circuits.sum(axis=1)
        self.room = [side.T.tolist() for side in free]
        """[side][block][OCS]: free ports."""
        self.free = [[_mask(row) for row in side] for side in self.room]
        """[side][block]: the OCSes with a free port."""
        self.others: list[list[list[list[int]]]] = [
            [[[] for _ in range(blocks)] for _ in range(self.switches)] for _ in (NORTH, SOUTH)
        ]
        """[side][OCS][block]: the blocks at the other end of its circuits there."""
        self.held = [[0] * blocks for _ in range(blocks)]
        """[tail][head]: the OCSes with a circuit from North of the one to South of the other."""
        for switch, tail, head in np.argwhere(circuits).tolist():
            times = int(circuits[switch, tail, head])
            self.others[NORTH][switch][tail] += [head] * times
            self.others[SOUTH][switch][head] += [tail] * times
            self.held[tail][head] |= 1 << switch
        self.over = [
            {other: -int(row[other]) for other in np.flatnonzero(row < 0).tolist()} for row in change
        ]
        """[block]: block at the other end → links too many."""
        self.under = [
            {other: int(row[other]) for other in np.flatnonzero(row > 0).tolist()} for row in change
        ]
        """The same of links that are missing."""
        self.lacking = change > 0
        """(B, B) whether any is."""

    def circuits(self) -> IntArray:
        blocks = len(self.over)
        found = np.zeros((self.switches, blocks, blocks), dtype=np.int64)
        for switch, rows in enumerate(self.others[NORTH]):
            for tail, heads in enumerate(rows):
                for head in heads:
                    found[switch, tail, head] += 1
        return found

    def add(self, switch: int, tail: int, head: int) -> None:
        """Adds a circuit; both ports must be free."""
        self.others[NORTH][switch][tail].append(head)
        self.others[SOUTH][switch][head].append(tail)
        self.held[tail][head] |= 1 << switch
        self._take(NORTH, tail, switch, 1)
        self._take(SOUTH, head, switch, 1)

    def remove(self, switch: int, tail: int, head: int) -> None:
        heads = self.others[NORTH][switch][tail]
        heads.remove(head)
        self.others[SOUTH][switch][head].remove(tail)
        if head not in heads:
            self.held[tail][head] &= ~(1 << switch)
        self._take(NORTH, tail, switch, -1)
        self._take(SOUTH, head, switch, -1)

    def missing(self) -> list[tuple[int, int]]:
        """Every missing link, with the pairs in turn."""
        pairs = [
            (turn, one, other)
            for one, others in enumerate(self.under)
            for other, times in others.items()
            if one < other
            for turn in range(times)
        ]
        return [(one, other) for _, one, other in sorted(pairs)]

    def count(self, one: int, other: int) -> None:
        """Records that a missing link is made."""
        _less(self.under, one, other)
        if other not in self.under[one]:
            self.lacking[one, other] = self.lacking[other, one] = False

    def give_up(self, switch: int, tail: int, head: int) -> None:
        """Removes a circuit of a surplus link."""
        self.remove(switch, tail, head)
        _less(self.over, tail, head)

    def spare(self, side: int, block: int) -> int:
        """The OCSes where a surplus link uses a port of a block."""
        found = 0
        for other in self.over[block]:
            found |= self.held[block][other] if side == NORTH else self.held[other][block]
        return found

    def has_port(self, side: int, block: int, switch: int) -> bool:
        """Whether a block has a port on an OCS that is free or used by a surplus link."""
        over = self.over[block]
        return self.room[side][block][switch] > 0 or any(
            other in over for other in self.others[side][switch][block]
        )

    def release(self, side: int, block: int, switch: int) -> None:
        """Makes such a port free; gives up the surplus link if there is no free port."""
        if self.room[side][block][switch] > 0:
            return
        over = self.over[block]
        for other in self.others[side][switch][block]:
            if other in over:
                self.give_up(switch, *((block, other) if side == NORTH else (other, block)))
                return

    def drop_rest(self) -> None:
        """Gives up the remaining surplus links."""
        for block, over in enumerate(self.over):
            while over:
                other = min(over)
                tail, head = (block, other) if self.held[block][other] else (other, block)
                self.give_up(lowest(self.held[tail][head]), tail, head)

    def partners(self, side: int, block: int) -> list[int]:
        """The blocks to which a block has circuits from this side."""
        row = self.held[block] if side == NORTH else [heads[block] for heads in self.held]
        return [other for other, switches in enumerate(row) if switches]

    def _take(self, side: int, block: int, switch: int, times: int) -> None:
        room = self.room[side][block]
        room[switch] -= times
        if room[switch] > 0:
            self.free[side][block] |= 1 << switch
        else:
            self.free[side][block] &= ~(1 << switch)


def _less(links: list[dict[int, int]], one: int, other: int) -> None:
    for a, b in ((one, other), (other, one)):
        links[a][b] -= 1
        if not links[a][b]:
            del links[a][b]


def lowest(switches: int) -> int:
    """The first OCS of a nonempty set."""
    return (switches & -switches).bit_length() - 1


def places(switches: int) -> list[int]:
    """The OCSes of a set."""
    return [place for place, bit in enumerate(reversed(bin(switches))) if bit == "1"]


def _mask(room: list[int]) -> int:
    return sum(1 << place for place, value in enumerate(room) if value > 0)


# Exchange of surplus links for missing links on one OCS at a time, without moving other circuits.
#
# Surplus links use ports, and some ports are free. Joining North to South ports is an assignment problem. A
# missing link has value 1 and a circuit that stays has a little less. So circuits are given up first in whole
# rings, all of whose ports are used again.

MOVE_DISCOUNT = 0.95
"""Value of a circuit that stays: only whole rings, or very long chains, are worth giving up."""


def exchange(assignment: PortAssignment) -> None:
    """Makes missing links where no other circuit moves, in rings on every OCS."""
    for switch in range(assignment.switches):
        _exchange_on(assignment, switch)


def _exchange_on(assignment: PortAssignment, switch: int) -> None:
    tails, heads = _spare_circuits(assignment, switch)
    circuits = len(tails)
    for block, rooms in enumerate(assignment.room[NORTH]):
        tails += [block] * rooms[switch]
    for block, rooms in enumerate(assignment.room[SOUTH]):
        heads += [block] * rooms[switch]
    if not tails or not heads:
        return
    worth = assignment.lacking[tails][:, heads].astype(np.float64)
    if not worth.any():
        return
    worth[range(circuits), range(circuits)] = MOVE_DISCOUNT
    rows, columns = linear_sum_assignment(worth, maximize=True)
    joined = {
        int(row): int(column)
        for row, column in zip(rows, columns, strict=True)
        if worth[row, column] == 1.0 and not (row == column and row < circuits)
    }
    for ring in _rings(joined, circuits):
        given_up = [(tails[n], heads[n]) for n in sorted({n for pair in ring for n in pair if n < circuits})]
        made = [(tails[row], heads[column]) for row, column in ring]
        if _may(assignment, given_up, made):
            for tail, head in given_up:
                assignment.give_up(switch, tail, head)
            for tail, head in made:
                assignment.add(switch, tail, head)
                assignment.count(tail, head)


def _spare_circuits(assignment: PortAssignment, switch: int) -> tuple[list[int], list[int]]:
    """The North and South blocks of all circuits of surplus links on an OCS."""
    tails: list[int] = []
    heads: list[int] = []
    for tail, others in enumerate(assignment.others[NORTH][switch]):
        for head in others:
            if head in assignment.over[tail]:
                tails.append(tail)
                heads.append(head)
    return tails, heads


def _rings(joined: dict[int, int], circuits: int) -> list[list[tuple[int, int]]]:
    """The new links (row, column) grouped by the circuits that they replace.

    Row n and column n are the ports of circuit n, if there is one.
    """
    left, rings = dict(joined), []
    by_column = {column: row for row, column in joined.items()}
    while left:
        start = min(left)
        ring: list[tuple[int, int]] = []
        row: int | None = start
        while row is not None and row in left:  # from the column's circuit to its row
            ring.append((row, left[row]))
            row = ring[-1][1] if left.pop(row) < circuits else None
        column: int | None = start if start < circuits else None
        while column is not None and by_column.get(column) in left:  # and back from the row's circuit
            before = by_column[column]
            ring.append((before, left.pop(before)))
            column = before if before < circuits else None
        rings.append(ring)
    return rings


def _may(assignment: PortAssignment, given_up: list[tuple[int, int]], made: list[tuple[int, int]]) -> bool:
    """Whether each pair has this many surplus or missing links; a pair may occur in both directions."""
    return all(
        counts[one].get(other, 0) >= times
        for counts, links in ((assignment.over, given_up), (assignment.under, made))
        for (one, other), times in Counter((min(pair), max(pair)) for pair in links).items()
    )
