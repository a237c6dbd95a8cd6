"""Why a slice waits is the truth of the moment: its place, what is idle, and for whom that is kept."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gateway_twin import QUIET, Client, DrivenTwin

PATIENCE_H = 2
HOUR_US = 3_600_000_000


@pytest.fixture
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Of eight cubes one is in use for an hour and one for ever, so that the first in the queue, which wants
    all eight, never fits."""
    pairs = ["pod.cubes=8", f"scheduler.backfill_patience_h={PATIENCE_H}", *QUIET]
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), pairs)
    client = twin.client()
    ask(client, {"shape": "4x4x4", "duration_s": 3_600})
    ask(client, {"shape": "4x4x4"})
    ask(client, {"shape": "4x8x16"})
    yield twin
    twin.close()


def ask(client: Client, body: dict[str, Any]) -> None:
    assert client.post("/v1/slices", json=body, params={"wait": 20}).status_code == 200


def slices(twin: DrivenTwin) -> dict[str, Any]:
    return {row["name"].partition("/")[2]: row for row in twin.client().get("/v1/slices").json()}


def test_before_its_patience_ends_others_may_pass_the_first(twin: DrivenTwin) -> None:
    twin.advance(0.5)
    head = slices(twin)["slice-2"]
    assert head["reason"] == "1 of 1 in the queue; needs 8 healthy idle cubes; 6 cubes are idle"
    assert (head["queue_position"], head["kept_until_us"]) == (1, None)


def test_afterwards_idle_cubes_are_kept_for_it_and_who_waits_behind_is_told_so(twin: DrivenTwin) -> None:
    twin.advance(PATIENCE_H + 0.5)
    ask(twin.client(), {"shape": "4x4x4"})
    ask(twin.client(), {"shape": "4x4x4", "priority": -1})
    found = slices(twin)
    assert found["slice-2"]["reason"].endswith("needs 8 healthy idle cubes; 7 cubes are idle and kept for it")
    kept = "needs 1 healthy idle cube; 7 cubes are idle and kept for pod-0/slice-2"
    assert found["slice-3"]["reason"] == f"2 of 3 in the queue; {kept}"
    assert found["slice-4"]["reason"] == f"3 of 3 in the queue; {kept}"
    until_us = {found[name]["kept_until_us"] for name in ("slice-2", "slice-3", "slice-4")}
    assert until_us == {found["slice-2"]["requested_us"] + 2 * PATIENCE_H * HOUR_US}
    assert twin.client().get("/v1/slices/pod-0/slice-3").json() == found["slice-3"]
    twin.advance(PATIENCE_H)
    assert slices(twin)["slice-3"]["started_us"] is not None


def test_times_of_a_slice_are_those_of_now(twin: DrivenTwin) -> None:
    twin.advance(0.5)
    timed = slices(twin)["slice-0"]
    assert timed["ran_us"] + timed["left_us"] == timed["duration_us"] == HOUR_US
    assert timed["ran_us"] == pytest.approx(HOUR_US / 2, rel=0.01)
    endless = slices(twin)["slice-1"]
    assert (endless["left_us"], endless["waited_us"]) == (
        None,
        endless["started_us"] - endless["requested_us"],
    )
    waiting = slices(twin)["slice-2"]
    assert (waiting["ran_us"], waiting["left_us"]) == (None, None)
    twin.advance(1.5)
    assert slices(twin)["slice-2"]["waited_us"] - waiting["waited_us"] == pytest.approx(
        1.5 * HOUR_US, rel=0.01
    )
    ended = slices(twin)["slice-0"]
    assert (ended["ran_us"], ended["left_us"]) == (ended["ended_us"] - ended["started_us"], None)


def test_a_fabric_tells_the_values_of_now_beside_the_means(twin: DrivenTwin) -> None:
    twin.advance(1.5)
    row = twin.client().get("/v1/fabrics/pod-0").json()
    assert (row["chips"], row["chips_used"], row["utilisation_now"]) == (512, 64, 0.125)
    assert row["utilisation"] > 0.15
    (waiting,) = [s for s in slices(twin).values() if s["state"] == "queued"]
    assert row["waits"] == {"median_us": waiting["waited_us"], "p95_us": waiting["waited_us"]}
    client = twin.client()
    client.post("/v1/faults", json={"kind": "host", "target": "pod-0/cube-1/host-0"}, params={"wait": 20})
    twin.advance(0.02)
    row = client.get("/v1/fabrics/pod-0").json()
    assert row["faults_begun"] == {"host": 1, "chip": 0, "link": 0, "connector": 0, "ocs": 0, "port": 0}
    assert row["repairs"]["queued"] + row["repairs"]["begun"] == 1


def test_a_drained_cube_with_a_slice_is_draining_until_it_has_gone(twin: DrivenTwin) -> None:
    client = twin.client()
    for cube in (*range(2, 8), 0):
        client.post(f"/v1/cubes/pod-0/cube-{cube}/drain", params={"wait": 20})
    cubes = {row["name"]: (row["draining"], row["drained"]) for row in client.get("/v1/cubes").json()}
    assert cubes["pod-0/cube-0"] == (True, False)
    assert cubes["pod-0/cube-1"] == (False, False)
    assert cubes["pod-0/cube-2"] == (False, True)
    twin.advance(1.5)
    row = client.get("/v1/cubes/pod-0/cube-0").json()
    assert (row["draining"], row["drained"], row["slices"]) == (False, True, [])
