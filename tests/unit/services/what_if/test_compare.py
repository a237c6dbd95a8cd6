"""Predictions come true: on a running pod, each test asks for a prediction, makes the change, and
compares."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.sites.site_plans import single_fabric_sites
from schemas.messages.operator import DrainCube
from services.fabric_kinds import services_of
from services.what_if.queries import WhatIfQueries
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_HOUR
from shared.storage.store.state_copies import StateCopies
from tests.support.gateway_twin import DrivenTwin

pytestmark = pytest.mark.integration

WAIT = {"wait": 20}
CLOCKWORK = ("Tick", "UsageReported", "CapacityReported")
HALF_HOUR_S = 1_800


def busy_twin(folder: Path, seed: int, load: float) -> DrivenTwin:
    """A used pod of 16 cubes after its first days, without natural faults."""
    pairs = ["pod.cubes=16", "failures.enabled=false", f"workload.offered_load={load}"]
    twin = DrivenTwin(folder, pairs, plans=single_fabric_sites(1, pairs=pairs, seed=seed))
    for _ in range(6):
        twin.advance(6)
    return twin


@pytest.fixture(scope="module", params=[(3, 0.8), (4, 1.2)], ids=str)
def twin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = busy_twin(tmp_path_factory.mktemp("twin"), *request.param)
    yield twin
    twin.close()


def followed(twin: DrivenTwin, request: str, until_us: int) -> list[tuple[int, str]]:
    """The consequences of a request on the log, by the chain of causes: (time, type)."""
    known, found = {request}, []
    for message in twin.messages():
        if message["cause"] in known and message["at_us"] <= until_us:
            known.add(message["id"])
            found.append((message["at_us"], message["type"]))
    return found


def check_comes_true(
    twin: DrivenTwin, question: str, path: str, body: dict[str, Any] | None
) -> dict[str, Any]:
    """Predict, change, wait for the predicted time, and compare; return the prediction."""
    client = twin.client()
    before = len(twin.messages())
    told: dict[str, Any] = client.get(f"/v1/what-if/{question}&within_s={HALF_HOUR_S}").json()
    assert len(twin.messages()) == before, "nothing happens by asking"
    receipt = client.post(f"/v1/{path}", json=body, params=WAIT).json()
    assert receipt["at_us"] == told["at_us"]
    twin.advance(HALF_HOUR_S / 3_600)
    assert followed(twin, receipt["id"], told["until_us"]) == [
        (event["at_us"], event["type"]) for event in told["events"]
    ]
    for row in told["slices"]:
        now = client.get(f"/v1/slices/{row['slice']}").json()
        assert now.get("state") == row["ends_as"], (row, now)
        assert (
            {swap["spare"] for swap in row["swaps"]} & set(now["cubes"])
            or not row["swaps"]
            or (now["state"] == "queued")
        )
    return told


def used_cube(twin: DrivenTwin, number: int) -> str:
    cubes = [row["name"] for row in twin.client().get("/v1/cubes").json() if row["slices"]]
    return str(cubes[number % len(cubes)])


@pytest.mark.parametrize("number", range(3))
def test_the_effect_of_a_dead_host_is_as_predicted(twin: DrivenTwin, number: int) -> None:
    target = f"{used_cube(twin, 5 * number)}/host-{number}"
    body = {"kind": "host", "target": target}
    prediction = check_comes_true(twin, f"inject?kind=host&target={target}", "faults", body)
    hit = [row for row in prediction["slices"] if row["reason"] == "hit"]
    assert hit
    assert all(row["choice"] is not None for row in hit)


@pytest.mark.parametrize(("kind", "part"), [("ocs", "ocs-17"), ("port", "ocs-3/N1")])
def test_the_effect_of_an_ocs_fault_is_as_predicted(twin: DrivenTwin, kind: str, part: str) -> None:
    body = {"kind": kind, "target": f"pod-0/{part}"}
    check_comes_true(twin, f"inject?kind={kind}&target=pod-0/{part}", "faults", body)


@pytest.mark.parametrize("number", range(3))
def test_the_effect_of_a_drain_is_as_predicted(twin: DrivenTwin, number: int) -> None:
    cube = used_cube(twin, 3 * number)
    prediction = check_comes_true(twin, f"drain?target={cube}", f"cubes/{cube}/drain", None)
    assert {"name": cube, "message_type": "CubeDrained"} in prediction["parts"]


def test_the_effect_of_a_repair_is_as_predicted(twin: DrivenTwin) -> None:
    body = {"kind": "host", "target": f"{used_cube(twin, 2)}/host-3"}
    twin.client().post("/v1/faults", json=body, params=WAIT)
    fault = twin.client().get("/v1/faults?state=active").json()[-1]
    question = f"repair?target={fault['target']}"
    check_comes_true(twin, question, f"faults/{fault['name']}/clear", None)


def test_a_prediction_that_takes_too_long_is_aborted(twin: DrivenTwin) -> None:
    """The time limit is reached after this number of checks."""
    looks = iter(range(1_000_000))
    questions = WhatIfQueries(StateCopies(twin.store, services_of), lambda: lambda: next(looks) >= 20)
    with pytest.raises(OperationFailed) as raised:
        questions.predict(
            "pod-0", [DrainCube(cube="pod-0/cube-3")], twin.clock.show().now_us, 24 * US_PER_HOUR
        )
    assert "of 86400 simulated seconds; use a smaller within_s" in str(raised.value)
    assert "pod-0: the query timed out after " in str(raised.value)


def test_the_time_to_reach_the_start_counts_too(twin: DrivenTwin) -> None:
    """A site behind its clock first catches up with it, before the prediction starts."""
    questions = WhatIfQueries(StateCopies(twin.store, services_of), lambda: lambda: True)
    drain, now_us = DrainCube(cube="pod-0/cube-3"), twin.clock.show().now_us
    with pytest.raises(
        OperationFailed, match=r"^pod-0: the query timed out; use a smaller within_s, or try again$"
    ):
        questions.predict("pod-0", [drain], now_us, 0)
