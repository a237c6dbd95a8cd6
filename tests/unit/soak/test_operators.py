"""The operators of a soak: their requests are valid and distinct, and are repeated until they are
accepted."""

import io
import itertools
import json
import threading
import time
import urllib.error
from collections.abc import Iterator
from email.message import Message
from typing import Any

import pytest

from schemas.config.network_hardware import NetworkConfig
from schemas.config.pods import PodConfig
from schemas.limits import DURATION_S_MAX
from schemas.registry import TYPES
from shared.basics.units import US_PER_S, to_whole_us
from shared.models.fabric_plants import check_slice, plant_of
from shared.models.faults.fault_kinds import fault_target
from shared.runtimes.poll import poll_until
from tests.soak import operators
from tests.soak.clients import OutcomeUnknown, SoakClient
from tests.soak.fabric_joins import Commissioner
from tests.soak.operators import (
    FAULT_KINDS,
    OWNERS,
    RECOVERIES,
    TIERS,
    FloodClient,
    Operator,
    OperatorRequest,
    OperatorScript,
    client_record,
)

CUBES = {"superpod": 16, "static-pod": 64}
FABRIC = "pod-1"


def wishes_of(seed: int, kind: str = "superpod") -> OperatorScript:
    return OperatorScript(seed, FABRIC, plant_of(kind, PodConfig(cubes=CUBES[kind])))


def wishes(seed: int, count: int, kind: str = "superpod") -> Iterator[OperatorRequest]:
    asking = wishes_of(seed, kind)
    for number in range(count):
        yield asking.next()
        asking.record_outcome(
            [
                {"type": "FaultBegan", "body": {"fault": f"{FABRIC}/fault-{number}"}},
                {"type": "SliceRequested", "body": {"slice": f"{FABRIC}/slice-{number}"}},
                {"type": "CubeUnhealthy", "body": {}},
            ]
        )


OF_A_DCN = {"block", "bundle", "rack", "control", "power"}
"""Kinds of faults that hit nothing in a pod."""
OF_A_SUPERPOD = set(FAULT_KINDS) - OF_A_DCN


@pytest.mark.parametrize("kind", CUBES)
@pytest.mark.parametrize("seed", range(5))
def test_every_generated_request_is_valid(seed: int, kind: str) -> None:
    seen, hit, tiers, recoveries = set(), set(), set(), set()
    plant = plant_of(kind, PodConfig(cubes=CUBES[kind]))
    for wish in wishes(seed, 400, kind):
        seen.add(wish.type)
        assert (
            TYPES[wish.type].model_validate_json(json.dumps(wish.body)).model_dump(mode="json") == wish.body
        )
        if wish.type == "InjectFault":
            fault_target(wish.body["kind"], wish.body["target"], FABRIC, plant)
            hit.add(wish.body["kind"])
        if wish.type == "RequestSlice":
            check_slice(kind, tuple(wish.body["shape"]), wish.body["twisted"], CUBES[kind])
            tiers.add((wish.body["owner"], wish.body["tier"]))
            recoveries.add(wish.sent["recovery"])
        if wish.type == "DrainCube":
            assert plant.parse(wish.body["cube"]).kind == "cube"
        if "duration_s" in wish.sent:
            assert to_whole_us(wish.sent["duration_s"], US_PER_S) == wish.body["duration_us"]
            assert wish.sent["duration_s"] < DURATION_S_MAX
    assert len(seen) == 6
    assert tiers == {*itertools.product(OWNERS, TIERS)}
    assert recoveries == {*RECOVERIES}
    assert hit == {
        fault
        for fault in OF_A_SUPERPOD
        if kind == "superpod" or fault not in ("ocs", "cpu", "driver", "mirror", "stray")
    }


def test_an_operator_of_a_network_breaks_and_mends_all_that_it_has_and_requests_no_slice() -> None:
    plant = plant_of("dcn", NetworkConfig())
    asker = OperatorScript(3, "dcn-0", plant)
    asker.record_outcome([{"type": "FaultBegan", "body": {"fault": "dcn-0/fault-1"}}])
    requests = []
    for number in range(200):
        requests.append(asker.next())
        if requests[-1].type == "PlanTopology":
            asker.record_outcome(
                [{"type": "RewiringPlanned", "body": {"rewiring": f"dcn-0/rewiring-{number}"}}]
            )
    for wish in requests:
        assert TYPES[wish.type].model_validate_json(json.dumps(wish.body))
        if wish.type == "InjectFault":
            fault_target(wish.body["kind"], wish.body["target"], "dcn-0", plant)
    rewirings = {"PlanTopology", "ApproveRewiring", "AbortRewiring"}
    assert {wish.type for wish in requests} == {"InjectFault", "ClearFault", *rewirings}
    aborted = [wish.body["rewiring"] for wish in requests if wish.type == "AbortRewiring"]
    assert len(aborted) == len(set(aborted)) > 10
    assert {wish.body["kind"] for wish in requests if wish.type == "InjectFault"} == {"ocs", *OF_A_DCN}


def test_the_same_seed_gives_the_same_requests_and_another_seed_different_ones() -> None:
    assert list(wishes(1, 50)) == list(wishes(1, 50)) != list(wishes(2, 50))


def test_no_two_requests_have_the_same_span_and_parts_are_hit_in_turn() -> None:
    all_wishes = list(wishes(3, 600))
    spans = [(w.type, w.body["duration_us"]) for w in all_wishes if "duration_us" in w.body]
    assert len(spans) == len(set(spans)) > 200
    links = [w.body["target"] for w in all_wishes if w.body.get("kind") == "link"]
    assert len(links) == len(set(links)) > 5


class Gateway:
    """Answers as the script prescribes, then accepts everything."""

    def __init__(self, *script: Exception | str) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, str]] = []
        self.posts = {"gateway": self.post}

    def post(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        self.asked.append((path, key))
        step = self.script.pop(0) if self.script else "accepted"
        if isinstance(step, Exception):
            raise step
        name = f"operator@pod-1/{len(self.asked)}"
        return {"id": name, "status": step, "at_us": 5, "outcome": []}


def http_error(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("", code, "", Message(), io.BytesIO(b'{"error": "why"}'))


@pytest.fixture(autouse=True)
def _leave_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "ABANDON_SHARE", 0.0)


def run_operator(gateway: Gateway, requests: int) -> Operator:
    operator = Operator(wishes_of(1), gateway.posts, threading.Lock())
    operator.start()
    until = time.monotonic() + 20
    while (
        operator.unexpected_answer is None and len(operator.accepted) < requests and time.monotonic() < until
    ):
        time.sleep(0.005)
    operator.stop()
    operator.join(timeout=60)
    assert not operator.is_alive()
    return operator


def test_a_request_is_requested_under_one_key_until_it_is_accepted() -> None:
    script = (ConnectionRefusedError(), http_error(503), "received", ValueError("half"), http_error(429))
    gateway = Gateway(*script, "accepted")
    operator = run_operator(gateway, 2)
    first, second = operator.accepted[:2]
    assert len(set(gateway.asked[:6])) == 1
    assert first.id == "operator@pod-1/6"
    assert first.key != second.key
    assert operator.retries == 5
    assert operator.left == []
    assert (first.fabric, first.at_us, operator.unexpected_answer) == (FABRIC, 5, None)


def test_a_request_on_its_way_is_brought_to_its_end_before_the_operator_ends() -> None:
    gateway = Gateway(*[http_error(503)] * 8)
    operator = Operator(wishes_of(1), gateway.posts, threading.Lock())
    operator.start()
    operator.stop()
    operator.join(timeout=60)
    assert len(operator.accepted) == 1
    assert operator.unexpected_answer is None


def test_operators_of_one_site_send_one_request_at_a_time() -> None:
    asking, most = [0], [0]
    gateway, turn = Gateway(), threading.Lock()

    def post(path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        asking[0] += 1
        most[0] = max(most[0], asking[0])
        time.sleep(0.01)
        asking[0] -= 1
        return gateway.post(path, body, key)

    plant = plant_of("static-pod", PodConfig())
    asking_all = [Operator(OperatorScript(1, f"pod-{n}", plant), {"gateway": post}, turn) for n in range(4)]
    for operator in asking_all:
        operator.start()
    assert poll_until(lambda: all(len(operator.accepted) >= 2 for operator in asking_all), 20.0)
    for operator in asking_all:
        operator.stop()
    for operator in asking_all:
        operator.join(timeout=60)
    assert most == [1]


@pytest.mark.parametrize("code", [404, 422, 500])
def test_an_unexpected_answer_ends_the_operator(code: int) -> None:
    operator = run_operator(Gateway("accepted", http_error(code)), 5)
    assert len(operator.accepted) == 1
    assert operator.unexpected_answer is not None
    assert f": {code} " in operator.unexpected_answer


def test_one_that_gives_up_reports_it() -> None:
    operator = Operator(wishes_of(1), Gateway(*[http_error(503)] * 1_000).posts, threading.Lock())
    operator.start()
    operator.give_up()
    operator.join(timeout=60)
    assert operator.accepted == []
    assert operator.unexpected_answer is None or "not accepted for" in operator.unexpected_answer
    assert len(operator.left) == (0 if operator.unexpected_answer is None else 1)


class Sides:
    """Two gateways; the first never answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.posts = {"gateway": self.first, "gateway-b": self.second}

    def first(self, _path: str, _body: dict[str, Any], key: str) -> dict[str, Any]:
        self.asked.append(("gateway", key))
        raise TimeoutError

    def second(self, _path: str, _body: dict[str, Any], key: str) -> dict[str, Any]:
        self.asked.append(("gateway-b", key))
        return {"id": "operator@pod-1/1", "status": "accepted", "at_us": 5, "outcome": []}


def test_an_uncertain_request_is_repeated_at_the_other_gateway_under_the_same_key() -> None:
    sides = Sides()
    client = SoakClient("asker", sides.posts)
    before_s = time.monotonic()
    for key in ("first", "second"):
        assert client._ask("/v1/slices", {}, key)["id"] == "operator@pod-1/1"
    assert sides.asked == [(side, key) for key in ("first", "second") for side in ("gateway", "gateway-b")]
    assert client.answered.keys() == {"gateway-b"}
    assert before_s <= client.answered["gateway-b"] <= time.monotonic()


@pytest.mark.slow("hundreds of drawn answers")
def test_some_unsure_requests_stay_unsure() -> None:
    left, keys = 0, [f"key {n}" for n in range(200)]
    for key in keys:
        asker = SoakClient("asker", Sides().posts, abandon_share=0.3)
        try:
            asker._ask("/v1/slices", {}, key)
        except OutcomeUnknown:
            left += 1
            assert asker.left == [key]
    assert 40 < left < 80


def test_the_record_contains_the_requests_of_all_clients() -> None:
    operator = run_operator(Gateway(), 2)
    operator.left.append("unsure")
    flooder = FloodClient("one", {"gateway": Sides().second}, FABRIC, 3, 50.0)
    flooder.left.append("drowned")
    nobody = Commissioner(1, [], {"gateway": Gateway().post}, lambda _: None, lambda _: None)
    book = client_record([operator], nobody, [flooder])
    assert book.accepted == tuple(operator.accepted)
    assert book.unsure == {"unsure", "drowned"}


def test_a_flooder_reports_an_unexpected_answer() -> None:
    gateway = Gateway(http_error(429), http_error(500))
    flooder = FloodClient("one", gateway.posts, FABRIC, 3, 100.0)
    flooder.start()
    assert poll_until(lambda: len(gateway.asked) >= 3, 20.0)
    flooder.give_up()
    flooder.join(timeout=60)
    assert flooder.unexpected_answer == "flood one: undrain pod-1/cube-3 was answered with 500"


def test_a_flooder_does_not_wait_and_counts_refused_requests() -> None:
    gateway = Gateway("accepted", "received", http_error(429), http_error(503), TimeoutError(), "refused")
    flooder = FloodClient("one", gateway.posts, FABRIC, 3, 100.0)
    flooder.start()
    assert poll_until(lambda: len(gateway.asked) >= 6, 20.0)
    flooder.give_up()
    flooder.join(timeout=60)
    assert [asked.type for asked in flooder.accepted[:2]] == ["DrainCube", "UndrainCube"]
    assert flooder.accepted[0].key == "flood one 0"
    assert flooder.left == ["flood one 1", "flood one 3", "flood one 4"]
    assert [*flooder.received] == ["flood one 1"]
    assert flooder.unexpected_answer is None
    assert len({key for _, key in gateway.asked}) == len(gateway.asked)
