"""Goodput over HTTP and in Prometheus metrics of a running twin: every chip-microsecond is counted exactly
once."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from shared.basics.units import US_PER_HOUR
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

CUBES = 8
BUSY = [f"pod.cubes={CUBES}", "failures.host_per_day=0.05", "failures.ocs_per_day=0.1"]
CHIPS = 64 * CUBES
HOURS = 72.25


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    driven = DrivenTwin(tmp_path_factory.mktemp("goodput"), BUSY, pods=2)
    driven.advance(HOURS)
    yield driven
    driven.close()


@pytest.fixture
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def get(client: Client, **query: Any) -> dict[str, Any]:
    answer = client.get("/v1/goodput", params=query)
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert isinstance(report, dict)
    return report


def assert_exact(report: dict[str, Any], chip_us: int) -> None:
    """Rows sum to the total of their place, and places to chips × time; no value is negative."""
    assert report["total_chip_us"] == sum(report["chip_us"].values()) == chip_us
    places: dict[str, int] = {}
    for row in report["rows"]:
        assert row["total_chip_us"] == sum(row["chip_us"].values())
        assert min(row["chip_us"].values(), default=0) >= 0
        for place, us in row["chip_us"].items():
            places[place] = places.get(place, 0) + us
    assert places == report["chip_us"]


@pytest.mark.parametrize("by", ["pod", "owner", "slice", "tier"])
@pytest.mark.parametrize(
    ("since", "hours"), [(None, 0), ("-1d", 48), ("1d03:30:00", 27), ("now", 72), ("-9d", 0)]
)
def test_goodput_is_summed_by_any_key_since_any_time(
    client: Client, by: str, since: str | None, hours: int
) -> None:
    """From the full hour before `since`; by owner and slice, from the full day before it."""
    hours = hours - hours % 24 if by in ("owner", "slice") else hours
    report = get(client, by=by, fabric="pod-0", **({} if since is None else {"since": since}))
    assert (report["since_us"], report["until_us"]) == (hours * US_PER_HOUR, HOURS * US_PER_HOUR)
    assert_exact(report, round(CHIPS * (HOURS - hours) * US_PER_HOUR))


def test_several_pods_are_summed_up(client: Client) -> None:
    report = get(client)
    assert [row["name"] for row in report["rows"]] == ["pod-0", "pod-1"]
    assert_exact(report, round(2 * CHIPS * HOURS * US_PER_HOUR))


def test_shares_refer_to_their_stated_totals(client: Client) -> None:
    report = get(client, by="tier", fabric="pod-0")
    chip_us, rows = report["chip_us"], {row["name"]: row for row in report["rows"]}
    free = rows.pop("(no slice)")
    used_chip_us = report["total_chip_us"] - free["total_chip_us"]
    usable = report["total_chip_us"] - chip_us["unhealthy"] - chip_us["drained"]
    assert chip_us["unhealthy"] > 0
    assert report["utilisation"] == pytest.approx(used_chip_us / usable)
    assert report["productive_share"] == pytest.approx(chip_us["productive"] / usable)
    assert report["utilisation_by_tier"] == {
        tier: pytest.approx(row["total_chip_us"] / usable) for tier, row in rows.items()
    }
    assert report["scheduling_goodput"] == pytest.approx(used_chip_us / report["total_chip_us"])
    assert report["runtime_goodput"] == pytest.approx(chip_us["productive"] / used_chip_us)


def test_spans_are_whole_hours_and_sum_to_the_total(client: Client) -> None:
    report = get(client, fabric="pod-0", since="-2d", spans=16)
    spans = report["spans"]
    assert [span["since_us"] for span in spans[1:]] == [span["until_us"] for span in spans[:-1]]
    assert (spans[0]["since_us"], spans[-1]["until_us"]) == (report["since_us"], report["until_us"])
    assert all(span["since_us"] % US_PER_HOUR == 0 for span in spans)
    assert len(spans) == 16
    for span in spans:
        assert sum(span["chip_us"].values()) == span["total_chip_us"]
        assert min(span["chip_us"].values()) >= 0
        for place, us in span["filler_chip_us"].items():
            assert 0 <= us <= span["chip_us"][place]
    assert sum(span["total_chip_us"] for span in spans) == report["total_chip_us"]


def test_more_spans_than_hours_give_one_span_per_hour(client: Client) -> None:
    assert len(get(client, fabric="pod-0", since="-5h", spans=200)["spans"]) == 6


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"by": "rack"}, "by: 'rack' is not allowed; must be pod, owner, slice or tier"),
        (
            {"since": "soon"},
            "since 'soon': must be a duration before now like -2h (or `2h ago`), or a time since the start",
        ),
        ({"fabric": "pod-9"}, "fabric 'pod-9': no such fabric; must be one of pod-0, pod-1"),
        ({"spans": 10}, "spans 10: needs a fabric; must be one of pod-0, pod-1"),
        ({"spans": 201, "fabric": "pod-0"}, "spans: '201' is not allowed; must be at most 200"),
        ({"owner": "me"}, "query 'owner': no such parameter; must be one of by, fabric, since, spans"),
    ],
)
def test_an_invalid_query_is_refused_with_one_sentence(
    client: Client, query: dict[str, Any], sentence: str
) -> None:
    answer = client.get("/v1/goodput", params=query)
    assert answer.status_code in (404, 422)
    assert answer.json()["error"].startswith(sentence)


def samples(client: Client, family: str) -> dict[tuple[str, ...], float]:
    """(fabric, tier, category) or (fabric, tier) → value."""
    text = client.get("/metrics").text
    (match,) = [candidate for candidate in text_string_to_metric_families(text) if candidate.name == family]
    labels = ("fabric", "tier", "category")
    return {
        tuple(sample.labels[label] for label in labels if label in sample.labels): sample.value
        for sample in match.samples
    }


@pytest.mark.slow("reads the counters once for each of many simulated hours")
def test_counters_cover_all_chip_time_and_never_fall(twin: DrivenTwin, client: Client) -> None:
    """This test advances the twin, so it must be the last one."""
    before: dict[tuple[str, ...], float] = {}
    for _ in range(6):
        total = samples(client, "lightwave_goodput_chip_seconds")
        level = samples(client, "lightwave_goodput_uncommitted_chip_seconds")
        rows = get(client)["rows"]
        for row in rows:
            own = [value for labels, value in [*total.items(), *level.items()] if labels[0] == row["name"]]
            assert sum(own) == pytest.approx(row["total_chip_us"] / 1e6, rel=1e-12)
        assert all(total[labels] >= value for labels, value in before.items())
        assert {labels[1] for labels in total} == {"production", "research", "filler", "none"}
        before = total
        twin.advance(3.7)
