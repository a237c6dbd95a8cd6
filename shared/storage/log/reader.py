"""The port through which people read a log: by time, by id, or as it grows."""

from collections.abc import Callable, Iterator
from typing import Protocol

from schemas.config import FabricConfig
from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned
from shared.engine.roots import commissioning_id

LineFilter = Callable[[bytes], bool]
"""A quick look at an encoded message: False leaves it out before it is decoded."""


class LogReader(Protocol):
    """Positions count the messages of one site's log from 0. Nothing here reads the whole log to find a
    place.
    """

    def end(self, site: str) -> int:
        """The position that the next message will have."""

    def position_at(self, site: str, at_us: int) -> int:
        """The position of the first message at or after this simulated time; `end` if there is none."""

    def position_of(self, site: str, message_id: str) -> int | None:
        """The position of the message with this id, or None."""

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        """(position, message) of `most` positions from `start`, up to the present end; what the filter
        holds back and what cannot be read is left out."""


def commissioned_with(log: LogReader, site: str, fabric: str) -> FabricConfig:
    """The configuration in a fabric's first message; KeyError if the log does not hold that."""
    position = log.position_of(site, commissioning_id(fabric))
    if position is not None:
        for _, message in log.read(site, position, 1):
            if isinstance(message.body, FabricCommissioned):
                return message.body.config
    raise KeyError(fabric)
