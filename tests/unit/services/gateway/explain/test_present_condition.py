"""Conditions now, over HTTP: whether they are true, and whether they can still become true."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from services.gateway.explain.present_condition import report_condition
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, pod_and_network

pytestmark = pytest.mark.integration

SLICE = "slices.pod-0/slice-0"


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    """One of three slices is released, one runs, one waits."""
    driven = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    client = driven.client()
    for _ in range(3):
        assert client.post("/v1/slices?wait=10", json={"shape": "4x8x8"}).status_code == 200
    assert client.post("/v1/slices/pod-0/slice-0/release?wait=10").status_code == 200
    driven.advance(0.5)
    yield driven
    driven.close()


def report(client: Client, condition: str, **query: Any) -> dict[str, Any]:
    answer = client.get("/v1/conditions", params={"condition": condition, **query})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


CASES = [
    # condition, holds, can hold
    (f"{SLICE}.state == completed", True, True),
    (f"{SLICE}.state == running", False, False),
    (f"{SLICE}.state != running", True, True),
    (f"not {SLICE}.state == completed", False, False),
    (f"{SLICE}.state == running or slices.slice-2.state == running", False, True),
    (f"{SLICE}.state == running and slices.slice-2.state == running", False, False),
    (f"{SLICE} exists", True, True),
    (f"{SLICE} absent", False, True),  # ended ones are forgotten at some time
    ("slices.pod-0/slice-9 exists", False, True),
    ("slices.pod-0/slice-9.state == running", False, True),
    ("slices.slice-1.state in [running, degraded]", True, True),
    ("slices.slice-2.waited_us > 0", True, True),
    ("count(slices, state == running) >= 1", True, True),
    ("count(slices, state == degraded) > 0", False, True),
    ("count(cubes, drained == yes) == 0", True, True),
    ("fabrics.pod-0.retired_us == null", True, True),
    ("fabrics.pod-7 exists", False, True),
]


def test_conditions_report_their_value_and_whether_they_can_become_true(twin: DrivenTwin) -> None:
    client = twin.client()
    for condition, holds, can_hold in CASES:
        document = report(client, condition)
        assert (condition, document["holds"], document["can_hold"]) == (condition, holds, can_hold)
        assert bool(document["reasons"]) == (not can_hold)
    (ended,) = report(client, f"{SLICE}.state == running")["reasons"]
    assert ended.startswith("pod-0/slice-0 ended as completed at 0d00:")
    term = report(client, "count(slices) > 7")["terms"]
    assert term == [{"text": "count(slices) > 7", "value": "3", "holds": False}]


def test_nothing_changes_in_a_retired_fabric(twin: DrivenTwin) -> None:
    client = twin.client()
    assert client.post("/v1/fabrics/pod-0/retire?wait=10").status_code == 200
    for condition in ("slices.slice-2.state == running", "count(slices) == 9", "cubes.cube-0.drained == yes"):
        document = report(client, condition)
        assert (document["holds"], document["can_hold"]) == (False, False)
        assert document["reasons"][0].startswith("pod-0 retired at 0d")


def test_an_ended_slice_never_comes_back(twin: DrivenTwin) -> None:
    """Numbers rise and are never reused. A missing slice below the highest number never appears again."""
    ended = "pod-0/slice-1"

    class Forgetful:
        """The documents without one slice, as if it had ended long ago."""

        def __getattr__(self, name: str) -> Any:
            return getattr(twin.ports.documents, name)

        def all(self, fabric: str, kind: str) -> dict[str, bytes]:
            rows = twin.ports.documents.all(fabric, kind)
            return {name: text for name, text in rows.items() if name != ended}

        def one(self, fabric: str, kind: str, name: str) -> bytes | None:
            return None if name == ended else twin.ports.documents.one(fabric, kind, name)

    ports: Any = replace(twin.ports, documents=cast("Any", Forgetful()))
    document = report_condition(ports, f"slices.{ended}.state == running", None)
    assert (document.can_hold, document.reasons) == (False, (f"slice {ended} no longer exists",))
    assert report_condition(ports, "slices.pod-0/slice-3.state == running", None).can_hold
    assert report_condition(ports, f"slices.{ended} absent", None).holds


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("slices.pod-0/slice-0.state == runing", "'runing' is not allowed"),
        ("slices.pod-0/slice-0.stat == running", "slices have no field 'stat'"),
        ("cubes.pod-0/cube-9.drained == yes", "cube"),
        ("slices.pod-0/slice-0.state", "is expected"),
    ],
)
def test_an_invalid_condition_is_refused(twin: DrivenTwin, condition: str, sentence: str) -> None:
    answer = twin.client().get("/v1/conditions", params={"condition": condition})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_conditions_can_use_the_resources_of_a_network(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, [], plans=[pod_and_network()])
    client = twin.client()
    try:
        twin.advance(0.5)
        assert report(client, "count(blocks, state == up) == 6", fabric="dcn-0")["holds"]
        assert report(client, "blocks.dcn-0/block-1.state == up and cubes.pod-0/cube-1.health == healthy")[
            "holds"
        ]
        assert client.post("/v1/fabrics/dcn-0/retire?wait=10").status_code == 200
        document = report(client, "count(blocks, state == up) == 9", fabric="dcn-0")
        assert (document["can_hold"], document["reasons"][0][:13]) == (False, "dcn-0 retired")
    finally:
        twin.close()
