"""The port through which people read a log: by time, by id, or as it grows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.limits import COUNT_MAX
from schemas.messages.sequencer import FabricCommissioned
from shared.engine.roots import commissioning_id

LineFilter = Callable[[bytes], bool]
"""A quick look at an encoded message: False leaves it out before it is decoded."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which messages of a site's log somebody asks for: those from one position up to another of which all
    of this is true. Without `types` all but those of `without`; `about` are names of which one is enough, and
    `effects` (types of causes, types of effects): what a cause about one of these names led to at once counts
    as about it, too. `cause` is the position of a message from which they followed, directly or through
    others."""

    start: int = 0
    end: int = COUNT_MAX
    fabric: str | None = None
    types: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    effects: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    cause: int | None = None


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

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        """(position, message) of the first `most` messages that are asked for, or of the newest; oldest
        first. OperationFailed while the index that finds them is being made."""

    def count(self, site: str, query: LogQuery) -> int:
        """How many messages are asked for."""


def commissioned_with(log: LogReader, site: str, fabric: str) -> FabricConfig:
    """The configuration in a fabric's first message; KeyError if the log does not hold that."""
    position = log.position_of(site, commissioning_id(fabric))
    if position is not None:
        for _, message in log.read(site, position, 1):
            if isinstance(message.body, FabricCommissioned):
                return message.body.config
    raise KeyError(fabric)
