"""Who asks: what the guard finds out, as the routes behind it read it."""

import httpx
from fastapi import FastAPI

from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.access.tokens import single_token
from services.gateway.http.guard import AccessGuard
from tests.support.gateway_twin import Client

TOKEN = "a-token-of-ours-for-all"  # noqa: S105 -- of this test alone


def told(token: str | None, **request: object) -> httpx.Response:
    """What a route behind the guard learns of who asks."""
    app = FastAPI()
    app.add_middleware(AccessGuard, tokens=single_token(token))

    @app.get("/who")
    def who(caller: CurrentCaller) -> dict[str, str | None]:
        return {"name": caller.name, "role": caller.role}

    return Client(app).get("/who", **request)


def test_without_tokens_everybody_here_is_a_nameless_administrator() -> None:
    assert told(None).json() == {"name": None, "role": "administrator"}


def test_the_one_token_is_an_administrator_with_a_name() -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert told(TOKEN, headers=bearer).json() == {"name": "token", "role": "administrator"}
    assert told(TOKEN).status_code == 401
