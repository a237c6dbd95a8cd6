"""What a trainee may not see: no answer of the gateway tells which faults there are, or what a drill does."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.registry import TYPES
from services.gateway.hidden_truth import (
    HIDES_TRUTH,
    SHOWN_TYPES,
    TRUTH_TYPES,
    hides_type,
    truth_shown,
    with_hidden_truth,
)
from services.gateway.http.access.caller import RIGHTS, ROLE_HEADER, Caller, Right, Role, hides_truth
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.log.tail import LogTail
from shared.basics.units import US_PER_S
from shared.storage.log.log_reader import LogQuery
from tests.support.gateway_twin import Client, DrivenTwin, check_sentence, pod_and_network

MINUTE_US = 60 * US_PER_S
SECRETS = (
    *("secret", "/fault-", "FaultBegan", "FaultEnded", "InjectFault", "RunDrill", "DrillPhaseBegun"),
    *("DrillOrder", "expires_us", '"changed_by":"drills@', '"cause":"failures@', '"cause":"drills@'),
)
"""What no answer contains: the title, step and probe of the drill, names of faults, and messages of the
services that know them."""
GAME = {"brief": "Slices are slow.", "answer": ["pod-0/cube-1/+y/7"], "find_us": 1, "act_us": 2}
TRAINEE = {ROLE_HEADER: "trainee"}


def plan() -> dict[str, Any]:
    """A drill that makes one connector dirty, which raises no alarm, and takes an OCS down, which does."""
    inject = '{"kind": "connector", "target": "pod-0/cube-1/+y/7", "severity": 3}'
    down = '{"kind": "ocs", "target": "pod-0/ocs-17"}'
    steps = [
        {"name": name, "what": "request", "verb": "inject", "fabric": "pod-0", "template": text}
        for name, text in (("secret-step", inject), ("secret-outage", down))
    ]
    technicians = '{"settings": [{"name": "repairs.technicians", "value": 3}]}'
    for name, verb, text in (
        ("secret-parameter", "set", technicians),
        ("secret-drain", "drain", '{"cube": "pod-0/cube-0"}'),
    ):
        steps.append({"name": name, "what": "request", "verb": verb, "fabric": "pod-0", "template": text})
    return {
        "title": "A secret",
        "document_sha256": "a" * 64,
        "probe_every_us": MINUTE_US,
        "probes": [{"name": "secret-probe", "condition": "count(ocs, state != up) == 0"}],
        "steps": [*steps, {"name": "secret-pause", "what": "wait", "for_us": 60 * MINUTE_US}],
        "gate_us": 0,
        "settle_us": 0,
        "verify_us": 0,
        "lease_us": 240 * MINUTE_US,
        "trainee": {**GAME, "hints": ["Look at the alarms."]},
    }


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """A pod and a network in which a drill runs, an operator injected a fault, and one is pending."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[pod_and_network()])
    client = twin.client()
    for path, body in (
        ("drills", {"plan": plan(), "seed": 7}),
        ("faults", {"kind": "control", "target": "dcn-0/control-1"}),
        ("slices", {"shape": "4x4x8"}),
    ):
        headers = {} if path == "slices" else {"Idempotency-Key": f"secret-{path}"}
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20}, headers=headers)
        assert answer.status_code == 200, answer.text
    twin.advance(0.2)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def trainee(twin: DrivenTwin) -> Client:
    """The gateway as a trainee sees it."""
    token = "the-token-of-tina"  # noqa: S105 -- of this test alone
    client = Client(create_app(twin.ports, tokens=Tokens([(token, Caller("tina", Role.TRAINEE))])))
    send = client.request
    client.request = lambda method, path, **request: send(  # type: ignore[method-assign]  # with its token
        method,
        path,
        **{**request, "headers": {"Authorization": f"Bearer {token}"} | request.get("headers", {})},
    )
    return client


NAMES = {
    "name": ("pod-0", "dcn-0", "pod-0/ocs-17", "pod-0/cube-1", "pod-0/cube-1/+y/7", "pod-0/slice-0"),
    "fabric": ("pod-0", "dcn-0"),
    "end": ("pod-0/cube-1/+y/7",),
    "target": ("pod-0/ocs-17", "dcn-0/rack-1"),
    "message_id": ("pod-0/ocs-17", "pod-0/cube-1/+y/7", "dcn-0/control-1", "ocs@pod-0/1"),
    "site": ("campus",),
    "kind": ("ocs",),
    "origin": ("campus/0",),
}
QUERIES = {
    "/v1/plan/slices": ("shape=4x4x8",),
    "/v1/conditions": ("condition=fabrics.pod-0.ocs_down==1", "condition=fabrics.pod-0.faults_active>0"),
    "/v1/events": (
        *("limit=10000", "fabric=dcn-0", "type=FaultBegan", "type=FaultBegan&type=OcsDown", "limit=3"),
        *("since=0&limit=2", "for=pod-0/cube-1/%2By/7", "for=pod-0/ocs-17", "for=dcn-0/control-1"),
        "cursor=pod-0:0&limit=10000",
    ),
}
KEEPS = ("/v1/events/stream", "/openapi.json")


@pytest.mark.slow("asks every route with several names, now and in the past")
def test_no_answer_tells_a_trainee_the_truth(trainee: Client) -> None:
    """Every route that reads, now and in the past, with the names of what is broken."""
    routes = [route for route in trainee.app.routes if "GET" in getattr(route, "methods", ())]
    templates = [re.sub(r":path\}", "}", vars(route)["path"]) for route in routes]
    templates = [path for path in templates if path not in KEEPS and not path.startswith("/docs")]
    answered = {template for template in templates if _leaks_nothing(trainee, template)}
    assert {"/v1/events", "/v1/ocs", "/v1/fabrics", "/v1/why/{message_id}", "/v1/desk"} <= answered
    assert "/metrics" in answered
    assert not {"/v1/faults", "/v1/drills", "/v1/safety", "/v1/forecasts"} & answered


@pytest.mark.parametrize(
    "template", ["/v1/events", "/v1/describe/fabrics/{name}", "/v1/fabrics", "/metrics", "/v1/requests"]
)
def test_the_routes_that_show_most_do_not_tell_a_trainee_the_truth(trainee: Client, template: str) -> None:
    assert _leaks_nothing(trainee, template, past=False)


def _leaks_nothing(trainee: Client, template: str, *, past: bool = True) -> bool:
    """Check the answers of a route; whether it has answered."""
    answered = False
    for number, path in enumerate(_filled(template)):
        queries = ("", *QUERIES.get(template, ()), *(("at=10m",) if past and number == 0 else ()))
        for query in queries:
            answer = trainee.get(f"{path}?{query}")
            assert answer.status_code != 500, (path, query, answer.text)
            answered = answered or answer.status_code == 200
            leaked = [word for word in SECRETS if word in answer.text]
            # The sentence of a refusal repeats the query.
            leaked = [word for word in leaked if answer.status_code == 200 or word not in query]
            assert not leaked, (path, query, leaked, answer.text[:2_000])
    return answered


def _filled(template: str) -> list[str]:
    words = re.findall(r"\{(\w+)\}", template)
    if not words:
        return [template]
    return [re.sub(r"\{\w+\}", name.replace("+", "%2B"), template) for name in NAMES[words[0]]]


def test_names_and_ids_of_the_truth_are_unknown_to_a_trainee(twin: DrivenTwin, trainee: Client) -> None:
    admin = twin.client()
    faults = [row["name"] for row in admin.get("/v1/faults").json()]
    ids = [row["id"] for row in admin.get("/v1/events?type=FaultBegan&type=RunDrill").json()]
    ids += [row["id"] for row in admin.get("/v1/events?fabric=dcn-0&type=InjectFault").json()]
    assert (len(faults), len(ids)) == (3, 4)
    for name in ids:
        for path in (f"why/{name}", f"events?cause={name}", f"requests/{name}", f"events?since={name}"):
            answer = trainee.get(f"/v1/{path}")
            assert answer.status_code == 404, (path, answer.text)
    for name in faults:
        assert trainee.get(f"/v1/events?for={name}").status_code == 404
        assert trainee.get(f"/v1/why/{name}").status_code == 404
    for key in ("secret-drills", "secret-faults"):
        assert trainee.get(f"/v1/requests/{key}").status_code == 404
        assert admin.get(f"/v1/requests/{key}").status_code == 200
    for kind in ("faults", "drills"):
        answer = trainee.get(f"/v1/conditions?condition=count({kind})==0")
        assert answer.status_code == 422
        check_sentence(answer.json(), "this role may not see")


def test_a_trainee_sees_what_an_operator_in_the_field_sees(twin: DrivenTwin, trainee: Client) -> None:
    admin = twin.client()
    for path in ("ocs", "cubes", "links?limit=50", "slices", "repairs", "verdicts", "domains"):
        assert trainee.get(f"/v1/{path}").json() == admin.get(f"/v1/{path}").json(), path
    down = [row["name"] for row in trainee.get("/v1/domains").json() if row["state"] == "down"]
    assert down == ["dcn-0/control-1"]
    shown, whole = trainee.get("/v1/events?limit=10000").json(), admin.get("/v1/events?limit=10000").json()
    seen = {row["id"]: row for row in shown}
    for row in whole:
        is_truth = row["type"] in TRUTH_TYPES or row["source"].startswith(("tick.failures", "tick.drills"))
        assert (row["id"] in seen) != is_truth, row["id"]
        if not is_truth:
            hidden = row["type"] == "DeskOpened" or re.match(
                r"(tick\.)?(failures|drills)@", row["cause"] or ""
            )
            assert seen[row["id"]] == {**row, "cause": None if hidden else row["cause"]}
    (row,) = [one for one in trainee.get("/v1/fabrics").json() if one["name"] == "pod-0"]
    assert (row["faults_active"], row["faults_begun"], row["ocs_down"]) == (None, None, 1)
    assert "lightwave_faults_" not in re.sub("# .*", "", trainee.get("/metrics").text)


def test_a_stream_of_events_hides_the_truth(twin: DrivenTwin) -> None:
    """Clients with the same query share one read, but not across roles."""
    tail = LogTail(with_hidden_truth(twin.ports))

    async def types() -> set[str]:
        found: set[str] = set()
        async for row in tail.follow("campus", LogQuery(fabric="pod-0")):
            if row is None:
                break
            found |= set(re.findall(r'"type":"(\w+)"', row[1])[:1])
        return found

    whole = asyncio.run(types())
    token = HIDES_TRUTH.set(True)
    hidden = asyncio.run(types())
    HIDES_TRUTH.reset(token)
    assert whole - hidden == whole & TRUTH_TYPES
    assert {"FaultBegan", "RunDrill"} <= whole - hidden
    assert asyncio.run(types()) == whole


def test_a_caller_can_lower_its_role_and_not_raise_it(twin: DrivenTwin, trainee: Client) -> None:
    client = twin.client()
    assert client.get("/v1/faults").status_code == 200
    assert client.get("/v1/faults", headers=TRAINEE).status_code == 403
    assert client.post("/v1/faults", headers=TRAINEE, json={}).status_code == 403
    answer = client.get("/v1/faults", headers={ROLE_HEADER: "king"})
    assert answer.status_code == 422
    check_sentence(answer.json(), "'king': must be reader or trainee or operator or administrator")
    answer = trainee.get("/v1/faults", headers={ROLE_HEADER: "operator"})
    assert answer.status_code == 403
    check_sentence(answer.json(), "'operator': must be trainee, or omitted")


def test_every_type_of_message_is_shown_or_hidden_on_purpose() -> None:
    known = {name: body.writer for name, body in TYPES.items() if name in TRUTH_TYPES | SHOWN_TYPES}
    assert {name for name, body in TYPES.items() if body.writer in ("failures", "drills")} <= known.keys()
    assert sorted(name for name, writer in known.items() if writer == "operator") == [
        *("ClearFault", "InjectFault", "RekeyDraws", "ReleaseDrills", "RunDrill"),
        *("ScheduleDrill", "StopAllDrills", "StopDrill", "UnscheduleDrill"),
    ]
    assert not hides_type("FaultBegan")
    with truth_shown():
        assert not hides_type("FaultBegan")


def test_only_trainees_and_unknown_callers_are_hidden_from() -> None:
    assert [role for role in Role if hides_truth(Caller("x", role))] == [Role.TRAINEE]
    assert hides_truth(None)
    assert Right.SEE_TRUTH not in RIGHTS[Role.TRAINEE]
