"""A fabric joins a living site: once, at the clock's time, and for good."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_DAY
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

SMALL = ["pod.cubes=4", *QUIET]
PLANS = (
    SitePlan(site="campus", fabrics={"pod-0": config_from_pairs("static-pod", QUIET, seed=3)}),
    SitePlan(site="annex", fabrics={"pod-7": config_from_pairs("superpod", SMALL, seed=3)}),
)
ASKED: dict[str, Any] = {
    "name": "pod-1",
    "site": "campus",
    "settings": {"seed": 5, "pod": {"cubes": 8}, "workload": {"offered_load": 0.9}},
}
ROW = {"submit_us": 0, "duration_us": 10**9, "shape": [4, 4, 4], "twisted": False, "priority": 0}
THREE_DAYS_H = 72.1
"""And a moment at which nothing else happens."""


@pytest.fixture
def twin(tmp_path: Any) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path, [], plans=PLANS)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """The same twin for all tests of what is refused: they leave it as it is."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=PLANS)
    yield twin
    twin.close()


def dcn(*blocks: dict[str, Any]) -> dict[str, Any]:
    """What is asked for where a network is to join."""
    return {"name": "dcn-1", "kind": "dcn", "settings": {"network": {"blocks": blocks}}}


def ask(client: Client, body: dict[str, Any], key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/v1/fabrics", json=body, params={"wait": 20}, headers=headers)


def refusal(client: Client, body: dict[str, Any], key: str | None = None) -> str:
    answer = ask(client, body, key)
    assert answer.status_code == 422, answer.text
    return str(answer.json()["error"])


def test_settings_are_measured_before_they_are_validated(unchanged: DrivenTwin) -> None:
    many: dict[str, Any] = {f"k{number}": [] for number in range(20_000)}
    sentence = refusal(unchanged.client(), ASKED | {"settings": many})
    assert "bytes besides the trace; must have at most 65,536" in sentence
    rows = [ROW, ROW | {"priority": "high"}, *[{"colour": 1}] * 28_000]
    assert refusal(unchanged.client(), ASKED | {"settings": {"trace": rows}}) == (
        "settings: trace.1.priority: 'high' is not allowed; must be a whole number"
    )


@pytest.mark.slow("three days of a driven twin")
def test_a_pod_that_joins_at_day_three_begins_then(twin: DrivenTwin) -> None:
    client = twin.client()
    twin.advance(THREE_DAYS_H)
    before, now_us = len(twin.messages("campus")), twin.clock.show().now_us
    receipt = ask(client, ASKED).json()
    assert (receipt["id"], receipt["status"]) == ("sequencer@pod-1/1", "accepted")
    assert receipt["at_us"] == now_us
    held = {"shape": "4x4x16", "fabric": "pod-1"}
    assert client.post("/v1/slices", json=held, params={"wait": 20}).status_code == 200
    twin.advance(6.0)
    since = twin.messages("campus")[before:]
    assert (since[0]["type"], since[0]["fabric"], since[0]["at_us"]) == (
        "FabricCommissioned",
        "pod-1",
        now_us,
    )
    assert 1 < len(since) < 400, "what three days would have brought is not caught up"
    row = client.get("/v1/fabrics/pod-1").json()
    assert (row["kind"], row["site"], row["cubes"]) == ("superpod", "campus", 8)
    assert row["commissioned_us"] == now_us
    assert client.get("/v1/config/pod-1").json()["workload"]["offered_load"] == 0.9
    assert row["slices"]["requested"] > 0
    assert now_us > 3 * US_PER_DAY
    assert row["utilisation"] > 0.4, "the mean counts from the pod's own beginning"
    assert row["cube_availability"] == pytest.approx(1.0)
    assert [row["name"] for row in client.get("/v1/fabrics").json()] == ["pod-0", "pod-1", "pod-7"]


def test_a_trace_of_thousands_at_one_instant_is_taken_in_slices(twin: DrivenTwin) -> None:
    """As one cascade they would be more than a root message may lead to."""
    rows = 1_700
    quiet = {"failures": {"enabled": False}, "transceivers": {"telemetry_interval_s": 0}}
    settings = {"pod": {"cubes": 4}, "trace": [ROW] * rows} | quiet
    receipt = ask(twin.client(), {"name": "pod-1", "site": "campus", "settings": settings}).json()
    assert receipt["status"] == "accepted"
    twin.advance(0.001)
    begun_us = [m["at_us"] for m in twin.messages("campus") if m["type"] == "SliceRequested"]
    assert len(begun_us) == rows
    assert sorted(set(begun_us)) == [receipt["at_us"] + n for n in range(4)]
    assert twin.audited("campus")["log_clean"]


def test_it_is_there_after_a_restart_and_after_a_rebuild(twin: DrivenTwin) -> None:
    ask(twin.client(), ASKED)
    twin.advance(24.0)
    audit = twin.audited("campus")
    assert (audit["log_clean"], audit["states_clean"]) == (True, True), audit
    assert audit["fabrics"] == ["pod-0", "pod-1"]
    twin.twin.stop()
    digest = twin.twin.sites[0].digest()
    again = twin.runner(0, "campus")
    assert again.recover() == 0
    assert (again.site.fabrics, again.digest()) == (["pod-0", "pod-1"], digest)
    anew = twin.runner(0, "campus")
    assert anew.rebuild() == len(twin.messages("campus"))
    assert (anew.site.fabrics, anew.digest()) == (["pod-0", "pod-1"], digest)


def test_a_name_is_given_once(twin: DrivenTwin) -> None:
    client = twin.client()
    first = ask(client, ASKED, key="one").json()
    log = twin.messages("campus")
    assert ask(client, ASKED, key="one").json() == first | {"repeated": True}
    for body, key in ((ASKED, None), (ASKED, "two"), ({**ASKED, "settings": {}}, "three")):
        assert refusal(client, body, key) == (
            "name pod-1: is already a fabric of campus, or requested as one; fabric names are unique in "
            "a twin and never reused"
        )
    assert "was used for another request" in refusal(client, {**ASKED, "settings": {}}, "one")
    twin.advance(0.0)
    assert twin.messages("campus") == log
    assert twin.store.size(0) == 0


def test_while_time_stands_still_a_fabric_is_still_to_join(tmp_path: Any) -> None:
    twin = DrivenTwin(tmp_path, [], plans=PLANS)
    client = twin.client()
    twin.twin.stop()
    twin._loop.join()
    answer = client.post("/v1/fabrics", json=ASKED)
    assert (answer.status_code, answer.json()["status"]) == (202, "received")
    assert (
        "name pod-1: is already a fabric of campus, or requested as one; fabric names are unique"
        in refusal(client, ASKED)
    )
    assert [row["name"] for row in client.get("/v1/fabrics").json()] == ["pod-0", "pod-7"]
    assert client.get("/v1/cubes?fabric=pod-1").status_code == 404
    assert client.get("/metrics").status_code == 200
    twin.close()


def test_a_name_that_was_taken_and_never_used_can_be_used_by_its_site(twin: DrivenTwin) -> None:
    """A gateway died between the two."""
    assert twin.ports.claim("pod-1", "campus") == "campus"
    client = twin.client()
    assert (
        "name pod-1: is requested as a fabric of site campus; a pod cannot move to another site"
        in refusal(client, ASKED | {"site": "annex"})
    )
    assert ask(client, ASKED).json()["status"] == "accepted"


@pytest.mark.parametrize("terms", [{"params": {"wait": 99}}, {"headers": {"Idempotency-Key": "k" * 300}}])
def test_what_is_refused_does_not_take_the_name(twin: DrivenTwin, terms: dict[str, Any]) -> None:
    client = twin.client()
    assert client.post("/v1/fabrics", json=ASKED, **terms).status_code == 422
    elsewhere = ASKED | {"site": "annex"}
    assert ask(client, elsewhere).json()["status"] == "accepted"


def test_a_key_of_another_request_does_not_take_the_name(twin: DrivenTwin) -> None:
    client = twin.client()
    drained = client.post("/v1/cubes/pod-0/cube-1/drain", headers={"Idempotency-Key": "k"})
    assert drained.status_code in (200, 202)
    assert "was used for another request" in refusal(client, ASKED, "k")
    assert ask(client, ASKED | {"site": "annex"}).json()["status"] == "accepted"


def test_what_was_refused_is_refused_again_under_its_key(twin: DrivenTwin) -> None:
    client = twin.client()
    taken = ASKED | {"name": "pod-0"}
    assert "is already a fabric of campus" in refusal(client, taken, "again")
    assert "is already a fabric of campus" in refusal(client, taken, "again")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "99999999999999999999", "9" * 400])
@pytest.mark.parametrize("where", ['{"failures": {"until_days": %s}}', '{"trace": [{"submit_us": %s}]}'])
def test_a_number_that_cannot_be_written_down_is_refused(
    unchanged: DrivenTwin, number: str, where: str
) -> None:
    content = f'{{"name": "pod-1", "site": "campus", "settings": {where % number}}}'
    places = unchanged.store.fabrics()
    said = unchanged.client().post(
        "/v1/fabrics", content=content, headers={"Content-Type": "application/json"}
    )
    assert said.status_code == 422
    name = "failures.until_days" if "until" in where else "trace.0.submit_us"
    assert said.json()["error"].startswith(f"settings: {name}: ")
    assert "; must be " in said.json()["error"]
    assert (unchanged.store.fabrics(), unchanged.store.size(0)) == (places, 0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "pod-7"}, "name pod-7: is a fabric of site annex; a pod cannot move to another site"),
        ({"name": "Pod 1"}, "name 'Pod 1': must be a fabric name like pod-4"),
        ({"name": "pod-01"}, "name 'pod-01': must be a fabric name like pod-4"),
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
            "settings: nope: no such field; must be one of kind, seed, pod, workload,",
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
        # What only a look at the plant tells: taken on the log, it would end every service that folds it.
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
def test_what_may_not_join_changes_nothing(
    unchanged: DrivenTwin, change: dict[str, Any], sentence: str
) -> None:
    places = unchanged.store.fabrics()
    assert sentence in refusal(unchanged.client(), ASKED | change)
    assert (unchanged.store.fabrics(), unchanged.store.size(0)) == (places, 0)


def test_a_store_that_was_emptied_does_not_say_that_there_is_no_such_site(twin: DrivenTwin) -> None:
    emptied = twin.client(unready=lambda: ["Redis at r no longer has a twin"])
    answer = ask(emptied, ASKED | {"site": "lost"})
    assert answer.status_code == 503
    assert answer.json()["error"] == "site 'lost': cannot be looked up now: Redis at r no longer has a twin"
    assert refusal(twin.client(), ASKED | {"site": "lost"}).startswith(
        "site 'lost': no such site; must be one of campus, annex; sites are only created with"
    )
