"""`running` and `productive` have one meaning in rows, counts, metrics, conditions, lab totals, goodput and
its chart."""

from collections import Counter
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ops.report.goodput_page import CATEGORY_STYLES, NOT_FILLER, category_bands
from services.totals.fabric_spans import pod_span
from services.totals.measures import FORECAST_MEASURES, MEASURES
from services.totals.pod_totals import pod_totals
from tests.support.gateway_twin import Client, DrivenTwin, get

pytestmark = pytest.mark.integration

PAIRS = ["pod.cubes=16", "workload.offered_load=1.0", "failures.enabled=false"]
HOURS = 8
OCSES = (4, 20, 40)
"""One in each dimension."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), PAIRS)
    client = driven.client()
    driven.advance(HOURS)
    for number in OCSES:
        fault = {"kind": "ocs", "target": f"pod-0/ocs-{number}"}
        answer = client.post("/v1/faults", json=fault, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        driven.advance(0.1)
    yield driven
    driven.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def test_running_slices_have_the_same_count_everywhere(twin: DrivenTwin, client: Client) -> None:
    states = Counter(row["state"] for row in get(client, "slices"))
    counts = get(client, "fabrics/pod-0")["slices"]
    assert states["degraded"] > 0, "or the test compares nothing"
    current = ("queued", "programming", "preflight", "running", "degraded", "recovering")
    assert {state: counts[state] for state in current} == {state: states[state] for state in current}
    assert counts["active"] == sum(states[state] for state in current[1:])
    metric_counts = {
        sample.labels["state"]: sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        if family.name == "lightwave_slices"
        for sample in family.samples
    }
    assert metric_counts == {state: states[state] for state in current}
    site = twin.twin.sites[0].site
    totals = pod_totals(site, "pod-0", site.now_us, links=False)
    assert (totals.running, totals.active, totals.queued) == (
        states["running"],
        counts["active"],
        states["queued"],
    )
    span = pod_span("superpod", totals)
    assert MEASURES["running"].compute([span]) == states["running"]
    assert (span.slices["running"], span.slices["active"]) == (states["running"], counts["active"])
    for state in ("running", "degraded"):
        condition = f"count(slices, state == {state}) == {states[state]}"
        bisection = client.get("/v1/bisect", params={"condition": condition, "all": "true"})
        assert bisection.status_code == 200, bisection.text


def test_productive_has_the_same_share_everywhere(twin: DrivenTwin, client: Client) -> None:
    whole = get(client, "goodput?by=tier&since=0d00:00:00")
    spans = get(client, "goodput?by=tier&spans=4")["spans"]
    rows = {row["name"]: row for row in whole["rows"]}
    productive = whole["chip_us"]["productive"]
    assert productive == sum(row["chip_us"].get("productive", 0) for row in whole["rows"])
    assert whole["runtime_goodput"] * whole["scheduling_goodput"] == pytest.approx(
        productive / whole["total_chip_us"]
    )
    productive_chip_us = sum(
        sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        if family.name == "lightwave_goodput_chip_seconds"
        for sample in family.samples
        if sample.labels["category"] == "productive"
    )
    site = twin.twin.sites[0].site
    span = pod_span("superpod", pod_totals(site, "pod-0", site.now_us, links=False))
    share = span.chip_us["productive"] / span.total_chip_us
    assert MEASURES["goodput"].compute([span]) == pytest.approx(share)
    assert FORECAST_MEASURES["goodput"].compute([span]) == pytest.approx(100 * share)
    assert productive_chip_us == pytest.approx(span.chip_us["productive"] / 1e6, rel=0.02), (
        "metrics are as of a moment ago"
    )
    single = {
        "total_chip_us": whole["total_chip_us"],
        "chip_us": whole["chip_us"],
        "filler_chip_us": rows["filler"]["chip_us"],
    }
    drawn = {band.words: band.shares[0] for band in category_bands([single])}
    label = CATEGORY_STYLES["productive"][0]
    assert label not in drawn, "the chart shows a value without filler, so its name must differ"
    of_filler = rows["filler"]["chip_us"].get("productive", 0)
    assert drawn[label + NOT_FILLER] == pytest.approx((productive - of_filler) / whole["total_chip_us"])
    assert all(span["chip_us"]["productive"] >= 0 for span in spans)
