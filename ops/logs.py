"""Logs on stderr: for people by default, as JSON lines on demand. Both carry message and cause ids where
there are any.
"""

import json
import logging
import sys
import time
from collections.abc import Callable

FIELDS = ("message_id", "cause", "fabric", "at_us", "partition", "offset", "replica")
QUIETER = {
    **dict.fromkeys(("asyncio", "faust", "mode"), logging.WARNING),
    "aiokafka": logging.ERROR,
    "kafka": logging.CRITICAL,
}
"""Libraries that tell of every connection, and of each again that fails; what comes of it the twin says."""


class PeopleFormatter(logging.Formatter):
    """`12:00:01 lightwave: text`, with the message's id behind it."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%H:%M:%S", time.localtime(record.created))
        text = f"{stamp} {'' if record.levelno < logging.WARNING else record.levelname.lower() + ': '}"
        text += record.getMessage()
        message_id = getattr(record, "message_id", None)
        return f"{text} ({message_id})" if message_id else text


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

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


def configure(*, as_json: bool, level: int = logging.INFO, replica: str | None = None) -> None:
    """Send the twin's logs to stderr in one of the two forms. Every line carries the name of the process,
    where there are several."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else PeopleFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    if replica is not None:
        handler.addFilter(_named(replica))
    for name, least in QUIETER.items():
        logging.getLogger(name).setLevel(least)


def _named(replica: str) -> Callable[[logging.LogRecord], bool]:
    def name(record: logging.LogRecord) -> bool:
        record.replica = replica
        return True

    return name
