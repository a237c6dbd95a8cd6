"""Forecasts over the API: started, followed, read and cancelled."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.api.forecast import ForecastOrder, ForecastReport, ForecastRequest
from services.forecasts.futures import run_future
from services.forecasts.jobs import KEPT_MAX, WAITING_MAX, ForecastJobs
from services.gateway.http.access.caller import RIGHTS, Caller, Role, removal_denial, right_needed
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_HOUR, US_PER_MIN
from shared.storage.snapshots.site_snapshot import from_bytes
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

WAIT_S = 120.0
SHORT = {"days": 0.05, "futures": 2}
LONG = {"days": 3_000, "futures": 2}
COMMISSIONED, LAST = "sequencer@pod-0/1", "the last message"
DRAIN = {"change": "drain", "target": "pod-0/cube-3", "after_s": 600}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    folder: Path = tmp_path_factory.mktemp("twin")
    driven = DrivenTwin(folder, ["pod.cubes=8", "failures.host_per_day=0.02"])
    driven.advance(3.0)
    yield driven
    driven.close()


def finished(client: Client, body: dict[str, Any], path: str = "/v1/forecasts") -> ForecastReport:
    started = client.post(path, json=body)
    assert started.status_code == 202, started.text
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        answer = client.get(started.headers["location"])
        if answer.json()["status"] not in ("queued", "running"):
            return ForecastReport.model_validate_json(answer.content)
        time.sleep(0.1)
    raise AssertionError(f"not finished: {answer.text}")


def test_a_forecast_reports_the_measures_of_its_futures(twin: DrivenTwin) -> None:
    client = twin.client()
    before = len(twin.messages())
    report = finished(client, SHORT | {"changes": [DRAIN]})
    assert (report.status, report.futures_done, report.site) == ("done", 2, "pod-0")
    assert report.result is not None
    snapshot = from_bytes(client.get("/v1/snapshots/pod-0?at=now").content)
    for each in report.result.each:
        future = run_future(snapshot, report.at_us, round(1.2 * US_PER_HOUR), salt=each.future)
        assert future.figures == each.without
        assert each.requested is not None
    rows = {row.name: row for row in report.result.rows}
    assert rows["goodput"].difference is not None
    assert rows["goodput"].difference.runs == 2
    assert len(twin.messages()) == before, "the twin does not change"
    assert report.id in [row["id"] for row in client.get("/v1/forecasts").json()]


def test_one_future_reports_its_events(twin: DrivenTwin) -> None:
    report = finished(twin.client(), {"days": 0.05, "future": 3, "changes": [DRAIN]})
    assert report.result is None
    assert report.single is not None
    assert report.single.requested is not None
    assert [event.type for event in report.single.requested.notable][:1] == ["RekeyDraws"]
    assert "CubeDrained" in {event.type for event in report.single.requested.notable}


def test_a_change_that_every_future_refuses_is_refused(twin: DrivenTwin) -> None:
    undrain = {"change": "undrain", "target": "pod-0/cube-3"}
    report = finished(twin.client(), SHORT | {"changes": [undrain]})
    assert (report.status, report.result) == ("refused", None)
    assert report.error == "cube: 'pod-0/cube-3' is not drained"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"days": 0.001, "changes": [DRAIN]}, "changes.0.after_s 600: is after the end of the futures"),
        (
            {"days": 1, "changes": [DRAIN | {"after_s": 86_401}]},
            "changes.0.after_s 86401: is after the end of",
        ),
        ({"changes": [{"change": "repair", "target": "pod-0/ocs-1"}]}, "changes.0: target 'pod-0/ocs-1'"),
        (
            {"changes": [{"change": "set", "parameters": {"failures.host_per_day": 200.0}}]},
            "changes.0: pod-0: failures.host_per_day: 200.0 is not allowed",
        ),
        (
            {"changes": 2 * [{"change": "set", "parameters": {"failures.host_per_day": 0.1}}]},
            "changes.1: failures.host_per_day: set twice",
        ),
        ({"site": "campus"}, "site 'campus': no such site; must be one of pod-0"),
        ({"at": "900d"}, "at '900d': is in the future; must be at most"),
        ({"days": 1e-13}, "days 1e-13: is less than 1 µs"),
        ({"futures": 0}, "futures: 0 is not allowed; must be at least 2"),
    ],
)
def test_an_invalid_request_is_refused_with_a_sentence(
    twin: DrivenTwin, body: dict[str, Any], sentence: str
) -> None:
    answer = twin.client().post("/v1/forecasts", json=body)
    assert answer.status_code == 422
    assert str(answer.json()["error"]).startswith(sentence), answer.text


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("pod-0/cube-99", "changes.0: cube 'pod-0/cube-99': "),
        ("pod-9/cube-1", "changes.0: fabric 'pod-9': no such fabric"),
    ],
)
@pytest.mark.parametrize("change", ["drain", "undrain"])
def test_a_change_of_a_missing_object_is_not_found(
    twin: DrivenTwin, change: str, target: str, sentence: str
) -> None:
    answer = twin.client().post("/v1/forecasts", json={"changes": [{"change": change, "target": target}]})
    assert answer.status_code == 404
    assert str(answer.json()["error"]).startswith(sentence), answer.text


def test_few_forecasts_wait_and_each_can_be_cancelled(twin: DrivenTwin) -> None:
    client = twin.client()
    starts = [client.post("/v1/forecasts", json=LONG) for _ in range(WAITING_MAX + 2)]
    assert [answer.status_code for answer in starts] == [202] * (WAITING_MAX + 1) + [429]
    assert int(starts[-1].headers["retry-after"]) > 0
    assert "5 are queued or running, and no more may be" in starts[-1].json()["error"]
    for answer in starts[:-1]:
        path = answer.headers["location"]
        assert client.request("DELETE", path).json()["status"] == "cancelled"
        assert client.get(path).json()["status"] == "cancelled", "the reason is reported to a waiting client"
        assert client.request("DELETE", path).json()["status"] == "cancelled"
    completed = finished(client, SHORT)
    assert completed.status == "done"
    path = f"/v1/forecasts/{completed.id}"
    assert client.request("DELETE", path).json()["status"] == "done"
    assert [client.request(method, path).status_code for method in ("GET", "DELETE")] == [404, 404]


def test_the_last_cancelled_and_finished_forecasts_are_kept(twin: DrivenTwin) -> None:
    client = twin.client()
    names = [client.post("/v1/forecasts", json=LONG).json()["id"] for _ in range(3)]
    for name in names:
        client.request("DELETE", f"/v1/forecasts/{name}")
    later = []
    for _ in range(KEPT_MAX - 1):
        later.append(client.post("/v1/forecasts", json=LONG).json()["id"])
        client.request("DELETE", f"/v1/forecasts/{later[-1]}")
    rows = client.get("/v1/forecasts").json()
    assert [(row["id"], row["status"]) for row in rows] == [
        (name, "cancelled") for name in [names[-1], *later]
    ]


def test_a_repeated_request_with_the_same_key_starts_once(twin: DrivenTwin) -> None:
    client, headers = twin.client(), {"Idempotency-Key": "once"}
    first, second = (client.post("/v1/forecasts", json=LONG, headers=headers).json() for _ in range(2))
    assert first["id"] == second["id"]
    conflicting = client.post("/v1/forecasts", json=SHORT, headers=headers)
    assert (conflicting.status_code, conflicting.json()["error"]) == (
        422,
        "Idempotency-Key 'once': was used for another forecast; must be new",
    )
    client.request("DELETE", f"/v1/forecasts/{first['id']}")


def test_the_time_from_which_an_event_was_likely(twin: DrivenTwin) -> None:
    client = twin.client()
    fault = client.post(
        "/v1/faults", json={"kind": "cube-power", "target": "pod-0/cube-5"}, params={"wait": 20}
    )
    assert fault.json()["status"] == "accepted"
    twin.advance(0.2)
    before = len(twin.messages())
    body = {"event": "pod-0/cube-5", "back_s": 3_600, "moments": 2, "futures": 3, "within_s": 60}
    report = finished(client, body, "/v1/forecasts/inevitable")
    assert (report.status, report.futures, report.futures_done, report.changes) == ("done", 6, 6, ())
    assert report.id.startswith("inevitable-")
    inevitability = report.inevitability
    assert inevitability is not None
    (event, *_) = client.get("/v1/why/pod-0/cube-5").json()
    assert (inevitability.id, inevitability.type, inevitability.at_us) == (
        event["id"],
        event["type"],
        event["at_us"],
    )
    assert [row.before_us for row in inevitability.moments] == [US_PER_HOUR, US_PER_MIN]
    assert [(row.same, row.futures) for row in inevitability.moments] == [(3, 3), (3, 3)], (
        "the request is repeated"
    )
    assert inevitability.since_us is None, "three futures are too few for an answer"
    assert (report.at_us, report.result, report.single) == (event["at_us"] - US_PER_HOUR, None, None)
    assert len(twin.messages()) == before, "the twin does not change"


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"event": "scheduler@pod-0/999999"}, 404, "message 'scheduler@pod-0/999999': not on any log"),
        ({"event": "pod-0/cube-99"}, 404, ""),
        ({"event": COMMISSIONED}, 422, "event 'sequencer@pod-0/1': happened in the twin's first 1m"),
        (
            {"event": LAST, "futures": 9_000, "moments": 2},
            422,
            "futures 9000: 2 start points × 9000 futures are too many",
        ),
        (
            {"event": LAST, "futures": 5_000, "moments": 2, "within_s": 10**7},
            422,
            "futures 5000: 2 start points × 5000 futures simulate 1,158,045 days; must be at most 100,000 ",
        ),
        ({"event": LAST, "moments": 65}, 422, "moments: 65 is not allowed; must be at most 64"),
        ({}, 422, "event: "),
    ],
)
def test_an_event_without_a_likely_time_is_refused_with_a_sentence(
    twin: DrivenTwin, body: dict[str, Any], status: int, sentence: str
) -> None:
    if body.get("event") == LAST:
        body = body | {"event": twin.client().get("/v1/events", params={"ticks": False}).json()[-1]["id"]}
    answer = twin.client().post("/v1/forecasts/inevitable", json=body)
    assert answer.status_code == status
    assert str(answer.json()["error"]).startswith(sentence), answer.text


def test_a_gateway_that_shuts_down_starts_no_forecast() -> None:
    jobs = ForecastJobs(cores=1)
    jobs.close()
    order = ForecastOrder(ForecastRequest(), None, "pod-0", 0, bytes, ())
    with pytest.raises(OperationFailed, match="the gateway is shutting down; retry when it runs again"):
        jobs.start(order)


def test_a_reader_may_start_forecasts_and_cancel_its_own() -> None:
    reader, operator = Caller("rita", Role.READER), Caller("olaf", Role.OPERATOR)
    for method in ("GET", "POST", "DELETE"):
        assert right_needed(method, "/v1/forecasts/forecast-1") in RIGHTS[reader.role]
    assert removal_denial(reader, "rita") is None
    assert removal_denial(operator, "rita") is None
    assert (
        removal_denial(reader, "olaf")
        == "was started by olaf; only olaf, or a role that may request slices and drains, can cancel it"
    )
    assert (
        removal_denial(reader, None)
        == "was started by a client without a name; only a role that may request slices and drains can "
        "cancel it"
    )
