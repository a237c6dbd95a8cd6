"""Formats messages of the log as table rows."""

from typing import TYPE_CHECKING

from ops.report.tables import text_table
from shared.basics.time_format import format_time_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.api.rows import LogMessage

EVENT_HEADERS = ("TIME", "ID", "TYPE", "CAUSE", "WHAT")
EVENT_WIDE = ("ID", "CAUSE")
"""Columns that a narrow terminal does not show."""


def event_rows(messages: "Sequence[LogMessage]", indent: int = 0) -> str:
    """Format messages of the log as a table. A narrow terminal shows no ids."""
    if not messages:
        return f"{' ' * indent}no events"
    rows = [event_row(message) for message in messages]
    return text_table(EVENT_HEADERS, rows, EVENT_WIDE, indent=indent)


def event_row(message: "LogMessage") -> list[object]:
    return [format_time_ms(message.at_us), message.id, message.type, message.cause, message.text]
