"""The impact of any part by its name: the links, cubes and slices that it affects now."""

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
    """In the superpod: a torus of two cubes, one of one cube, and an ended torus. In the static pod: a torus
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
    """The links in use of an OCS, from the rows of its link ends."""
    rows = [row for row in client.get("/v1/links").json() if row["ocs"] == ocs and row["far_end"]]
    return {(min(pair), max(pair)) for pair in ((row["name"], row["far_end"]) for row in rows)}


@pytest.mark.parametrize(("ocs", "links"), [("pod-0/ocs-17", 3), ("pod-0/ocs-47", 3)])
def test_an_ocs_affects_its_links_and_their_slices(client: Client, ocs: str, links: int) -> None:
    affected = impact(client, ocs)
    assert affected["domain"] == ocs
    assert {(link["end"], link["far_end"]) for link in affected["links"]} == links_through(client, ocs)
    assert len(affected["links"]) == links
    assert [row["name"] for row in affected["slices"]] == ["pod-0/slice-0", "pod-0/slice-1"]
    cubes_of_slices = [client.get(f"/v1/slices/pod-0/slice-{n}").json()["cubes"] for n in (0, 1)]
    assert sorted(affected["cubes"]) == sorted([*cubes_of_slices[0], *cubes_of_slices[1]])
    assert len(affected["link_ends"]) == 8


def test_a_host_affects_its_cube_and_the_slice_there(client: Client) -> None:
    cube = client.get("/v1/slices/pod-0/slice-1").json()["cubes"][0]
    affected = impact(client, f"{cube}/host-3")
    assert affected["domain"] == cube
    assert [row["name"] for row in affected["slices"]] == ["pod-0/slice-1"]
    assert {f"{cube}/host-3/chip-{n}" for n in range(4)} <= {*affected["chips"]}


def test_an_unused_part_affects_no_slice(client: Client) -> None:
    free = client.get("/v1/slices/pod-0/slice-2").json()["cubes"] or ["pod-0/cube-3"]
    affected = impact(client, free[0])
    assert (affected["links"], affected["slices"]) == ([], [])


def test_a_link_of_a_static_pod_is_lost_with_either_end(client: Client) -> None:
    used = next(row for row in client.get("/v1/links?fabric=pod-1").json() if row["slice"])
    affected = impact(client, used["name"])
    pair = sorted([used["name"], used["far_end"]])
    assert [sorted(link.values()) for link in affected["links"]] == [pair]
    assert sorted(affected["link_ends"]) == pair
    assert [row["name"] for row in affected["slices"]] == ["pod-1/slice-0"]


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
def test_a_name_of_no_part_is_not_found(client: Client, target: str, sentence: str) -> None:
    answer = client.get(f"/v1/impact/{target}")
    assert answer.status_code == 404
    assert sentence in answer.json()["error"]


def test_the_command_shows_the_impact_as_text_and_as_json(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    affected, clock = impact(client, "pod-0/ocs-17"), client.get("/v1/clock").json()
    with answering({"/v1/impact/pod-0/ocs-17": [as_json(affected)], "/v1/clock": [as_json(clock)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        result = CliRunner().invoke(root, ["impact", "pod-0/ocs-17"])
        data = CliRunner().invoke(root, ["impact", "pod-0/ocs-17", "-o", "json"])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[:2] == [
        "pod-0/ocs-17 goes out of service",
        "affected: 3 links, 3 cubes, 6 hosts, 6 chips, 2 slices",
    ]
    assert "pod-0/slice-1" in result.output
    assert json.loads(data.output) == affected


def test_a_batch_affects_its_modules_all_over_the_pod(client: Client) -> None:
    affected = impact(client, "pod-0/batch-1")
    rows = [row["name"] for row in client.get("/v1/links?fabric=pod-0").json()]
    assert {*rows[1::4]} <= {*affected["link_ends"]}
    assert len(rows[1::4]) == 96
    assert affected["note"] == "pod-0/batch-1 is 96 modules of one production batch"
    assert affected["links"]
    assert {"pod-0/slice-0", "pod-0/slice-1"} == {row["name"] for row in affected["slices"]}
    assert affected["domain"] == "pod-0/batch-1"


def test_a_patched_port_moves_its_links_to_the_spare(tmp_path: Path) -> None:
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
        repeated = client.post("/v1/faults", **request)
        assert repeated.status_code == 422
        assert repeated.json()["error"] == (
            f"target '{port}': is permanently dead; its fibre is at {spare}; must be a working port"
        )
        assert client.post("/v1/faults", **request, headers=key).json()["repeated"] is True
    finally:
        twin.close()


def test_a_part_of_an_ocs_is_named_by_the_target_of_its_fault(client: Client) -> None:
    answer = client.get("/v1/impact/pod-0/ocs-5/camera-N")
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("`lightwave what-if inject camera pod-0/ocs-5/camera-N`")


def test_a_latching_ocs_affects_nothing(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", "ocs.technology=robotic", *QUIET])
    try:
        affected = impact(twin.client(), "pod-0/ocs-17")
    finally:
        twin.close()
    sentence = (
        "pod-0/ocs-17 keeps its circuits without power (robotic), but takes no commands until it is back"
    )
    assert (affected["note"], affected["links"], affected["link_ends"]) == (sentence, [], [])
