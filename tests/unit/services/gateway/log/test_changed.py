"""CHANGED of an object agrees with its history, for every kind of resource that has it."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.site_plans import single_fabric_sites
from schemas.files.site_plan import SitePlan
from schemas.resource_kinds import BLOCKS, CUBES, DEMANDS, KINDS, OCS, TRUNKS
from tests.support.gateway_twin import NETWORK, Client, DrivenTwin, get

pytestmark = pytest.mark.integration

WITH_CHANGED = {
    kind.word for kind in KINDS.values() if any(column.heading == "CHANGED" for column in kind.columns)
}
POD = [
    *("pod.cubes=4", "workload.slices_per_day=60", "failures.optics_per_day=0"),
    *("failures.ocs_per_day=0", "failures.host_per_day=0.1"),
]
STEPS, STEP_H = 4, 0.7


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    (plan,) = single_fabric_sites(1, pairs=POD, seed=3)
    site = SitePlan(site="campus", fabrics={"dcn-0": NETWORK, **plan.fabrics})
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[site])
    driven.advance(STEP_H)
    yield driven
    driven.close()


def rows_of(client: Client) -> dict[str, dict[str, Any]]:
    return {
        row["name"]: row
        for fabric in ("pod-0", "dcn-0")
        for word in sorted(WITH_CHANGED)
        for row in get(client, f"{word}?fabric={fabric}")
    }


def test_a_message_at_the_time_of_changed_is_in_the_history(twin: DrivenTwin) -> None:
    """Only the commissioning of the fabric, which is no message about its parts, can be earlier."""
    assert {OCS.word, CUBES.word, BLOCKS.word, TRUNKS.word, DEMANDS.word} == WITH_CHANGED
    client, before, moved = twin.client(), dict[str, dict[str, Any]](), set[str]()
    get_first = "events?ticks=false&limit=1"
    twin.client().post("/v1/faults", json={"kind": "ocs", "target": "pod-0/ocs-17", "duration_us": 10**9})
    for _ in range(STEPS):
        twin.advance(STEP_H)
        rows = rows_of(client)
        for name, row in rows.items():
            if before and row == before[name]:
                continue
            changed_us = row["changed_us"]
            if before and changed_us == before[name]["changed_us"]:
                continue
            moved.add(name.rpartition("/")[2].rpartition("-")[0])
            found = get(client, f"{get_first}&for={name}&since_us={changed_us}")
            if not found and before:
                raise AssertionError(f"{name} changed at {changed_us}, and its history has no later message")
            assert not found or found[0]["at_us"] == changed_us or not before, name
        before = rows
    assert {"ocs", "cube", "demand"} <= moved


def test_circuits_of_an_ocs_and_of_its_ports_are_in_their_history(twin: DrivenTwin) -> None:
    """The circuits that the messages of the history made and did not remove are those of the OCS."""
    client = twin.client()
    for ocs in (0, 15, 16, 33, 47):
        row = get(client, f"ocs/pod-0/ocs-{ocs}")
        events = get(client, f"events?for=pod-0/ocs-{ocs}&ticks=false&since_us=0")
        assert "CircuitsConnected" in {event["type"] for event in events}
        made = set[tuple[int, int]]()
        for event in events:
            pairs = {
                (plus, minus) for axis, plus, minus in event["body"].get("joins", ()) if axis == ocs // 16
            }
            if event["type"] == "CircuitsConnected":
                made |= pairs
            elif event["type"] == "CircuitsDisconnected":
                made -= pairs
        shown = {(c["north"] // 2, c["south"] // 2) for c in row["circuits"] if c["north"] % 2 == 0}
        assert shown == made
        for circuit in row["circuits"]:
            for port in (f"N{circuit['north']}", f"S{circuit['south']}"):
                found = get(client, f"events?for=pod-0/ocs-{ocs}/{port}&ticks=false")
                assert "CircuitsConnected" in {event["type"] for event in found}


def test_describe_shows_the_circuits_and_which_of_them_are_on_the_ocs(twin: DrivenTwin) -> None:
    described = get(twin.client(), "describe/ocs/pod-0/ocs-33")
    changed_us = get(twin.client(), "ocs/pod-0/ocs-33")["changed_us"]
    assert changed_us in {event["at_us"] for event in described["events"]}
    texts = [event["text"] for event in described["events"] if event["type"] == "CircuitsConnected"]
    assert texts
    assert all("joins=" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("dcn-0/block-2/demand-5", True),
        ("dcn-0/block-0/demand-1", True),
        ("dcn-0/block-2/demand-2", False),
        ("dcn-0/block-2/demand-6", False),
        ("dcn-0/block-6/demand-2", False),
        ("dcn-0/rack-0/demand-2", False),
        ("pod-0/cube-1/demand-2", False),
    ],
)
def test_the_history_of_a_demand_is_that_of_the_demand_of_its_network(
    twin: DrivenTwin, name: str, is_known: bool
) -> None:
    answer = twin.client().get(f"/v1/events?for={name}&ticks=false")
    assert answer.status_code == (200 if is_known else 404)
    if is_known:
        assert {event["type"] for event in answer.json()} == {"DemandMoved"}
        assert get(twin.client(), f"why/{name}")[0]["type"] == "DemandMoved"
