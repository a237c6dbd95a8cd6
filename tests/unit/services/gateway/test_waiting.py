"""The reason why a slice waits is current: its place in the queue, the idle cubes, and the slices they are
kept for."""

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.config.scheduler import SchedulerConfig
from shared.basics.units import US_PER_S
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

HOUR_US = 3_600_000_000
PREFLIGHT_US = SchedulerConfig().preflight_s * US_PER_S


@pytest.fixture
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Of eight cubes, one is in use for an hour and one for ever. The first slice in the queue needs all
    eight and never fits."""
    pairs = ["pod.cubes=8", *QUIET]
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), pairs)
    client = twin.client()
    send_request(client, {"shape": "4x4x4", "duration_s": 3_600})
    send_request(client, {"shape": "4x4x4"})
    send_request(client, {"shape": "4x8x16"})
    yield twin
    twin.close()


def send_request(client: Client, body: dict[str, Any]) -> None:
    assert client.post("/v1/slices", json=body, params={"wait": 20}).status_code == 200


def slices(twin: DrivenTwin) -> dict[str, Any]:
    return {row["name"].partition("/")[2]: row for row in twin.client().get("/v1/slices").json()}


def test_the_first_in_line_is_shown_the_use_of_all_cubes(twin: DrivenTwin) -> None:
    twin.advance(0.5)
    head = slices(twin)["slice-2"]
    assert head["reason"] == "first in line; needs 8 healthy idle cubes: of 8 cubes, 6 idle and 2 used"
    assert (head["queue_position"], head["promised_us"]) == (1, None)


def test_slices_behind_the_first_have_the_next_places(twin: DrivenTwin) -> None:
    client = twin.client()
    send_request(client, {"shape": "4x4x28", "duration_s": 7_200})
    send_request(client, {"shape": "4x8x16", "priority": 1})
    waiting = slices(twin)
    assert [waiting[f"slice-{number}"]["queue_position"] for number in (4, 2, 3)] == [1, 2, 3]
    assert waiting["slice-3"]["reason"] == "needs 7 healthy idle cubes: of 8 cubes, 6 idle and 2 used"
    assert client.get("/v1/slices/pod-0/slice-3").json()["reason"] == waiting["slice-3"]["reason"]


def test_times_of_a_slice_are_current(twin: DrivenTwin) -> None:
    twin.advance(0.5)
    timed = slices(twin)["slice-0"]
    assert timed["ran_us"] + timed["left_us"] == timed["duration_us"] == HOUR_US
    assert timed["ran_us"] == pytest.approx(HOUR_US / 2 - PREFLIGHT_US, rel=0.01)
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


def test_a_slice_shows_when_it_entered_each_of_its_states(twin: DrivenTwin) -> None:
    twin.advance(2)
    rows = slices(twin)
    waits, ended = rows["slice-2"], rows["slice-0"]
    assert waits["conditions"] == [{"state": "queued", "since_us": waits["requested_us"]}]
    states = [condition["state"] for condition in ended["conditions"]]
    assert states == ["queued", "programming", "preflight", "running", "completed"]
    since_us = {condition["state"]: condition["since_us"] for condition in ended["conditions"]}
    assert list(since_us.values()) == sorted(since_us.values())
    assert (since_us["queued"], since_us["completed"]) == (ended["requested_us"], ended["ended_us"])


def test_a_fabric_shows_current_values_next_to_the_means(twin: DrivenTwin) -> None:
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
    assert {kind: count for kind, count in row["faults_begun"].items() if count} == {"host": 1}
    assert row["repairs"]["queued"] + row["repairs"]["begun"] == 1


def test_a_drained_cube_with_a_slice_is_draining_until_the_slice_has_left(twin: DrivenTwin) -> None:
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
