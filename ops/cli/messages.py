"""Messages of the log as people read them: a row each."""

from typing import Any

from ops.common.tables import columns
from shared.basics.times import moment_ms

Row = dict[str, Any]
EVENT_HEADERS = ("TIME", "ID", "TYPE", "CAUSE", "WHAT")


def event_rows(messages: list[Row]) -> str:
    """Messages of the log as a table."""
    if not messages:
        return "no events"
    return columns(EVENT_HEADERS, [event_row(message) for message in messages])


def event_row(message: Row) -> list[object]:
    return [moment_ms(message["at_us"]), *(message[field] for field in ("id", "type", "cause", "text"))]
