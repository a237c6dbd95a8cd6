"""Connections as the gateway holds them: not too many, and none for long that brings nothing.

Gateway and twin may share one process, and so its file descriptors: whoever can open a connection must not be
able to take them all.
"""

import asyncio
import resource
from operator import itemgetter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS_MAX = 400
DESCRIPTORS = 8_192
"""File descriptors that a process asks for where it is given fewer."""
ARRIVAL_S = 10.0
"""Wall time in which a request's head must be complete, counted from the connection's beginning or from the
answer before; and its body, from the head on."""
SEND_STALL_S = 30.0
"""Wall time in which a client must take something of an answer."""
YIELD_AFTER_S = 2.0
"""Wall time for which an answer that is not taken keeps its connection where another wants the place."""
ACCEPTED_AT_ONCE = 64
"""Connections that are taken in one turn of the loop; some turns later those beyond the bound are dropped."""
BACKLOG = 512
"""Connections that the operating system holds until they are taken."""
FULL = b'{"error":"too many connections are open; try again later"}'
REJECTION = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Retry-After: 10\r\nContent-Length: %d\r\n\r\n%b" % (len(FULL), FULL)
)


def raise_file_limit() -> int:
    """Ask for DESCRIPTORS file descriptors as far as the hard limit lets; returns the limit that holds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def connections_max() -> int:
    """How many connections may be open: at most half of the descriptors, the rest is the twin's."""
    return min(CONNECTIONS_MAX, raise_file_limit() // 2)


def bounded_protocol(most: int) -> type[H11Protocol]:
    """uvicorn's HTTP protocol for a server of at most so many connections.

    One beyond that takes the place of the one that has waited longest for something to arrive, or else of
    the one whose client has longest left an answer untaken, for YIELDS_S at least; where all others are being
    answered it is turned away with one sentence. So a flood of connections that do not write, or do not read,
    neither ends the twin nor keeps others out.
    """

    class Bounded(BoundedProtocol):
        connections_max = most

    return Bounded


class BoundedProtocol(H11Protocol):
    """A connection under the bounds of this module."""

    connections_max = CONNECTIONS_MAX
    arrival_since_s: float | None = None
    """Since when (the loop's time) something is to arrive, None while nothing is."""
    unsent_since_s: float | None = None
    """Since when some of an answer has stood untaken, None while nothing does. Bytes that are taken one by
    one win no time."""
    _phase: object = None
    _arrival_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base's
        super().connection_made(transport)
        # So that writing pauses as soon as anything is unsent: an end that was said to the connection before
        # would else wait for ever for what its client does not take.
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
        """Start the time of a new phase; bytes that come one by one do not win any."""
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
        """Drop who has waited longest, or else who has longest taken nothing; False if everybody is being
        answered."""
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
        """End the connection without a word."""
        self.connections.discard(self)  # at once: the loss is told later
        self.transport.abort()
        self._restart_arrival_timer()

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _check_send_stall(self, before: int) -> None:
        """Drop a client that has taken nothing since, even if its answer has been written to the end."""
        if self._unsent() >= before:
            self.drop()
            return
        self._send_timer = self.loop.call_later(SEND_STALL_S, self._check_send_stall, self._unsent())

    def _clear_send_stall(self) -> None:
        self.unsent_since_s = None
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
