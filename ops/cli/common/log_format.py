"""Log handlers for stderr: text by default, JSON lines on demand, both with message and cause ids."""

import json
import logging
import sys
from collections.abc import Callable
from typing import TextIO

from ops.cli.common.progress import end_note, note_hidden
from ops.report.safe_text import escape_control
from ops.report.wall_time import format_time_of_day
from shared.storage.files.fd_limits import out_of_descriptors

FIELDS = ("message_id", "cause", "fabric", "at_us", "service", "partition", "offset", "replica")
LIBRARY_LEVELS = {
    **dict.fromkeys(("asyncio", "faust", "mode"), logging.WARNING),
    "aiokafka": logging.ERROR,
    "kafka": logging.CRITICAL,
}
"""Libraries that log every connection and every failed retry; the twin reports the outcome itself."""


REPEAT_S = 30.0
"""Seconds in which a repeated sentence of a library is logged once. A library that cannot reach its server
logs the same error many times a second."""
REMEMBERED_MAX = 1_000


class TerminalHandler(logging.StreamHandler[TextIO]):
    """Writes the log to stderr, where a progress line may be shown."""

    def emit(self, record: logging.LogRecord) -> None:
        with note_hidden():
            super().emit(record)


class TextFormatter(logging.Formatter):
    """Formats `12:00:01Z replica: error: text (message id)` without missing parts, followed by the
    traceback."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{format_time_of_day(record.created)} "
        if replica := getattr(record, "replica", None):
            text += f"{replica}: "
        if record.levelno >= logging.WARNING:
            text += f"{record.levelname.lower()}: "
        text += escape_control(record.getMessage())
        if message_id := getattr(record, "message_id", None):
            text += f" ({message_id})"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    """Formats one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        row: dict[str, object] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
        }
        row.update({name: value for name in FIELDS if (value := getattr(record, name, None)) is not None})
        if record.exc_info:
            row["exception"] = self.formatException(record.exc_info)
        return json.dumps(row)


def configure_logging(
    *, as_json: bool, level: int = logging.INFO, replica: str | None = None, keep_note: bool = False
) -> None:
    """Send the twin's logs to stderr as text or JSON. If there are several processes, every line has the name
    of its process. The note of a long command ends, unless `keep_note`."""
    if as_json or not keep_note:
        end_note()
    handler = TerminalHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    if replica is not None:
        handler.addFilter(_add_replica(replica))
    handler.addFilter(_explain_descriptor_limit)
    handler.addFilter(_drop_repeats(tuple(LIBRARY_LEVELS)))
    for name, least in LIBRARY_LEVELS.items():
        logging.getLogger(name).setLevel(least)


def _add_replica(replica: str) -> Callable[[logging.LogRecord], bool]:
    def name(record: logging.LogRecord) -> bool:
        record.replica = replica
        return True

    return name


def _explain_descriptor_limit(record: logging.LogRecord) -> bool:
    """Shortens errors about missing file descriptors to a sentence with the remedy. Without descriptors any
    library may fail, so only the first such error has a traceback."""
    lack = out_of_descriptors(record.exc_info[1]) if record.exc_info else None
    if lack is not None:
        first, _, _rest = record.getMessage().partition("\n")
        record.msg, record.args = f"{first}: {lack}", ()
        record.exc_info = record.exc_text = None
    return True


def _drop_repeats(libraries: tuple[str, ...]) -> Callable[[logging.LogRecord], bool]:
    """Drops records that a library has just logged with the same words."""
    last_logged_s: dict[str, float] = {}

    def is_new(record: logging.LogRecord) -> bool:
        if not record.name.startswith(libraries):
            return True
        text = record.getMessage()
        if record.created - last_logged_s.get(text, -REPEAT_S) < REPEAT_S:
            return False
        if len(last_logged_s) >= REMEMBERED_MAX:
            last_logged_s.clear()
        last_logged_s[text] = record.created
        return True

    return is_new
