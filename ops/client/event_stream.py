"""A stream of new messages that reconnects when the twin restarts."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ops.client.http_client import Client, ConnectionLost, escape_path

RECONNECT_S_MAX = 10.0
"""How long who follows events waits for a twin that went away."""
RECONNECT_POLL_S = 0.3


def follow_events(
    client: Client, fabric: str, query: Mapping[str, object], last: str | None, *, reconnect_s: float
) -> Iterator[tuple[str, Any]]:
    """(event id, message) as messages come, for ever: those that are asked for behind the event `last`, or
    without one since the moment in `asked`, or else from now on. Where the stream breaks off it is taken up
    again behind the last one seen; ConnectionLost where no twin answers for `return_s`."""
    since = query.get("since")
    if last is None and since is None:
        # From the log's end on, said by position: a twin that restarts before the first message loses none.
        position = client.resource(f"/v1/fabrics/{escape_path(fabric)}", "position")["position"]
        last = f"{fabric}:{position - 1}" if position else None
    lost_s: float | None = None
    while True:
        error: ConnectionLost | None = None
        try:
            ask = {**query, "fabric": fabric, "since": since if last is None else None}
            for event_id, message in client.stream("/v1/events/stream", last, **ask):
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
