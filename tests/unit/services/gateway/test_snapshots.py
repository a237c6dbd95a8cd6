"""All states of a site, to be driven on elsewhere."""

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


def test_it_is_what_the_twin_holds(twin: DrivenTwin) -> None:
    answer = twin.client().get("/v1/snapshots/pod-0")
    assert answer.status_code == 200
    held = from_bytes(answer.content)
    assert (held.site, held.software) == ("pod-0", software_version())
    assert held.digest == twin.twin.sites[0].digest()


def test_of_then_it_is_what_it_held_then(twin: DrivenTwin) -> None:
    client = twin.client()
    before = from_bytes(client.get("/v1/snapshots/pod-0").content)
    at = f"{twin.clock.show().now_us}us"
    twin.advance(3.0)
    assert from_bytes(client.get(f"/v1/snapshots/pod-0?at={at}").content).digest == before.digest
    assert from_bytes(client.get("/v1/snapshots/pod-0").content).digest != before.digest


def test_it_lives_on_as_the_twin_does(twin: DrivenTwin) -> None:
    held = from_bytes(twin.client().get("/v1/snapshots/pod-0").content)
    start = twin.logs.open("pod-0").end
    found = run_future(held, held.at_us, 4 * US_PER_HOUR)
    until_us = held.at_us + 4 * US_PER_HOUR
    twin.advance(5.0)
    later = [m for _, m in twin.logs.read("pod-0", start) if m.at_us <= until_us]
    assert found.messages == len(later)


def test_there_is_none_of_a_site_that_is_not_there(twin: DrivenTwin) -> None:
    client: Client = twin.client()
    answer = client.get("/v1/snapshots/campus")
    assert answer.status_code == 404
    assert answer.json()["error"] == "site 'campus': no such site; must be one of pod-0"
