"""Reads of the past: `?at=` returns what the twin answered at that time."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ops.client.differences import differences
from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from schemas.resource_kinds import KINDS
from shared.basics.time_format import format_time, format_time_ms
from shared.basics.units import US_PER_HOUR
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

PAIRS = ["pod.cubes=8", "failures.host_per_day=0.2", "failures.ocs_per_day=0.1"]
PLANS = [
    SitePlan(site="campus", fabrics={"pod-0": config_from_pairs("superpod", PAIRS, seed=3)}),
    SitePlan(site="annex", fabrics={"pod-1": config_from_pairs("static-pod", [], seed=4)}),
]
NAMED = ("fabrics", "cubes", "links", "ocs", "slices", "faults")
OF_NOW = {"speed", "achieved_speed", "paused", "lag_us", "until_us"}
"""Fields of the clock that exist only for the present."""


def paths_of(names: dict[str, str]) -> list[str]:
    """Read paths whose answers have constant size however old the twin is."""
    paths = [f"/v1/{kind}" for kind in KINDS]
    paths += [f"/v1/{kind}/{name}" for kind, name in names.items()]
    paths += [f"/v1/describe/{kind}/{name}" for kind, name in names.items()]
    paths += [f"/v1/goodput?fabric=pod-0&by={by}" for by in ("pod", "tier", "owner", "slice")]
    paths += [f"/v1/explain/slices/{names['slices']}", f"/v1/impact/{names['ocs']}"]
    paths += [
        f"/v1/why/{names['slices']}",
        f"/v1/events?for={names['cubes']}&since=-6h",
        "/v1/events?limit=20",
    ]
    return [*paths, "/v1/events?limit=20", "/v1/trace/pod-0/cube-0/+x/3", "/v1/clock"]


def answer_of(client: Client, path: str, at: str | None = None) -> Any:
    """The body of the answer, or the refusal."""
    path_at = path if at is None else f"{path}{'&' if '?' in path else '?'}at={at.replace('+', '%2B')}"
    answer = client.get(path_at)
    content = json.loads(answer.text)
    if path == "/v1/clock":
        content = {name: value for name, value in content.items() if name not in OF_NOW}
    return answer.status_code, content, answer.headers.get("link")


class History:
    """Two sites that ran for a day, as long as frames are kept, and their answers at several times."""

    def __init__(self, folder: Path) -> None:
        self.twin = DrivenTwin(folder, [], plans=PLANS)
        self.client = self.twin.client()
        self.answers: dict[int, dict[str, Any]] = {}
        for hours in (5.0, 6.0, 6.5, 5.5):
            self.twin.advance(hours)
            parts = ((kind, self._one(kind)) for kind in NAMED)
            paths = paths_of({kind: name for kind, name in parts if name})
            now_us = self.client.get("/v1/clock").json()["now_us"]
            self.answers[now_us] = {path: answer_of(self.client, path) for path in paths}
        assert self.twin.history("campus").take_due_snapshots(every=80) > 3

    def _one(self, kind: str) -> str:
        rows = self.client.get(f"/v1/{kind}", params={"fabric": "pod-0"} if kind != "fabrics" else {}).json()
        return str(rows[-1]["name"]) if rows else ""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    history = History(tmp_path_factory.mktemp("twin"))
    yield history
    history.twin.close()


@pytest.mark.slow("asks every route of many moments of the past")
def test_a_past_read_returns_the_answer_of_that_time(history: History) -> None:
    """All paths, at every recorded time, byte for byte."""
    compared = 0
    for now_us, answers in history.answers.items():
        for path, answer in answers.items():
            status, content, link = answer_of(history.client, path, f"{now_us}us")
            assert (status, content) == answer[:2], (path, now_us)
            assert (link is None) == (answer[2] is None)
            compared += status == 200
    assert compared > 100


@pytest.mark.slow("folds a log up to many of its messages")
def test_after_a_message_means_after_its_whole_cascade(history: History) -> None:
    """The first cube that fails is unhealthy after the message that reports it, and after the Tick that
    caused the report. It was healthy before: the fault had begun, but no heartbeat had shown it."""
    rows = events(history)
    place = next(n for n, row in enumerate(rows) if row["type"] == "CubeUnhealthy")
    cube = f"pod-0/cube-{rows[place]['body']['cube']}"
    tick = next(row for row in reversed(rows[:place]) if row["type"] == "Tick")
    fault = next(row for row in reversed(rows[:place]) if row["type"] == "FaultBegan")
    for message, health in ((rows[place], "unhealthy"), (tick, "unhealthy"), (fault, "healthy")):
        cube_row = history.client.get(f"/v1/cubes/{cube}", params={"at": message["id"]}).json()
        assert cube_row["health"] == health


def events(history: History, **paths_of: Any) -> list[dict[str, Any]]:
    page = history.client.get("/v1/events", params={"fabric": "pod-0", "since_us": 0} | paths_of).json()
    assert isinstance(page, list)
    return page


@pytest.mark.parametrize(
    ("at", "now_us"),
    [
        ("-2h", 21 * US_PER_HOUR),
        ("5h", 5 * US_PER_HOUR),
        ("0d05:00:00", 5 * US_PER_HOUR + 999_999),
        ("0d05:00", 5 * US_PER_HOUR + 59_999_999),
        ("0d23:00:00", 23 * US_PER_HOUR),
        ("18000000001us", 5 * US_PER_HOUR + 1),
        ("0us", 0),
        ("-23h", 0),
    ],
)
def test_a_time_can_be_written_in_every_common_form(history: History, at: str, now_us: int) -> None:
    answer = history.client.get("/v1/clock", params={"at": at})
    assert answer.json() == {
        **history.client.get("/v1/clock").json(),
        "now_us": now_us,
        "paused": True,
        "achieved_speed": 0.0,
        "lag_us": 0,
        "until_us": None,
    }
    assert answer.headers["Lightwave-At-Us"] == str(now_us)


@pytest.mark.parametrize(
    ("path", "at", "status", "sentence"),
    [
        (
            "fabrics",
            "yesterday",
            422,
            "at 'yesterday': must be a duration before now like -2h (or `2h ago`), or a time since",
        ),
        (
            "fabrics",
            "",
            422,
            "at '': must be a duration before now like -2h (or `2h ago`), or a time since",
        ),
        (
            "fabrics",
            "23h1s",
            422,
            "at '23h1s': is in the future; must be at most 0d23:00:00.000 (82800000000 us)",
        ),
        ("fabrics", "9" * 18 + "us", 422, "is in the future; must be at most"),
        (
            "fabrics",
            "-9d",
            422,
            "at '-9d': is before the twin's start; must be at most 0d23:00:00.000 before now",
        ),
        ("fabrics", "9" * 30 + "us", 422, "must be a duration before now like -2h (or `2h ago`)"),
        ("fabrics", "-2h-", 422, "must be a duration before now like -2h (or `2h ago`)"),
        (
            "fabrics",
            "scheduler@pod-9/1",
            404,
            "message 'scheduler@pod-9/1': not on any log; ids are like scheduler@pod-0/42",
        ),
        ("fabrics", "scheduler@pod-0/99999", 404, "not on any log"),
        ("slices/pod-0/slice-9", "0us", 404, "pod-0/slice-9"),
        (
            "events/stream",
            "-1h",
            422,
            "at: must not be used with events/stream, which is about the running twin",
        ),
        ("requests", "-1h", 422, "at: must not be used with requests, which is about the running twin"),
        ("operations", "-1h", 422, "at: must not be used with operations, which is about the running twin"),
        ("fabrics?colour=red", "-1h", 422, "query 'colour': no such parameter"),
    ],
)
def test_an_invalid_time_is_refused_with_one_sentence(
    history: History, path: str, at: str, status: int, sentence: str
) -> None:
    answer = answer_of(history.client, f"/v1/{path}", at)
    assert answer[0] == status
    assert sentence in answer[1]["error"]


LATER = [
    ("slices", "{kind}/{name}"),
    ("slices", "describe/{kind}/{name}"),
    ("slices", "explain/slices/{name}"),
    ("slices", "explain/requests/{name}"),
    ("slices", "why/{name}"),
    ("slices", "events?for={name}"),
    ("slices", "events?fabric=pod-0&for={name}"),
    *((kind, path) for kind in ("faults", "repairs") for path in ("{kind}/{name}", "describe/{kind}/{name}")),
    ("faults", "why/{name}"),
    ("repairs", "why/{name}"),
    ("faults", "events?for={name}"),
]
"""Kind → a path about one object that does not exist at the beginning."""


@pytest.mark.parametrize(("kind", "path"), LATER)
def test_an_object_of_later_did_not_exist_yet(history: History, kind: str, path: str) -> None:
    rows = history.client.get(f"/v1/{kind}", params={"fabric": "pod-0"}).json()
    assert rows
    name = rows[-1]["name"]
    oldest, *_ = history.client.get(f"/v1/events?for={name}&since=0d").json()
    full = f"/v1/{path.format(kind=kind, name=name)}"
    status, content, _ = answer_of(history.client, full, "0d")
    end = f"{name}: did not exist yet at 0d00:00:00; its first message is of {format_time(oldest['at_us'])}"
    assert (status, content["error"].partition(" ")[2]) == (404, end)
    assert answer_of(history.client, full, oldest["id"])[0] == 200


@pytest.mark.parametrize(
    "path", ["slices/{}", "explain/slices/{}", "describe/slices/{}", "why/{}", "events?for={}"]
)
def test_an_object_that_never_existed_is_reported_as_such_at_any_time(history: History, path: str) -> None:
    full = f"/v1/{path.format('pod-0/slice-99999')}"
    for at in (None, "0d", "5h"):
        status, content, _ = answer_of(history.client, full, at)
        assert (status, "did not exist yet" in content["error"]) == (404, False)


@pytest.mark.parametrize("path", ["why/{}", "events?cause={}"])
def test_a_message_of_later_is_not_on_the_log_yet(history: History, path: str) -> None:
    newest = history.client.get("/v1/events?limit=1").json()[0]
    status, content, _ = answer_of(history.client, f"/v1/{path.format(newest['id'])}", "5h")
    at = format_time_ms(newest["at_us"])
    begin = f"message {newest['id']}: is of {at}, after the requested time 0d05:00:00"
    assert (status, content["error"].startswith(begin)) == (404, True), content


def test_reads_change_neither_the_past_nor_the_present(history: History) -> None:
    end, now = history.twin.logs.end("campus"), answer_of(history.client, "/v1/slices")
    for method, path in (
        ("POST", "/v1/slices"),
        ("PUT", "/v1/clock"),
        ("DELETE", "/v1/faults/pod-0/fault-0"),
    ):
        answer = history.client.request(method, path, params={"at": "-1h"}, json={})
        assert answer.status_code == 422
        assert (
            answer.json()["error"]
            == "at: must not be used with writes; only GET and HEAD requests can use ?at="
        )
    twice = history.client.get("/v1/fabrics?at=-1h&at=-2h")
    assert twice.json()["error"] == "query 'at': given 2 times; must be given once"
    assert history.client.get("/v1/slices", params={"at": "-20h"}).status_code == 200
    assert (history.twin.logs.end("campus"), answer_of(history.client, "/v1/slices")) == (end, now)


def test_only_messages_make_a_difference_between_two_times(history: History) -> None:
    """`lightwave diff` of all kinds: no difference within a gap of the log, and some over a day."""

    def rows(kind: str, at_us: int) -> list[dict[str, Any]]:
        answer = history.client.get(f"/v1/{kind}", params={"at": f"{at_us}us"})
        return list(answer.json())

    times = [row["at_us"] for row in [*events(history), *events(history, fabric="pod-1")]]
    gap_start, end = max(pairwise(sorted(times)), key=lambda pair: pair[1] - pair[0])
    for kind in KINDS:
        assert [*differences(kind, rows(kind, gap_start), rows(kind, end - 1))] == []
    changes = [*differences("cubes", rows("cubes", 0), rows("cubes", times[-1]))]
    (failed, *_) = [row for row in events(history) if row["type"] == "CubeUnhealthy"]
    assert f"pod-0/cube-{failed['body']['cube']}" in {change.name for change in changes}


def test_the_next_page_is_of_the_same_time(history: History) -> None:
    first = history.client.get("/v1/slices", params={"at": "20h", "limit": 2})
    address = first.headers["link"].partition(">")[0].removeprefix("<")
    second = history.client.get(address)
    assert second.headers["Lightwave-At-Us"] == first.headers["Lightwave-At-Us"]
    whole = history.client.get("/v1/slices", params={"at": "20h"}).json()
    assert [*first.json(), *second.json()] == whole[:4]


def test_a_twin_without_a_history_refuses_past_reads(history: History) -> None:
    answer = history.twin.client(past=None).get("/v1/fabrics", params={"at": "-1h"})
    assert answer.status_code == 422
    assert answer.json()["error"] == "at: must not be used; this twin keeps no snapshots of the past"


def test_now_includes_all_requests_made_while_the_clock_is_paused(tmp_path: Path) -> None:
    """Requests are one microsecond apart, so they lie after the clock's now."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=8"])
    client = twin.client()
    twin.advance(2.0)
    now_us = client.get("/v1/clock").json()["now_us"]
    for cube in (1, 2, 3):
        assert client.post(f"/v1/cubes/pod-0/cube-{cube}/drain").status_code < 300
    twin.advance(0.0)
    answer = client.get("/v1/cubes?at=now")
    assert answer.json() == client.get("/v1/cubes").json()
    of_us = int(answer.headers["lightwave-at-us"])
    assert of_us > now_us
    assert client.get("/v1/clock").json()["now_us"] == now_us
    assert client.get(f"/v1/cubes?at={of_us}us").json() == answer.json()
    assert client.get(f"/v1/cubes?at={of_us + 1}us").status_code == 422
    assert client.get(f"/v1/cubes?at={now_us}us").json() != answer.json()
    twin.close()


def test_a_span_that_ends_before_it_starts_is_refused(history: History) -> None:
    answer = history.client.get("/v1/events?since=-1h&until=-2h")
    sentence = "since '-1h': must not be after until '-2h'"
    assert (answer.status_code, answer.json()["error"]) == (422, sentence)
    assert history.client.get("/v1/events?since=-2h&until=-1h").status_code == 200
