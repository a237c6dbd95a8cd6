"""What hangs on a part, as people see it: links, cubes and slices of now, by any part's name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from tests.support.fake_twin import answering, as_json
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

PLAN = SitePlan(
    site="campus",
    fabrics={
        "pod-0": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3),
        "pod-1": config_from_pairs("static-pod", QUIET, seed=3),
    },
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """In the superpod a torus of two cubes, one of one, and a torus that is over; in the static pod a torus
    of two cubes."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[PLAN])
    client = twin.client()
    for fabric, shape in (("pod-0", "4x4x8"), ("pod-0", "4x4x4"), ("pod-0", "4x4x4"), ("pod-1", "4x4x8")):
        request = {"fabric": fabric, "shape": shape}
        assert client.post("/v1/slices", json=request, params={"wait": 20}).status_code == 200
    assert client.post("/v1/slices/pod-0/slice-2/release", params={"wait": 20}).status_code == 200
    twin.advance(0.1)
    yield client
    twin.close()


def impact(client: Client, target: str) -> Any:
    answer = client.get(f"/v1/impact/{target}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def links_through(client: Client, ocs: str) -> set[tuple[str, str]]:
    """The links in use of an OCS, by the rows of its link ends."""
    rows = [row for row in client.get("/v1/links").json() if row["ocs"] == ocs and row["far_end"]]
    return {(min(pair), max(pair)) for pair in ((row["name"], row["far_end"]) for row in rows)}


@pytest.mark.parametrize(("ocs", "links"), [("pod-0/ocs-17", 3), ("pod-0/ocs-47", 3)])
def test_an_ocs_takes_its_links_and_their_slices(client: Client, ocs: str, links: int) -> None:
    found = impact(client, ocs)
    assert found["domain"] == ocs
    assert {(link["end"], link["far_end"]) for link in found["links"]} == links_through(client, ocs)
    assert len(found["links"]) == links
    assert [row["name"] for row in found["slices"]] == ["pod-0/slice-0", "pod-0/slice-1"]
    held = [client.get(f"/v1/slices/pod-0/slice-{n}").json()["cubes"] for n in (0, 1)]
    assert sorted(found["cubes"]) == sorted([*held[0], *held[1]])
    assert len(found["link_ends"]) == 8


def test_a_host_takes_its_cube_and_the_slice_there(client: Client) -> None:
    cube = client.get("/v1/slices/pod-0/slice-1").json()["cubes"][0]
    found = impact(client, f"{cube}/host-3")
    assert found["domain"] == cube
    assert [row["name"] for row in found["slices"]] == ["pod-0/slice-1"]
    assert {f"{cube}/host-3/chip-{n}" for n in range(4)} <= {*found["chips"]}


def test_what_none_uses_takes_no_slice(client: Client) -> None:
    free = client.get("/v1/slices/pod-0/slice-2").json()["cubes"] or ["pod-0/cube-3"]
    found = impact(client, free[0])
    assert (found["links"], found["slices"]) == ([], [])


def test_a_link_of_a_static_pod_is_lost_with_either_end(client: Client) -> None:
    used = next(row for row in client.get("/v1/links?fabric=pod-1").json() if row["slice"])
    found = impact(client, used["name"])
    pair = sorted([used["name"], used["far_end"]])
    assert [sorted(link.values()) for link in found["links"]] == [pair]
    assert sorted(found["link_ends"]) == pair
    assert [row["name"] for row in found["slices"]] == ["pod-1/slice-0"]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("pod-9/ocs-1", "fabric 'pod-9': no such fabric; must be one of pod-0, pod-1"),
        ("pod-0/ocs-48", "OCS 48 does not exist; must be between 0 and 47"),
        ("pod-1/ocs-3", "is not a part of a pod; must be a name like"),
        ("pod-0", "not a part of a pod"),
        ("pod-0/slice-0", "not a part of a pod"),
        ("", "no such fabric"),
    ],
)
def test_a_name_that_no_part_has_is_not_found(client: Client, target: str, sentence: str) -> None:
    answer = client.get(f"/v1/impact/{target}")
    assert answer.status_code == 404
    assert sentence in answer.json()["error"]


def test_the_command_shows_it_in_words_and_as_data(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    found, clock = impact(client, "pod-0/ocs-17"), client.get("/v1/clock").json()
    with answering({"/v1/impact/pod-0/ocs-17": [as_json(found)], "/v1/clock": [as_json(clock)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        done = CliRunner().invoke(root, ["impact", "pod-0/ocs-17"])
        data = CliRunner().invoke(root, ["impact", "pod-0/ocs-17", "-o", "json"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:2] == [
        "pod-0/ocs-17 goes out of service",
        "affected: 3 links, 3 cubes, 6 hosts, 6 chips, 2 slices",
    ]
    assert "pod-0/slice-1" in done.output
    assert json.loads(data.output) == found


def test_a_batch_takes_its_modules_which_are_dealt_over_the_pod(client: Client) -> None:
    found = impact(client, "pod-0/batch-1")
    rows = [row["name"] for row in client.get("/v1/links?fabric=pod-0").json()]
    assert {*rows[1::4]} <= {*found["link_ends"]}
    assert len(rows[1::4]) == 96
    assert found["note"] == "pod-0/batch-1 is 96 modules of one production batch"
    assert found["links"]
    assert {"pod-0/slice-0", "pod-0/slice-1"} == {row["name"] for row in found["slices"]}
    assert found["domain"] == "pod-0/batch-1"


def test_a_patched_port_leaves_what_hung_on_it_to_the_spare(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "repairs.ocs_repair_h=0.1", *QUIET])
    try:
        client, port = twin.client(), "pod-0/ocs-17/N2"
        client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
        twin.advance(1)
        before = impact(client, port)
        assert (len(before["link_ends"]) > 0, before["note"]) == (True, None)
        request = {"json": {"kind": "port", "target": port}, "params": {"wait": 20}}
        key = {"Idempotency-Key": "while it worked"}
        client.post("/v1/faults", **request, headers=key)
        for _ in range(200):
            twin.advance(60)
            patches = client.get("/v1/ocs/pod-0/ocs-17").json()["patches"]
            if patches:
                break
        spare = patches[0]["spare"]
        at_spare = impact(client, f"pod-0/ocs-17/{spare}")
        assert at_spare["note"] == "the fibre of N2 is connected to this spare port"
        fields = ("links", "link_ends", "cubes", "hosts")
        assert [at_spare[field] for field in fields] == [before[field] for field in fields]
        left = impact(client, port)
        assert (
            left["note"]
            == f"{port} is permanently dead; its fibre is at {spare}: nothing depends on it any more"
        )
        assert (left["links"], left["link_ends"], left["slices"]) == ([], [], [])
        again = client.post("/v1/faults", **request)
        assert again.status_code == 422
        assert again.json()["error"] == (
            f"target '{port}': is permanently dead; its fibre is at {spare}; must be a working port"
        )
        assert client.post("/v1/faults", **request, headers=key).json()["repeated"] is True
    finally:
        twin.close()


def test_a_part_of_an_ocs_is_requested_by_a_fault_of_it(client: Client) -> None:
    answer = client.get("/v1/impact/pod-0/ocs-5/camera-N")
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("`lightwave what-if inject camera pod-0/ocs-5/camera-N`")


def test_an_ocs_that_latches_takes_nothing_with_it(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "ocs.technology=robotic", *QUIET])
    try:
        found = impact(twin.client(), "pod-0/ocs-17")
    finally:
        twin.close()
    sentence = (
        "pod-0/ocs-17 keeps its circuits without power (robotic), but takes no commands until it is back"
    )
    assert (found["note"], found["links"], found["link_ends"]) == (sentence, [], [])
