"""The caller of a request, as the guard identifies it for the routes."""

import httpx
import pytest
from fastapi import FastAPI

from services.gateway.http.access.caller import (
    NAMELESS,
    Caller,
    CurrentCaller,
    Right,
    Role,
    denial,
    right_needed,
)
from services.gateway.http.guard import AccessGuard
from tests.support.gateway_twin import Client
from tests.support.single_token import single_token

TOKEN = "a-token-of-ours-for-all"  # noqa: S105 -- of this test alone


def answer_to(token: str | None, **request: object) -> httpx.Response:
    """The caller as a route behind the guard sees it."""
    app = FastAPI()
    app.add_middleware(AccessGuard, tokens=single_token(token))

    @app.get("/who")
    def who(caller: CurrentCaller) -> dict[str, str | None]:
        return {"name": caller.name, "role": caller.role}

    return Client(app).get("/who", **request)


def test_without_tokens_every_local_caller_is_an_unnamed_administrator() -> None:
    assert answer_to(None).json() == {"name": None, "role": "administrator"}


def test_the_single_token_is_a_named_administrator() -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert answer_to(TOKEN, headers=bearer).json() == {"name": "token", "role": "administrator"}
    assert answer_to(TOKEN).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        ("GET", "/v1/slices", Right.READ),
        ("HEAD", "/v1/clock", Right.READ),
        ("GET", "/v1/backup", Right.ADMINISTER),
        ("POST", "/v1/slices", Right.OPERATE),
        ("DELETE", "/v1/slices/pod-0/slice-7", Right.OPERATE),
        ("POST", "/v1/cubes/pod-0/cube-1/drain", Right.OPERATE),
        ("POST", "/v1/faults", Right.STRIKE),
        ("POST", "/v1/rewirings/fabric-0/rewiring-1/approve", Right.REWIRE),
        ("GET", "/v1/faults/pod-0/fault-1", Right.SEE_TRUTH),
        ("GET", "/v1/faultsome", Right.READ),
        ("GET", "/v1/what-if/repair", Right.SEE_TRUTH),
        ("GET", "/v1/desk", Right.READ),
        ("POST", "/v1/desk/pod-0/drill-1/hint", Right.OPERATE),
        ("POST", "/v1/ocs/pod-0/ocs-1/restart", Right.OPERATE),
        ("POST", "/v1/links/pod-0/cube-1/+y/7/test", Right.OPERATE),
        ("POST", "/v1/forecasts", Right.SEE_TRUTH),
        ("POST", "/v1/clock/resume", Right.ADMINISTER),
        ("DELETE", "/v1/fabrics/pod-0", Right.ADMINISTER),
        ("POST", "/v1/slicesque", Right.ADMINISTER),
        ("POST", "/v1", Right.ADMINISTER),
        ("DELETE", "/", Right.ADMINISTER),
    ],
)
def test_a_request_needs_the_right_of_its_path(method: str, path: str, right: Right) -> None:
    assert right_needed(method, path) is right


def test_a_caller_without_the_right_is_refused_with_the_roles_that_have_it() -> None:
    reader, operator = Caller("mia", Role.READER), Caller("ada", Role.OPERATOR)
    assert denial(reader, "GET", "/v1/slices") is None
    assert denial(reader, "POST", "/v1/slices") == (
        "mia is a reader and has no right to request slices and drains; the role must be trainee or operator "
        "or administrator"
    )
    assert denial(operator, "POST", "/v1/clock/resume") == (
        "ada is an operator and has no right to administer the clock, fabrics and the twin as a whole; the "
        "role must be administrator"
    )
    assert denial(NAMELESS, "POST", "/v1/clock/resume") is None
