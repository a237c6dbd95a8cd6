"""A listening socket and a quiet HTTP server, for every command that runs the gateway."""

import contextlib
import socket
from typing import TYPE_CHECKING

from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.stop_signals import signals_handled_by

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, opened before anything else starts. Raises OperationFailed that names the
    port if it is in use."""
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"--port: {port} is not allowed; must be between 0 and 65,535 (0: any free one)")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OperationFailed(
            f"port {port} on {host}: {error.strerror}; choose another with --port"
        ) from None
    return listener


def quiet_server(app: "FastAPI") -> "uvicorn.Server":
    """Return a server that logs nothing and stops within two seconds of a stop request."""
    import uvicorn

    from ops.serving.connection_limits import ACCEPTED_AT_ONCE, BACKLOG, bounded_protocol, connections_max

    class Server(uvicorn.Server):
        """Stops silently on SIGINT and SIGTERM, and does not raise the signal again afterwards."""

        @contextlib.contextmanager
        def capture_signals(self):  # type: ignore[no-untyped-def]  # overrides an untyped generator
            with signals_handled_by(self.handle_exit):
                yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # asyncio uses one number for the backlog and for the connections accepted per turn; here they
            # differ.
            for listener in sockets or ():
                listener.listen(BACKLOG)

    config = uvicorn.Config(
        app,
        http=bounded_protocol(connections_max()),
        ws="none",
        # Any client can write X-Forwarded-For, so the client is the connected peer, even if that is a proxy.
        proxy_headers=False,
        # If uvloop is installed, it accepts connections as long as there are any.
        loop="asyncio",
        backlog=ACCEPTED_AT_ONCE,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    return Server(config)
