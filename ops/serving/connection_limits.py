"""Limits of the gateway's connections: their number, and how long an idle one may stay open.

Gateway and twin may share one process and its file descriptors. Clients that can connect must not be able to
use up all of them.
"""

import asyncio
import resource
from operator import itemgetter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS_MAX = 400
DESCRIPTORS = 8_192
"""File descriptors that a process requests if its limit is lower."""
ARRIVAL_S = 10.0
"""Seconds of wall time in which a request's head must be complete, counted from the start of the connection
or from the previous answer; and in which its body must be complete, counted from the head."""
SEND_STALL_S = 30.0
"""Seconds of wall time within which a client must read some of an answer."""
YIELD_AFTER_S = 2.0
"""Seconds of wall time after which a connection with an unread answer gives up its place if another
connection needs it."""
ACCEPTED_AT_ONCE = 64
"""Connections accepted in one turn of the event loop. Connections beyond the limit are dropped a few turns
later."""
BACKLOG = 512
"""Connections that the operating system queues until they are accepted."""
FULL = b'{"error":"too many connections are open; try again later"}'
REJECTION = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Retry-After: 10\r\nContent-Length: %d\r\n\r\n%b" % (len(FULL), FULL)
)


def raise_file_limit() -> int:
    """Raise the limit to DESCRIPTORS file descriptors, as far as the hard limit allows. Return the resulting
    limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def connections_max() -> int:
    """Return the maximum number of open connections: half of the descriptors. The rest belongs to the
    twin."""
    return min(CONNECTIONS_MAX, raise_file_limit() // 2)


def bounded_protocol(most: int) -> type[H11Protocol]:
    """Return uvicorn's HTTP protocol for a server with at most `most` connections.

    A connection beyond that replaces the one that has waited longest for input. If there is none, it replaces
    the one whose client has left an answer unread longest, for at least YIELD_AFTER_S. If all others are
    being answered, it is rejected with one sentence. So a flood of connections that do not write, or do not
    read, neither stops the twin nor locks others out.
    """

    class Bounded(BoundedProtocol):
        connections_max = most

    return Bounded


class BoundedProtocol(H11Protocol):
    """A connection with the limits of this module."""

    connections_max = CONNECTIONS_MAX
    arrival_since_s: float | None = None
    """Time (of the event loop) since which the connection waits for input; None while it does not."""
    unsent_since_s: float | None = None
    """Time since which part of an answer has been unread; None while there is none. Reading byte by byte does
    not extend it."""
    _phase: object = None
    _arrival_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base's
        super().connection_made(transport)
        # Pause writing as soon as anything is unsent. Otherwise a connection that is already closing would
        # wait forever for a client that does not read.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.connections_max and not self._make_room():
            transport.write(REJECTION)
            self.connections.discard(self)
            transport.close()
            return
        self._restart_arrival_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._restart_arrival_timer()
        self._clear_send_stall()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._restart_arrival_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._restart_arrival_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unsent_since_s = self.loop.time()
        self._send_timer = self.loop.call_later(SEND_STALL_S, self._check_send_stall, self._unsent())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._clear_send_stall()

    def _restart_arrival_timer(self) -> None:
        """Start the timer of a new phase. Input that arrives byte by byte does not extend it."""
        closing = self.transport.is_closing()
        waits = not closing and self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        phase = (self.cycle, self.conn.their_state) if waits else None
        if phase == self._phase:
            return
        if self._arrival_timer is not None:
            self._arrival_timer.cancel()
        self._phase = phase
        self.arrival_since_s = self.loop.time() if waits else None
        self._arrival_timer = self.loop.call_later(ARRIVAL_S, self.drop) if waits else None

    def _make_room(self) -> bool:
        """Drop the connection that has waited longest for input, or else the one whose client has not read
        for longest. Return False if all connections are being answered."""
        others = [connection for connection in self.connections if isinstance(connection, BoundedProtocol)]
        until_s = self.loop.time() - YIELD_AFTER_S
        waiting = [(one.arrival_since_s, one) for one in others if one.arrival_since_s is not None]
        unsent = [(one.unsent_since_s, one) for one in others if one.unsent_since_s is not None]
        stuck = [(since_s, one) for since_s, one in unsent if since_s <= until_s]
        if not (found := waiting or stuck):
            return False
        min(found, key=itemgetter(0))[1].drop()
        return True

    def drop(self) -> None:
        """Close the connection without an answer."""
        self.connections.discard(self)  # at once: the loss is reported later
        self.transport.abort()
        self._restart_arrival_timer()

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _check_send_stall(self, before: int) -> None:
        """Drop a client that has read nothing since, even if the whole answer has been written."""
        if self._unsent() >= before:
            self.drop()
            return
        self._send_timer = self.loop.call_later(SEND_STALL_S, self._check_send_stall, self._unsent())

    def _clear_send_stall(self) -> None:
        self.unsent_since_s = None
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
