"""Drills over HTTP: start, rows, journal, stop, the kill switch under load, and who may do what."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from schemas.registry import decode
from services.gateway.http import guard
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.requests import operator_requests
from shared.basics.units import US_PER_S
from tests.support.drill_runs import check_counts
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, check_sentence, get

pytestmark = pytest.mark.integration
MINUTE_US = 60 * US_PER_S
TARGET = "pod-0/ocs-17"


def plan(**changes: Any) -> dict[str, Any]:
    """The plan of a drill: an OCS is down for half an hour."""
    inject = f'{{"kind": "ocs", "target": "{TARGET}", "duration_us": {30 * MINUTE_US}}}'
    step = {"name": "switch-dies", "what": "request", "verb": "inject", "fabric": "pod-0", "template": inject}
    return {
        "title": "An OCS dies",
        "document_sha256": "a" * 64,
        "probe_every_us": MINUTE_US,
        "probes": [{"name": "all-up", "condition": "count(ocs, state != up) == 0"}],
        "steps": [step, {"name": "pause", "what": "wait", "for_us": 10 * MINUTE_US}],
        "limits": [{"what": "faults", "at_most": 1}],
        "gate_us": 5 * MINUTE_US,
        "settle_us": 0,
        "verify_us": 5 * MINUTE_US,
        "lease_us": 240 * MINUTE_US,
        **changes,
    }


@pytest.fixture
def twin(tmp_path: Any) -> Iterator[DrivenTwin]:
    """Two sites with one small pod each, without load or random faults."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET], pods=2)
    yield twin
    twin.close()


def send(client: Client, path: str, body: Any, as_name: str | None = None, key: str | None = None) -> Any:
    """POST and return the JSON of a complete answer."""
    headers = {} if as_name is None else {"Lightwave-As": as_name}
    if key is not None:
        headers["Idempotency-Key"] = key
    answer = client.post(f"/v1/{path}", json=body, headers=headers, params={"wait": 20, "comment": "May"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def start(client: Client, **changes: Any) -> str:
    """Start a drill as alice; its name."""
    receipt = send(client, "drills", {"plan": plan(**changes), "seed": 7}, as_name="alice")
    (begun,) = [row for row in receipt["outcome"] if row["type"] == "DrillBegun"]
    return str(begun["body"]["drill"])


def test_a_drill_from_its_start_to_its_journal(twin: DrivenTwin) -> None:
    client = twin.client()
    name = start(client)
    row = get(client, f"drills/{name}")
    assert (row["phase"], row["status"], row["requested_by"], row["seed"]) == ("gate", None, "alice", 7)
    twin.advance(0.2)
    (fault,) = get(client, "faults")
    assert (fault["target"], fault["drill"], fault["injected"]) == (TARGET, name, True)
    assert get(client, f"describe/drills/{name}")["related"]["faults"] == [fault]
    twin.advance(1.0)
    row = get(client, f"drills/{name}")
    assert (row["status"], row["deviated"], row["active_faults"]) == ("completed", True, [])
    assert [one["name"] for one in get(client, "drills?status=completed&deviated=true")] == [name]
    journal = get(client, f"drills/{name}/journal")
    record = journal["lightwave"]
    assert (journal["status"], journal["deviated"]) == ("completed", True)
    assert (record["asked_by"], record["comment"]) == ("alice", "May")
    assert [fault["how"] for fault in record["faults"]] == ["cleared"]
    assert [undo["type"] for undo in record["undo"]] == ["ClearFault"]
    deviated = {(probe["phase"], probe["probe"]) for probe in record["probes"] if probe["deviated"]}
    assert ("method", "all-up") in deviated
    assert ("gate", "all-up") not in deviated


def test_probes_compare_what_the_gateway_shows(twin: DrivenTwin) -> None:
    client = twin.client()
    name = start(client)
    twin.advance(1.2)
    log = [decode(orjson.dumps(message)) for message in twin.messages()]
    assert check_counts(log, name, lambda query: get(client, query), "ocs?fabric=pod-0&where=state!=up") >= 5


def test_stop_one_drill(twin: DrivenTwin) -> None:
    client = twin.client()
    name = start(client)
    twin.advance(0.2)
    send(client, f"drills/{name}/stop", {"reason": "customers call"}, as_name="bob")
    twin.advance(0.5)
    record = get(client, f"drills/{name}/journal")["lightwave"]
    assert (record["status"], record["stop"]["cause"], record["stop"]["by"]) == ("stopped", "operator", "bob")
    assert record["stop"]["reason"] == "customers call"
    assert all(fault["ended_us"] is not None for fault in record["faults"])


def test_the_kill_switch_holds_and_releases_all_sites(twin: DrivenTwin) -> None:
    client = twin.client()
    name = start(client)
    twin.advance(0.2)
    stop = {"action": "stop", "reason": "real incident", "hold": True}
    rows = send(client, "safety", stop, as_name="bob", key="night")
    assert [row["site"] for row in rows] == ["pod-0", "pod-1"]
    again = send(client, "safety", stop, as_name="bob", key="night")
    assert [row["receipt"]["id"] for row in again] == [row["receipt"]["id"] for row in rows]
    assert all(row["receipt"]["repeated"] for row in again)
    assert [fault["state"] for fault in get(client, "faults")] == ["ended"]
    assert get(client, f"drills/{name}")["stopped"] == "kill-switch"
    assert {row["fabric"]: row["hold"] for row in get(client, "safety")} == {
        "pod-0": "real incident",
        "pod-1": "real incident",
    }
    refused = client.post("/v1/drills", json={"plan": plan()}, params={"wait": 20})
    assert refused.status_code == 409, refused.text
    assert "real incident" in refused.json()["error"]
    send(client, "safety", {"action": "release", "reason": "over"})
    assert {row["hold"] for row in get(client, "safety")} == {None}
    start(client)


def test_a_stop_ends_pauses_of_processes_before_the_log_has_it(twin: DrivenTwin) -> None:
    """A site with a paused process stands still, so it could not read the stop."""
    ended: list[str | None] = []
    client = Client(create_app(replace(twin.ports, end_process_orders=ended.append), tokens=Tokens()))
    name = start(client)
    assert ended == []
    send(client, f"drills/{name}/stop", {"reason": "customers call"})
    send(client, "safety", {"action": "stop", "reason": "real incident", "hold": True})
    send(client, "safety", {"action": "release", "reason": "over"})
    assert ended == [name, None]


def test_neither_other_writes_nor_a_full_inbox_refuse_the_kill_switch(
    twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "WRITES_PER_S", 0.001)
    monkeypatch.setattr(guard, "WRITES_BURST", 2)
    client = twin.client()
    start(client)
    monkeypatch.setattr(operator_requests, "INBOX_MAX", 0)
    stop = {"action": "stop", "reason": "real incident", "hold": True}
    assert [client.post("/v1/slices", json={"shape": "4x4x4"}).status_code for _ in range(2)] == [503, 429]
    assert len(send(client, "safety", stop)) == 2
    assert client.post("/v1/safety", json=stop).status_code in (200, 202)
    assert client.post("/v1/safety", json=stop).status_code == 429


def test_the_kill_switch_acts_within_two_seconds_while_others_read(twin: DrivenTwin) -> None:
    client = twin.client()
    start(client)
    twin.advance(0.2)
    ended, done = threading.Event(), []

    def read() -> None:
        while not ended.is_set():
            for path in ("links", "ocs", "slices", "faults", "drills", "events?limit=1000"):
                done.append(client.get(f"/v1/{path}").status_code)

    readers = [threading.Thread(target=read, daemon=True) for _ in range(4)]
    for reader in readers:
        reader.start()
    while len(done) < 4:
        time.sleep(0.01)
    began_s = time.monotonic()
    send(client, "safety", {"action": "stop", "reason": "stop"})
    took_s = time.monotonic() - began_s
    ended.set()
    for reader in readers:
        reader.join()
    assert [fault["state"] for fault in get(client, "faults")] == ["ended"]
    assert took_s < 2.0, f"{took_s:.1f} s, {len(done)} reads"


def test_bad_requests_are_refused_in_one_sentence(twin: DrivenTwin) -> None:
    client = twin.client()

    def error(path: str, body: Any, status: int = 422) -> httpx.Response:
        answer = client.post(f"/v1/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer

    check_sentence(error("drills", {"plan": plan(gate_us=-1)}).json(), "plan.gate_us")
    check_sentence(error("drills", {"plan": plan(gates=1)}).json(), "gates")
    check_sentence(error("drills", {"plan": plan(), "fabric": "pod-9"}, 404).json(), "pod-9")
    check_sentence(error("drills/pod-0/drill-9/stop", {"reason": "x"}, 404).json(), "pod-0/drill-9")
    check_sentence(error("drills/pod-0/drill-9/stop", {"reason": ""}).json(), "reason")
    check_sentence(error("safety", {"action": "release", "reason": "x", "hold": True}).json(), "hold")
    check_sentence(client.get("/v1/drills/pod-0/drill-9/journal").json(), "pod-0/drill-9")


def test_schedules_over_http(twin: DrivenTwin) -> None:
    client = twin.client()
    daily = plan(settle_us=60 * MINUTE_US, schedule={"every_us": 1440 * MINUTE_US})
    request = {"plan": daily, "seed": 7, "first_after_s": 3600}
    receipt = send(client, "schedules", request, as_name="alice")
    (made,) = [row["body"] for row in receipt["outcome"] if row["type"] == "DrillScheduled"]
    name = made["schedule"]
    twin.advance(1.5)
    (run,) = get(client, "drills")
    assert (run["schedule"], run["requested_by"], run["lease_ends_us"]) == (
        name,
        "alice",
        made["next_us"] + 240 * MINUTE_US,
    )
    row = get(client, f"schedules/{name}")
    assert (row["state"], row["drill"], row["runs"]) == ("running", run["name"], 1)
    assert row["next_us"] == made["next_us"] + 1440 * MINUTE_US
    twin.advance(1.5)
    (row,) = get(client, "schedules")
    assert (row["last_outcome"], row["last_drill"], row["drill"]) == ("completed", run["name"], None)
    record = get(client, f"drills/{run['name']}/journal")["lightwave"]
    assert (record["schedule"], record["asked_by"], record["seed"]) == (name, "alice", run["seed"])
    assert [one["name"] for one in get(client, f"describe/schedules/{name}")["related"]["drills"]] == [
        run["name"]
    ]
    send(client, f"schedules/{name}/cancel", None)
    twin.advance(0.1)
    assert get(client, "schedules") == []
    for body, sentence in (
        ({"plan": plan()}, "plan.schedule: is missing"),
        ({"plan": daily, "first_us": 0}, "first_us: 0d00:00:00 (0 us) is not allowed; must be after now"),
        ({"plan": daily, "first_us": 10**15, "first_after_s": 5}, "must not both be given"),
    ):
        answer = client.post("/v1/schedules", json=body)
        assert answer.status_code == 422, answer.text
        check_sentence(answer.json(), sentence)
    assert client.post(f"/v1/schedules/{name}/cancel").status_code == 404


TOKENS = {role: f"the-token-of-a-{role}-here" for role in Role}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "drills", {Role.OPERATOR, Role.ADMINISTRATOR}),
        ("POST", "drills/pod-0/drill-0/stop", {Role.OPERATOR, Role.ADMINISTRATOR}),
        ("POST", "schedules", {Role.OPERATOR, Role.ADMINISTRATOR}),
        ("POST", "schedules/pod-0/schedule-0/cancel", {Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "schedules", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "describe/schedules/pod-0/schedule-0", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("POST", "safety", {Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "drills", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "drills/pod-0/drill-0", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "drills/pod-0/drill-0/journal", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "describe/drills/pod-0/drill-0", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
        ("GET", "safety", {Role.READER, Role.OPERATOR, Role.ADMINISTRATOR}),
    ],
)
def test_roles(twin: DrivenTwin, method: str, path: str, allowed: set[Role]) -> None:
    app = create_app(twin.ports, tokens=Tokens((token, Caller(role, role)) for role, token in TOKENS.items()))
    client = Client(app)
    for role, token in TOKENS.items():
        headers = {"Authorization": f"Bearer {token}"}
        status = client.request(method, f"/v1/{path}", headers=headers).status_code
        assert (status != 403) == (role in allowed), (role, status)


def test_with_tokens_only_the_name_of_the_token_is_allowed(twin: DrivenTwin) -> None:
    app = create_app(twin.ports, tokens=Tokens([("the-token-of-alice", Caller("alice", Role.OPERATOR))]))
    client = Client(app)
    headers = {"Authorization": "Bearer the-token-of-alice"}
    own = client.post("/v1/faults", headers={**headers, "Lightwave-As": "alice"}, json={})
    assert own.status_code == 422
    other = client.post("/v1/faults", headers={**headers, "Lightwave-As": "bob"}, json={})
    assert other.status_code == 403
    check_sentence(other.json(), "'bob': is not the name of this token; must be alice, or omitted")


def test_names_are_in_every_view(twin: DrivenTwin) -> None:
    client = twin.client()
    drained = send(client, "cubes/pod-0/cube-1/drain", {}, as_name="carol", key="k1")
    fault = send(client, "faults", {"kind": "ocs", "target": TARGET}, as_name="carol", key="k2")
    for key, receipt in (("k1", drained), ("k2", fault)):
        report = get(client, f"requests/{key}")
        assert (report["id"], report["asked_by"], report["comment"]) == (receipt["id"], "carol", "May")
    events = get(client, "events?fabric=pod-0&type=DrainCube&type=InjectFault")
    assert ["asked_by=carol" in row["text"] and "comment=May" in row["text"] for row in events] == [True] * 2
    (row,) = get(client, "faults")
    assert (row["asked_by"], row["comment"]) == ("carol", "May")
    (drain,) = get(client, "describe/cubes/pod-0/cube-1")["related"]["drain_requests"]
    assert (drain["id"], drain["asked_by"], drain["comment"]) == (drained["id"], "carol", "May")
    assert get(client, "describe/cubes/pod-0/cube-2")["related"]["drain_requests"] == []
    answer = client.post("/v1/clock/pause", headers={"Lightwave-As": "carol"})
    assert answer.status_code == 200
    assert get(client, "operations")[-1]["who"] == "carol"
    bad = client.post("/v1/clock/pause", headers={"Lightwave-As": "-carol"})
    assert bad.status_code == 422
    check_sentence(bad.json(), "must be 1 to 64 letters")
