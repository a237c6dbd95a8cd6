"""`lightwave set`: its request to the twin, its output, and its lists."""

import json
from typing import Any

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.config.runtime_parameters import runtime_parameters
from tests.support.fake_twin import Answer, answering, as_json, lightwave

pytestmark = pytest.mark.integration

REFUSED, USAGE, NOT_FOUND = 1, 2, 3
ID = "operator@pod-0/7"
POD, PATH = "/v1/fabrics/pod-0", "/v1/fabrics/pod-0/parameters"
KIND = as_json({"kind": "superpod"})
RATE = "failures.host_per_day"


def receipt(changes: list[dict[str, Any]], **more: object) -> Answer:
    message = {"id": "failures@pod-0/1", "cause": ID, "type": "ParametersChanged", "body": {}}
    message["body"] = {"changes": changes}
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": [message]}
    return as_json(answer | more)


CHANGED = {"name": RATE, "value": 0.002, "was": 0.0008}
FILLER = {"name": "workload.filler", "value": False, "was": True}
NONE = {"name": "workload.slices_per_day", "value": 40.0, "was": None}


def test_all_pairs_are_one_request_of_typed_values() -> None:
    with answering({POD: [KIND], PATH: [receipt([CHANGED, FILLER, NONE])]}) as twin:
        pairs = (f"{RATE}=0.002", "workload.filler=off", "workload.slices_per_day=40", "jobs.error_s=5")
        done = lightwave("set", "pod-0", *pairs, "--key", "k", "--comment", "drill", url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == (
            f"{RATE} is 0.002, was 0.0008; workload.filler is false, was true; "
            f"workload.slices_per_day is 40.0, was none ({ID})\n"
        )
        (request,) = [sent for sent in twin.requests if sent.method == "POST"]
        assert json.loads(request.body) == {
            "parameters": {
                RATE: 0.002,
                "workload.filler": False,
                "workload.slices_per_day": 40.0,
                "jobs.error_s": 5,
            }
        }
        assert (request.headers["idempotency-key"], "comment=drill" in request.query) == ("k", True)


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (receipt([]), 0, f"every parameter has its value already ({ID})\n"),
        (receipt([CHANGED], repeated=True), 0, f"{RATE} is 0.002, was 0.0008; repeated request ({ID})\n"),
        (as_json({"error": "pod-0: no"}, 422), USAGE, "lightwave: pod-0: no\n"),
        (receipt([], status="refused", reason="no room", error="no room"), REFUSED, f"no room ({ID})\n"),
    ],
)
def test_the_outcome_is_reported(answer: Answer, code: int, words: str) -> None:
    status = 409 if code == REFUSED else answer[0]
    with answering({POD: [KIND], PATH: [(status, *answer[1:])]}) as twin:
        done = lightwave("set", "pod-0", f"{RATE}=0.002", url=twin.url)
        assert (done.returncode, words in done.stdout + done.stderr) == (code, True), done


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pod-0", "nonsense"), "'nonsense': not KEY=VALUE, such as failures.host_per_day=0.002"),
        (("pod-0", f"{RATE}=many"), f"{RATE}: 'many' is not allowed; must be a number between 0 and"),
        (("pod-0", f"{RATE}=1", f"{RATE}=2"), f"{RATE}: given twice"),
        (
            ("pod-0", "failures.host_per_week=1"),
            f"failures.host_per_week: not a parameter of a superpod; did you mean {RATE}?",
        ),
        ((), "Missing argument 'FABRIC'; --list shows what can be set"),
        (("pod-0", "--kind", "dcn"), "--kind cannot be combined with a FABRIC"),
        (("pod-0", f"{RATE}=1", "--list"), "--list changes nothing"),
    ],
)
def test_unreadable_pairs_are_wrong_usage_and_send_no_request(words: tuple[str, ...], sentence: str) -> None:
    with answering({POD: [KIND], PATH: [receipt([])]}) as twin:
        done = lightwave("set", *words, url=twin.url)
        assert (done.returncode, sentence in done.stderr) == (USAGE, True), done.stderr
        assert not [request for request in twin.requests if request.method == "POST"]


def test_a_missing_fabric_is_not_found() -> None:
    with answering({POD: [as_json({"error": "no such fabric"}, 404)]}) as twin:
        assert lightwave("set", "pod-0", f"{RATE}=1", url=twin.url).returncode == NOT_FOUND


def test_the_parameters_that_can_change_are_listed_without_a_twin() -> None:
    done = lightwave("set", "--list", "-o", "json", url="http://127.0.0.1:1")
    assert [row["name"] for row in json.loads(done.stdout)] == [
        p.name for p in runtime_parameters("superpod")
    ]
    networks = lightwave("set", "--list", "--kind", "dcn", url="http://127.0.0.1:1").stdout
    assert "topology.approval" in networks
    assert "workload" not in networks


@pytest.mark.parametrize("words", [("pod-0",), ("pod-0", "--list")])
def test_the_current_values_of_a_fabric_are_listed(words: tuple[str, ...]) -> None:
    config = SuperpodConfig.model_validate({"failures": {"host_per_day": 0.5}}).model_dump(mode="json")
    with answering({POD: [KIND], "/v1/config/pod-0": [as_json(config)]}) as twin:
        rows = json.loads(lightwave("set", *words, "-o", "json", url=twin.url).stdout)
        now = {row["name"]: row["now"] for row in rows}
        assert (now[RATE], now["workload.slices_per_day"], now["jobs.error_s"]) == (0.5, None, 5)
