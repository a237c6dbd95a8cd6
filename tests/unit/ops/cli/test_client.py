"""Commands against a twin that answers badly, late or not at all: one sentence, the right exit code."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ops.client.answers import NEW_EVENTS
from ops.client.event_stream import follow_events
from ops.client.http_client import Client, RequestFailed, TwinSilent
from ops.twin import target_twin as target_twin_module
from shared.basics.errors import TwinUnreachable
from tests.support.authority import Authority
from tests.support.fake_twin import DROP, Answer, answering, as_json, environment, lightwave

pytestmark = pytest.mark.integration

HTML: Answer = (200, "text/html", b"<html>hello</html>")
CLOCK = {
    "now_us": 3_600_000_000,
    "speed": 60.0,
    "paused": False,
    "achieved_speed": 59.9,
    "lag_us": 0,
    "until_us": None,
    "run_until_us": None,
}
BEARER = "LIGHTWAVE_TOKEN"
REFUSED, USAGE, NOT_FOUND, UNREACHABLE, INTERRUPTED = 1, 2, 3, 4, 130


def check(done: subprocess.CompletedProcess[str], code: int, sentence: str) -> None:
    assert done.returncode == code, done
    assert done.stdout == ""
    assert done.stderr.startswith("lightwave: ")
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "get ocs",
        "get ocs pod-0/ocs-1",
        "get fabrics -o json",
        "describe ocs pod-0/ocs-1",
        "trace pod-0/cube-1/+x/1",
        "link budget pod-0/cube-1/+x/1",
        "events",
        "events --follow -o json",
        "why ocs@pod-0/1",
        "request 4x4x4",
        "clock show",
        "clock pause",
        "clock speed 3",
    ],
)
@pytest.mark.parametrize(
    "not_a_twin",
    [
        HTML,
        as_json({"hello": "world"}),
        as_json([{"hello": "world"}]),
        as_json("hello"),
        as_json({"name": "pod-0/ocs-1", "object": 1, "related": 2, "events": 3}),
        as_json({"detail": "Not Found"}, 404),
        (302, "text/html", b""),
    ],
    ids=["html", "object", "list", "text", "other fields", "other error", "moved"],
)
def test_another_server_is_not_mistaken_for_a_twin(words: str, not_a_twin: Answer) -> None:
    with answering(default=not_a_twin) as twin:
        check(lightwave(*words.split(), url=twin.url), UNREACHABLE, f"the server at {twin.url} is not a twin")


@pytest.mark.parametrize(
    ("status", "code"), [(404, NOT_FOUND), (401, REFUSED), (422, USAGE), (503, REFUSED), (500, REFUSED)]
)
def test_the_twins_sentence_is_passed_on(status: int, code: int) -> None:
    with answering(default=as_json({"error": "fabric 'pod-7': no such fabric"}, status)) as twin:
        check(lightwave("get", "ocs", url=twin.url), code, "lightwave: fabric 'pod-7': no such fabric\n")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1",
        "127.0.0.1:8080",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:port",
        "http://a b",
        "http://user:word@127.0.0.1",
        "http://127.0.0.1/?a=b",
        "http://zwilling.β",
    ],
)
def test_invalid_twin_addresses(url: str) -> None:
    check(lightwave("get", "ocs", url=url), USAGE, f"LIGHTWAVE_URL {url!r}")


def test_an_address_may_have_a_path() -> None:
    with answering({"/twins/a/v1/clock": [as_json(CLOCK)]}) as twin:
        assert lightwave("clock", "show", url=f"{twin.url}/twins/a/").returncode == 0


@pytest.mark.parametrize("words", ["get ocs", "request 4x4x4", "clock speed 3", "events --follow", "why a/1"])
def test_a_missing_twin_is_reported(words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    done = lightwave(*words.split(), url=url)
    assert done.returncode == UNREACHABLE
    assert done.stderr == (
        f"lightwave: no twin answers at {url} (Connection refused); start one with `lightwave up`, "
        "or set LIGHTWAVE_URL\n"
    )


def test_the_token_is_sent_and_must_be_valid() -> None:
    with answering(default=as_json(CLOCK)) as twin:
        assert lightwave("clock", "show", url=twin.url, **{BEARER: "s3cret"}).returncode == 0
        assert twin.requests[0].headers["authorization"] == "Bearer s3cret"
        check(lightwave("get", "ocs", url=twin.url, **{BEARER: "a\nb"}), USAGE, BEARER)


def test_names_are_sent_unchanged() -> None:
    with answering() as twin:
        for name in ("pod-0/cube-12/+y/7", "a?b#c", "ü ö", " ", ".."):
            done = lightwave("get", "links", name, url=twin.url)
            assert done.returncode == NOT_FOUND
            assert twin.requests[-1].path == f"/v1/links/{name}"


def test_all_past_queries_of_a_command_have_one_time() -> None:
    """Time continues between the queries, but all of them have the time of the first answer."""
    rows = as_json([{"name": "pod-0/ocs-1", "state": "up"}])
    answers = {"/v1/ocs": [rows], "/v1/clock": [as_json({"now_us": 5})]}
    with answering(answers=answers) as twin:
        twin.headers["Lightwave-At-Us"] = "7200000000"
        client = Client(twin.url, at="-2h")
        client.rows("/v1/ocs", "name", state="up")
        client.resource("/v1/clock", "now_us")
        assert [request.query for request in twin.requests] == ["state=up&at=-2h", "at=7200000000us"]
        named = Client(twin.url, at="scheduler@pod-0/7")
        for _ in range(2):
            named.rows("/v1/ocs", "name")
        assert {request.query for request in twin.requests[2:]} == {"at=scheduler%40pod-0%2F7"}
        twin.headers["Lightwave-At-Us"] = "x&state=down"
        hostile = Client(twin.url, at="-2h")
        for _ in range(2):
            hostile.rows("/v1/ocs", "name")
        assert twin.requests[-1].query == "at=-2h"


def test_list_options_are_sent_as_typed() -> None:
    words = ("--state", "up", "--where", "state=degraded", "--where", "ocs=null", "--sort=-ber", "--top", "5")
    pod = {"name": "pod-0", "kind": "superpod", "cubes": 64, "ocs": 48, "network": None, "retired_us": None}
    with answering({"/v1/links": [as_json([])], "/v1/fabrics": [as_json([pod])]}) as twin:
        assert lightwave("get", "links", *words, url=twin.url).stdout == "no links\n"
        assert twin.requests[0].query == (
            "where=state%3Dup&where=state%3Ddegraded&where=ocs%3Dnull&sort=-ber&limit=5"
        )


DRAINED = {
    "id": "operator@pod-0/7",
    "status": "accepted",
    "repeated": False,
    "complete": True,
    "at_us": 5,
    "outcome": [
        {"id": "cubes@pod-0/1", "type": "CubeDrained", "body": {"cube": 3}, "about": ["pod-0/cube-3"]}
    ],
}

UNDRAINED = DRAINED | {
    "outcome": [
        {"id": "cubes@pod-0/2", "type": "CubeUndrained", "body": {"cube": 3}, "about": ["pod-0/cube-3"]}
    ]
}


def test_a_request_whose_answer_is_lost_is_retried_under_the_same_key() -> None:
    with answering({"/v1/cubes/pod-0/cube-3/undrain": [DROP, as_json(UNDRAINED)]}) as twin:
        done = lightwave("undrain", "pod-0/cube-3", url=twin.url)
        assert (done.returncode, done.stdout) == (0, "pod-0/cube-3 in use again (operator@pod-0/7)\n")
        first, second = twin.requests
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
        lightwave("undrain", "pod-0/cube-3", url=twin.url)
        assert twin.requests[-1].headers["idempotency-key"] != first.headers["idempotency-key"]
        lightwave("undrain", "pod-0/cube-3", "--key", "mine", url=twin.url)
        assert twin.requests[-1].headers["idempotency-key"] == "mine"


def test_a_request_that_is_refused_fails_with_the_reason() -> None:
    refusal = DRAINED | {"status": "refused", "reason": "cube 'pod-0/cube-3': is not a cube", "error": "."}
    with answering({"/v1/cubes/pod-0/cube-3/drain": [as_json(refusal, 409)]}) as twin:
        done = lightwave("drain", "pod-0/cube-3", url=twin.url)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "lightwave: cube 'pod-0/cube-3': is not a cube (operator@pod-0/7)\n"
        shown = lightwave("drain", "pod-0/cube-3", "-o", "json", url=twin.url)
        assert (shown.returncode, json.loads(shown.stdout)) == (1, refusal)


def test_a_request_is_sent_no_third_time() -> None:
    with answering(default=DROP) as twin:
        assert lightwave("drain", "pod-0/cube-3", url=twin.url).returncode == UNREACHABLE
        assert len(twin.requests) == 2


def test_requests_are_sent_as_typed() -> None:
    with answering() as twin:
        lightwave("request", "4X4×8", "--twisted", "--for", "1d12h", "--fabric", "pod-1", url=twin.url)
        assert json.loads(twin.requests[-1].body) == {
            "fabric": "pod-1",
            "shape": "4x4x8",
            "twisted": True,
            "owner": "operator",
            "tier": "production",
            "priority": 0,
            "duration_s": 129_600,
            "recovery": None,
            "pods": None,
        }
        lightwave("inject", "OCS", "pod-0/ocs-17", url=twin.url)
        assert json.loads(twin.requests[-1].body) == {
            "kind": "ocs",
            "target": "pod-0/ocs-17",
            "duration_s": None,
            "severity": None,
            "onset_s": None,
        }
        lightwave("events", "--since", "-90m", "--type", "Tick", "--limit", "5", url=twin.url)
        assert twin.requests[-1].query == "type=Tick&since=-90m&limit=5"
        lightwave("clock", "speed", "1e3", url=twin.url)
        assert json.loads(twin.requests[-1].body) == {"speed": 1000.0}


def stream(*numbers: int) -> Answer:
    """Return a stream that sends these messages and breaks off."""
    text = ": ping\n\n"
    for number in numbers:
        message = {"id": f"ocs@pod-0/{number}", "type": "OcsUp", "at_us": number, "cause": None, "text": ""}
        text += f"id: pod-0:{number}\ndata: {json.dumps(message)}\n\n"
    return 200, "text/event-stream", text.encode()


FABRICS = {
    "/v1/fabrics": [as_json([{"name": "pod-0", "kind": "superpod", "retired_us": None}])],
    "/v1/fabrics/pod-0": [as_json({"name": "pod-0", "position": 5})],
}


def test_follow_resumes_a_broken_stream_after_the_last_message() -> None:
    answers = FABRICS | {"/v1/events/stream": [stream(5, 6), DROP, stream(), stream(7)]}
    with answering(answers) as twin:
        follower = subprocess.Popen(
            [sys.executable, "-m", "ops.cli", "events", "--follow", "-o", "json"],
            env=environment(twin.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert follower.stdout is not None
        seen = [json.loads(follower.stdout.readline())["id"] for _ in range(3)]
        follower.send_signal(signal.SIGINT)
        _, error = follower.communicate(timeout=60)
        assert (follower.returncode, error) == (INTERRUPTED, "\n")
        assert seen == ["ocs@pod-0/5", "ocs@pod-0/6", "ocs@pod-0/7"]
        streams = [request for request in twin.requests if request.path == "/v1/events/stream"]
        requests = [request.headers.get("last-event-id") for request in streams[:4]]
        assert requests == ["pod-0:4", "pod-0:6", "pod-0:6", "pod-0:6"]


def test_every_answer_is_closed_explicitly(monkeypatch: pytest.MonkeyPatch) -> None:
    # A response that closes itself during garbage collection would swallow a Ctrl-C that arrives then.
    made: list[http.client.HTTPResponse] = []

    class Kept(http.client.HTTPResponse):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            made.append(self)

    monkeypatch.setattr(http.client.HTTPConnection, "response_class", Kept)
    with answering({"/v1/events/stream": [stream(5), as_json({"error": "no"}, 503)]}, default=HTML) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        client = Client()
        assert [event for event, _ in client.stream(NEW_EVENTS, None)] == ["", "pod-0:5"]
        again = client.stream(NEW_EVENTS, None)
        with pytest.raises(RequestFailed):
            list(again)
        with pytest.raises(TwinUnreachable):
            client.resource("/v1/clock")
    assert [answer.closed for answer in made] == [True, True, True]


@pytest.mark.parametrize("line", [b"data: garbage", b"data: null", b"data: [", b"id: \xff"])
def test_an_invalid_stream_is_not_resumed(line: bytes) -> None:
    with answering({"/v1/events/stream": [(200, "text/event-stream", line + b"\n\n")]}) as fake:
        stream = follow_events(Client(fake.url), "pod-0", {}, "pod-0:3", reconnect_s=0.0)
        with pytest.raises(TwinUnreachable, match="is not a twin of this version"):
            next(stream)


def test_control_characters_in_errors_are_escaped() -> None:
    with (
        answering({"/v1/twin": [as_json({"error": "\x1b[31mred\nalert"}, 500)]}) as fake,
        pytest.raises(RequestFailed) as caught,
    ):
        Client(fake.url).resource("/v1/twin")
    assert str(caught.value) == r"\x1b[31mred\nalert"


def _serve_pieces(pieces: list[bytes], every_s: float) -> str:
    """Serve one connection with these pieces; return the address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def speak() -> None:
        connection, _ = listening.accept()
        with listening, connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(every_s)

    threading.Thread(target=speak, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_slow_answer_times_out() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    url = _serve_pieces([head, *[b" "] * 100], 0.05)
    with pytest.raises(TwinUnreachable, match="its answer does not end"):
        Client(url, timeout_s=0.3).resource("/v1/twin")


@pytest.mark.parametrize(
    ("pieces", "every_s"),
    [([b""] * 100, 0.05), ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b""], 1.0)],
)
def test_a_twin_that_does_not_answer_in_time_is_not_reported_as_absent(
    pieces: list[bytes], every_s: float
) -> None:
    with pytest.raises(TwinSilent, match=r"did not answer within 0\.3 s .*: try again$") as caught:
        Client(_serve_pieces(pieces, every_s), timeout_s=0.3).resource("/v1/twin")
    assert "no twin answers" not in str(caught.value)
    with pytest.raises(TwinSilent, match=r"it may still execute the request$"):
        Client(_serve_pieces(pieces, every_s), timeout_s=0.3).put("/v1/clock", {})


def test_a_default_twin_that_does_not_answer_in_time_is_not_replaced_by_a_stored_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(*_: object) -> Client:
        return Client(_serve_pieces([b""] * 100, 0.05), timeout_s=0.3)

    monkeypatch.setattr(target_twin_module, "Client", silent)
    monkeypatch.delenv("LIGHTWAVE_URL", raising=False)
    with pytest.raises(TwinSilent):
        target_twin_module.target_twin(None)


def test_an_answer_that_breaks_off_is_lost() -> None:
    url = _serve_pieces([b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}"], 0.0)
    with pytest.raises(TwinUnreachable, match="no twin answers at"):
        Client(url).resource("/v1/twin")


def test_a_server_that_does_not_speak_http_is_reported_briefly() -> None:
    with pytest.raises(TwinUnreachable) as caught:
        Client(_serve_pieces([b"\x00\x07" * 5_000], 0.0)).resource("/v1/twin")
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.slow("waits as long as a client tries to connect again")
def test_follow_gives_up_on_a_twin_that_stays_away() -> None:
    started_s = time.monotonic()
    with answering(FABRICS | {"/v1/events/stream": [stream(5), DROP]}) as twin:
        done = lightwave("events", "--follow", "-o", "json", url=twin.url)
    assert done.returncode == UNREACHABLE
    assert json.loads(done.stdout)["id"] == "ocs@pod-0/5"
    assert done.stderr.startswith(f"lightwave: no twin answers at {twin.url} (")
    assert time.monotonic() - started_s > 10


@pytest.mark.parametrize(
    "words", ["get ocs --watch", "describe ocs pod-0/ocs-1 -w", "clock show --watch -o json"]
)
def test_a_watch_ends_with_4_when_the_twin_goes(words: str) -> None:
    with answering(default=DROP) as twin:
        check(lightwave(*words.split(), url=twin.url), UNREACHABLE, "no twin answers")


def test_watch_redraws_on_a_terminal() -> None:
    leader, follower = os.openpty()
    with answering(default=as_json(CLOCK)) as twin:
        watcher = subprocess.Popen(
            [sys.executable, "-m", "ops.cli", "clock", "show", "--watch"],
            env=environment(twin.url),
            stdout=follower,
            stderr=subprocess.PIPE,
        )
        os.close(follower)
        output = b""
        while output.count(b"PAUSED") < 2:
            output += os.read(leader, 4096)
        watcher.send_signal(signal.SIGINT)
        _, error = watcher.communicate(timeout=60)
    os.close(leader)
    assert (watcher.returncode, error) == (INTERRUPTED, b"\n")
    assert output.count(b"\x1b[H\x1b[2J") == 2


def test_leaving_a_run_reports_that_the_twin_continues() -> None:
    running = as_json(CLOCK | {"until_us": 174_600_000_000, "run_until_us": 174_600_000_000})
    with answering({"/v1/clock/run": [running], "/v1/clock": [running]}) as twin:
        runner = subprocess.Popen(
            [sys.executable, "-m", "ops.cli", "clock", "advance", "2d"],
            env=environment(twin.url),
            stderr=subprocess.PIPE,
            text=True,
        )
        until_s = time.monotonic() + 60
        while len(twin.requests) < 2 and time.monotonic() < until_s:
            time.sleep(0.01)
        runner.send_signal(signal.SIGINT)
        _, error = runner.communicate(timeout=60)
    sentence = "lightwave: the twin continues to 2d00:30:00; `lightwave clock pause` stops it\n"
    assert (runner.returncode, error) == (INTERRUPTED, sentence)


QUERIES = """
get links
get links -o json
get links -o yaml
describe link pod-0/cube-1/+x/1
trace pod-0/cube-1/+x/1
events
why a/1
clock show
drain pod-0/cube-3
""".strip().splitlines()
SLOW = ("numpy", "pydantic", "fastapi", "orjson", "rich", "yaml", "pyarrow", "redis", "uvicorn", "asyncio")


@pytest.mark.parametrize("words", QUERIES)
def test_no_query_imports_slow_modules(words: str) -> None:
    """The modules are checked after the command has run, whatever its outcome."""
    code = (
        "import sys, atexit\nfrom ops.cli.main import main\n"
        f"atexit.register(lambda: sys.stderr.write(repr([m for m in {SLOW!r} if m in sys.modules])))\nmain()"
    )
    row = {
        "name": "pod-0/cube-1/+x/1",
        "state": "dark",
        "condition": "ok",
        "far_end": None,
        "loss_db": None,
        "ber": None,
        "ocs": "pod-0/ocs-1",
        "slice": None,
    }
    message = {"id": "a/1", "type": "Tick", "at_us": 0, "cause": None, "text": "due=0d00:00:00"}
    chip = {"cube": "pod-0/cube-1", "x": 3, "y": 0, "z": 1}
    strand = {"strand": 0, "ocs": "pod-0/ocs-1", "north": None, "south": None}
    far = {"far_chip": None, "wanted_end": None, "far_condition": None}
    path = {"end": row["name"], "chip": chip, "strands": [strand]} | far
    answers = {
        "/v1/links": [as_json([row])],
        "/v1/describe/links/pod-0/cube-1/+x/1": [
            as_json({"object": row, "related": {}, "events": [message], "events_in_all": 1})
        ],
        "/v1/trace/pod-0/cube-1/+x/1": [as_json(row | path)],
        "/v1/events": [as_json([message])],
        "/v1/why/a/1": [as_json([message])],
        "/v1/clock": [as_json(CLOCK)],
        "/v1/cubes/pod-0/cube-3/drain": [as_json(DRAINED)],
        "/v1/cubes/pod-0/cube-3": [as_json({"slices": []})],
    }
    with answering(answers) as twin:
        done = subprocess.run(
            [sys.executable, "-c", code, *words.split()],
            env=environment(twin.url),
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert (done.returncode, done.stderr) == (0, "[]")
    assert done.stdout


def test_over_tls_only_trusted_certificates_are_accepted(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ours")
    with answering({"/v1/clock": [as_json(CLOCK)]}, tls=ca.server_context()) as twin:
        done = lightwave("clock", "show", "-o", "json", url=twin.url, LIGHTWAVE_CA_FILE=str(ca.ca))
        assert (done.returncode, json.loads(done.stdout)["speed"]) == (0, 60.0), done
        done = lightwave("clock", "show", url=twin.url)
        check(done, UNREACHABLE, f"{twin.url}: its certificate is not trusted (")
        assert "set LIGHTWAVE_CA_FILE to a file with the trusted certificates" in done.stderr
        done = lightwave("clock", "show", url=twin.url, LIGHTWAVE_CA_FILE="/none.pem")
        check(done, USAGE, "CA file /none.pem: No such file or directory")
    with answering({"/v1/clock": [as_json(CLOCK)]}) as plain:
        done = lightwave("clock", "show", url=plain.url.replace("http:", "https:"))
        check(done, UNREACHABLE, "no twin answers at https://")


def events(*numbers: int) -> Answer:
    return as_json(
        [{"id": f"ocs@pod-0/{n}", "type": "OcsUp", "at_us": n, "cause": None, "text": ""} for n in numbers]
    )


EVENTS = "/v1/events"
NEXT = f'<{EVENTS}?limit=3&cursor=pod-0:3>; rel="next"'
PREVIOUS = f'<{EVENTS}?limit=3&before=pod-0:4>; rel="prev"'
NEWEST = "lightwave: only the newest 100 are shown; use --since, --until or --limit to see others\n"


def ids(done: subprocess.CompletedProcess[str]) -> list[int]:
    assert done.returncode == 0, done
    return [row["at_us"] for row in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("words", "answers", "links", "shown", "sentence"),
    [
        ("--since -1d", [events(1, 2, 3), events(4, 5)], [NEXT], [1, 2, 3, 4, 5], ""),
        ("--since -1d --limit 4", [events(1, 2, 3), events(4, 5)], [NEXT], [1, 2, 3, 4], ""),
        ("--limit 4", [events(4, 5, 6), events(1, 2, 3)], [PREVIOUS], [3, 4, 5, 6], ""),
        ("", [events(*range(100))], [PREVIOUS], list(range(100)), NEWEST),
        ("--for pod-0/ocs-1", [events(*range(100))], [PREVIOUS], list(range(100)), NEWEST),
        ("--no-ticks", [events(*range(100))], [""], list(range(100)), ""),
        (
            "--since -1d",
            [events(*range(n, n + 50_000)) for n in (0, 50_000)],
            [NEXT, NEXT],
            list(range(100_000)),
            "lightwave: only the oldest 100,000 are shown; use --since or --limit to see others\n",
        ),
    ],
    ids=[
        "all pages",
        "limited",
        "back from now",
        "the last hundred",
        "of an object",
        "just these",
        "too many",
    ],
)
def test_a_list_is_followed_over_its_pages(
    words: str, answers: list[Answer], links: list[str], shown: list[int], sentence: str
) -> None:
    with answering({EVENTS: answers}, links={EVENTS: [*links, "", ""]}) as twin:
        done = lightwave("events", *words.split(), "-o", "json", url=twin.url)
    assert ids(done) == shown
    assert done.stderr == sentence
    following = [request.query for request in twin.requests[1:]]
    assert following == [link.partition("?")[2].partition(">")[0] for link in links][: len(following)]


def test_next_pages_on_another_server_are_refused() -> None:
    links = {EVENTS: ['<http://127.0.0.1:1/v1/events?a=b>; rel="next"']}
    with answering({EVENTS: [events(1)]}, links=links) as twin:
        done = lightwave("events", "--since", "-1d", url=twin.url)
    check(done, UNREACHABLE, "the next page of its list is 'http://127.0.0.1:1/v1/events?a=b'")


def test_control_characters_in_output_are_escaped() -> None:
    fault = {"name": "pod-0/fault-\x1b[31m2", "target": "pod-0/ocs-1"}
    receipt = {
        "id": "operator@pod-0/1",
        "status": "accepted",
        "repeated": False,
        "complete": True,
        "outcome": [
            {
                "id": "failures@pod-0/1",
                "type": "FaultBegan",
                "body": {"fault": "f", "kind": "ocs", "target": "pod-0/ocs-1", "expires_us": None},
            }
        ],
    }
    answers = {"/v1/faults": [as_json(receipt), as_json([fault])]}
    with answering(answers) as twin:
        done = lightwave("inject", "ocs", "pod-0/ocs-1", url=twin.url)
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[1] == "pod-0/ocs-1 is faulty already by pod-0/fault-\\x1b[31m2"
