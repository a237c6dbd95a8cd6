"""Methods of a twin about its log: messages, their causes, and the history of an object."""

import contextlib
from collections.abc import Iterator, Sequence

from lightwave._arguments import check_argument_types
from lightwave._connection import ROWS_MAX, TwinConnection
from lightwave._events import MESSAGE_FIELDS, Event
from ops.client.answers import EVENTS, ApiPath
from ops.client.event_stream import RECONNECT_S_MAX, follow_events
from ops.client.http_client import FabricEnded, default_fabric
from ops.requests.object_names import expand_name
from schemas.api.rows import LogMessage
from shared.basics.errors import InvalidInput

HISTORY_LIMIT = 100_000
"""Messages of a history, unless the caller gives a limit; as for `lightwave history`."""


class LogMethods(TwinConnection):
    """Methods that read the log."""

    @check_argument_types
    def events(
        self,
        fabric: str | None = None,
        *,
        types: str | Sequence[str] = (),
        about: str | None = None,
        cause: str | None = None,
        since: str | None = None,
        until: str | None = None,
        ticks: bool = False,
        limit: int = 100,
    ) -> list[Event]:
        """Return up to `limit` messages of the log, oldest first: the last ones, unless `since` or `cause`
        sets the start. Times are before now ("-2h") or since the start ("2h", "3d02:15:04")."""
        if not 1 <= limit <= ROWS_MAX:
            raise InvalidInput(f"limit {limit}: must be between 1 and {ROWS_MAX:,}")
        name = None if about is None else expand_name(self._client, about, fabric)
        filters = {
            **_event_query(types, name, cause, ticks=ticks),
            "fabric": fabric,
            "since": since,
            "until": until,
        }
        rows, _ = self._client.pages(EVENTS, *MESSAGE_FIELDS, most=limit, **filters)
        return [self._event(row) for row in rows]

    @check_argument_types
    def history(
        self,
        name: str,
        *,
        types: str | Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        limit: int = HISTORY_LIMIT,
    ) -> list[Event]:
        """Return everything that happened to an object, oldest first: the users of a cube, the partners of a
        link end, the faults of a slice. `limit` keeps the last messages, or with `since` the first ones."""
        return self.events(types=types, about=name, since=since, until=until, limit=limit)

    @check_argument_types
    def subscribe(
        self,
        fabric: str | None = None,
        *,
        types: str | Sequence[str] = (),
        about: str | None = None,
        since: str | None = None,
        after: str | None = None,
        ticks: bool = False,
        reconnect_timeout_s: float = RECONNECT_S_MAX,
    ) -> Iterator[Event]:
        """Follow the messages of a fabric until it has retired: from now on, since a time, or after the
        `position` of an earlier event. If the connection is lost, it resumes at the last event, so that no
        event is lost or repeated; TwinUnreachable if the twin does not come back within `reconnect_timeout_s`
        of wall time."""
        if since is not None and after is not None:
            raise InvalidInput("after: cannot be combined with since")
        about = None if about is None else expand_name(self._client, about, fabric)
        named = fabric or (about or "").split("/")[0] or (after or "").rpartition(":")[0]
        filters = {**_event_query(types, about, None, ticks=ticks), "since": since}
        stream = follow_events(
            self._client,
            named or default_fabric(self._client),
            filters,
            after,
            reconnect_s=reconnect_timeout_s,
        )
        return self._until_retired(stream)

    def _until_retired(self, stream: Iterator[tuple[str, LogMessage]]) -> Iterator[Event]:
        with contextlib.suppress(FabricEnded):
            for position, row in stream:
                yield self._event(row, position)

    @check_argument_types
    def why(self, message_or_name: str) -> list[Event]:
        """Return the chain of causes from a message, or from the last state of an object, back to its
        root."""
        path: ApiPath[LogMessage] = ApiPath(self._path("why", message_or_name))
        rows = self._client.rows(path, *MESSAGE_FIELDS)
        return [self._event(row) for row in rows]


def _event_query(
    types: str | Sequence[str], about: str | None, cause: str | None, *, ticks: bool
) -> dict[str, object]:
    words = [types] if isinstance(types, str) else list(types)
    return {"type": words or None, "for": about, "cause": cause, "ticks": None if ticks else "false"}
