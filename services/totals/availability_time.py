"""How long each number of cubes and OCSes of a pod was available, from the messages of a run.

A cube is available while it is healthy and not drained. An OCS is whole while none of its parts is down. The
number of available cubes decides whether a job of a given size can be placed at all. Whether all OCSes are
whole decides whether it can be placed where any fault of an OCS is fatal (NSDI 2024).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.messages.ocs import OcsPartDown, OcsPartUp, PortsDown, PortsUp

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Block sizes in cubes for which the time is known during which a whole block was available."""


@dataclass(frozen=True, slots=True)
class AvailabilitySpans:
    """How long cubes and blocks of cubes were available, in microseconds."""

    available: tuple[int, ...]
    """Number of cubes → time during which exactly that many were available."""
    all_ocs: tuple[int, ...]
    """The same, counting only time during which all OCSes were whole."""
    blocks: Mapping[int, float]
    """Block size → time during which a block was available, averaged over all blocks of that size."""


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

    def see(self, message: Envelope) -> None:
        """Take a message of the pod; most types change nothing."""
        match message.body:
            case CubeUnhealthy(cube=cube) | CubeDrained(cube=cube):
                self._advance(message.at_us)
                self._change(cube, +1)
            case CubeHealthy(cube=cube) | CubeUndrained(cube=cube):
                self._advance(message.at_us)
                self._change(cube, -1)
            case OcsPartDown(part=part) | PortsDown(part=part):
                self._advance(message.at_us)
                self._ocs_out.add(part)
            case OcsPartUp(part=part) | PortsUp(part=part):
                self._advance(message.at_us)
                self._ocs_out.discard(part)

    def spans(self, at_us: int) -> AvailabilitySpans:
        """The times up to `at_us`."""
        self._advance(at_us)
        blocks = {size: us / len(self._blocks[size]) for size, us in self._block_us.items()}
        return AvailabilitySpans(tuple(self._available_us), tuple(self._all_ocs_us), blocks)

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


AVAILABILITY_TYPES = frozenset(
    body.__name__
    for body in (
        *(CubeUnhealthy, CubeDrained, CubeHealthy, CubeUndrained),
        *(OcsPartDown, OcsPartUp, PortsDown, PortsUp),
    )
)
"""Types of the messages that change availability."""
