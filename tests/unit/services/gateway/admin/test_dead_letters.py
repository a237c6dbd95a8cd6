"""Dead letters are listed, replayed if possible, and discarded; the log keeps them."""

import pytest

from schemas.body import Body
from schemas.envelope import enclose
from schemas.files.operations_log import DeadLetterReplayed, DeadLettersDropped
from schemas.messages.operator import (
    ClearFault,
    CreateCrossConnects,
    DrainCube,
    InjectFault,
    ReleaseSlice,
    RequestSlice,
    UndrainCube,
)
from schemas.messages.sequencer import FabricRetired
from schemas.messages.workload import ReleaseRefused
from schemas.registry import encode
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from shared.runtimes.dead_letter import SKIPPED
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

URL = "/v1/dead-letters"
FOREIGN = "DrainCube: not written by this twin's sequencer"


def stray_line(body: Body, fabric: str = "pod-0", source: str = "operator@pod-0") -> bytes:
    """A log line that a client wrote past the gateway."""
    return encode(enclose(body, fabric=fabric, at_us=0, cause=None, source=source, seq=7))


def origins(client: Client, query: str = "") -> list[str]:
    return [row["origin"] for row in client.get(f"{URL}{query}").json()]


def test_a_dead_letter_is_listed_with_its_readable_fields(twin: DrivenTwin, client: Client) -> None:
    twin.dead_letters.put("pod-0:7", "not JSON", b"\xff" * 5_000)
    twin.dead_letters.put("pod-0:9", FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1")))
    cut, request = client.get(URL).json()
    assert (cut["origin"], cut["error"], cut["state"], cut["replays_as"]) == (
        *("pod-0:7", "not JSON"),
        *("waiting", None),
    )
    assert (cut["line_bytes"], len(cut["line_sha256"])) == (5_000, 64)
    assert (request["replays_as"], request["line_bytes"]) == ("DrainCube", None)
    assert client.get(f"{URL}/pod-0:9").json() == request
    assert client.get(f"{URL}/pod-0:8").status_code == 404


def test_an_origin_may_contain_a_slash(twin: DrivenTwin, client: Client) -> None:
    origin = "pod-0/replay:9"
    twin.dead_letters.put(origin, FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1")))
    for path in (f"{URL}/{origin}", f"{URL}/pod-0%2Freplay:9"):
        assert client.get(path).json()["origin"] == origin
        assert client.post(f"{path}/replay").status_code in (200, 202)
    assert client.request("DELETE", f"{URL}/{origin}").json() == {"dropped": []}


def test_repeated_replays_make_one_request(twin: DrivenTwin, client: Client) -> None:
    twin.dead_letters.put("pod-0:9", FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1", asked_by="root")))
    first, repeated = [client.post(f"{URL}/pod-0:9/replay?wait=20&comment=lost").json() for _ in range(2)]
    assert (first["status"], first["repeated"], repeated["repeated"]) == ("accepted", False, True)
    assert repeated["id"] == first["id"]
    (drain,) = [m for m in twin.messages() if m["type"] == "DrainCube"]
    body = {"cube": "pod-0/cube-1", "key": "dead-letter pod-0:9", "comment": "lost"}
    assert drain["body"] == body, "the source that an unknown writer claims is not trusted"
    assert (origins(client), origins(client, "?every=true")) == ([], ["pod-0:9"])
    (note,) = [row.body for _, row in twin.operations.read()]
    assert note == DeadLetterReplayed(origin="pod-0:9", request=first["id"])


def test_a_replay_under_a_used_key_makes_no_second_request(twin: DrivenTwin, client: Client) -> None:
    answer = client.post("/v1/cubes/pod-0/cube-1/drain?wait=20", headers={"Idempotency-Key": "k-1"}).json()
    twin.dead_letters.put("pod-0:9", FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1", key="k-1")))
    replayed = client.post(f"{URL}/pod-0:9/replay?wait=20").json()
    assert (replayed["id"], replayed["repeated"]) == (answer["id"], True)


@pytest.mark.parametrize(
    ("error", "line", "why"),
    [
        ("not JSON", b"garbage", "not JSON"),
        (
            "not JSON",
            b"x" * 3_000,
            "dead letter pod-0:9: cannot be replayed: only the start of its 3000 bytes is stored",
        ),
        (
            SKIPPED,
            stray_line(DrainCube(cube="pod-0/cube-1")),
            "have read it; send a new request for what is missing",
        ),
        (FOREIGN, stray_line(FabricRetired(), source="sequencer@pod-0"), "is emitted by the twin itself"),
        (
            FOREIGN,
            stray_line(ReleaseRefused(slice="pod-0/slice-1", reason="gone"), source="workload@pod-0"),
            "is emitted by the twin itself",
        ),
        (FOREIGN, stray_line(DrainCube(cube="pod-0/cube-4")), "cube-4"),
        (
            FOREIGN,
            stray_line(UndrainCube(cube="pod-1/cube-1")),
            "it was sent to pod-0 but names a resource of pod-1",
        ),
        (
            FOREIGN,
            stray_line(DrainCube(cube="pod-0/cube-1"), fabric="pod-7"),
            "dead letter pod-0:9: cannot be replayed: it was sent to pod-7 but names a resource of pod-0",
        ),
        (FOREIGN, stray_line(RequestSlice(shape=(4, 4, 40))), "4x4x40"),
        (FOREIGN, stray_line(InjectFault(kind="ocs", target="pod-0/ocs-99")), "ocs-99"),
        (FOREIGN, stray_line(ReleaseSlice(slice="pod-9/slice-1")), "pod-9"),
        (
            FOREIGN,
            stray_line(ClearFault(fault="pod-1/fault-1")),
            "it was sent to pod-0 but names a resource of pod-1",
        ),
    ],
)
def test_a_letter_that_cannot_be_replayed_is_refused_with_the_reason(
    twin: DrivenTwin, client: Client, error: str, line: bytes, why: str
) -> None:
    twin.dead_letters.put("pod-0:9", error, line)
    before = twin.messages()
    answer = client.post(f"{URL}/pod-0:9/replay?wait=20")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("dead letter pod-0:9: cannot be replayed: ")
    assert why in answer.json()["error"]
    assert (twin.messages(), twin.operations.end()) == (before, 0)


def test_a_discarded_letter_is_no_longer_listed(twin: DrivenTwin, client: Client) -> None:
    for place in (3, 5, 9):
        twin.dead_letters.put(f"pod-0:{place}", FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1")))
    assert client.request("DELETE", f"{URL}/pod-0:5").json() == {"dropped": ["pod-0:5"]}
    assert client.request("DELETE", f"{URL}/pod-0:5").json() == {"dropped": []}
    assert origins(client) == ["pod-0:3", "pod-0:9"]
    assert "it was dropped" in client.post(f"{URL}/pod-0:5/replay").json()["error"]
    assert client.request("DELETE", URL).json() == {"dropped": ["pod-0:3", "pod-0:9"]}
    states = [row["state"] for row in client.get(f"{URL}?every=true").json()]
    assert (origins(client), states) == ([], ["dropped"] * 3)
    notes = [row.body for _, row in twin.operations.read()]
    assert notes == [
        DeadLettersDropped(origins=("pod-0:5",)),
        DeadLettersDropped(origins=("pod-0:3", "pod-0:9")),
    ]
    assert client.request("DELETE", f"{URL}/pod-0:4").status_code == 404


def test_only_an_administrator_replays_and_discards_and_a_trainee_sees_none(twin: DrivenTwin) -> None:
    twin.dead_letters.put("pod-0:9", FOREIGN, stray_line(DrainCube(cube="pod-0/cube-1")))
    known = Tokens([(f"a-token-of-{role}", Caller(f"the-{role}", role)) for role in Role])
    client = Client(create_app(twin.ports, tokens=known))
    for role in Role:
        headers = {"Authorization": f"Bearer a-token-of-{role}"}
        seen = client.get(URL, headers=headers).status_code
        assert seen == (403 if role is Role.TRAINEE else 200)  # a letter may be a request that breaks a part
        answer = client.post(f"{URL}/pod-0:9/replay?wait=20", headers=headers)
        assert (answer.status_code == 200) == (role is Role.ADMINISTRATOR)
    (drain,) = [m for m in twin.messages() if m["type"] == "DrainCube"]
    assert drain["body"]["asked_by"] == "the-administrator"
    assert [row.who for _, row in twin.operations.read()] == ["the-administrator"]


def test_cross_connects_are_replayed_unchanged(twin: DrivenTwin, client: Client) -> None:
    request = CreateCrossConnects(ocs="pod-0/ocs-3", cross_connects=("1A-5B",), error_mode="ignore-error")
    twin.dead_letters.put("pod-0:9", FOREIGN, stray_line(request))
    twin.dead_letters.put("pod-0:10", FOREIGN, stray_line(request.model_copy(update={"ocs": "pod-0/ocs-99"})))
    receipt = client.post(f"{URL}/pod-0:9/replay?wait=20").json()
    assert [message["type"] for message in receipt["outcome"]] == ["CrossConnectsTaken"]
    assert client.post(f"{URL}/pod-0:10/replay").status_code == 422
