"""The port for reading a log: by time, by id, or as it grows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.limits import COUNT_MAX
from schemas.messages.sequencer import FabricCommissioned
from shared.engine.message_order import commissioning_id

LineFilter = Callable[[bytes], bool]
"""A quick check of an encoded message; if it returns False, the message is skipped without decoding."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Selects messages between two positions of a site's log that match every field."""

    start: int = 0
    end: int = COUNT_MAX
    fabric: str | None = None
    types: tuple[str, ...] = ()
    """Message types; empty means all except `without`."""
    without: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    """Names of subjects, of which one must match."""
    effects: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """(types of causes, types of effects): a direct effect of a cause about one of these names matches,
    too."""
    cause: int | None = None
    """Position of a message; only its direct and indirect effects match."""


class LogReader(Protocol):
    """Positions count the messages of one site's log from 0. No method reads the whole log to find a
    place."""

    def end(self, site: str) -> int:
        """The position that the next message will have."""

    def position_at(self, site: str, at_us: int) -> int:
        """The position of the first message at or after this simulated time; `end` if none is."""

    def position_of(self, site: str, message_id: str) -> int | None:
        """The position of the message with this id, or None."""

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        """(position, message) of `most` positions from `start`, up to the present end, without unreadable
        messages and those that the filter rejects."""

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        """(position, message) of the first, or newest, `most` matching messages; oldest first.
        OperationFailed while the index is being built."""

    def count(self, site: str, query: LogQuery) -> int:
        """The number of matching messages."""


def commissioned_with(log: LogReader, site: str, fabric: str) -> FabricConfig:
    """The configuration in a fabric's first message; KeyError if the log does not contain it."""
    position = log.position_of(site, commissioning_id(fabric))
    if position is not None:
        for _, message in log.read(site, position, 1):
            if isinstance(message.body, FabricCommissioned):
                return message.body.config
    raise KeyError(fabric)
