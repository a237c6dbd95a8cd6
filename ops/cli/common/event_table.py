"""Formats messages of the log as table rows."""

from typing import Any

from ops.report.tables import text_table
from shared.basics.time_format import format_time_ms

Row = dict[str, Any]
EVENT_HEADERS = ("TIME", "ID", "TYPE", "CAUSE", "WHAT")


def event_rows(messages: list[Row]) -> str:
    """Messages of the log as a table."""
    if not messages:
        return "no events"
    return text_table(EVENT_HEADERS, [event_row(message) for message in messages])


def event_row(message: Row) -> list[object]:
    return [format_time_ms(message["at_us"]), *(message[field] for field in ("id", "type", "cause", "text"))]
