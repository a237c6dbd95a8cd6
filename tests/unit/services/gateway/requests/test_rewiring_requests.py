"""What operators ask of the topology of a living network, over HTTP: plans, approvals, ends, and mistakes."""

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
"""Nothing is planned by itself."""
HOT = {"load": 0.2, "hot_pairs": 2, "hot_share": 0.5}


@pytest.fixture
def net(tmp_path: Path) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path / "twin", [], plans=[network_site(tmp_path, topology=PATIENT, demand=HOT)])
    twin.advance(2)
    yield twin
    twin.close()


def planned(client: Client, **headers: str) -> dict[str, Any]:
    found: dict[str, Any] = client.post(URL, json={}, params=WAIT, headers=headers).json()
    assert found["status"] == "accepted", found
    return found


def asked(client: Client, name: str, verb: str) -> tuple[int, dict[str, Any]]:
    found = client.post(f"{URL}/{name}/{verb}", params=WAIT)
    return found.status_code, found.json()


def types(receipt: dict[str, Any]) -> list[str]:
    return [message["type"] for message in receipt["outcome"]]


def test_a_plan_is_made_approved_and_carried_out(net: DrivenTwin) -> None:
    client = net.client()
    receipt = planned(client)
    (message,) = receipt["outcome"]
    assert (message["type"], message["body"]["reason"]) == ("RewiringPlanned", "operator")
    assert message["body"]["transit_then_ppm"] < message["body"]["transit_ppm"]
    name = message["body"]["rewiring"]
    net.advance(1)
    assert not [m for m in net.messages("campus") if m["type"] == "RewireCircuits"][1:], "nobody approved it"
    status, approved = asked(client, name, "approve")
    assert (status, types(approved)[:2]) == (200, ["RewiringApproved", "StageBegun"])
    status, again = asked(client, name, "approve")
    assert (status, again["error"]) == (409, f"{name}: it is already under way")
    net.advance(1)
    ended = [m["body"] for m in net.messages("campus") if m["type"] == "RewiringEnded"]
    assert ended[-1] == {
        "rewiring": name,
        "outcome": "completed",
        "reason": "all stages are complete",
    }


def test_a_plan_is_dropped_and_one_under_way_ends_after_its_stage(net: DrivenTwin) -> None:
    client = net.client()
    (first,) = planned(client)["outcome"]
    name = first["body"]["rewiring"]
    status, dropped = asked(client, name, "abort")
    assert (status, types(dropped)) == (200, ["RewiringEnded"])
    status, again = asked(client, name, "abort")
    assert (status, again["error"]) == (409, f"{name}: it has ended: aborted")
    (second,) = planned(client)["outcome"]
    name = second["body"]["rewiring"]
    assert second["body"]["stages"] > 1
    assert asked(client, name, "approve")[0] == 200
    status, told = asked(client, name, "abort")
    assert (status, told["complete"], told["outcome"]) == (200, True, [])
    net.advance(1)
    begun = [m for m in net.messages("campus") if m["type"] == "StageBegun" and m["body"]["rewiring"] == name]
    ended = [m["body"] for m in net.messages("campus") if m["type"] == "RewiringEnded"]
    assert (len(begun), ended[-1]["outcome"]) == (1, "aborted")


def test_one_at_a_time_and_the_same_key_is_the_same_request(net: DrivenTwin) -> None:
    client = net.client()
    first, again = (planned(client, **{"Idempotency-Key": "spring"}) for _ in range(2))
    assert (again["id"], again["repeated"], first["repeated"]) == (first["id"], True, False)
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
def test_what_is_not_there_is_reported_in_a_sentence(
    net: DrivenTwin, path: str, body: dict[str, str] | None, status: int, sentence: str
) -> None:
    found = net.client().post(path, json=body)
    assert (found.status_code, sentence in found.json()["error"]) == (status, True), found.text


def test_a_twin_of_pods_has_nothing_to_plan(client: Client) -> None:
    found = client.post(URL, json={})
    assert (found.status_code, found.json()["error"]) == (404, "dcn: this twin has no datacenter network")


def test_a_network_takes_no_slices_and_drains_nothing(net: DrivenTwin) -> None:
    client = net.client()
    found = client.post("/v1/slices", json={"fabric": "dcn-0", "shape": "4x4x4"})
    assert (found.status_code, found.json()["error"]) == (
        422,
        "fabric dcn-0: is a dcn, which has no slices; must be a pod",
    )
    found = client.post("/v1/cubes/dcn-0/block-3/drain")
    assert found.status_code == 422
    assert found.json()["error"].endswith("must be a cube; dcn-0 has none")


@pytest.mark.parametrize("verb", ["", "/dcn-0/rewiring-1/approve", "/dcn-0/rewiring-1/abort"])
def test_operators_rewire_and_trainees_do_not(verb: str) -> None:
    needed = right_needed("POST", f"{URL}{verb}")
    able = {role for role in Role if needed in RIGHTS[role]}
    assert able == {Role.OPERATOR, Role.ADMINISTRATOR}


def test_a_lost_request_to_the_topology_is_requested_again(net: DrivenTwin) -> None:
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
