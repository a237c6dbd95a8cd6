"""Messages of the log in answers of the gateway."""

from collections.abc import Mapping

import orjson

from schemas.envelope import Envelope
from schemas.registry import decode


def logged_message(row: Mapping[str, object]) -> Envelope:
    """The message of the log in a row of the gateway, which has more fields than the message. KeyError for a
    missing field, and Unreadable for one that is not valid."""
    return decode(orjson.dumps({name: row[name] for name in Envelope.model_fields}))
