"""The gateway's explanations of slices and its plans for requests."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

WAIT = {"wait": 20}


def request_slice(client: Client, shape: str, **more: Any) -> str:
    """Request a slice; return its name."""
    receipt = client.post("/v1/slices", json={"shape": shape, **more}, params=WAIT).json()
    body: dict[str, Any] = receipt["outcome"][0]["body"]
    return str(body["slice"])


def test_a_plan_comes_true(client: Client) -> None:
    answer = client.get("/v1/plan/slices?shape=4x4x8&owner=team-1&tier=research").json()
    assert (answer["decision"], answer["circuits_made"], answer["circuits_kept"]) == ("placed", 192, 0)
    name = request_slice(client, "4x4x8", owner="team-1", tier="research")
    assert client.get(f"/v1/slices/{name}").json()["cubes"] == answer["cubes"]


def test_a_plan_changes_nothing(client: Client, twin: DrivenTwin) -> None:
    before = twin.messages()
    assert client.get("/v1/plan/slices?shape=4x8x8").status_code == 200
    assert twin.messages() == before
    assert client.get("/v1/slices").json() == []


def test_victims_are_named_with_their_lost_work(client: Client, twin: DrivenTwin) -> None:
    victim = request_slice(client, "4x8x8", tier="filler")
    twin.advance(1)
    answer = client.get("/v1/plan/slices?shape=4x4x4").json()
    assert answer["decision"] == "claims"
    assert [(row["slice"], row["moves_to"]) for row in answer["leavers"]] == [(victim, None)]
    assert answer["start"]["basis"] == "claim"


def test_a_slice_on_a_hot_cube_names_it_and_the_cube_explains_the_cause(
    client: Client, twin: DrivenTwin
) -> None:
    name = request_slice(client, "4x4x8")
    twin.advance(1)
    cube = client.get(f"/v1/slices/{name}").json()["cubes"][0]
    assert client.get(f"/v1/explain/slices/{name}").json()["obstacles"] == []
    client.post("/v1/faults", json={"kind": "cooling", "target": cube}, params=WAIT)
    twin.advance(0.05)
    answer = client.get(f"/v1/explain/slices/{name}").json()
    assert answer["obstacles"] == [{"kind": "cube", "name": cube, "why": "too hot: its chips are throttled"}]
    assert client.get(f"/v1/cubes/{cube}").json()["throttled"]
    chain = [message["type"] for message in client.get(f"/v1/why/{cube}").json()]
    assert chain == ["CubeOverheated", "FaultBegan", "InjectFault"]


def test_a_waiting_slice_shows_its_obstacle_and_its_start(client: Client) -> None:
    holder = request_slice(client, "4x4x16", duration_s=7_200)
    first = request_slice(client, "4x4x16", duration_s=3_600)
    second = request_slice(client, "4x4x12", duration_s=60)
    answer = client.get(f"/v1/explain/slices/{first}").json()
    assert (answer["state"], answer["queue_position"], answer["queue_length"]) == ("queued", 1, 2)
    assert answer["reason"] == "first in line; needs 4 healthy idle cubes: of 4 cubes, 0 idle and 4 used"
    assert answer["start"]["basis"] == "promise"
    assert answer["start"]["depends_on"] == [holder]
    assert [row["name"] for row in answer["obstacles"]] == [holder]
    assert answer["largest_now"] is None
    assert [row["type"] for row in answer["history"]] == ["SliceRequested"]
    after = client.get(f"/v1/explain/slices/{second}").json()
    assert after["start"]["basis"] == "estimate"
    assert after["start"]["at_us"] > answer["start"]["at_us"]
    assert "only the first in line has a promise" in after["start"]["reason"]


def test_the_history_shows_each_choice_with_the_cost_of_the_others(client: Client, twin: DrivenTwin) -> None:
    name = request_slice(client, "4x4x8")
    twin.advance(1)
    client.post("/v1/faults", json={"kind": "host", "target": "pod-0/cube-0/host-1"}, params=WAIT)
    twin.advance(1)
    answer = client.get(f"/v1/explain/slices/{name}").json()
    (chosen,) = [row for row in answer["history"] if row["choice"] is not None]
    costs = {choice: cost for choice, cost in chosen["costs_chip_us"].items() if cost is not None}
    assert chosen["choice"] == "swap"
    assert costs["swap"] == min(costs.values())
    assert {"swap", "wait"} <= costs.keys()


def test_the_history_of_a_preempted_slice_shows_its_lost_work(client: Client, twin: DrivenTwin) -> None:
    victim = request_slice(client, "4x4x16", tier="filler")
    twin.advance(1)
    request_slice(client, "4x4x4")
    twin.advance(1)
    answer = client.get(f"/v1/explain/slices/{victim}").json()
    assert [row["lost_chip_us"] for row in answer["history"] if row["type"] == "SliceRequeued"] == [0]


def test_a_promise_shows_the_recent_accuracy_of_estimates(client: Client, twin: DrivenTwin) -> None:
    name = request_slice(client, "4x4x4", duration_s=60)
    twin.advance(1)
    assert client.get(f"/v1/slices/{name}").json()["state"] == "completed"
    request_slice(client, "4x4x16", duration_s=7_200)
    answer = client.get("/v1/plan/slices?shape=4x4x16").json()["start"]
    assert answer["basis"] == "promise"
    assert answer["recent_estimates"] == ("of 1 slice that ended in the last 7 days, 0 overran the estimate")


def test_a_request_key_and_a_message_id_find_their_slice(client: Client) -> None:
    receipt = client.post(
        "/v1/slices", json={"shape": "4x4x4"}, params=WAIT, headers={"Idempotency-Key": "mine"}
    ).json()
    name, message_id = receipt["outcome"][0]["body"]["slice"], receipt["outcome"][0]["id"]
    for way in ("mine", receipt["id"], message_id, name):
        assert client.get(f"/v1/explain/requests/{way}").json()["name"] == name, way


def test_an_unknown_slice_or_request_is_refused_with_a_sentence(client: Client) -> None:
    drained = client.post("/v1/cubes/pod-0/cube-1/drain", params=WAIT).json()["id"]
    for path, status, begins in (
        ("explain/slices/pod-0/slice-7", 404, "slice 'pod-0/slice-7': no such slice in pod-0"),
        ("explain/slices/pod-0/cube-1", 404, "slice 'pod-0/cube-1': no such slice; names are like"),
        ("explain/slices/pod-9/slice-1", 404, "fabric 'pod-9': no such fabric"),
        ("explain/requests/nobody", 404, "request 'nobody': no request has this key or mess"),
        ("explain/requests/workload@pod-0/9", 404, "request 'workload@pod-0/9': no such slice request"),
        (f"explain/requests/{drained}", 422, f"request '{drained}': is a DrainCube, not a slice request;"),
        ("plan/slices?shape=4x4x7", 422, "shape 4x4x7: sides must be multiples of 4"),
        (
            "plan/slices?shape=8x8x8",
            422,
            "shape 8x8x8: it needs 8 cubes and the pod has 4; the nearest",
        ),
        ("plan/slices?shape=4x4x4&owner=A b", 422, "owner 'A b': must be 1 to 67 lowercase"),
        ("plan/slices?shape=4x4x4&tier=urgent", 422, "tier: 'urgent'"),
        ("plan/slices?shape=4x4x4&priority=1000", 422, "priority: '1000'"),
        ("plan/slices?shape=4x4x4&for=3", 422, "query 'for': no such parameter; must be one of shape, "),
    ):
        answer = client.get(f"/v1/{path}")
        assert (answer.status_code, answer.json()["error"][: len(begins)]) == (status, begins)


@pytest.mark.slow("days of a pod, with a plan before every request")
@pytest.mark.parametrize("kind", ["superpod", "static-pod"])
def test_plans_come_true_on_pods_in_use(tmp_path: Path, kind: str) -> None:
    settings = config_from_pairs(kind, ["failures.enabled=false", "workload.offered_load=0.5"], seed=3)
    driven = DrivenTwin(tmp_path, [], plans=[SitePlan(site="pod-0", fabrics={"pod-0": settings})])
    for _ in range(4):
        driven.advance(4)
    client, random, decisions = driven.client(), Random(1), set()
    for _ in range(20):
        shape = random.choice(["4x4x4", "1x1x1", "2x4x4", "4x4x8", "8x8x8", "16x16x16"])
        tier, duration_s = random.choice(["production", "research", "filler"]), random.choice([600, 36_000])
        answer = client.get(f"/v1/plan/slices?shape={shape}&tier={tier}&duration_s={duration_s}").json()
        name = request_slice(client, shape, tier=tier, duration_s=duration_s)
        row = client.get(f"/v1/slices/{name}").json()
        decisions.add(answer["decision"])
        if answer["decision"] == "waits":
            assert (row["reason"], row["queue_position"]) == (answer["reason"], answer["queue_position"])
        elif row["state"] == "queued":  # until its victims have left
            cubes = ", ".join(cube.removeprefix("pod-0/") for cube in answer["cubes"])
            assert row["reason"].startswith(f"gets {cubes} when ")
            assert answer["decision"] == "claims"
        else:
            assert row["cubes"] == answer["cubes"]
    driven.close()
    assert decisions >= {"waits", "claims"}
