"""A driven twin at an address: a thread of the test's process serves its gateway."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from tests.support.gateway_twin import DrivenTwin


def ignore(_path: str) -> None:
    """The default of what receives the paths of answered requests."""


@contextmanager
def served(twin: DrivenTwin, answered: Callable[[str], None] = ignore) -> Iterator[str]:
    """Serve the twin; yield its address. `answered` receives the path of each request after its answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gateway = create_app(twin.ports, tokens=Tokens())

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await gateway(scope, receive, send)
            answered(scope["path"])

        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
