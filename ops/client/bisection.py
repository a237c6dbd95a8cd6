"""Searches for the messages that change a condition. The twin answers part by part."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ops.client.answers import ApiPath, JsonRecord
from ops.client.http_client import Client, TwinBusy

if TYPE_CHECKING:
    from schemas.api.bisect import Bisection

FIELDS = ("from_us", "to_us", "reached_us", "held_at_start", "transitions", "messages", "cursor")
BUSY_WAIT_S_MAX = 120.0
"""Maximum time to wait while other clients run the same search, in seconds."""

BISECT: "ApiPath[Bisection]" = ApiPath("/v1/bisect")


def bisection_parts(client: Client, query: Mapping[str, object]) -> "Iterator[Bisection]":
    """Yield the results of the search, part by part. Waits while the twin runs the same search for other
    clients."""
    until_s = time.monotonic() + BUSY_WAIT_S_MAX
    while True:
        try:
            part = client.resource(BISECT, *FIELDS, **query)
        except TwinBusy as error:
            if time.monotonic() > until_s:
                raise
            time.sleep(error.retry_after_s)
            continue
        yield part
        if part.cursor is None or (part.transitions and not query["all"]):
            return
        query = {**query, "from": None, "to": None, "cursor": part.cursor}
        until_s = time.monotonic() + BUSY_WAIT_S_MAX


def whole_bisection(parts: "Sequence[Bisection]") -> "Bisection":
    """Combine the parts, at least one, into one answer for the whole span."""
    whole: Any = JsonRecord(parts[0])
    whole["transitions"] = [turn for part in parts for turn in part.transitions]
    whole["messages"] = sum(part.messages for part in parts)
    whole["reached_us"], whole["cursor"] = parts[-1].reached_us, parts[-1].cursor
    found: Bisection = whole
    return found
