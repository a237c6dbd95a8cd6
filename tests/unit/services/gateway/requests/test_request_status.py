"""The status of a request by its key or its message, and the cancellation of waiting requests."""

from typing import Any

import pytest

from schemas.messages.operator import DrainCube
from shared.storage.inbox.request_inbox import CancelOutcome, LoggedRequest
from tests.support.gateway_twin import Client, DrivenTwin
from tests.support.pods import with_key

pytestmark = pytest.mark.integration

DRAIN = "/v1/cubes/pod-0/cube-1/drain"
UNDRAIN = "/v1/cubes/pod-0/cube-2/undrain"  # refused: it is not drained


@pytest.fixture
def asleep(twin: DrivenTwin) -> DrivenTwin:
    """No process reads the inbox any more."""
    twin.twin.stop()
    twin._loop.join()
    return twin


def send_request(client: Client, path: str, key: str, **params: Any) -> Any:
    return client.post(path, params=params, headers={"Idempotency-Key": key.encode()}).json()


def test_the_status_of_a_request_is_found_by_key_and_by_message(client: Client) -> None:
    answer = send_request(client, DRAIN, "a/key ⟂", wait=20, comment="cutover")
    for name in ("a/key ⟂", answer["id"]):
        report = client.get(f"/v1/requests/{name}").json()
        assert report.pop("ahead") is None
        assert report == {
            "key": "a/key ⟂",
            "id": answer["id"],
            "fabric": "pod-0",
            "type": "DrainCube",
            "asked_by": None,
            "comment": "cutover",
            "status": "accepted",
            "complete": True,
            "at_us": answer["at_us"],
            "reason": None,
            "outcome": answer["outcome"],
        }
    repeated = send_request(client, UNDRAIN, "again", wait=20)
    report = client.get("/v1/requests/again").json()
    assert (report["status"], report["reason"]) == ("refused", repeated["reason"])


@pytest.mark.parametrize("name", ["none", "operator@pod-0/1", "operator@pod-9/1", "sequencer@pod-9/1", "a/b"])
def test_an_unknown_request_is_not_found(client: Client, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = client.request(method, f"/v1/requests/{name}")
        assert answer.status_code == 404
        assert answer.json() == {"error": f"request {name!r}: no request has this key or message id"}


def test_a_commissioned_fabric_has_its_first_message_as_status(client: Client) -> None:
    report = client.get("/v1/requests/sequencer@pod-1/1").json()
    assert (report["type"], report["fabric"], report["status"]) == ("FabricCommissioned", "pod-1", "accepted")


def test_a_request_missing_from_the_copied_log_is_still_reported_as_accepted(asleep: DrivenTwin) -> None:
    body = with_key("k", DrainCube(cube="pod-1/cube-1"))
    asleep.store.record_logged(1, [LoggedRequest(77, 10**6, "pod-1", body)])
    report = asleep.client().get("/v1/requests/k").json()
    assert (report["status"], report["id"], report["complete"]) == ("accepted", "operator@pod-1/77", False)


def test_waiting_requests_are_listed_and_cancelled(asleep: DrivenTwin) -> None:
    client = asleep.client()
    receipts = [
        send_request(client, f"/v1/cubes/pod-{n % 2}/cube-1/drain", f"k{n}", comment=f"c{n}")
        for n in range(3)
    ]
    rows = client.get("/v1/requests").json()
    assert [(row["id"], row["key"], row["ahead"], row["status"], row["comment"]) for row in rows] == [
        (receipts[0]["id"], "k0", 0, "received", "c0"),
        (receipts[2]["id"], "k2", 1, "received", "c2"),
        (receipts[1]["id"], "k1", 0, "received", "c1"),
    ]
    assert client.get("/v1/requests/k2").json() == rows[1]
    cancelled = client.request("DELETE", "/v1/requests/k0")
    assert (cancelled.status_code, cancelled.json()["status"], cancelled.json()["id"]) == (
        200,
        "cancelled",
        receipts[0]["id"],
    )
    assert client.request("DELETE", f"/v1/requests/{receipts[1]['id']}").json()["status"] == "cancelled"
    assert [row["key"] for row in client.get("/v1/requests").json()] == ["k2"]
    cancelled = client.get("/v1/requests/k0")
    assert (cancelled.status_code, cancelled.json()["error"]) == (404, "request 'k0': was cancelled")
    repeated = client.post("/v1/cubes/pod-0/cube-1/drain", headers={"Idempotency-Key": "k0"})
    assert repeated.status_code == 422
    assert repeated.json()["error"] == "Idempotency-Key 'k0': its request was cancelled; use a new key"


@pytest.mark.parametrize("key", ["operator@pod-0/17", "sequencer@pod-1/1", "dead-letter pod-0:20"])
def test_a_key_of_another_request_is_refused(asleep: DrivenTwin, key: str) -> None:
    answer = asleep.client().post("/v1/cubes/pod-0/cube-1/drain", headers={"Idempotency-Key": key})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(f"Idempotency-Key {key!r}: must not ")


def test_a_request_on_the_log_or_on_its_way_cannot_be_cancelled(asleep: DrivenTwin) -> None:
    client = asleep.client()
    number = asleep.store.put(0, "pod-0", with_key("k", DrainCube(cube="pod-0/cube-1"))).number
    assert asleep.store.take(0, [number]) == [number]
    answer = client.request("DELETE", "/v1/requests/k")
    assert answer.status_code == 409
    sentence = f"request 'k': is on the log or about to be appended, as operator@pod-0/{number}"
    assert answer.json() == {"error": sentence}
    assert asleep.store.cancel(0, number) is CancelOutcome.TOO_LATE


def test_an_accepted_request_cannot_be_cancelled(client: Client) -> None:
    response = send_request(client, DRAIN, "k", wait=20)
    answer = client.request("DELETE", "/v1/requests/k")
    assert answer.status_code == 409
    assert response["id"] in answer.json()["error"]
