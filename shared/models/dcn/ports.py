"""Which port of which OCS is taken by what, while circuits are moved about one by one.

Sets of OCSes are whole numbers with a bit for each, so that "where has this block a North port and that one a
South port" is one operation.
"""

import numpy as np

from shared.models.superpod.wiring import IntArray

NORTH, SOUTH = 0, 1
Circuit = tuple[int, int, int]
"""(OCS, block of the North port, block of the South port)."""


class PortBook:
    """The circuits so far, the free ports, and how many links too many there are between two blocks."""

    def __init__(self, ports: IntArray, circuits: IntArray, change: IntArray) -> None:
        """`circuits` (K, B, B) to begin with, `ports` (B,) or (K, B) of each side, `change` (B, B) in links
        that is wanted."""
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
        """(K, B, B)."""
        blocks = len(self.over)
        found = np.zeros((self.switches, blocks, blocks), dtype=np.int64)
        for switch, rows in enumerate(self.others[NORTH]):
            for tail, heads in enumerate(rows):
                for head in heads:
                    found[switch, tail, head] += 1
        return found

    def add(self, switch: int, tail: int, head: int) -> None:
        """One circuit more; both ports are free."""
        self.others[NORTH][switch][tail].append(head)
        self.others[SOUTH][switch][head].append(tail)
        self.held[tail][head] |= 1 << switch
        self._take(NORTH, tail, switch, 1)
        self._take(SOUTH, head, switch, 1)

    def remove(self, switch: int, tail: int, head: int) -> None:
        """One circuit less."""
        heads = self.others[NORTH][switch][tail]
        heads.remove(head)
        self.others[SOUTH][switch][head].remove(tail)
        if head not in heads:
            self.held[tail][head] &= ~(1 << switch)
        self._take(NORTH, tail, switch, -1)
        self._take(SOUTH, head, switch, -1)

    def missing(self) -> list[tuple[int, int]]:
        """Every link that is missing, the pairs in turn."""
        pairs = [
            (turn, one, other)
            for one, others in enumerate(self.under)
            for other, times in others.items()
            if one < other
            for turn in range(times)
        ]
        return [(one, other) for _, one, other in sorted(pairs)]

    def count(self, one: int, other: int) -> None:
        """A link that was missing is made."""
        _less(self.under, one, other)
        if other not in self.under[one]:
            self.lacking[one, other] = self.lacking[other, one] = False

    def give_up(self, switch: int, tail: int, head: int) -> None:
        """Takes away a circuit of a link that is too many."""
        self.remove(switch, tail, head)
        _less(self.over, tail, head)

    def spare(self, side: int, block: int) -> int:
        """The OCSes where a port of a block is held by a link that is too many."""
        found = 0
        for other in self.over[block]:
            found |= self.held[block][other] if side == NORTH else self.held[other][block]
        return found

    def has_port(self, side: int, block: int, switch: int) -> bool:
        """Whether a block has a port on an OCS, free or held by a link that is too many."""
        over = self.over[block]
        return self.room[side][block][switch] > 0 or any(
            other in over for other in self.others[side][switch][block]
        )

    def release(self, side: int, block: int, switch: int) -> None:
        """Makes such a port free: gives up the link that is too many, where there is no free one."""
        if self.room[side][block][switch] > 0:
            return
        over = self.over[block]
        for other in self.others[side][switch][block]:
            if other in over:
                self.give_up(switch, *((block, other) if side == NORTH else (other, block)))
                return

    def drop_rest(self) -> None:
        """Gives up the links that are too many still."""
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
    """The first OCS of a set that is not empty."""
    return (switches & -switches).bit_length() - 1


def places(switches: int) -> list[int]:
    """The OCSes of a set."""
    return [place for place, bit in enumerate(reversed(bin(switches))) if bit == "1"]


def _mask(room: list[int]) -> int:
    return sum(1 << place for place, value in enumerate(room) if value > 0)
