"""Commissioning a fabric into a running site: it joins once, at the clock's time, for good."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.fabric_names import NETWORK_NAMING, POD_NAMING
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_DAY
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

SMALL = ["pod.cubes=4", *QUIET]
PLANS = (
    SitePlan(site="campus", fabrics={"pod-0": config_from_pairs("static-pod", QUIET, seed=3)}),
    SitePlan(site="annex", fabrics={"pod-7": config_from_pairs("superpod", SMALL, seed=3)}),
)
REQUESTED: dict[str, Any] = {
    "name": "pod-1",
    "site": "campus",
    "settings": {"seed": 5, "pod": {"cubes": 8}, "workload": {"offered_load": 0.9}},
}
ROW = {"submit_us": 0, "duration_us": 10**9, "shape": [4, 4, 4], "twisted": False, "priority": 0}
THREE_DAYS_H = 72.1
"""And a time at which nothing else happens."""


@pytest.fixture
def twin(tmp_path: Any) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path, [], plans=PLANS)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def shared_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """The same twin for all tests of refused requests, because these leave it unchanged."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=PLANS)
    yield twin
    twin.close()


def dcn(*blocks: dict[str, Any]) -> dict[str, Any]:
    """The body of a request that commissions a network."""
    return {"name": "dcn-1", "kind": "dcn", "settings": {"network": {"blocks": blocks}}}


def send_request(client: Client, body: dict[str, Any], key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/v1/fabrics", json=body, params={"wait": 20}, headers=headers)


def refusal(client: Client, body: dict[str, Any], key: str | None = None) -> str:
    answer = send_request(client, body, key)
    assert answer.status_code == 422, answer.text
    return str(answer.json()["error"])


def test_number_of_settings_is_limited_before_they_are_validated(shared_twin: DrivenTwin) -> None:
    settings: dict[str, Any] = {f"k{number}": [] for number in range(20_000)}
    sentence = refusal(shared_twin.client(), REQUESTED | {"settings": settings})
    assert "bytes besides the trace; must have at most 65,536" in sentence
    rows = [ROW, ROW | {"priority": "high"}, *[{"colour": 1}] * 28_000]
    assert refusal(shared_twin.client(), REQUESTED | {"settings": {"trace": rows}}) == (
        "settings: trace.1.priority: 'high' is not allowed; must be a whole number"
    )


@pytest.mark.slow("three days of a driven twin")
def test_a_pod_that_joins_on_day_three_starts_on_day_three(twin: DrivenTwin) -> None:
    client = twin.client()
    twin.advance(THREE_DAYS_H)
    before, now_us = len(twin.messages("campus")), twin.clock.show().now_us
    receipt = send_request(client, REQUESTED).json()
    assert (receipt["id"], receipt["status"]) == ("sequencer@pod-1/1", "accepted")
    assert receipt["at_us"] == now_us
    request = {"shape": "4x4x16", "fabric": "pod-1"}
    assert client.post("/v1/slices", json=request, params={"wait": 20}).status_code == 200
    twin.advance(6.0)
    since = twin.messages("campus")[before:]
    assert (since[0]["type"], since[0]["fabric"], since[0]["at_us"]) == (
        "FabricCommissioned",
        "pod-1",
        now_us,
    )
    assert 1 < len(since) < 400, "the three missed days are not caught up"
    row = client.get("/v1/fabrics/pod-1").json()
    assert (row["kind"], row["site"], row["cubes"]) == ("superpod", "campus", 8)
    assert row["commissioned_us"] == now_us
    assert client.get("/v1/config/pod-1").json()["workload"]["offered_load"] == 0.9
    assert row["slices"]["requested"] > 0
    assert now_us > 3 * US_PER_DAY
    assert row["utilisation"] > 0.4, "the mean starts when the pod joins"
    assert row["cube_availability"] == pytest.approx(1.0)
    assert [row["name"] for row in client.get("/v1/fabrics").json()] == ["pod-0", "pod-1", "pod-7"]


def test_a_trace_with_thousands_of_requests_at_one_time_is_read_in_slices(twin: DrivenTwin) -> None:
    """In one cascade they would exceed the number of messages that a root message may cause."""
    rows = 1_700
    quiet = {"failures": {"enabled": False}, "transceivers": {"telemetry_interval_s": 0}}
    settings = {"pod": {"cubes": 4}, "trace": [ROW] * rows} | quiet
    receipt = send_request(twin.client(), {"name": "pod-1", "site": "campus", "settings": settings}).json()
    assert receipt["status"] == "accepted"
    twin.advance(0.001)
    begun_us = [m["at_us"] for m in twin.messages("campus") if m["type"] == "SliceRequested"]
    assert len(begun_us) == rows
    assert sorted(set(begun_us)) == [receipt["at_us"] + n for n in range(4)]
    assert twin.audited("campus")["log_clean"]


def test_a_commissioned_fabric_survives_a_restart_and_a_replay(twin: DrivenTwin) -> None:
    send_request(twin.client(), REQUESTED)
    twin.advance(24.0)
    audit = twin.audited("campus")
    assert (audit["log_clean"], audit["states_clean"]) == (True, True), audit
    assert audit["fabrics"] == ["pod-0", "pod-1"]
    twin.twin.stop()
    digest = twin.twin.sites[0].digest()
    restarted = twin.runner(0, "campus")
    assert restarted.recover() == 0
    assert (restarted.site.fabrics, restarted.digest()) == (["pod-0", "pod-1"], digest)
    replayed = twin.runner(0, "campus")
    assert replayed.rebuild() == len(twin.messages("campus"))
    assert (replayed.site.fabrics, replayed.digest()) == (["pod-0", "pod-1"], digest)


def test_a_name_is_used_only_once(twin: DrivenTwin) -> None:
    client = twin.client()
    first = send_request(client, REQUESTED, key="one").json()
    log = twin.messages("campus")
    assert send_request(client, REQUESTED, key="one").json() == first | {"repeated": True}
    for body, key in ((REQUESTED, None), (REQUESTED, "two"), ({**REQUESTED, "settings": {}}, "three")):
        assert refusal(client, body, key) == (
            "name pod-1: is already a fabric of campus, or requested as one; fabric names are unique in "
            "a twin and never reused"
        )
    assert "was used for another request" in refusal(client, {**REQUESTED, "settings": {}}, "one")
    twin.advance(0.0)
    assert twin.messages("campus") == log
    assert twin.store.size(0) == 0


def test_a_fabric_joins_while_the_clock_is_paused(tmp_path: Any) -> None:
    twin = DrivenTwin(tmp_path, [], plans=PLANS)
    client = twin.client()
    twin.twin.stop()
    twin._loop.join()
    answer = client.post("/v1/fabrics", json=REQUESTED)
    assert (answer.status_code, answer.json()["status"]) == (202, "received")
    assert (
        "name pod-1: is already a fabric of campus, or requested as one; fabric names are unique"
        in refusal(client, REQUESTED)
    )
    assert [row["name"] for row in client.get("/v1/fabrics").json()] == ["pod-0", "pod-7"]
    assert client.get("/v1/cubes?fabric=pod-1").status_code == 404
    assert client.get("/metrics").status_code == 200
    twin.close()


def test_a_reserved_name_without_a_fabric_can_be_used_by_its_site(twin: DrivenTwin) -> None:
    """A gateway died after it reserved the name and before it requested the fabric."""
    assert twin.ports.claim("pod-1", "campus") == "campus"
    client = twin.client()
    assert (
        "name pod-1: is requested as a fabric of site campus; a pod cannot move to another site"
        in refusal(client, REQUESTED | {"site": "annex"})
    )
    assert send_request(client, REQUESTED).json()["status"] == "accepted"


@pytest.mark.parametrize("terms", [{"params": {"wait": 99}}, {"headers": {"Idempotency-Key": "k" * 300}}])
def test_a_refused_request_does_not_reserve_the_name(twin: DrivenTwin, terms: dict[str, Any]) -> None:
    client = twin.client()
    assert client.post("/v1/fabrics", json=REQUESTED, **terms).status_code == 422
    elsewhere = REQUESTED | {"site": "annex"}
    assert send_request(client, elsewhere).json()["status"] == "accepted"


def test_a_key_of_another_request_does_not_reserve_the_name(twin: DrivenTwin) -> None:
    client = twin.client()
    drained = client.post("/v1/cubes/pod-0/cube-1/drain", headers={"Idempotency-Key": "k"})
    assert drained.status_code in (200, 202)
    assert "was used for another request" in refusal(client, REQUESTED, "k")
    assert send_request(client, REQUESTED | {"site": "annex"}).json()["status"] == "accepted"


def test_a_refused_request_is_refused_again_under_its_key(twin: DrivenTwin) -> None:
    client = twin.client()
    used_name = REQUESTED | {"name": "pod-0"}
    assert "is already a fabric of campus" in refusal(client, used_name, "again")
    assert "is already a fabric of campus" in refusal(client, used_name, "again")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "99999999999999999999", "9" * 400])
@pytest.mark.parametrize("where", ['{"failures": {"until_days": %s}}', '{"trace": [{"submit_us": %s}]}'])
def test_a_number_that_json_cannot_write_is_refused(shared_twin: DrivenTwin, number: str, where: str) -> None:
    content = f'{{"name": "pod-1", "site": "campus", "settings": {where % number}}}'
    places = shared_twin.store.fabrics()
    answer = shared_twin.client().post(
        "/v1/fabrics", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    name = "failures.until_days" if "until" in where else "trace.0.submit_us"
    assert answer.json()["error"].startswith(f"settings: {name}: ")
    assert "; must be " in answer.json()["error"]
    assert (shared_twin.store.fabrics(), shared_twin.store.size(0)) == (places, 0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "pod-7"}, "name pod-7: is a fabric of site annex; a pod cannot move to another site"),
        ({"name": "Pod 1"}, "name 'Pod 1': must be a fabric name like pod-4"),
        ({"name": "pod-01"}, "name 'pod-01': must be a fabric name like pod-4"),
        *[
            (
                {"name": f"{word}-4"},
                f"name {word}-4: is the name of an object in a fabric; must be a fabric name",
            )
            for word in sorted(POD_NAMING.first_words | NETWORK_NAMING.first_words)
        ],
        (
            {"site": "moon"},
            "site 'moon': no such site; must be one of campus, annex; sites are only created with",
        ),
        ({"kind": "wan"}, "kind 'wan': no such kind of fabric; must be one of superpod, static-pod, dcn"),
        ({"settings": {"pod": {"cubes": 3}}}, "settings: pod.cubes: 3 is not allowed; must be at least"),
        ({"settings": {"pods": 1}}, "settings: pods: no such field"),
        (
            {"settings": {"kind": "static-pod"}},
            "settings: kind: 'static-pod' is not allowed; must be superpod",
        ),
        ({"settings": {"seed": 2**70}}, f"settings: seed: {2**70} is not allowed; must be at most"),
        ({"settings": {"seed": "\ud800"}}, "settings: must be valid UTF-8"),
        (
            {"settings": {"workload": {"slices_per_day": float("nan")}}},
            "settings: workload.slices_per_day: nan is not allowed; must be a finite number",
        ),
        ({"settings": {"trace": [ROW | {"duration_us": 2**64 - 1}]}}, "settings: trace.0.duration_us: 18446"),
        (
            {"settings": {"trace": [ROW, ROW | {"shape": [5, 5, 5]}]}},
            "settings: trace.1 (submit_us 0): shape 5x5x5: sides must be multiples of 4",
        ),
        (
            {"settings": {"trace": [ROW] * 60_001}},
            "; must have at most 29,000 items",
        ),
        (
            {"settings": {"nope": {"a": [1]}}},
            "settings: nope: no such field; must be one of kind, seed, faults, pod, workload,",
        ),
        (
            {"settings": {"trace": [ROW | {"colour": "red"}]}},
            "settings: trace.0.colour: no such field; must be one of submit_us, duration_us,",
        ),
        ({"settings": {"pod": [4]}}, "settings: pod: [4] is not allowed; must be a JSON object"),
        (
            {"settings": {"transceivers": {"down_above_ber": 1e-5}}},
            "settings: transceivers.degraded_above_ber: 2e-05 is not allowed; must be at most",
        ),
        # Only the plant can show this. On the log, it would stop every service that folds it.
        (
            dcn({"count": 1024}, {"count": 1024}),
            "settings: network: blocks 2048: must be between 2 and 1,024; the nearest is 1024",
        ),
        (
            dcn({"count": 2}, {"pod": "pod-77"}),
            "dcn-1/block-2: pod pod-77 is not a pod of the site, which has",
        ),
        (
            {"settings": {"workload": {"mix": "16x16x16=1"}, "pod": {"cubes": 8}}},
            "settings: workload.mix: 16x16x16=1 is not allowed; the smallest shape takes 64 cubes",
        ),
        ({"kind": ["superpod"]}, 'kind: ["superpod"] is not allowed; must be a string'),
        ({"colour": 1}, "colour: no such field; must be one of name, site, kind, settings"),
        ({"settings": 7}, "settings: 7 is not allowed; must be a JSON object"),
    ],
)
def test_a_refused_fabric_changes_nothing(
    shared_twin: DrivenTwin, change: dict[str, Any], sentence: str
) -> None:
    places = shared_twin.store.fabrics()
    assert sentence in refusal(shared_twin.client(), REQUESTED | change)
    assert (shared_twin.store.fabrics(), shared_twin.store.size(0)) == (places, 0)


def test_an_emptied_store_does_not_deny_that_the_site_exists(twin: DrivenTwin) -> None:
    emptied = twin.client(unready=lambda: ["Redis at r no longer has a twin"])
    answer = send_request(emptied, REQUESTED | {"site": "lost"})
    assert answer.status_code == 503
    assert answer.json()["error"] == "site 'lost': cannot be looked up now: Redis at r no longer has a twin"
    assert refusal(twin.client(), REQUESTED | {"site": "lost"}).startswith(
        "site 'lost': no such site; must be one of campus, annex; sites are only created with"
    )
