"""Snapshots of all states of a site, from which a future can be run elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.local.software_version import software_version
from services.forecasts.futures import run_future
from shared.basics.units import US_PER_HOUR
from shared.storage.snapshots.site_snapshot import from_bytes
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

PAIRS = ["pod.cubes=8", "failures.host_per_day=0.02"]


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    driven = DrivenTwin(tmp_path, PAIRS)
    driven.advance(6.0)
    yield driven
    driven.close()


def test_a_snapshot_equals_the_state_of_the_twin(twin: DrivenTwin) -> None:
    answer = twin.client().get("/v1/snapshots/pod-0")
    assert answer.status_code == 200
    snapshot = from_bytes(answer.content)
    assert (snapshot.site, snapshot.software) == ("pod-0", software_version())
    assert snapshot.digest == twin.twin.sites[0].digest()


def test_a_past_snapshot_equals_the_state_of_that_time(twin: DrivenTwin) -> None:
    client = twin.client()
    before = from_bytes(client.get("/v1/snapshots/pod-0").content)
    at = f"{twin.clock.show().now_us}us"
    twin.advance(3.0)
    assert from_bytes(client.get(f"/v1/snapshots/pod-0?at={at}").content).digest == before.digest
    assert from_bytes(client.get("/v1/snapshots/pod-0").content).digest != before.digest


def test_a_future_from_a_snapshot_matches_the_twin(twin: DrivenTwin) -> None:
    snapshot = from_bytes(twin.client().get("/v1/snapshots/pod-0").content)
    start = twin.logs.open("pod-0").end
    future = run_future(snapshot, snapshot.at_us, 4 * US_PER_HOUR)
    until_us = snapshot.at_us + 4 * US_PER_HOUR
    twin.advance(5.0)
    later = [m for _, m in twin.logs.read("pod-0", start) if m.at_us <= until_us]
    assert future.messages == len(later)


def test_an_unknown_site_has_no_snapshot(twin: DrivenTwin) -> None:
    client: Client = twin.client()
    answer = client.get("/v1/snapshots/campus")
    assert answer.status_code == 404
    assert answer.json()["error"] == "site 'campus': no such site; must be one of pod-0"
