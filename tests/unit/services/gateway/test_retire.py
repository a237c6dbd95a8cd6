"""Retiring a fabric: its answers, its readable past, and its state after a restart."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from schemas.messages.operator import DrainCube
from schemas.messages.sequencer import FabricRetired
from shared.basics.units import US_PER_HOUR
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

BUSY = ["pod.cubes=8", "workload.offered_load=0.8", "failures.host_per_day=0.05"]
PLANS = (
    SitePlan(
        site="campus",
        fabrics={
            "pod-0": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3),
            "pod-1": config_from_pairs("superpod", BUSY, seed=4),
        },
    ),
    SitePlan(site="annex", fabrics={"pod-7": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3)}),
)


@pytest.fixture
def twin(tmp_path: Any) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path, [], plans=PLANS)
    twin.advance(12.0)
    yield twin
    twin.close()


def retire(client: Client, name: str = "pod-1", key: str | None = None) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(f"/v1/fabrics/{name}/retire", params={"wait": 20}, headers=headers)


def assert_all_agree(twin: DrivenTwin, site: str = "campus", partition: int = 0) -> None:
    """The log, the states, a restarted process and a full replay agree."""
    audit = twin.audited(site)
    assert (audit["log_clean"], audit["states_clean"]) == (True, True), audit
    twin.twin.stop()
    runner = twin.twin.sites[partition]
    places = twin.store.fabrics()
    restarted, replayed = twin.runner(partition, site), twin.runner(partition, site)
    assert restarted.recover() == 0
    assert replayed.rebuild() == len(twin.messages(site))
    assert runner.digest() == restarted.digest() == replayed.digest()
    assert runner.due_us() == restarted.due_us() == replayed.due_us()
    assert twin.store.fabrics() == places


def test_a_retired_fabric_is_hidden_and_its_site_continues(twin: DrivenTwin) -> None:
    client = twin.client()
    answer = retire(client)
    assert answer.status_code == 200
    receipt = answer.json()
    assert (receipt["status"], receipt["id"], receipt["outcome"]) == ("accepted", "sequencer@pod-1/2", [])
    before = client.get("/v1/fabrics/pod-1").json()
    twin.advance(48.0)
    after = client.get("/v1/fabrics/pod-1").json()
    changing = {"position"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert (after["retired_us"], after["now_us"]) == (receipt["at_us"], receipt["at_us"])
    own = [m for m in twin.messages("campus") if m["fabric"] == "pod-1"]
    assert (own[-1]["type"], own[-1]["at_us"]) == ("FabricRetired", receipt["at_us"])
    assert (own[-1]["id"], own[-1]["cause"]) == (receipt["id"], None)
    assert client.post("/v1/cubes/pod-0/cube-1/drain", params={"wait": 20}).json()["complete"]
    assert_all_agree(twin)


def test_requests_to_a_retired_fabric_are_refused_with_one_sentence(twin: DrivenTwin) -> None:
    client = twin.client()
    drain = {"params": {"wait": 20}, "headers": {"Idempotency-Key": "before"}}
    drained = client.post("/v1/cubes/pod-1/cube-1/drain", **drain)
    assert drained.status_code == 200
    first = retire(client, key="mine").json()
    log = twin.messages("campus")
    sentence = "fabric pod-1: retired at 0d12:00:00; it accepts no requests, and its name is never reused"
    for path, body in (
        ("/v1/cubes/pod-1/cube-2/drain", None),
        ("/v1/slices", {"fabric": "pod-1", "shape": "4x4x4"}),
        ("/v1/faults", {"kind": "host", "target": "pod-1/cube-0/host-0"}),
        ("/v1/fabrics/pod-1/retire", None),
    ):
        answer = client.post(path, json=body, params={"wait": 20})
        assert (answer.status_code, answer.json()["error"]) == (422, sentence), path
    # Earlier requests get the same answer as before.
    assert retire(client, key="mine").json() == first | {"repeated": True}
    assert client.post("/v1/cubes/pod-1/cube-1/drain", **drain).json() == drained.json() | {"repeated": True}
    reused_name = client.post("/v1/fabrics", json={"name": "pod-1", "site": "campus"})
    assert (reused_name.status_code, reused_name.json()["error"]) == (
        422,
        "name pod-1: is a retired fabric of site campus; fabric names are never reused",
    )
    assert retire(client, "pod-9").status_code == 404
    assert twin.messages("campus") == log
    assert twin.store.size(0) == 0


def test_requests_behind_the_retirement_are_dropped_and_reported(twin: DrivenTwin) -> None:
    """Both were in the inbox before the gateways could know of the retirement."""
    twin.store.wake = None
    twin.store.put(0, "pod-1", FabricRetired())
    twin.store.put(0, "pod-1", FabricRetired())
    answer = twin.client().post("/v1/cubes/pod-1/cube-2/drain", params={"wait": 5})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("fabric pod-1: retired at 0d12:00:00; it accepts no requests")
    assert twin.store.size(0) == 0
    kinds = [m["type"] for m in twin.messages("campus") if m["source"] != "tick.transceivers@pod-0"]
    assert kinds[-1] == "FabricRetired"
    assert kinds.count("FabricRetired") == 1


def test_a_request_before_the_retirement_is_carried_out(twin: DrivenTwin) -> None:
    twin.twin.stop()
    twin._loop.join()
    twin.store.put(0, "pod-1", DrainCube(cube="pod-1/cube-0"))
    twin.store.put(0, "pod-1", FabricRetired())
    runner = twin.twin.sites[0]
    for request in twin.store.waiting(0, 10):
        while not runner.step(request, 12 * US_PER_HOUR):
            pass
    own = [m["type"] for m in twin.messages("campus") if m["fabric"] == "pod-1"]
    assert "DrainCube" in own[-8:]
    assert own[-1] == "FabricRetired"
    assert twin.store.size(0) == 0


def test_lists_show_only_running_fabrics_and_named_resources_of_retired_ones(twin: DrivenTwin) -> None:
    client = twin.client()
    rows = client.get("/v1/slices?fabric=pod-1&fields=name,state,changed_us").json()
    assert rows
    retire(client)
    stood = client.get("/v1/slices?fabric=pod-1").json()
    assert [{field: row[field] for field in rows[0]} for row in stood] == rows
    twin.advance(5.0)
    assert client.get("/v1/slices?fabric=pod-1").json() == stood
    assert client.get("/v1/slices").json() == []
    assert {row["name"].split("/")[0] for row in client.get("/v1/cubes").json()} == {"pod-0", "pod-7"}
    assert client.get("/v1/cubes/pod-1/cube-3").json()["name"] == "pod-1/cube-3"
    assert client.get("/v1/describe/fabrics/pod-1").json()["object"]["retired_us"] == 12 * US_PER_HOUR + 1
    retired = {row["name"]: row["retired_us"] is not None for row in client.get("/v1/fabrics").json()}
    assert retired == {"pod-0": False, "pod-1": True, "pod-7": False}
    assert 'fabric="pod-1"' not in client.get("/metrics").text
    assert 'fabric="pod-0"' in client.get("/metrics").text


def test_the_default_fabric_is_one_that_is_not_retired(twin: DrivenTwin) -> None:
    client = twin.client()
    retire(client, "pod-0")
    answer = client.post("/v1/slices", json={"shape": "4x4x4"}, params={"wait": 20}).json()
    assert {message["fabric"] for message in answer["outcome"]} == {"pod-1"}


def test_a_site_without_fabrics_stops_until_another_fabric_joins(twin: DrivenTwin) -> None:
    client = twin.client()
    assert retire(client, "pod-7").status_code == 200
    log = twin.messages("annex")
    twin.advance(48.0)
    assert twin.messages("annex") == log
    assert client.get("/healthz").status_code == 200
    request = {"name": "pod-8", "site": "annex", "settings": {"pod": {"cubes": 4}}}
    assert client.post("/v1/fabrics", json=request, params={"wait": 20}).json()["status"] == "accepted"
    twin.advance(4.0)
    assert {m["fabric"] for m in twin.messages("annex")[len(log) :]} == {"pod-8"}
    assert_all_agree(twin, "annex", 1)
