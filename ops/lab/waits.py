"""How long slices waited for their start, read off the log as it is written."""

from collections import defaultdict
from typing import Any

import orjson

from shared.models.superpod.shapes import chips_of

HEAD = 200
"""Bytes of a line in which its type stands: ids are shorter than that."""
PERCENT = (50, 95)


class Waits:
    """The waits of slices that were asked for after a moment, by fabric, tier and size."""

    def __init__(self, since_us: int) -> None:
        self._since_us = since_us
        self._asked: dict[str, tuple[str, str, int, int]] = {}
        """Slice that waits for its first start → (fabric, tier, chips, since when)."""
        self._waited: dict[tuple[str, str, int], list[int]] = defaultdict(list)

    def see(self, lines: bytes) -> None:
        """Take whole lines of the log."""
        for line in lines.splitlines():
            if b'"type":"Slice' in line[:HEAD]:
                self._see(orjson.loads(line))

    def _see(self, message: dict[str, Any]) -> None:
        name, at_us = message["body"]["slice"], message["at_us"]
        match message["type"]:
            case "SliceRequested" if at_us > self._since_us:
                body = message["body"]
                self._asked[name] = message["fabric"], body["tier"], chips_of(tuple(body["shape"])), at_us
            case "SliceStarted" if name in self._asked:
                fabric, tier, chips, asked_us = self._asked.pop(name)
                self._waited[fabric, tier, chips].append(at_us - asked_us)
            case "SliceRefused" | "SliceEvicted" | "SliceCompleted":
                self._asked.pop(name, None)

    def report(self, fabric: str, at_us: int) -> list[dict[str, Any]]:
        """A row for each tier and size. Who still waits at `at_us` counts with the time so far; who was
        refused or withdrawn before it started, not at all."""
        waiting: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for of, tier, chips, asked_us in self._asked.values():
            waiting[of, tier, chips].append(at_us - asked_us)
        found = []
        for key in sorted(self._waited.keys() | waiting.keys()):
            if key[0] == fabric:
                started = self._waited.get(key, [])
                waits = sorted([*started, *waiting.get(key, [])])
                ranks = {f"p{percent}_us": _rank(waits, percent) for percent in PERCENT}
                row = {"tier": key[1], "chips": key[2], "started": len(started)}
                found.append(row | {"waiting": len(waits) - len(started)} | ranks | {"most_us": waits[-1]})
        return found


def _rank(waits: list[int], percent: int) -> int:
    """The wait that so many percent do not exceed (nearest rank)."""
    return waits[-(-len(waits) * percent // 100) - 1]
