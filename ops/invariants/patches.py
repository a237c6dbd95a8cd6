"""Spare ports: a fibre moves only off a dead mirror, to one that nothing is at, and none comes back to it."""

from collections.abc import Iterator

from schemas.config import SuperpodConfig
from schemas.config_dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.ocs import PortDown, PortPatched, PortUp
from schemas.sequencer import FabricCommissioned
from shared.models.network.blocks import network_of
from shared.models.network.wiring import wiring_of
from shared.models.superpod.wiring import STRANDS

Port = tuple[int, str, int]
"""(OCS, side, number)."""


class PatchChecker:
    """Follows where every fibre is, by the port at which it was wired, and which of these are dark."""

    def __init__(self) -> None:
        self._wired = 0
        self._at: dict[Port, int] = {}
        self._dead: set[Port] = set()
        self._down: set[Port] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, SuperpodConfig):
            self._wired = STRANDS * body.config.pod.cubes
        elif isinstance(body, FabricCommissioned) and isinstance(body.config, DcnConfig):
            self._wired = wiring_of(network_of(body.config.network)).ports_wired
        elif isinstance(body, PortPatched):
            yield from self._patch(body)
        elif isinstance(body, PortDown | PortUp):
            port = (body.ocs, body.side, body.port)
            if body.spare != self._at.get(port):
                yield f"{_text(port)} is told at {body.spare}, but its fibre is at {self._at.get(port)}"
            (self._down.add if isinstance(body, PortDown) else self._down.discard)(port)

    def _patch(self, body: PortPatched) -> Iterator[str]:
        port, spare = (body.ocs, body.side, body.port), (body.ocs, body.side, body.spare)
        if port not in self._down:
            yield f"{_text(port)} is patched, but is not down"
        if body.port >= self._wired or body.spare < self._wired:
            yield f"{_text(port)} is patched to {body.spare}; fibres enter 0 to {self._wired - 1}"
        if body.left != self._at.get(port):
            yield f"{_text(port)} leaves {body.left}, but was at {self._at.get(port)}"
        taken = {(ocs, side, at) for (ocs, side, _), at in self._at.items()}
        if spare in taken | self._dead:
            yield f"{_text(port)} is patched to {_text(spare)}, where a fibre is or a dead mirror"
        if spare in self._down:
            yield f"{_text(port)} is patched to {_text(spare)}, which is down"
        self._dead.add((body.ocs, body.side, body.port if body.left is None else body.left))
        self._at[port] = body.spare
        self._down.discard(port)


def _text(port: Port) -> str:
    ocs, side, number = port
    return f"{side}{number} of OCS {ocs}"
