"""How long each number of cubes and OCSes of a pod was available, read from the log as it is written.

A cube is available while it is healthy and not drained. An OCS is whole while none of its parts is down. By
the first is decided whether a job of so many cubes can be placed at all, by the second whether it can be
where any fault of an OCS is fatal (NSDI 2024).
"""

from collections.abc import Mapping
from typing import Any

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Block sizes in cubes for which the report has the time during which a whole block was available."""


class AvailabilityTime:
    """Availability of one pod since its commissioning; time before `since_us` is not counted."""

    def __init__(self, cubes: int, since_us: int) -> None:
        self._since_us = self._at_us = max(0, since_us)
        self._out = [0] * cubes
        """Cube → reasons why it is unavailable."""
        self._ocs_out: set[str] = set()
        self._available = cubes
        self._blocks = {size: [0] * (cubes // size) for size in BLOCK_SIZES if size <= cubes}
        """Block → number of unavailable cubes."""
        self._whole = {size: cubes // size for size in self._blocks}
        self._available_us = [0] * (cubes + 1)
        self._all_ocs_us = [0] * (cubes + 1)
        self._block_us = dict.fromkeys(self._blocks, 0)

    def see(self, message: Mapping[str, Any]) -> None:
        """Take a message of the pod of a type that `tells`."""
        self._advance(message["at_us"])
        body = message["body"]
        match message["type"]:
            case "CubeUnhealthy" | "CubeDrained":
                self._change(body["cube"], +1)
            case "CubeHealthy" | "CubeUndrained":
                self._change(body["cube"], -1)
            case "OcsPartDown" | "PortsDown":
                self._ocs_out.add(body["part"])
            case "OcsPartUp" | "PortsUp":
                self._ocs_out.discard(body["part"])

    def spans(self, at_us: int) -> dict[str, Any]:
        """Up to a moment, in microseconds: `available` for how long so many cubes were available, by number;
        `all_ocs` for how long while all OCSes were whole; `blocks` of each size for how long a block of it
        was, in the mean over all of them."""
        self._advance(at_us)
        return {
            "available": list(self._available_us),
            "all_ocs": list(self._all_ocs_us),
            "blocks": {size: us / len(self._blocks[size]) for size, us in self._block_us.items()},
        }

    def _change(self, cube: int, by: int) -> None:
        was = self._out[cube]
        self._out[cube] = was + by
        if (was == 0) == (was + by == 0):
            return
        step = 1 if was == 0 else -1
        self._available -= step
        for size, blocks in self._blocks.items():
            if cube // size >= len(blocks):
                continue
            before = blocks[cube // size]
            blocks[cube // size] = before + step
            if (before == 0) != (before + step == 0):
                self._whole[size] -= step

    def _advance(self, at_us: int) -> None:
        """Count the time since the last change."""
        span_us = at_us - self._at_us
        if span_us <= 0:
            return
        self._at_us = at_us
        self._available_us[self._available] += span_us
        if not self._ocs_out:
            self._all_ocs_us[self._available] += span_us
        for size, whole in self._whole.items():
            self._block_us[size] += whole * span_us


MESSAGE_PREFIXES = (b"Cube", b"OcsP", b"Port")
"""Prefixes of the message types that it reads."""
