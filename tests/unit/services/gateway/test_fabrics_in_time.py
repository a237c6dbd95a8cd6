"""Queries about a fabric before it was commissioned, after it retired, and about the default fabric if that
has retired: each has an answer, or one sentence with the cause."""

from collections.abc import Iterator

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR
from shared.models.default_fabric import default_fabric_of
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

PLAN = SitePlan(
    site="campus",
    fabrics={
        name: config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3) for name in ("pod-0", "pod-1")
    },
)
NEW = {"name": "pod-2", "site": "campus", "settings": {"pod": {"cubes": 4}, "workload": {"enabled": False}}}
PODS = {"pod-0": "superpod", "pod-1": "superpod", "dcn-0": "dcn"}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Return a twin at 0d05:00 whose pod-2 joined at 0d03:00 and whose pod-0 retired at 0d04:00."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=(PLAN,))
    client = twin.client()
    twin.advance(3)
    assert client.post("/v1/fabrics", json=NEW, params={"wait": 20}).json()["status"] == "accepted"
    twin.advance(1)
    assert client.post("/v1/fabrics/pod-0/retire", params={"wait": 20}).status_code == 200
    twin.advance(1)
    yield twin
    twin.close()


@pytest.mark.parametrize(
    "path",
    [
        "fabrics/pod-2",
        "describe/fabrics/pod-2",
        "cubes?fabric=pod-2",
        "slices?fabric=pod-2",
        "readings?fabric=pod-2",
        "cubes/pod-2/cube-1",
        "describe/cubes/pod-2/cube-1",
        "trace/pod-2/cube-1/+x/0",
        "impact/pod-2/ocs-1",
        "explain/slices/pod-2/slice-0",
        "why/pod-2/cube-1",
        "events?fabric=pod-2",
        "events?for=pod-2/cube-1",
        "goodput?fabric=pod-2",
        "config/pod-2",
        "ocs/pod-2/ocs-1/management",
    ],
)
def test_a_time_before_the_commissioning_is_refused_with_its_time(twin: DrivenTwin, path: str) -> None:
    client = twin.client()
    answer = client.get(f"/v1/{path}{'&' if '?' in path else '?'}at=0d01:00:00")
    sentence = "fabric pod-2: did not exist yet at 0d01:00:00; it was commissioned at 0d03:00:00"
    assert (answer.status_code, answer.json()) == (404, {"error": sentence})
    assert client.get(f"/v1/{path}").status_code == (
        404 if "slice-0" in path or path.startswith("why") else 200
    )


@pytest.mark.parametrize("query", ["fabric=pod-2", "for=pod-2/cube-1", "fabric=pod-2&since=0d00:30"])
def test_messages_until_before_the_commissioning_are_refused(twin: DrivenTwin, query: str) -> None:
    answer = twin.client().get(f"/v1/events?{query}&until=0d02:00")
    sentence = "until '0d02:00': is before pod-2 was commissioned at 0d03:00:00"
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})


def test_bisect_names_the_commissioning(twin: DrivenTwin) -> None:
    query = {"condition": "cubes.pod-2/cube-1.health == unhealthy", "to": "0d02:00:00"}
    error = twin.client().get("/v1/bisect", params=query).json()["error"]
    assert error.endswith("from 0d00:00:00 to 0d02:00:00; pod-2 was commissioned at 0d03:00:00")


@pytest.mark.parametrize(
    "path",
    [
        "events?limit=1",
        "goodput?by=tier",
        "conditions?condition=count(cubes)>3",
        "conditions?condition=cubes.cube-1.drained==true",
        "bisect?condition=count(cubes)>3",
    ],
)
def test_a_default_that_has_retired_is_refused_with_those_that_live(twin: DrivenTwin, path: str) -> None:
    answer = twin.client().get(f"/v1/{path}")
    sentence = (
        "fabric: must be given, because pod-0, the default, retired at 0d04:00:00; pod-1 and pod-2 live"
    )
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})
    assert twin.client().get(f"/v1/{path}&fabric=pod-1").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "events?for=pod-1/cube-1",
        "events?cause=sequencer@pod-1/1",
        "conditions?condition=cubes.pod-1/cube-1.drained==false",
        "bisect?condition=cubes.pod-1/cube-1.drained==false",
        "events?at=0d02:00:00",
        "goodput?by=tier&at=0d02:00:00",
    ],
)
def test_a_query_that_implies_a_fabric_needs_no_default(twin: DrivenTwin, path: str) -> None:
    assert twin.client().get(f"/v1/{path}").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "plan/slices?shape=4x4x4&fabric=pod-0",
        "what-if/drain?target=pod-0/cube-1",
        "what-if/inject?kind=ocs&target=pod-0/ocs-1",
    ],
)
def test_no_predictions_about_a_retired_fabric(twin: DrivenTwin, path: str) -> None:
    answer = twin.client().get(f"/v1/{path}")
    sentence = "fabric pod-0: retired at 0d04:00:00; must be a running fabric"
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})


def test_goodput_since_after_the_retirement(twin: DrivenTwin) -> None:
    client = twin.client()
    rows = client.get("/v1/goodput", params={"since": "-10m"}).json()["rows"]
    assert [row["name"] for row in rows] == ["pod-1", "pod-2"]
    answer = client.get("/v1/goodput", params={"fabric": "pod-0", "since": "-10m"})
    sentence = "since '-10m': pod-0 retired at 0d04:00:00; must be a time before that"
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})
    lived = client.get("/v1/goodput", params={"fabric": "pod-0", "since": "0d02:00"}).json()
    assert lived["until_us"] - lived["since_us"] == 2 * US_PER_HOUR + 1


@pytest.mark.parametrize(
    ("kinds", "retired", "found"),
    [
        (PODS, {}, "pod-0"),
        (PODS, {"pod-1": 1, "dcn-0": 1}, "pod-0"),
        (PODS, {"pod-0": 1, "dcn-0": 1}, "pod-1"),
        (PODS, {"pod-0": 1, "pod-1": 1}, "dcn-0"),
        ({"pod-0": "superpod"}, {"pod-0": 1}, "pod-0"),
        ({}, {}, "pod-0"),
    ],
)
def test_the_default_is_the_first_or_the_only_one_that_lives(
    kinds: dict[str, str], retired: dict[str, int], found: str
) -> None:
    assert default_fabric_of(kinds, retired) == found


@pytest.mark.parametrize(
    ("retired", "others"),
    [
        ({"pod-0": US_PER_HOUR}, "pod-1 and dcn-0 live"),
        (dict.fromkeys(PODS, US_PER_HOUR), "none of the others lives"),
    ],
)
def test_no_default_if_the_first_has_retired_and_not_one_other_lives(
    retired: dict[str, int], others: str
) -> None:
    with pytest.raises(InvalidInput, match=f"pod-0, the default, retired at 0d01:00:00; {others}$"):
        default_fabric_of(PODS, retired)
