"""TCP ports of this machine: whether one is free, a free one, and the number of connections to one."""

import contextlib
import errno
import random
import socket
from pathlib import Path

from shared.basics.errors import InvalidInput, OperationFailed

LOOPBACK = "127.0.0.1"
PORT_MIN = 10_240
CLIENT_PORT_MIN = 32_768
PORTS_TRIED = 100
ESTABLISHED = "01"
"""A connection state in /proc/net/tcp."""


def check_free(name: str, host: str, port: int) -> None:
    """InvalidInput if a server cannot listen here, since a retry would not help."""
    try:
        (family, kind, *_, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except (OSError, OverflowError) as error:
        used = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "another process listens there" if used else getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"{name} cannot listen at {host}:{port}: {why}; must be a free port of this machine"
        ) from None


def free_port(host: str = LOOPBACK) -> int:
    """A free port that the system does not assign to clients.

    A client that tries to reach a server that is down, at a port in the system's client range, may be
    assigned that very port. It then talks to itself, and the server cannot return.
    """
    for port in random.sample(range(PORT_MIN, _first_client_port()), PORTS_TRIED):
        with contextlib.suppress(InvalidInput):
            check_free("a server", host, port)
            return port
    raise OperationFailed(f"no free port at {host}")


def connections(port: int) -> int:
    """The number of connections to a server of this machine; 0 if the system does not tell."""
    count = 0
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
            places = [place for _, place, _, state, *_ in rows if state == ESTABLISHED]
            count += sum(int(place.rpartition(":")[2], 16) == port for place in places)
    return count


def _first_client_port() -> int:
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return CLIENT_PORT_MIN
    return first if first >= PORT_MIN + PORTS_TRIED else CLIENT_PORT_MIN
