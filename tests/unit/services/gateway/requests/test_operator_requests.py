"""Requests of operators: each takes effect once, or one sentence reports the error."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.gateway.requests import operator_requests
from shared.runtimes.poll import poll_until
from shared.storage.inbox.request_inbox import InboxReceipt, allowance_error
from tests.support.gateway_twin import CATCH_UP_S_MAX, QUIET, Client, DrivenTwin, check_sentence

pytestmark = pytest.mark.integration

JSON = {"content-type": "application/json"}
TOKEN = "open-sesame-and-close-it"  # noqa: S105 -- a test's own
NOW = ("queued", "programming", "degraded", "recovering")
BEARER = f"Bearer {TOKEN}".encode()


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET], pods=2)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def send_request(client: Client, path: str, body: object = None, *, status: int = 200, **more: Any) -> Any:
    """Send a request and wait until it is on the log."""
    answer = client.post(f"/v1/{path}", json=body, params={"wait": 20}, **more)
    assert answer.status_code == status, answer.text
    return answer.json()


def refusal(client: Client, path: str, body: object = None) -> tuple[str, str]:
    """(type of the message that refuses a request on the log, its reason)."""
    answer = send_request(client, path, body, status=409)
    assert (answer["status"], answer["complete"], answer["error"]) == ("refused", True, answer["reason"])
    (message,) = [m for m in answer["outcome"] if m["id"] == answer["refused_by"]]
    return message["type"], answer["reason"]


def types(receipt: Any) -> list[str]:
    return [message["type"] for message in receipt["outcome"]]


# --- requests that happen -----------------------------------------------------------------------------------


def test_a_slice_is_requested_and_released(twin: DrivenTwin, client: Client) -> None:
    answer = send_request(
        client, "slices", {"shape": "4x4x8", "twisted": True, "priority": 5, "duration_s": 7200.5}
    )
    assert answer["status"] == "accepted"
    assert types(answer) == ["SliceRequested", "SliceAdmitted", "ConnectCircuits"]
    request = next(m for m in twin.messages() if m["id"] == answer["id"])
    assert request["at_us"] == answer["at_us"]
    assert request["body"] == {
        "shape": [4, 4, 8],
        "twisted": True,
        "owner": "operator",
        "tier": "production",
        "priority": 5,
        "duration_us": 7_200_500_000,
        "recovery": None,
    }
    name = answer["outcome"][0]["body"]["slice"]
    twin.advance(1)
    assert client.get(f"/v1/slices/{name}").json()["state"] in ("running", "degraded")
    assert "SliceCompleted" in types(send_request(client, f"slices/{name}/release"))
    assert client.get(f"/v1/slices/{name}").json()["state"] == "completed"


def test_a_slice_is_requested_for_its_owner(client: Client) -> None:
    answer = send_request(client, "slices", {"shape": "2x4x4", "owner": "team-7", "tier": "filler"})
    name = answer["outcome"][0]["body"]["slice"]
    row = client.get(f"/v1/slices/{name}").json()
    assert (row["owner"], row["tier"], row["restarts"]) == ("team-7", "filler", 0)
    for query in ("owner=team-7", "tier=filler&owner=team-7", "restarts=0&owner=team-7"):
        assert [row["name"] for row in client.get(f"/v1/slices?{query}").json()] == [name]
    assert client.get("/v1/slices?owner=team-8").json() == []
    send_request(client, f"slices/{name}/release")


def test_a_slice_shows_its_recovery_policy(client: Client) -> None:
    answer = send_request(client, "slices", {"shape": "4x4x4", "recovery": "swap,route:2%,wait"})
    name = answer["outcome"][0]["body"]["slice"]
    assert client.get(f"/v1/slices/{name}").json()["recovery"] == "swap,route:2%,wait"
    send_request(client, f"slices/{name}/release")


def test_a_fault_is_injected_and_cleared(client: Client) -> None:
    answer = send_request(client, "faults", {"kind": "port", "target": "pod-1/ocs-3/N5", "duration_s": 60})
    assert types(answer)[0] == "FaultBegan"
    fault = answer["outcome"][0]["body"]["fault"]
    assert client.get(f"/v1/faults/{fault}").json()["state"] == "active"
    part = send_request(client, "faults/pod-1/ocs-3/clear", status=422)["error"]
    assert part == (
        f"fault 'pod-1/ocs-3': is a part; must be a fault. Active faults of the part: {fault} "
        "(`lightwave clear --all pod-1/ocs-3` clears them all)"
    )
    assert types(send_request(client, f"faults/{fault}/clear"))[0] == "FaultEnded"
    kind, reason = refusal(client, f"faults/{fault}/clear")
    assert kind == "FaultRefused"
    assert "has already ended" in reason


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        (
            "faults",
            {"kind": "connector", "target": "cube-12/+y/7"},
            404,
            "target 'cube-12/+y/7': fabric 'cube-12': no such fabric; must be one of pod-0, pod-1",
        ),
        (
            "faults",
            {"kind": "shake", "target": "pod-0/ocs-17", "onset_s": 3600},
            422,
            "onset_s: 3600 is not allowed; a fault of kind 'shake' has no onset; the kind must be one",
        ),
        (
            "ocs/pod-0/ocs-17/cross-connects",
            {"cross_connects": ["1A:5B"]},
            422,
            "cross_connects.0: '1A:5B' is not allowed; must be two ports, such as 1A-5B",
        ),
    ],
)
def test_a_refusal_names_the_field_the_value_and_the_allowed_values(
    client: Client, path: str, body: dict[str, Any], status: int, sentence: str
) -> None:
    assert send_request(client, path, body, status=status)["error"].startswith(sentence)


def test_a_cube_is_drained_and_undrained(client: Client) -> None:
    assert types(send_request(client, "cubes/pod-1/cube-2/drain"))[0] == "CubeDrained"
    assert client.get("/v1/cubes/pod-1/cube-2").json()["drained"] is True
    assert types(send_request(client, "cubes/pod-1/cube-2/drain")) == [], (
        "nothing changes, and nothing is refused"
    )
    assert types(send_request(client, "cubes/pod-1/cube-2/undrain"))[0] == "CubeUndrained"


def test_a_drain_is_planned_and_cancelled_over_http(twin: DrivenTwin, client: Client) -> None:
    """The planned drain is a field of the cube. Slice plans and the impact of a part take it into account."""
    path, hour_us = "cubes/pod-1/cube-3", 3_600_000_000
    assert (
        types(send_request(client, f"{path}/drain", {"after_s": 7_200, "duration_s": 3_600}))[0]
        == "DrainPlanned"
    )
    row = client.get(f"/v1/{path}").json()
    assert (row["drained"], row["draining"]) == (False, False)
    assert row["drain_until_us"] - row["drain_from_us"] == hour_us
    assert "will be drained from" in client.get("/v1/impact/pod-1/cube-3").json()["note"]
    assert refusal(client, f"{path}/drain", {"after_s": 60})[0] == "DrainRefused"
    same = {"from_us": row["drain_from_us"], "duration_s": 3_600}
    assert types(send_request(client, f"{path}/drain", same)) == [], "the same drain is planned already"
    assert client.get(f"/v1/{path}").json() == row
    assert types(send_request(client, f"{path}/undrain"))[0] == "PlannedDrainCancelled"
    assert client.get(f"/v1/{path}").json()["drain_from_us"] is None
    for body in ({"from_us": -1}, {"from_us": 5 * hour_us, "after_s": 3}, {"after_s": -1}, {"at": 3}):
        send_request(client, f"{path}/drain", body, status=422)


@pytest.mark.parametrize("path", ["slices/pod-0/slice-999/release", "faults/pod-0/fault-999/clear"])
def test_a_missing_target_is_not_found_and_leaves_no_trace(
    twin: DrivenTwin, client: Client, path: str
) -> None:
    before = twin.messages()
    key = {"Idempotency-Key": f"of {path}"}
    for _ in range(2):
        answer = send_request(client, path, status=404, headers=key)
        assert f"{path.split('/')[2]}': no such" in answer["error"]
    assert client.get(f"/v1/requests/of {path}").status_code == 404
    assert twin.messages() == before


def test_a_repeated_request_gets_the_same_answer_after_its_slice_is_forgotten(
    twin: DrivenTwin, client: Client
) -> None:
    class Forgetful:
        def one(self, fabric: str, kind: str, name: str) -> bytes | None:
            return None

        def __getattr__(self, name: str) -> Any:
            return getattr(twin.store, name)

    fault = send_request(client, "faults", {"kind": "port", "target": "pod-1/ocs-9/N5"})["outcome"][0][
        "body"
    ]["fault"]
    key = {"Idempotency-Key": "cleared in time"}
    first = send_request(client, f"faults/{fault}/clear", headers=key)
    later = twin.client(documents=Forgetful())
    assert send_request(later, f"faults/{fault}/clear", headers=key) == first | {"repeated": True}
    twin.advance(0.01)
    send_request(later, f"faults/{fault}/clear", status=404)


def test_a_refused_request_is_refused_again_under_its_key(client: Client) -> None:
    key = {"Idempotency-Key": "once more"}
    first = send_request(client, "cubes/pod-0/cube-3/undrain", status=409, headers=key)
    repeated = send_request(client, "cubes/pod-0/cube-3/undrain", status=409, headers=key)
    assert repeated == first | {"repeated": True}


def test_a_slice_refused_on_arrival_is_listed_with_all_others(tmp_path: Path) -> None:
    """It was never in the queue."""
    settings = ["scheduler.hold_back=fixed", "scheduler.hold_back_cubes=1"]
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET, *settings])
    client = twin.client()
    assert "scheduler.hold_back" in send_request(client, "slices", {"shape": "4x4x16"}, status=409)["reason"]
    (row,) = client.get("/v1/slices").json()
    assert (row["state"], row["waited_us"]) == ("refused", 0)
    twin.close()


def test_a_slice_beyond_the_queue_limit_is_refused_with_the_reason(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "scheduler.queue_max=1", *QUIET])
    client = twin.client()
    for _ in range(2):
        send_request(client, "slices", {"shape": "4x4x16"})
    answer = send_request(client, "slices", {"shape": "4x4x16"}, status=409)
    assert answer["reason"].startswith(
        "pod-0/slice-2: operator already has 1 of at most 1 slices in the queue (scheduler.queue_max)"
    )
    withdrawn = send_request(client, "slices/pod-0/slice-1/release")
    assert withdrawn["status"] == "accepted"
    assert "SliceRefused" in types(withdrawn)
    twin.close()


def test_without_waiting_a_request_is_received_and_read_later(twin: DrivenTwin) -> None:
    """This inbox wakes no reader, so the request cannot have been read before the answer."""
    put: list[object] = []

    class Inbox:
        def size(self, partition: int) -> int:
            return 0

        def put(self, *request: Any) -> Any:
            put.append(request)
            return twin.store.put(*request)

    answer = twin.client(inbox=Inbox()).post("/v1/cubes/pod-0/cube-4/undrain")
    assert answer.status_code == 202
    response = answer.json()
    assert {**response, "id": ""} == {
        "id": "",
        "repeated": False,
        "status": "received",
        "complete": False,
        "at_us": None,
        "outcome": [],
    }
    where = answer.headers["location"]
    assert where == f"/v1/requests/operator%40pod-0/{response['id'].rpartition('/')[2]}"
    assert len(put) == 1
    twin.advance(0.01)
    assert poll_until(lambda: twin.client().get(where).json()["complete"], CATCH_UP_S_MAX)
    assert response["id"] in [message["id"] for message in twin.messages()]
    report = twin.client().get(where).json()
    assert (report["status"], report["id"]) == ("refused", response["id"])
    assert [m["type"] for m in report["outcome"]] == ["DrainRefused"]


def test_a_request_before_its_quiet_point_is_answered_with_its_address(twin: DrivenTwin) -> None:
    client = twin.client(is_quiet=lambda _: False)
    answer = client.post("/v1/slices", json={"shape": "2x2x2"}, params={"wait": 1})
    response = answer.json()
    assert (answer.status_code, response["status"], response["complete"]) == (202, "accepted", False)
    assert response["at_us"] is not None
    assert "location" in answer.headers


def test_an_unread_request_is_reported_as_received_after_the_wait(twin: DrivenTwin) -> None:
    class Lost:
        def size(self, partition: int) -> int:
            return 0

        def put(self, *_request: object) -> Any:
            return InboxReceipt(10**17, repeated=False)

    answer = twin.client(inbox=Lost()).post("/v1/cubes/pod-0/cube-0/drain", params={"wait": 0.05})
    assert (answer.status_code, answer.json()["status"]) == (202, "received")


def test_one_key_is_one_request(twin: DrivenTwin, client: Client) -> None:
    key, body = {"Idempotency-Key": "cutover ⟂ / 7".encode()}, {"shape": "1x1x2"}
    first = send_request(client, "slices", body, headers=key)
    second = send_request(client, "slices", body, headers=key)
    unwaited = client.post("/v1/slices", json=body, headers=key)
    assert first["repeated"] is False
    assert second == {**first, "repeated": True}
    assert (unwaited.status_code, unwaited.json()) == (200, second)
    assert [message["id"] for message in twin.messages()].count(first["id"]) == 1
    requested = [
        m for m in twin.messages() if m["type"] == "RequestSlice" and m["body"]["shape"] == [1, 1, 2]
    ]
    assert len(requested) == 1
    for path, sent in (
        ("slices", {"shape": "1x2x2"}),
        ("slices", {"shape": "1x1x2", "fabric": "pod-1"}),
        ("cubes/pod-1/cube-0/drain", None),
    ):
        different = client.post(f"/v1/{path}", json=sent, headers=key)
        assert different.status_code == 422
        assert different.json()["error"].startswith("Idempotency-Key 'cutover ⟂ / 7': was used for another")


def test_the_requester_and_the_comment_are_on_the_log(twin: DrivenTwin, client: Client) -> None:
    headers, why = {"Idempotency-Key": "why-1"}, {"wait": 20, "comment": "spare for ⟂ & co"}
    first = client.post("/v1/cubes/pod-0/cube-5/drain", params=why, headers=headers).json()
    repeated = client.post("/v1/cubes/pod-0/cube-5/drain", params={"wait": 20}, headers=headers).json()
    assert repeated == {**first, "repeated": True}
    message = next(m for m in twin.messages() if m["id"] == first["id"])
    assert message["body"] == {"key": "why-1", "comment": "spare for ⟂ & co", "cube": "pod-0/cube-5"}
    unsaid = send_request(client, "cubes/pod-0/cube-5/undrain")
    message = next(m for m in twin.messages() if m["id"] == unsaid["id"])
    assert message["body"] == {"cube": "pod-0/cube-5"}


@pytest.mark.parametrize("comment", ["", "x" * 501, "two\nlines", "\x1b[31m"])
def test_a_comment_is_one_line_of_limited_length(client: Client, comment: str) -> None:
    answer = client.post("/v1/cubes/pod-0/cube-0/drain", params={"comment": comment})
    assert answer.status_code == 422
    check_sentence(answer.json(), "comment")


# --- requests that are refused ------------------------------------------------------------------------------

BAD_BODIES: list[tuple[str, object, str]] = [
    ("slices", {"shape": "4x4"}, "shape: '4x4'"),
    ("slices", {"shape": "5x5x5"}, "shape 5x5x5"),
    ("slices", {"shape": "4x4x64"}, "8"),
    ("slices", {"shape": "9" * 10_000}, "shape"),
    ("slices", {"shape": "\ud800"}, "shape"),
    ("slices", {"shape": 448}, "shape: 448"),
    ("slices", {"shape": None}, "shape: null"),
    ("slices", {"shape": ["4", "4", "4"]}, 'shape: ["4", "4", "4"] is not allowed; must be a string'),
    ("slices", {}, "shape: missing"),
    ("slices", [], "body"),
    ("slices", "4x4x4", "body"),
    ("slices", None, "body"),
    ("slices", {"shape": "4x4x4", "colour": "red"}, "colour: no such field"),
    ("slices", {"shape": "4x4x4", "\ud800": 1}, "body"),
    ("slices", {"shape": "4x4x4", "x" * 5_000: 1}, "no such field"),
    ("slices", {"shape": "4x4x4", "twisted": "yes"}, "twisted: 'yes'"),
    ("slices", {"shape": "4x4x4", "twisted": True}, "twisted: true"),
    (
        "slices",
        {"shape": "4x4x4", "owner": "Team 7"},
        "owner 'Team 7': must be 1 to 67 lowercase letters, digits and hyphens, like team-7 or 4b2fdc11",
    ),
    ("slices", {"shape": "4x4x4", "owner": "x" * 5_000}, "owner 'xxx"),
    (
        "slices",
        {"shape": "4x4x4", "owner": "taem-7"},
        "owner 'taem-7': no such owner in pod-0; the nearest is team-7",
    ),
    (
        "slices",
        {"shape": "4x4x4", "owner": "zz"},
        "no such owner in pod-0; the nearest is operator; must be one of",
    ),
    (
        "slices",
        {"shape": "8x8x16"},
        "nearest legal shape is 4x8x16; a slice of several pods needs a fabric that",
    ),
    ("slices", {"shape": "4x4x4", "owner": ""}, "owner ''"),
    ("slices", {"shape": "4x4x4", "owner": None}, "owner: null"),
    ("slices", {"shape": "4x4x4", "tier": "gold"}, "production, research or filler"),
    (
        "slices",
        {"shape": "4x4x4", "recovery": "swop"},
        "recovery 'swop': 'swop' is not allowed; must be some of",
    ),
    ("slices", {"shape": "4x4x4", "recovery": "route:300%"}, "the nearest is route:100%"),
    ("slices", {"shape": "4x4x4", "recovery": ["swap"]}, "recovery"),
    ("slices", {"shape": "4x4x4", "priority": 101}, "priority: 101"),
    ("slices", {"shape": "4x4x4", "priority": 10**4000}, "priority"),
    ("slices", {"shape": "4x4x4", "priority": 1.5}, "priority: 1.5"),
    ("slices", {"shape": "4x4x4", "duration_s": 0}, "duration_s: 0"),
    ("slices", {"shape": "4x4x4", "duration_s": -3}, "duration_s: -3"),
    ("slices", {"shape": "4x4x4", "duration_s": 1e-7}, "duration_s: 1e-07"),
    ("slices", {"shape": "4x4x4", "duration_s": 3.2e9}, "duration_s: 3200000000.0"),
    ("slices", {"shape": "4x4x4", "duration_s": 10**400}, "duration_s"),
    ("slices", {"shape": "4x4x4", "duration_s": "2h"}, "duration_s: '2h'"),
    ("faults", {"kind": "fire", "target": "pod-0/ocs-1"}, "kind: 'fire'"),
    ("faults", {"kind": "ocs", "target": "pod-0/cube-1"}, "target: 'pod-0/cube-1'"),
    ("faults", {"kind": "ocs"}, "target: missing"),
    ("slices/pod-0/sloce-1/release", None, "pod-0/slice-42"),
    ("slices/pod-0/slice-01/release", None, "pod-0/slice-42"),
    ("faults/pod-0/ocs-17/clear", None, "is a part; must be a fault. Active faults of the part: "),
    ("cubes/pod-0/ocs-17/drain", None, "must be a cube; names are like"),
    ("cubes/pod-0/cube-1/host-1/undrain", None, "must be a cube; names are like"),
]


@pytest.mark.parametrize(("path", "body", "sentence"), BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_an_invalid_request_is_refused_and_never_reaches_the_log(
    twin: DrivenTwin, client: Client, path: str, body: object, sentence: str
) -> None:
    before = twin.messages()
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == (404 if path.startswith("slices/pod-0/") else 422)
    check_sentence(answer.json(), sentence)
    assert twin.messages() == before
    assert twin.store.size(0) == twin.store.size(1) == 0


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b"{",
            b"\xff\xfe{}",
            b"nonsense",
            b'{"shape": "4x4x4",}',
            b'{"shape": "\xff"}',
            b"[" * 60_000,
        ),
        *(b'{"shape": "4x4x4", "priority": ' + b"9" * 5_000 + b"}", b'{"shape": NaN}', b"null", b"\x00"),
        b'{"shape": "4x4x4", "duration_s": NaN}',
    ],
    ids=range(12),
)
def test_a_body_that_is_no_valid_request_is_refused(client: Client, content: bytes) -> None:
    answer = client.post("/v1/slices", content=content, headers=JSON)
    assert answer.status_code == 422
    check_sentence(answer.json(), "")
    plain = client.post("/v1/slices", content=content, headers={"content-type": "text/plain"})
    assert plain.status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "content", "key"),
    [
        ("POST", "slices", b'{"shape": "4x4x4", "shape": "4x4x8"}', "shape"),
        ("POST", "faults", b'{"kind": "ocs", "target": "pod-0/ocs-1", "kind": "ocs"}', "kind"),
        ("POST", "fabrics", b'{"name": "p-1", "site": "p", "settings": {"seed": 1, "seed": 2}}', "seed"),
        ("PUT", "clock/speed", b'{"speed": 1, "speed": 2}', "speed"),
    ],
)
def test_a_duplicate_key_is_refused(client: Client, method: str, path: str, content: bytes, key: str) -> None:
    answer = client.request(method, f"/v1/{path}", content=content, headers=JSON)
    assert answer.status_code == 422
    assert answer.json() == {"error": f"body: '{key}': duplicate key; must be given once in a JSON object"}


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("events?since=yesterday", 422, "since 'yesterday'"),
        ("events?since=2h&since_us=5", 422, "must not be given together"),
        ("events?since=", 422, "since ''"),
        ("events?since=٣h", 422, "since"),
        ("events?since=9999999999h", 422, "since"),
        ("events?since_us=-1", 422, "since_us: '-1'"),
        ("events?since_us=99999999999999999999999", 422, "since_us"),
        ("events?type=Nonsense", 422, "type 'Nonsense'"),
        ("events?limit=0", 422, "limit: '0'"),
        ("events?limit=10001", 422, "limit: '10001'"),
        ("events?sinse=2h", 422, "query 'sinse'"),
        ("events/stream?type=Nonsense", 422, "type 'Nonsense'"),
        ("events/stream?since=x", 422, "since 'x'"),
        ("cubes?colour=red", 422, "must be one of fabric"),
        ("cubes/pod-0/cube-0?wait=1", 422, "this path takes none"),
        ("describe/pods/pod-0", 422, "kind 'pods'"),
        ("clock/pause", 405, "GET /v1/clock/pause"),
    ],
)
def test_an_invalid_query_is_refused(client: Client, path: str, status: int, sentence: str) -> None:
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == status
    check_sentence(answer.json(), sentence)


@pytest.mark.parametrize(
    ("wait", "key"),
    [("-1", "a"), ("31", "a"), ("nan", "a"), ("inf", "a"), ("soon", "a"), ("0", ""), ("0", "k" * 201)],
)
def test_wait_and_key_have_limits(client: Client, wait: str, key: str) -> None:
    answer = client.post(
        "/v1/cubes/pod-0/cube-0/drain", params={"wait": wait}, headers={"Idempotency-Key": key}
    )
    assert answer.status_code == 422
    check_sentence(answer.json(), "Idempotency-Key" if wait == "0" else "wait")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("slices", {"shape": "4x4x4", "fabric": "pod-9"}),
        ("slices", {"shape": "4x4x4", "fabric": "\ud800"}),
        ("faults", {"kind": "ocs", "target": "pod-9/ocs-1"}),
        ("slices/pod-9/slice-1/release", None),
        ("slices/slice-1/release", None),
        ("faults/pod-9/fault-1/clear", None),
        ("cubes/pod-9/cube-1/drain", None),
        ("cubes/%2e%2e/cube-1/drain", None),
    ],
)
def test_a_request_to_an_unknown_fabric_is_not_found(client: Client, path: str, body: object) -> None:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 404
    check_sentence(answer.json(), "")


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("faults", {"kind": "ocs", "target": "pod-0/ocs-48"}, "OCS 48 does not exist"),
        ("faults", {"kind": "ocs", "target": "pod-0/ocs-" + "9" * 5_000}, "target"),
        ("faults", {"kind": "host", "target": "pod-0/cube-8/host-0"}, "cube 8 does not exist"),
        ("faults", {"kind": "link", "target": "pod-0/cube-1/+y/16"}, "face index 16 does not exist"),
        ("cubes/pod-0/cube-8/drain", None, "cube 8 does not exist"),
        ("cubes/pod-0/cube-8/undrain", None, "cube 8 does not exist"),
    ],
    ids=range(6),
)
def test_an_unknown_part_is_not_found_and_never_reaches_the_log(
    twin: DrivenTwin, client: Client, path: str, body: object, sentence: str
) -> None:
    before = twin.messages()
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 404
    check_sentence(answer.json(), sentence)
    assert twin.messages() == before
    assert twin.store.size(0) == twin.store.size(1) == 0


def test_a_full_inbox_refuses_requests(twin: DrivenTwin) -> None:
    class Full:
        def size(self, partition: int) -> int:
            return operator_requests.INBOX_MAX

    answer = twin.client(inbox=Full()).post("/v1/cubes/pod-0/cube-0/drain")
    assert answer.status_code == 503
    check_sentence(answer.json(), "try again later")


def test_a_client_over_its_allowance_is_refused_with_a_time_to_retry(twin: DrivenTwin) -> None:
    class Used:
        def size(self, partition: int) -> int:
            return 0

        def put(self, *_request: object) -> Any:
            raise allowance_error("ana")

    answer = twin.client(inbox=Used()).post("/v1/cubes/pod-0/cube-0/drain")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    check_sentence(answer.json(), "100 requests of ana wait already")


def test_a_dark_link_end_is_tested_and_a_used_one_is_refused_with_its_slice(
    twin: DrivenTwin, client: Client
) -> None:
    answer = send_request(client, "links/pod-1/cube-7/+x/0/test")
    assert types(answer) == ["LinkLooped", "LinkTested"]
    assert answer["outcome"][1]["body"]["verdict"] == "clean"
    name = send_request(client, "slices", {"shape": "4x4x8"})["outcome"][0]["body"]["slice"]
    twin.advance(1)
    cube = client.get(f"/v1/slices/{name}").json()["cubes"][0]
    kind, reason = refusal(client, f"links/{cube}/+z/3/test")
    assert kind == "LinkTestRefused"
    assert f"belongs to {name};" in reason
    send_request(client, f"slices/{name}/release")
    assert (
        "must be a link end of a superpod"
        in send_request(client, "links/pod-0/cube-1/test", status=422)["error"]
    )
