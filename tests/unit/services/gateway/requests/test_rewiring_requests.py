"""Requests of operators to the topology of a running network, over HTTP: plans, approvals, aborts and
errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import enclose
from schemas.messages.operator import AbortRewiring, PlanTopology
from schemas.registry import encode
from services.gateway.http.access.caller import RIGHTS, Role, right_needed
from tests.support.gateway_twin import Client, DrivenTwin
from tests.support.network_twin import network_site

pytestmark = pytest.mark.integration

URL = "/v1/rewirings"
WAIT = {"wait": 20}
PATIENT = {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0, "approval": "operator"}
"""With these values the topology never plans a rewiring by itself."""
HOT = {"load": 0.2, "hot_pairs": 2, "hot_share": 0.5}


@pytest.fixture
def net(tmp_path: Path) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path / "twin", [], plans=[network_site(tmp_path, topology=PATIENT, demand=HOT)])
    twin.advance(2)
    yield twin
    twin.close()


def plan_rewiring(client: Client, **headers: str) -> dict[str, Any]:
    receipt: dict[str, Any] = client.post(URL, json={}, params=WAIT, headers=headers).json()
    assert receipt["status"] == "accepted", receipt
    return receipt


def request_verb(client: Client, name: str, verb: str) -> tuple[int, dict[str, Any]]:
    response = client.post(f"{URL}/{name}/{verb}", params=WAIT)
    return response.status_code, response.json()


def types(receipt: dict[str, Any]) -> list[str]:
    return [message["type"] for message in receipt["outcome"]]


def test_a_rewiring_is_planned_approved_and_carried_out(net: DrivenTwin) -> None:
    client = net.client()
    receipt = plan_rewiring(client)
    (message,) = receipt["outcome"]
    assert (message["type"], message["body"]["reason"]) == ("RewiringPlanned", "operator")
    assert message["body"]["transit_then_ppm"] < message["body"]["transit_ppm"]
    name = message["body"]["rewiring"]
    net.advance(1)
    assert not [m for m in net.messages("campus") if m["type"] == "RewireCircuits"][1:], (
        "the plan is not approved"
    )
    status, approved = request_verb(client, name, "approve")
    assert (status, types(approved)[:2]) == (200, ["RewiringApproved", "StageBegun"])
    status, repeated = request_verb(client, name, "approve")
    assert (status, repeated["error"]) == (409, f"{name}: it is already under way")
    net.advance(1)
    ended = [m["body"] for m in net.messages("campus") if m["type"] == "RewiringEnded"]
    assert ended[-1] == {
        "rewiring": name,
        "outcome": "completed",
        "reason": "all stages are complete",
    }


def test_an_abort_drops_a_plan_and_ends_a_running_rewiring_after_its_stage(net: DrivenTwin) -> None:
    client = net.client()
    (first,) = plan_rewiring(client)["outcome"]
    name = first["body"]["rewiring"]
    status, dropped = request_verb(client, name, "abort")
    assert (status, types(dropped)) == (200, ["RewiringEnded"])
    status, repeated = request_verb(client, name, "abort")
    assert (status, repeated["error"]) == (409, f"{name}: it has ended: aborted")
    (second,) = plan_rewiring(client)["outcome"]
    name = second["body"]["rewiring"]
    assert second["body"]["stages"] > 1
    assert request_verb(client, name, "approve")[0] == 200
    status, refusal = request_verb(client, name, "abort")
    assert (status, refusal["complete"], refusal["outcome"]) == (200, True, [])
    net.advance(1)
    begun_stages = [
        m for m in net.messages("campus") if m["type"] == "StageBegun" and m["body"]["rewiring"] == name
    ]
    ended = [m["body"] for m in net.messages("campus") if m["type"] == "RewiringEnded"]
    assert (len(begun_stages), ended[-1]["outcome"]) == (1, "aborted")


def test_one_rewiring_at_a_time_and_one_request_per_key(net: DrivenTwin) -> None:
    client = net.client()
    first, repeated = (plan_rewiring(client, **{"Idempotency-Key": "spring"}) for _ in range(2))
    assert (repeated["id"], repeated["repeated"], first["repeated"]) == (first["id"], True, False)
    name = first["outcome"][0]["body"]["rewiring"]
    refused = client.post(URL, json={"dcn": "dcn-0"}, params=WAIT)
    assert refused.status_code == 409
    assert refused.json()["error"] == f"{name} is planned or under way; must be the only one at a time"
    report = client.get("/v1/requests/spring").json()
    assert (report["type"], report["status"], report["fabric"]) == ("PlanTopology", "accepted", "dcn-0")


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        (URL, {"dcn": "pod-0"}, 422, "dcn pod-0: is a superpod; must be a datacenter network (dcn-0)"),
        (URL, {"dcn": "dcn-7"}, 404, "fabric 'dcn-7': no such fabric; must be one of "),
        (f"{URL}/dcn-0/rewiring-9/approve", None, 404, "rewiring 'dcn-0/rewiring-9': no such rewiring; "),
        (f"{URL}/dcn-0/rewiring-9/abort", None, 404, "planned or in progress: none"),
        (
            f"{URL}/dcn-0/block-3/abort",
            None,
            404,
            "no such rewiring; names are like dcn-0/rewiring-2; planned or",
        ),
        (f"{URL}/pod-0/rewiring-1/abort", None, 404, "pod-0 is not a datacenter network"),
    ],
)
def test_an_unknown_rewiring_is_refused_with_a_sentence(
    net: DrivenTwin, path: str, body: dict[str, str] | None, status: int, sentence: str
) -> None:
    response = net.client().post(path, json=body)
    assert (response.status_code, sentence in response.json()["error"]) == (status, True), response.text


def test_a_twin_of_pods_cannot_plan_a_rewiring(client: Client) -> None:
    response = client.post(URL, json={})
    assert (response.status_code, response.json()["error"]) == (
        404,
        "dcn: this twin has no datacenter network",
    )


def test_a_network_refuses_slices_and_drains(net: DrivenTwin) -> None:
    client = net.client()
    response = client.post("/v1/slices", json={"fabric": "dcn-0", "shape": "4x4x4"})
    assert (response.status_code, response.json()["error"]) == (
        422,
        "fabric dcn-0: is a dcn, which has no slices; must be a pod",
    )
    response = client.post("/v1/cubes/dcn-0/block-3/drain")
    assert response.status_code == 422
    assert response.json()["error"].endswith("must be a cube; dcn-0 has none")


@pytest.mark.parametrize("verb", ["", "/dcn-0/rewiring-1/approve", "/dcn-0/rewiring-1/abort"])
def test_only_operators_may_rewire(verb: str) -> None:
    needed = right_needed("POST", f"{URL}{verb}")
    able = {role for role in Role if needed in RIGHTS[role]}
    assert able == {Role.OPERATOR, Role.ADMINISTRATOR}


def test_a_lost_request_to_the_topology_is_replayed(net: DrivenTwin) -> None:
    client = net.client()

    def lost(number: int, body: PlanTopology | AbortRewiring, fabric: str) -> Any:
        line = encode(enclose(body, fabric=fabric, at_us=0, cause=None, source="operator@campus", seq=number))
        net.dead_letters.put(f"campus:{number}", "not written by this twin's sequencer", line)
        return client.post(f"/v1/dead-letters/campus:{number}/replay", params=WAIT)

    assert types(lost(7, PlanTopology(dcn="dcn-0"), "dcn-0").json()) == ["RewiringPlanned"]
    unknown = lost(8, AbortRewiring(rewiring="dcn-0/rewiring-9"), "dcn-0")
    assert unknown.status_code == 422
    assert "dead letter campus:8: cannot be replayed: rewiring 'dcn-0/rewiring-9'" in unknown.json()["error"]
    elsewhere = lost(9, PlanTopology(dcn="dcn-0"), "pod-0")
    assert elsewhere.json()["error"].endswith("it was sent to pod-0 but names a resource of dcn-0")
