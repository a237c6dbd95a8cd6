"""Management of an OCS: ports and cross-connects in the terms of SAI."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.gateway.resources.ocs_management import port_key
from shared.models.assumptions import assumed
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

OCS = "pod-0/ocs-17"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    folder: Path = tmp_path_factory.mktemp("twin")
    twin = DrivenTwin(folder, ["pod.cubes=8", *QUIET])
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def managed(client: Client) -> Any:
    answer = client.get(f"/v1/ocs/{OCS}/management")
    assert answer.status_code == 200, answer.text
    return answer.json()


def taken(twin: DrivenTwin, client: Client) -> Any:
    """A cross-connect of a slice; requests a slice if there is none yet."""
    if not managed(client)["cross_connects"]:
        client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
        twin.advance(1)
    return managed(client)["cross_connects"][0]


@pytest.mark.parametrize(("label", "key"), [("N0", "1A"), ("S0", "1B"), ("S4", "5B"), ("N135", "136A")])
def test_ports_count_from_one(label: str, key: str) -> None:
    assert port_key(label) == key


def test_cross_connects_are_the_wanted_circuits(twin: DrivenTwin, client: Client) -> None:
    before = managed(client)
    assert before["cross_connects"] == []
    assert [port["key"] for port in before["ports"]][::136] == ["1A", "1B"]
    assert len(before["ports"]) == 2 * before["ports_a_side"] == 272
    answer = client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20}).json()
    name = answer["outcome"][0]["body"]["slice"]
    assert {row["oper_status"] for row in managed(client)["cross_connects"]} == {"tuning"}
    twin.advance(1)
    rows = managed(client)["cross_connects"]
    plain = client.get(f"/v1/ocs/{OCS}").json()["circuits"]
    assert [(row["key"], row["factory_insertion_loss_db"]) for row in rows] == [
        (f"{circuit['north'] + 1}A-{circuit['south'] + 1}B", circuit["loss_db"]) for circuit in plain
    ]
    assert {row["oper_status"] for row in rows} == {"tuned"}
    assert {row["slice"] for row in rows} == {name}
    assert {row["accuracy_db"] for row in rows} == {assumed("ocs_matrix_accuracy_db")}


def test_the_obstacle_of_a_cross_connect_is_reported(twin: DrivenTwin, client: Client) -> None:
    first = taken(twin, client)
    target = f"{OCS}/N{int(first['a_side'][:-1]) - 1}"
    client.post("/v1/faults", json={"kind": "port", "target": target}, params={"wait": 20})
    now = managed(client)
    (row,) = [row for row in now["cross_connects"] if row["key"] == first["key"]]
    assert (row["oper_status"], row["reason"]) == ("failed", f"{first['a_side']} down")
    (port,) = [port for port in now["ports"] if port["key"] == first["a_side"]]
    assert (port["oper_status"], port["label"]) == ("down", target.rpartition("/")[2])


def test_an_unknown_ocs_is_not_found(client: Client) -> None:
    assert client.get("/v1/ocs/pod-0/ocs-99/management").status_code == 404


def by_hand(client: Client, keys: list[str], way: str = "", **more: str) -> Any:
    body = {"cross_connects": keys, **more}
    return client.post(f"/v1/ocs/{OCS}/cross-connects{way}", json=body, params={"wait": 20})


def test_cross_connects_are_made_and_removed_over_the_api(twin: DrivenTwin, client: Client) -> None:
    first = taken(twin, client)
    receipt = by_hand(client, ["17A-18B", first["key"], "18A-17B"], error_mode="ignore-error")
    assert receipt.status_code == 200, receipt.text
    body = receipt.json()["outcome"][0]["body"]
    holder = f"{first['a_side']} is taken by a circuit of {first['slice']}"
    assert (body["circuits"], body["refused"]) == ([[16, 17], [17, 16]], [[first["key"], holder]])
    twin.advance(1)
    rows = {row["key"]: row for row in managed(client)["cross_connects"]}
    row = rows["17A-18B"]
    assert (row["oper_status"], row["slice"], row["made_by"]) == ("tuned", None, receipt.json()["id"])
    assert rows[first["key"]]["made_by"] is None
    repeated = by_hand(client, ["17A-18B"])
    refusal = f"{OCS}: 17A-18B: 17A is taken by manual cross-connect 17A-18B"
    assert (repeated.status_code, repeated.json()["error"]) == (409, refusal)
    report = client.get(f"/v1/requests/{repeated.json()['id']}").json()
    assert (report["type"], report["status"]) == ("CreateCrossConnects", "refused")
    assert by_hand(client, ["17A-18B"], "/remove").status_code == 200
    assert "17A-18B" not in {row["key"] for row in managed(client)["cross_connects"]}


@pytest.mark.parametrize(
    ("keys", "more", "sentence"),
    [
        ([], {}, "cross_connects: [] is not allowed; must have at least 1 item"),
        (["1A:5B"], {}, "cross_connects.0: '1A:5B' is not"),
        (["5B-1A"], {}, "cross_connects.0: '5B-1A' is not"),
        (["0A-1B"], {}, "cross_connects.0: '0A-1B' is not"),
        (["1A-1B"], {"error_mode": "perhaps"}, "must be stop-on-error or ignore-error"),
    ],
)
def test_an_invalid_cross_connect_is_refused(
    client: Client, keys: list[str], more: Any, sentence: str
) -> None:
    answer = by_hand(client, keys, **more)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_only_ocses_of_pods_take_manual_cross_connects(client: Client) -> None:
    body = {"cross_connects": ["1A-5B"]}
    assert client.post("/v1/ocs/pod-0/cube-1/cross-connects", json=body).status_code == 422
    assert client.post("/v1/ocs/pod-0/ocs-99/cross-connects", json=body).status_code == 404


def test_ocs_software_is_restarted_over_the_api(client: Client) -> None:
    answer = client.post(f"/v1/ocs/{OCS}/restart", params={"wait": 20})
    assert answer.status_code == 200, answer.text
    assert [message["type"] for message in answer.json()["outcome"]] == ["OcsRestarting", "OcsHeld"]
    assert managed(client)["oper_status"] == "held"
    repeated = client.post(f"/v1/ocs/{OCS}/restart", params={"wait": 20})
    assert (repeated.status_code, repeated.json()["error"]) == (
        409,
        f"{OCS}: its software is already restarting",
    )
    no_ocs = client.post("/v1/ocs/pod-0/cube-1/restart", params={"wait": 20})
    assert no_ocs.status_code == 422
