"""Conditions now, over HTTP: whether they are true, and whether they still can become true."""

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
    """Of three slices one is released, one runs, one waits."""
    found = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    client = found.client()
    for _ in range(3):
        assert client.post("/v1/slices?wait=10", json={"shape": "4x8x8"}).status_code == 200
    assert client.post("/v1/slices/pod-0/slice-0/release?wait=10").status_code == 200
    found.advance(0.5)
    yield found
    found.close()


def report(client: Client, condition: str, **query: Any) -> dict[str, Any]:
    answer = client.get("/v1/conditions", params={"condition": condition, **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


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


def test_conditions_have_a_value_and_a_future(twin: DrivenTwin) -> None:
    client = twin.client()
    for condition, holds, can_hold in CASES:
        found = report(client, condition)
        assert (condition, found["holds"], found["can_hold"]) == (condition, holds, can_hold)
        assert bool(found["reasons"]) == (not can_hold)
    (ended,) = report(client, f"{SLICE}.state == running")["reasons"]
    assert ended.startswith("pod-0/slice-0 ended as completed at 0d00:")
    term = report(client, "count(slices) > 7")["terms"]
    assert term == [{"text": "count(slices) > 7", "value": "3", "holds": False}]


def test_nothing_changes_in_a_retired_fabric(twin: DrivenTwin) -> None:
    client = twin.client()
    assert client.post("/v1/fabrics/pod-0/retire?wait=10").status_code == 200
    for condition in ("slices.slice-2.state == running", "count(slices) == 9", "cubes.cube-0.drained == yes"):
        found = report(client, condition)
        assert (found["holds"], found["can_hold"]) == (False, False)
        assert found["reasons"][0].startswith("pod-0 retired at 0d")


def test_what_is_gone_does_not_come_back(twin: DrivenTwin) -> None:
    """Numbers rise and are never reused: below the highest number, what is not there never will be."""
    gone = "pod-0/slice-1"

    class Forgetful:
        """The documents without one slice, as if it had ended long ago."""

        def __getattr__(self, name: str) -> Any:
            return getattr(twin.ports.documents, name)

        def all(self, fabric: str, kind: str) -> dict[str, bytes]:
            rows = twin.ports.documents.all(fabric, kind)
            return {name: text for name, text in rows.items() if name != gone}

        def one(self, fabric: str, kind: str, name: str) -> bytes | None:
            return None if name == gone else twin.ports.documents.one(fabric, kind, name)

    ports: Any = replace(twin.ports, documents=cast("Any", Forgetful()))
    found = report_condition(ports, f"slices.{gone}.state == running", None)
    assert (found.can_hold, found.reasons) == (False, (f"slice {gone} no longer exists",))
    assert report_condition(ports, "slices.pod-0/slice-3.state == running", None).can_hold
    assert report_condition(ports, f"slices.{gone} absent", None).holds


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("slices.pod-0/slice-0.state == runing", "'runing' is not allowed"),
        ("slices.pod-0/slice-0.stat == running", "slices have no field 'stat'"),
        ("cubes.pod-0/cube-9.drained == yes", "cube"),
        ("slices.pod-0/slice-0.state", "is expected"),
    ],
)
def test_a_wrong_condition_is_refused(twin: DrivenTwin, condition: str, sentence: str) -> None:
    answer = twin.client().get("/v1/conditions", params={"condition": condition})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_a_network_has_conditions_too(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, [], plans=[pod_and_network()])
    client = twin.client()
    try:
        twin.advance(0.5)
        assert report(client, "count(blocks, state == up) == 6", fabric="dcn-0")["holds"]
        assert report(client, "blocks.dcn-0/block-1.state == up and cubes.pod-0/cube-1.health == healthy")[
            "holds"
        ]
        assert client.post("/v1/fabrics/dcn-0/retire?wait=10").status_code == 200
        found = report(client, "count(blocks, state == up) == 9", fabric="dcn-0")
        assert (found["can_hold"], found["reasons"][0][:13]) == (False, "dcn-0 retired")
    finally:
        twin.close()
