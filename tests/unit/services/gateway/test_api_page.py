"""The API page is correct: every route names the fields of its answers and answers with exactly those."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import fastapi.routing
import pytest
from jsonschema import Draft202012Validator

from schemas.config.fabric_configs import CONFIGS
from schemas.resource_kinds import KINDS
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from tests.support.gateway_twin import QUIET, Client, DrivenTwin
from tests.unit.ops.cli.drills.test_desk_commands import GAME
from tests.unit.services.gateway.test_drills import MINUTE_US, plan

pytestmark = pytest.mark.integration

NO_JSON = {
    "/v1/snapshots/{site}": "application/octet-stream",
    "/metrics": "text/plain; version=0.0.4; charset=utf-8",
    "/v1/events/stream": "text/event-stream",
    "/v1/telemetry/{fabric}": "application/vnd.apache.arrow.stream",
    "/v1/telemetry/{fabric}/ocs": "application/vnd.apache.arrow.stream",
}
"""Path → media type, for answers that are not JSON."""
METHODS = ("get", "post", "put", "patch", "delete")
Page = dict[str, Any]


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """A pod with slices, faults, repairs, a drill and its schedule."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET])
    client = twin.client()
    for shape in ("4x4x8", "2x2x2"):
        client.post("/v1/slices", json={"shape": shape}, params={"wait": 20})
    client.post("/v1/faults", json={"kind": "ocs", "target": "pod-0/ocs-17"}, params={"wait": 20})
    document = plan(schedule={"every_us": 1_440 * MINUTE_US}, trainee=GAME)
    client.post("/v1/schedules", json={"plan": document}, params={"wait": 20})
    client.post("/v1/drills", json={"plan": document | {"schedule": None}}, params={"wait": 20})
    twin.advance(0.3)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


@pytest.fixture(scope="module")
def page(client: Client) -> Page:
    document: Page = client.get("/openapi.json").json()
    return document


def untyped(page: Page) -> list[str]:
    """The answers of the page, errors included, that do not name all of their fields."""
    return [
        f"{method.upper()} {path} {status}"
        for path, routes in page["paths"].items()
        for method, route in routes.items()
        if method in METHODS
        for status, answer in route["responses"].items()
        if NO_JSON.get(path) not in answer.get("content", {})
        if not is_typed(page, answer.get("content", {}).get("application/json", {}).get("schema", {}))
    ]


def is_typed(page: Page, schema: Page, outer: tuple[str, ...] = (), *, inside: bool = False) -> bool:
    """Whether a schema is fully typed. It must be an object with named fields, a map with known keys or equal
    values, or a list or union of these. Within a field, plain values also count."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name in outer or is_typed(page, page["components"]["schemas"][name], (*outer, name))
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return all(is_typed(page, choice, outer, inside=inside) for choice in choices)
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return all(is_typed(page, item, outer, inside=inside) for item in items)
    if kind == "object" or not inside:
        keys, values = schema.get("propertyNames", {}), schema.get("additionalProperties")
        if "enum" in keys and isinstance(values, dict):
            return is_typed(page, values, outer, inside=True)
        if by_name := schema.get("patternProperties"):
            return all(is_typed(page, value, outer, inside=True) for value in by_name.values())
        fields = schema.get("properties", {})
        empty_message = not fields and schema.get("additionalProperties") is False and bool(outer[1:])
        named = bool(fields) or empty_message
        return named and all(is_typed(page, field, outer, inside=True) for field in fields.values())
    return "enum" in schema or "const" in schema or kind in ("string", "integer", "number", "boolean", "null")


# --- what the page says -------------------------------------------------------------------------------------


def test_every_route_names_the_fields_of_its_answers(page: Page) -> None:
    assert len(page["paths"]) > 3 * len(KINDS) + 15
    assert untyped(page) == []


def test_an_untyped_route_is_found(twin: DrivenTwin) -> None:
    app = create_app(twin.ports, tokens=Tokens())

    @app.get("/v1/anything")
    def anything() -> Any:
        return {}

    @app.get("/v1/rows", response_model=list[dict[str, Any]])
    def rows() -> Any:
        return []

    @app.get("/v1/number", response_model=int)
    def number() -> int:
        return 1

    assert untyped(Client(app).get("/openapi.json").json()) == [
        "GET /v1/anything 200",
        "GET /v1/rows 200",
        "GET /v1/number 200",
    ]


def test_every_route_is_built_once(twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []
    original = fastapi.routing.get_request_handler

    def counted(**arguments: Any) -> Any:
        built.append(arguments)
        return original(**arguments)

    monkeypatch.setattr(fastapi.routing, "get_request_handler", counted)
    app = create_app(twin.ports, tokens=Tokens())
    Client(app).get("/v1/clock")
    assert len(built) == len(app.routes)


def test_an_unreferenced_app_is_freed(twin: DrivenTwin) -> None:
    app = create_app(twin.ports, tokens=Tokens())
    Client(app).get("/v1/clock")
    reference = weakref.ref(app)
    del app
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_three_routes(page: Page, kind: str) -> None:
    assert {f"/v1/{kind}", f"/v1/{kind}/{{name}}", f"/v1/describe/{kind}/{{name}}"} <= page["paths"].keys()


# --- what the gateway answers -------------------------------------------------------------------------------


def check_answer(page: Page, client: Client, method: str, route: str, path: str, body: object = None) -> None:
    """The answer matches the page's schema of this route and status."""
    response = client.request(method.upper(), path, json=body)
    answer = page["paths"][route][method]["responses"][str(response.status_code)]
    schema = answer["content"]["application/json"]["schema"]
    validator = Draft202012Validator({"components": page["components"], **schema})
    assert [error.message for error in validator.iter_errors(response.json())] == []


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_descriptions_match_the_page(client: Client, page: Page, kind: str) -> None:
    check_answer(page, client, "get", f"/v1/{kind}", f"/v1/{kind}")
    for row in client.get(f"/v1/{kind}").json()[:60:6]:
        name = row["name"]
        check_answer(page, client, "get", f"/v1/{kind}/{{name}}", f"/v1/{kind}/{name}")
        check_answer(page, client, "get", f"/v1/describe/{kind}/{{name}}", f"/v1/describe/{kind}/{name}")
    check_answer(page, client, "get", f"/v1/{kind}/{{name}}", f"/v1/{kind}/pod-0/none")


@pytest.mark.parametrize(
    ("method", "route", "path", "body"),
    [
        ("get", "/v1/trace/{end}", "/v1/trace/pod-0/cube-0/+x/1", None),
        ("get", "/v1/trace/{end}", "/v1/trace/pod-0/cube-7/+y/1", None),
        ("get", "/v1/trace/{end}", "/v1/trace/nowhere", None),
        ("get", "/v1/config/{fabric}", "/v1/config/pod-0", None),
        ("get", "/v1/events", "/v1/events?since_us=0", None),
        ("get", "/v1/events", "/v1/events?since=soon", None),
        ("get", "/v1/why/{message_id}", "/v1/why/operator@pod-0/1", None),
        ("get", "/v1/clock", "/v1/clock", None),
        ("put", "/v1/clock/speed", "/v1/clock/speed", {"speed": 2}),
        ("put", "/v1/clock/speed", "/v1/clock/speed", {"speed": 0}),
        ("post", "/v1/slices", "/v1/slices?wait=20", {"shape": "1x1x2"}),
        ("post", "/v1/slices", "/v1/slices", {"shape": "1x1x2"}),
        ("post", "/v1/slices", "/v1/slices", {"shape": "5x5x5"}),
        ("post", "/v1/cubes/{name}/drain", "/v1/cubes/pod-0/cube-3/drain?wait=20", None),
        ("post", "/v1/slices", "/v1/slices?wait=31", {"shape": "1x1x2"}),
        (
            "post",
            "/v1/slices/{name}/release",
            "/v1/slices/pod-0/slice-99/release?wait=20",
            None,
        ),
        ("post", "/v1/fabrics", "/v1/fabrics", {"name": "pod-1", "site": "moon"}),
        ("get", "/v1/telemetry/{fabric}", "/v1/telemetry/pod-9", None),
        ("get", "/v1/telemetry/{fabric}", "/v1/telemetry/pod-0?since=2h", None),
        ("get", "/v1/events/stream", "/v1/events/stream?since=soon", None),
        ("get", "/v1/drills/{name}/journal", "/v1/drills/pod-0/drill-0/journal", None),
        ("get", "/v1/drills/{name}/journal", "/v1/drills/pod-0/drill-9/journal", None),
        ("get", "/v1/desk", "/v1/desk", None),
        ("get", "/v1/desk/{name}", "/v1/desk/pod-0/drill-0", None),
        ("get", "/v1/safety", "/v1/safety", None),
        ("post", "/v1/safety", "/v1/safety?wait=20", {"action": "release", "reason": "none is held"}),
        ("post", "/v1/drills", "/v1/drills", {"plan": {}}),
        ("post", "/v1/schedules", "/v1/schedules", {"plan": {}}),
        ("get", "/healthz", "/healthz", None),
    ],
)
def test_every_answer_matches_the_page(
    client: Client, page: Page, method: str, route: str, path: str, body: object
) -> None:
    check_answer(page, client, method, route, path, body)


@pytest.mark.parametrize("path", ["/v1/telemetry/pod-0", "/metrics"])
def test_a_non_json_answer_has_the_media_type_of_the_page(client: Client, page: Page, path: str) -> None:
    answer = client.get(path)
    route = path.replace("pod-0", "{fabric}")
    assert answer.status_code == 200
    (media_type,) = page["paths"][route]["get"]["responses"]["200"]["content"]
    assert answer.headers["content-type"] == media_type == NO_JSON[route]


def test_every_error_is_json(page: Page) -> None:
    """Whatever the route returns on success."""
    types = {
        media_type
        for routes in page["paths"].values()
        for route in routes.values()
        for status, answer in route["responses"].items()
        if status >= "400"
        for media_type in answer["content"]
    }
    assert types == {"application/json"}


def test_an_unsupported_method_is_answered_as_the_page_shows(client: Client, page: Page) -> None:
    for path, routes in page["paths"].items():
        schema = next(iter(routes.values()))["responses"]["405"]["content"]["application/json"]["schema"]
        validator = Draft202012Validator({"components": page["components"], **schema})
        answer = client.request("PATCH", path)
        assert answer.status_code == 405
        assert answer.headers["allow"]
        assert list(validator.iter_errors(answer.json())) == []


def test_with_a_token_the_page_shows_which_routes_need_it(twin: DrivenTwin, page: Page) -> None:
    client = twin.client("a-secret-of-ours-alone")
    guarded = client.get("/openapi.json").json()
    scheme = guarded["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for path, routes in guarded["paths"].items():
        for method, route in routes.items():
            answer = client.request(method.upper(), path)
            assert (answer.status_code == 401) == ("401" in route["responses"]) == ("security" in route), path
            if answer.status_code == 401:
                schema = route["responses"]["401"]["content"]["application/json"]["schema"]
                validator = Draft202012Validator({"components": guarded["components"], **schema})
                assert list(validator.iter_errors(answer.json())) == []
    assert "securitySchemes" not in page["components"]
    assert "401" not in page["paths"]["/v1/clock"]["get"]["responses"]


def test_the_page_shows_the_limits_of_requests(client: Client, page: Page) -> None:
    (wait,) = [p for p in page["paths"]["/v1/slices"]["post"]["parameters"] if p["name"] == "wait"]
    assert (wait["schema"]["minimum"], wait["schema"]["maximum"]) == (0, 30)
    for seconds, is_allowed in (("0", True), ("30", True), ("-0.1", False), ("30.1", False), ("nan", False)):
        answer = client.post("/v1/cubes/pod-0/cube-3/drain", params={"wait": seconds})
        assert (answer.status_code != 422) == is_allowed, answer.text


@pytest.mark.parametrize("model", ["FabricRequest", "FabricRow"])
def test_the_page_names_the_kinds_of_fabrics(page: Page, model: str) -> None:
    assert page["components"]["schemas"][model]["properties"]["kind"]["enum"] == [*CONFIGS]


def test_an_unhealthy_twin_answers_as_the_page_shows(twin: DrivenTwin, page: Page) -> None:
    client = twin.client(health=lambda: ["disk full"])
    assert client.get("/healthz").status_code == 503
    check_answer(page, client, "get", "/healthz", "/healthz")
