"""A stream of new messages that reconnects when the twin restarts."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ops.client.answers import NEW_EVENTS
from ops.client.http_client import Client, ConnectionLost, escape_path

if TYPE_CHECKING:
    from schemas.api.rows import LogMessage

RECONNECT_S_MAX = 10.0
"""Maximum time to wait for a twin that stopped."""
RECONNECT_POLL_S = 0.3


def follow_events(
    client: Client, fabric: str, query: Mapping[str, object], last: str | None, *, reconnect_s: float
) -> Iterator[tuple[str, "LogMessage"]]:
    """Yield (event id, message) until the fabric has retired; then raise FabricEnded.

    Starts after the event `last`, or at the time `since` of the query, or now. If the connection is lost,
    resumes after the last event. Raises ConnectionLost if no twin answers for `reconnect_s` seconds.
    """
    since = query.get("since")
    if last is None and since is None:
        # Start at a position, not at a time: no message is lost if the twin restarts before the first one.
        position = client.resource(f"/v1/fabrics/{escape_path(fabric)}", "position")["position"]
        last = f"{fabric}:{position - 1}" if isinstance(position, int) and position else None
    lost_s: float | None = None
    while True:
        error: ConnectionLost | None = None
        try:
            filters = {**query, "fabric": fabric, "since": since if last is None else None}
            for event_id, message in client.stream(NEW_EVENTS, last, **filters):
                lost_s = None
                if message is not None:
                    last = event_id
                    yield event_id, message
        except ConnectionLost as found:
            error = found
        lost_s = time.monotonic() if lost_s is None else lost_s
        if error is not None and time.monotonic() - lost_s > reconnect_s:
            raise error
        time.sleep(RECONNECT_POLL_S)
