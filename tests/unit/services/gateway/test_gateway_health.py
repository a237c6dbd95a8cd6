"""The clock of the gateway, its health, metrics and description of its API."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from shared.basics.errors import StoreUnreachable
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, check_sentence

pytestmark = pytest.mark.integration

JSON = {"content-type": "application/json"}
NOW = ("queued", "programming", "degraded", "recovering")
FAULTY = "pod-0/cube-7/host-1"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Two pods; the first has a slice and a fault."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET], pods=2)
    busy = twin.client()
    for path, body in (("slices", {"shape": "4x4x4"}), ("faults", {"kind": "host", "target": FAULTY})):
        assert busy.post(f"/v1/{path}", json=body, params={"wait": 20}).status_code == 200
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


# --- the clock ----------------------------------------------------------------------------------------------


def test_the_clock_is_shown_and_set(twin: DrivenTwin, client: Client) -> None:
    shown = client.get("/v1/clock").json()
    assert shown.keys() >= {"now_us", "speed", "paused"}
    assert (shown["speed"], shown["paused"]) == (1.0, False)
    assert client.post("/v1/clock/pause").json()["paused"] is True
    assert client.post("/v1/clock/resume").json()["paused"] is False
    assert client.request("PUT", "/v1/clock/speed", json={"speed": 50}).json()["speed"] == 50
    assert twin.clock.show().speed == 50
    both = client.request("PUT", "/v1/clock", json={"speed": 2, "paused": True}).json()
    assert (both["speed"], both["paused"]) == (2, True)
    client.request("PUT", "/v1/clock", json={"speed": 1, "paused": False})
    answer = [(row["who"], row["type"], row["body"]["speed"]) for row in client.get("/v1/operations").json()]
    assert answer[-4:] == [("anonymous", "ClockChanged", speed) for speed in (1, 50, 2, 1)]
    assert client.get("/v1/operations?start=1&limit=2").json() == client.get("/v1/operations").json()[1:3]


@pytest.mark.parametrize("speed", [b"0", b"-1", b"NaN", b"Infinity", b"1e400", b"1e10", b'"fast"', b"null"])
def test_an_invalid_speed_is_refused(client: Client, speed: bytes) -> None:
    answer = client.request("PUT", "/v1/clock/speed", content=b'{"speed": ' + speed + b"}", headers=JSON)
    assert answer.status_code == 422
    check_sentence(answer.json(), "speed")


# --- the gateway itself -------------------------------------------------------------------------------------


def test_an_unreachable_store_is_reported(twin: DrivenTwin) -> None:
    sentence = "Redis at nowhere does not answer: gone"

    class Gone:
        def __getattr__(self, _name: str) -> Callable[..., Any]:
            def fail(*_arguments: object) -> Any:
                raise StoreUnreachable(sentence)

            return fail

    client = twin.client(documents=Gone(), inbox=Gone())
    kinds = ("fabrics", "ocs", "cubes", "hosts", "links", "slices", "faults", "verdicts", "repairs")
    paths = [*(f"{kind}" for kind in kinds), "trace/pod-0/cube-0/+x/0", "describe/ocs/pod-0/ocs-1", "why/a/1"]
    answers = [client.get(f"/v1/{path}") for path in paths]
    answers.append(client.post("/v1/slices", json={"shape": "4x4x4"}))
    assert {(answer.status_code, answer.json()["error"]) for answer in answers} == {(503, sentence)}
    assert client.get("/metrics").status_code == 200
    assert client.get("/v1/events").status_code == 200


def test_an_unexpected_error_is_reported_in_one_sentence(twin: DrivenTwin) -> None:
    client = twin.client(documents=None)
    answer = client.get("/v1/cubes")
    assert answer.status_code == 500
    check_sentence(answer.json(), "GET /v1/cubes: internal error: AttributeError; see the gateway's log")


def test_health_names_the_problem(twin: DrivenTwin, client: Client) -> None:
    assert client.get("/healthz").json() == {"healthy": True, "problems": [], "notes": []}
    twin.problems.append("Redis does not answer")
    answer = client.get("/healthz")
    twin.problems.clear()
    assert answer.status_code == 503
    assert answer.json() == {"healthy": False, "problems": ["Redis does not answer"], "notes": []}


def test_a_failed_optional_component_is_logged_and_the_twin_stays_healthy(twin: DrivenTwin) -> None:
    client = twin.client(notes=lambda: ["snapshots /s: No space left on device"])
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {
        "healthy": True,
        "problems": [],
        "notes": ["snapshots /s: No space left on device"],
    }
    assert client.get("/readyz").json()["notes"] == []
    assert "lightwave_healthy 1.0" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "statuses"), [("/livez", [200, 200]), ("/readyz", [503, 200]), ("/healthz", [200, 503])]
)
def test_each_probe_reports_its_own_condition(twin: DrivenTwin, path: str, statuses: list[int]) -> None:
    unready = twin.client(unready=lambda: ["the copy of the log still lacks 7 records"]).get(path)
    unwell = twin.client(health=lambda: ["no worker of ocs holds pod-0"]).get(path)
    assert [unready.status_code, unwell.status_code] == statuses
    for answer in (unready, unwell):
        assert answer.json()["healthy"] is (answer.status_code == 200) is (answer.json()["problems"] == [])


def test_metrics_can_be_read_by_prometheus(twin: DrivenTwin, client: Client) -> None:
    client.request("BREW", "/v1/cubes")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    rows = {row["name"]: row for row in client.get("/v1/fabrics").json()}

    def values(name: str) -> dict[tuple[str, ...], float]:
        return {tuple(s.labels.values()): s.value for s in families[f"lightwave_{name}"].samples}

    assert values("cubes_healthy") == {(name,): row["healthy"] for name, row in rows.items()}
    assert values("log_messages") == {(name,): row["position"] for name, row in rows.items()}
    assert families["lightwave_log_messages"].type == "counter"
    slices = {(n, s): c for n, row in rows.items() for s, c in row["slices"].items() if s in NOW}
    slices_by_state = values("slices")
    assert {key: slices_by_state[key] for key in slices} == slices
    on_cubes = {name: sum(slices_by_state[name, state] for state in (*NOW[1:], "running")) for name in rows}
    assert on_cubes == {name: row["slices"]["active"] for name, row in rows.items()}
    assert values("utilisation_ratio") == {(n,): row["utilisation_now"] for n, row in rows.items()}
    assert values("slice_wait_seconds")["pod-1", "0.5"] == 0
    kinds = {(n, kind): count for n, row in rows.items() for kind, count in row["faults_begun"].items()}
    assert values("faults_begun") == kinds
    ends = {(name, s): n for name, row in rows.items() for s, n in row["links"].items()}
    assert values("link_ends") == ends
    assert values("speed_requested") == {(): 1.0}
    assert values("healthy") == {(): 1.0}
    assert families["lightwave_runtime_commits"].type == "counter"
    answered = {(s.labels["method"], s.labels["status"]) for s in families["lightwave_http_requests"].samples}
    assert ("other", "405") in answered
    assert ("GET", "200") in answered


def test_the_api_describes_itself(client: Client) -> None:
    api = client.get("/openapi.json").json()
    assert api["openapi"].startswith("3.")
    documented = set(api["paths"])
    assert documented >= {
        "/v1/events",
        "/v1/trace/{end}",
        "/v1/slices/{name}/release",
        "/healthz",
        "/metrics",
    }
    assert len(documented) >= 30
    names = [operation["operationId"] for path in api["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))
    schemas = set(api["components"]["schemas"])
    assert {text.rpartition("/")[2] for text in references(api)} <= schemas


def references(node: Any) -> Iterator[str]:
    """Every `$ref` in a document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    if isinstance(node, list):
        for value in node:
            yield from references(value)


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/v1/cubes", "/v1/clock", "/v1/events/stream"])
def test_head_is_get_without_its_body(client: Client, path: str) -> None:
    answer = client.request("HEAD", path)
    assert answer.status_code == 200
    assert answer.content == b""
    assert client.request("HEAD", "/v1/cubes/pod-0/cube-99").status_code == 404
