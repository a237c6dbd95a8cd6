"""Bounds by the size of the fabrics, and fields that never change, in lists and in conditions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.resource_kinds import KINDS
from services.gateway.resources.field_bounds import PORTS_OF_SIDE, largest_of
from services.gateway.resources.fixed_fields import FIXED
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.row_fields import plain_fields
from shared.models.superpod.superpod_plant import superpod_plant
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, get

pytestmark = pytest.mark.integration

CUBES, CHIPS, PORTS = 4, 256, 136
LARGEST = {
    ("slices", "chips"): CHIPS,
    ("slices", "CUBES"): CUBES,
    ("slices", "links_down"): CUBES * 96,
    ("slices", "links_degraded"): CUBES * 96,
    ("fabrics", "healthy"): CUBES,
    ("fabrics", "drained"): CUBES,
    ("fabrics", "cubes"): CUBES,
    ("fabrics", "chips_used"): CHIPS,
    ("fabrics", "hosts_down"): CUBES * 16,
    ("fabrics", "ocs_down"): 48,
    ("fabrics", "links.down"): CUBES * 96,
    ("ocs", "circuits_made"): PORTS,
    ("ocs", "circuits_wanted"): PORTS,
}
"""(kind, field) → its highest value in a pod of four cubes, by its geometry."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    driven = DrivenTwin(Path(tmp_path_factory.mktemp("twin")), ["pod.cubes=4", *QUIET])
    body = {"shape": "4x4x8", "owner": "team-7"}
    assert driven.client().post("/v1/slices", json=body, params={"wait": 20}).status_code == 200
    driven.advance(0.1)
    yield driven
    driven.close()


@pytest.mark.parametrize(("place", "most"), LARGEST.items(), ids=str)
def test_numbers_beyond_the_size_of_the_pod_are_refused(
    twin: DrivenTwin, place: tuple[str, str], most: int
) -> None:
    (word, field), client = place, twin.client()
    for test, is_allowed in (
        (f"{field}<={most}", True),
        (f"{field}={most}", True),
        (f"{field}>{most - 1}", True),
        (f"{field}>{most}", False),
        (f"{field}>={most + 1}", False),
        (f"{field}={most + 1}", False),
        (f"{field}>99999", False),
    ):
        answer = client.get(f"/v1/{word}", params={"where": test})
        assert answer.status_code == (200 if is_allowed else 422), test
        assert is_allowed or str(most) in answer.json()["error"]
        if field == field.lower():
            sign = test if "<" in test or ">" in test else test.replace("=", "==")
            text = f"count({word}, {sign}) >= 0"
            found = client.get("/v1/conditions", params={"condition": text})
            assert found.status_code == (200 if is_allowed else 422), text


def condition(client: Client, text: str) -> Any:
    return get(client, f"conditions?condition={text}")


def test_a_field_that_never_changes_cannot_become_another(twin: DrivenTwin) -> None:
    """`wait slice-0 --for 'chips>200'` ends at once, and does not wait for its timeout."""
    client = twin.client()
    (name,) = [row["name"] for row in get(client, "slices")]
    for test in ("chips > 200", "tier == filler", "owner != team-7", "shape == 4x4x4"):
        found = condition(client, f"slices.{name}.{test}")
        field = test.partition(" ")[0]
        assert (found["holds"], found["can_hold"]) == (False, False), test
        assert found["reasons"][0].startswith(f"{field} of {name} is ")
        assert found["reasons"][0].endswith(" and never changes")
        assert condition(client, f"slices.{name}.{test} or slices.{name}.restarts > 3")["can_hold"]
    assert condition(client, f"slices.{name}.chips == 128")["holds"]
    assert condition(client, f"slices.{name}.state == completed")["can_hold"]
    assert condition(client, "slices.pod-0/slice-9.chips == 64")["can_hold"], "it does not exist yet"


def test_every_fixed_field_is_one_of_its_kind_and_stays_so(twin: DrivenTwin) -> None:
    views = views_of(twin.ports)
    for word, names in FIXED.items():
        assert names <= {*plain_fields(views[word].row)}, word
    assert FIXED.keys() <= KINDS.keys()


def test_the_size_is_that_of_the_largest_fabric() -> None:
    plants = [superpod_plant(4), superpod_plant(64)]
    assert largest_of("slices", "chips", plants) == 4_096
    assert largest_of("slices", "chips", plants[:1]) == 256
    assert largest_of("slices", "priority", plants) is None
    assert largest_of("ocs", "circuits", plants[:1]) == PORTS
    assert largest_of("blocks", "trunks", plants) is None
    assert PORTS_OF_SIDE not in {kind.word for kind in plants[0].kinds}


def test_a_drain_in_the_past_is_refused_with_a_hint(twin: DrivenTwin) -> None:
    answer = twin.client().post("/v1/cubes/pod-0/cube-1/drain", json={"from_us": 60_000_000})
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("; a time from now is after_s")
