"""The server of the gateway: the caller is the connected client."""

import asyncio

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from ops.serving.http_server import quiet_server


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that returns the address it takes for its caller's."""
    client = Request(scope).client
    assert client is not None
    await PlainTextResponse(f"{scope['scheme']} {client.host}")(scope, receive, send)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"])
@pytest.mark.parametrize("value", ["10.0.0.7", "https", "max logged in; all is well \x9b2J", "for=10.0.0.7"])
def test_no_header_can_set_the_requester(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    config = quiet_server(who).config  # type: ignore[arg-type]  # as good as FastAPI's
    config.load()

    async def get_caller() -> str:
        transport = httpx.ASGITransport(config.loaded_app, client=("127.0.0.1", 4_711))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get("/", headers=[(name.encode(), value.encode("latin-1"))])).text

    assert asyncio.run(get_caller()) == "http 127.0.0.1"
