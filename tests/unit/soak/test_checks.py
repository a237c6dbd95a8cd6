"""The checks of a soak find every violation: a request lost, applied twice, changed, or answered wrongly."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pytest

from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT
from tests.soak.checks import (
    AcceptedRequest,
    ClientRecord,
    FinalState,
    check_all,
    check_received,
    check_upgraded,
    count_outcomes,
)
from tests.soak.log_facts import FOREIGN_HEADER, LogFacts, LogRecord, gather_facts

POD = "pod-0"


class Log:
    """A log of one partition as a sequencer writes it."""

    def __init__(self) -> None:
        self.lines: list[LogRecord] = []
        self.said: dict[str, int] = {}

    def root(
        self,
        kind: str,
        number: int,
        body: Mapping[str, Any],
        *,
        at: int | None = None,
        key: str | None = None,
    ) -> str:
        """An operator's request for this offset or another; by default, its key is its number."""
        offset = len(self.lines)
        headers = {EXPECTED_OFFSET: str(offset if at is None else at), LEVEL_AT: str(offset)}
        body = {**body, "key": str(number) if key is None else key}
        return self._write(kind, "operator@pod-0", number, body, None, headers)

    def stray(self) -> None:
        """A message that the soak wrote itself."""
        line = self.lines[0]
        self.lines.append(
            LogRecord(0, len(self.lines), {FOREIGN_HEADER: ""}, line.value.replace(b"/100", b"/999"))
        )

    def say(self, service: str, kind: str, cause: str | None, body: Mapping[str, Any]) -> str:
        source = f"{service}@{POD}"
        self.said[source] = self.said.get(source, 0) + 1
        return self._write(kind, source, self.said[source], body, cause, {})

    def repeat(self, offset: int) -> None:
        line = self.lines[offset]
        self.lines.append(dataclasses.replace(line, offset=len(self.lines), headers={}))

    def drop(self, message_id: str) -> None:
        """The log without a message, all that follows moved up."""
        kept = [line for line in self.lines if json.loads(line.value)["id"] != message_id]
        self.lines = []
        for offset, line in enumerate(kept):
            landed = line.headers.get(EXPECTED_OFFSET) == str(line.offset)
            headers = line.headers | ({EXPECTED_OFFSET: str(offset)} if landed else {})
            self.lines.append(LogRecord(0, offset, headers, line.value))

    def _write(
        self,
        kind: str,
        source: str,
        seq: int,
        body: Mapping[str, Any],
        cause: str | None,
        headers: dict[str, str],
    ) -> str:
        offset = len(self.lines)
        message = {
            "id": f"{source}/{seq}",
            "type": kind,
            "fabric": POD,
            "at_us": 10 * offset,
            "cause": cause,
            "source": source,
            "seq": seq,
            "v": 1,
            "body": body,
        }
        self.lines.append(LogRecord(0, offset, headers, json.dumps(message).encode()))
        return f"{source}/{seq}"


FAULT = {"kind": "link", "target": f"{POD}/cube-1/+x/3", "duration_us": 600_000_001}
SLICE = {"shape": [4, 4, 8], "twisted": False, "priority": 0, "duration_us": 300_000_002}


@dataclasses.dataclass
class Case:
    """A log, with the corresponding answers of a client and of the twin."""

    log: Log
    book: ClientRecord
    stand: FinalState

    def facts(self) -> LogFacts:
        return gather_facts(self.log.lines)

    def problems(self) -> list[str]:
        facts = self.facts()
        positions = {key: len(self.log.lines) for key in self.stand.positions}
        return check_all(self.book, facts, dataclasses.replace(self.stand, positions=positions))

    def accept(self, name: str, kind: str, body: Mapping[str, Any], at_us: int, key: str = "") -> None:
        request = AcceptedRequest(name, key or name.rpartition("/")[2], POD, kind, body, at_us)
        self.book = dataclasses.replace(self.book, accepted=(*self.book.accepted, request))

    def has_read(self, service: str, book: Mapping[str, int]) -> None:
        self.stand = dataclasses.replace(self.stand, books={**self.stand.books, (service, POD): book})

    def unsure(self, *keys: str) -> None:
        self.book = dataclasses.replace(self.book, unsure=frozenset(keys))


@pytest.fixture
def case() -> Case:
    """Four requests, each answered, all accepted."""
    log = Log()
    book = ClientRecord(())
    stand = FinalState(
        drained={f"{POD}/cube-2": True, f"{POD}/cube-3": False},
        books={
            ("failures", POD): {"operator@pod-0": 100, "tick.failures@pod-0": 7},
            ("cubes", POD): {"operator@pod-0": 200},
            ("workload", POD): {"operator@pod-0": 400},
            ("ocs", POD): {"scheduler@pod-0": 3},
        },
        faults={POD: 1},
        slices={POD: 1},
        positions={("cubes", 0): 0, ("ocs", 0): 0},
        ticks={("ocs", POD): 0},
    )
    found = Case(log, book, stand)
    name = log.root("InjectFault", 100, FAULT)
    found.accept(name, "InjectFault", FAULT, 0)
    log.say("failures", "FaultBegan", name, {"fault": f"{POD}/fault-0"})
    drain = {"cube": f"{POD}/cube-2"}
    name = log.root("DrainCube", 200, drain)
    found.accept(name, "DrainCube", drain, 20)
    log.say("cubes", "CubeDrained", name, {"cube": 2})
    log.root("RequestSlice", 400, SLICE, at=99)
    name = log.root("RequestSlice", 400, SLICE)
    found.accept(name, "RequestSlice", SLICE, 50)
    log.say("workload", "SliceRequested", name, {"slice": f"{POD}/slice-0"})
    log.say("failures", "FaultEnded", "operator@pod-0/100", {"fault": f"{POD}/fault-0", "how": "expired"})
    log.repeat(1)
    return found


def test_all_is_well(case: Case) -> None:
    assert case.problems() == []
    facts = case.facts()
    assert (facts.messages, facts.voids, facts.repeats) == (7, 1, 1)
    assert count_outcomes(facts, facts.requests) == (3, 0)


def test_messages_of_the_soak_itself_do_not_count(case: Case) -> None:
    case.log.stray()
    assert case.problems() == []
    facts = case.facts()
    assert (facts.messages, facts.foreign) == (7, 1)
    case.stand = dataclasses.replace(case.stand, faults={POD: 2})
    expect(case, "2 faults were numbered, but the log holds 1")


def expect(case: Case, *words: str) -> None:
    problems = case.problems()
    for word in words:
        assert any(word in problem for problem in problems), (word, problems)
    assert len(problems) == len(words), problems


def test_a_lost_request_is_found(case: Case) -> None:
    case.log.drop("operator@pod-0/100")
    case.log.drop("failures@pod-0/1")
    expect(
        case,
        "operator@pod-0/100 (InjectFault) was accepted, but is on the log 0 times",
        "failures of pod-0 has read requests up to",
        "1 faults were numbered, but the log holds 0",
    )


def test_a_request_that_fell_behind_a_later_one_is_found(case: Case) -> None:
    """It is on the log, and every reader dropped it as a repeat."""
    body = {"cube": f"{POD}/cube-9"}
    name = case.log.root("DrainCube", 150, body)
    case.accept(name, "DrainCube", body, 90)
    expect(case, "is on the log 0 times")


def test_one_that_was_applied_twice_is_found(case: Case) -> None:
    case.log.say("failures", "FaultBegan", "operator@pod-0/100", {"fault": f"{POD}/fault-1"})
    expect(
        case, "operator@pod-0/100 (InjectFault) has 2 answers", "1 faults were numbered, but the log holds 2"
    )


def test_one_that_was_never_handled_is_found(case: Case) -> None:
    case.log.drop("cubes@pod-0/1")
    expect(case, "operator@pod-0/200 (DrainCube) has 0 answers")


def again(case: Case, key: str) -> None:
    """One more slice, under this key."""
    name = case.log.root("RequestSlice", 500, SLICE, key=key)
    case.log.say("workload", "SliceRequested", name, {"slice": f"{POD}/slice-1"})
    case.has_read("workload", {"operator@pod-0": 500})
    case.stand = dataclasses.replace(case.stand, slices={POD: 2})


def test_one_request_that_was_taken_under_two_numbers_is_found(case: Case) -> None:
    again(case, "400")
    expect(
        case,
        "one request is on the log as operator@pod-0/400, operator@pod-0/500, under the key 400",
    )


def test_an_uncertain_request_may_be_on_the_log_once(case: Case) -> None:
    case.unsure("500", "600")
    again(case, "500")
    assert case.problems() == []
    name = case.log.root("DrainCube", 700, {"cube": f"{POD}/cube-2"}, key="500")
    case.log.say("cubes", "DrainRefused", name, {"target": f"{POD}/cube-2", "reason": "is drained"})
    case.has_read("cubes", {"operator@pod-0": 700})
    expect(case, "one request is on the log as operator@pod-0/500, operator@pod-0/700, under the key 500")


@pytest.mark.parametrize(
    ("forgot_s", "found"),
    [([], 1), ([450.0], 1), ([960.0], 1), ([690.0], 0), ([750.0], 0), ([9.0, 701.0], 0)],
)
def test_one_that_was_received_and_is_lost_is_found_unless_redis_was_made_to_forget(
    case: Case, forgot_s: list[float], found: int
) -> None:
    again(case, "500")
    problems = [*check_received({"500": 700.0, "lost": 700.0}, forgot_s, case.facts())]
    assert problems == ["a request was received under the key lost, but is not on the log"] * found


def test_a_request_under_the_key_of_another_is_found(case: Case) -> None:
    *others, last = case.book.accepted
    case.book = dataclasses.replace(
        case.book, accepted=(*others, dataclasses.replace(last, id="operator@pod-0/401"))
    )
    expect(
        case,
        "operator@pod-0/401 (RequestSlice) was accepted, but is on the log 0 times",
        "operator@pod-0/400 is on the log under the key of operator@pod-0/401",
    )


@pytest.mark.parametrize("key", ["nobody's", ""])
def test_a_request_that_no_client_sent_is_found(case: Case, key: str) -> None:
    body = {"cube": f"{POD}/cube-3"}
    name = case.log.root("UndrainCube", 500, body, key=key)
    case.log.say("cubes", "DrainRefused", name, {"target": f"{POD}/cube-3", "reason": "is not drained"})
    case.has_read("cubes", {"operator@pod-0": 500})
    expect(case, f"operator@pod-0/500 is on the log under the key {key}, which no operator used")


def test_a_cube_of_a_fabric_that_retired_needs_no_document(case: Case) -> None:
    case.log.say("sequencer", "FabricRetired", None, {})
    case.stand = dataclasses.replace(case.stand, drained={})
    assert case.problems() == []


def test_a_request_that_came_out_differently_is_found(case: Case) -> None:
    first, *others = case.book.accepted
    for change, word in (
        ({"at_us": 1}, "at 1 us, but is on the log as InjectFault of pod-0 at 0 us"),
        ({"fabric": "pod-1"}, "of pod-1 at 0 us"),
        ({"body": FAULT | {"target": f"{POD}/cube-7/+x/3"}}, "requested"),
    ):
        changed = dataclasses.replace(first, **change)
        case.book = dataclasses.replace(case.book, accepted=(changed, *others))
        expect(case, word)


def test_one_number_reported_to_two_clients_is_found(case: Case) -> None:
    first = case.book.accepted[0]
    twice = dataclasses.replace(first, key="another")
    case.book = dataclasses.replace(case.book, accepted=(*case.book.accepted, twice))
    expect(case, "operator@pod-0/100 was the answer to 2 requests")


def test_a_cube_in_another_state_than_its_last_request_is_found(case: Case) -> None:
    drained = {f"{POD}/cube-2": False, f"{POD}/cube-3": True}
    case.stand = dataclasses.replace(case.stand, drained=drained)
    expect(case, "cube-2: not drained", "cube-3: drained, but its last request left it not drained")


def test_a_service_that_has_not_read_the_last_request_is_found(case: Case) -> None:
    case.has_read("failures", {"operator@pod-0": 99})
    expect(case, "failures of pod-0 has read requests up to {'operator@pod-0': 99}")


def test_a_service_that_lags_behind_is_found(case: Case) -> None:
    facts = case.facts()
    stand = dataclasses.replace(case.stand, positions={("cubes", 0): 9, ("ocs", 0): 8})
    assert check_all(case.book, facts, stand) == ["ocs is at 8 of partition 0, whose log ends at 9"]


def test_a_service_that_has_not_taken_the_ticks_of_the_log_is_found(case: Case) -> None:
    case.stand = dataclasses.replace(case.stand, ticks={("ocs", POD): 1, ("cubes", POD): None})
    expect(
        case, "ocs of pod-0 has processed 1 Ticks, but the log holds 0", "cubes of pod-0 has never started"
    )


NETWORK = {"links": [[0, 1, 7], [0, 2, 5], [1, 2, 0]]}
TRUNKS = {f"{POD}/block-0/trunk-1": 6, f"{POD}/block-0/trunk-2": 5}
BLOCKS = {f"{POD}/block-0": 11, f"{POD}/block-1": 6, f"{POD}/block-2": 5}


def wire(case: Case) -> None:
    """Trunks between three blocks; then a link of one is lost, after a plan."""
    case.log.say("trunks", "TrunksChanged", None, NETWORK)
    case.log.say("topology", "RewiringPlanned", None, {"rewiring": f"{POD}/rewiring-0"})
    case.log.say("trunks", "TrunksChanged", None, {"links": [[0, 1, 6]]})
    planned = frozenset({f"{POD}/rewiring-0"})
    case.stand = dataclasses.replace(case.stand, trunks=TRUNKS, blocks=BLOCKS, rewirings=planned)


def test_a_network_that_is_shown_as_the_log_leaves_it_is_well(case: Case) -> None:
    wire(case)
    assert case.problems() == []
    case.log.say("sequencer", "FabricRetired", None, {})
    case.stand = dataclasses.replace(case.stand, trunks={}, blocks={}, rewirings=frozenset(), drained={})
    assert case.problems() == []


def test_a_network_that_is_shown_differently_is_found(case: Case) -> None:
    wire(case)
    case.stand = dataclasses.replace(
        case.stand,
        trunks=TRUNKS | {f"{POD}/block-0/trunk-1": 7},
        blocks={name: links for name, links in BLOCKS.items() if name != f"{POD}/block-2"},
        rewirings=frozenset({f"{POD}/rewiring-1"}),
    )
    expect(
        case,
        "block-0/trunk-1: shown with 7 links, but the log has 6",
        "block-2: shown with None links, but the log has 5",
        "rewiring-1 is shown, but the log holds no plan of it",
    )


def test_a_plan_has_one_answer_and_an_abort_one_at_most(case: Case) -> None:
    plan = case.log.root("PlanTopology", 500, {"dcn": POD})
    case.log.say("topology", "RewiringPlanned", plan, {"rewiring": f"{POD}/rewiring-1"})
    case.log.root("AbortRewiring", 600, {"rewiring": f"{POD}/rewiring-1"})
    case.has_read("topology", {"operator@pod-0": 600})
    case.unsure("500", "600")
    assert case.problems() == []
    for _ in range(2):
        case.log.say("topology", "PlanRefused", "operator@pod-0/600", {"subject": POD, "reason": "it ended"})
    case.log.drop("topology@pod-0/1")
    expect(
        case,
        "operator@pod-0/500 (PlanTopology) has 0 answers",
        "operator@pod-0/600 (AbortRewiring) has 2 answers",
    )


def test_refusals_count_as_answers(case: Case) -> None:
    body = {"fault": f"{POD}/fault-0"}
    name = case.log.root("ClearFault", 500, body)
    case.log.say("failures", "FaultRefused", name, {"subject": f"{POD}/fault-0", "reason": "has ended"})
    case.accept(name, "ClearFault", body, 90)
    case.has_read("failures", {"operator@pod-0": 500})
    assert case.problems() == []
    assert count_outcomes(case.facts(), case.facts().requests) == (3, 1)


def test_a_repeated_drain_has_no_answer_until_the_cube_is_undrained(case: Case) -> None:
    cube = {"cube": f"{POD}/cube-2"}
    case.unsure("500", "510", "520", "530")
    case.log.root("DrainCube", 500, cube)
    case.log.root("DrainCube", 510, cube)
    case.has_read("cubes", {"operator@pod-0": 510})
    assert case.problems() == []
    undrain = case.log.root("UndrainCube", 520, cube)
    case.log.say("cubes", "CubeUndrained", undrain, {"cube": 2})
    case.log.root("DrainCube", 530, cube)
    case.has_read("cubes", {"operator@pod-0": 530})
    expect(case, "operator@pod-0/530 (DrainCube) has 0 answers")


def test_unreadable_records_are_counted() -> None:
    facts = gather_facts(
        [LogRecord(0, 0, {}, b"{"), LogRecord(0, 1, {}, b"[]"), LogRecord(0, 2, {EXPECTED_OFFSET: "1"}, b"{")]
    )
    assert (facts.messages, facts.voids, facts.unreadable) == (0, 1, 2)
    assert facts.ends == {0: 3}


def test_a_log_may_end_behind_its_last_line(case: Case) -> None:
    facts = gather_facts(case.log.lines, {0: 12, 1: 0})
    stand = dataclasses.replace(case.stand, positions={("cubes", 0): 9, ("ocs", 0): 12, ("ocs", 1): 0})
    assert check_all(case.book, facts, stand) == ["cubes is at 9 of partition 0, whose log ends at 12"]


@pytest.mark.parametrize(
    ("upgraded", "messages", "starts", "found"),
    [
        ((), 0, False, []),
        (("campus",), 1, True, []),
        (("campus",), 0, True, ["campus: the log has 0 upgrades, must be 1"]),
        (("campus",), 2, True, ["campus: the log has 2 upgrades, must be 1"]),
        (("campus",), 1, False, ["campus: the audit starts at the first message"]),
        (
            (),
            1,
            True,
            ["campus: the log has 1 upgrades, must be 0", "campus: the audit starts at an upgrade"],
        ),
    ],
)
def test_each_site_is_upgraded_once(
    upgraded: tuple[str, ...], messages: int, starts: bool, found: list[str]
) -> None:
    facts = LogFacts()
    facts.types["pod-0", "Upgraded"] = messages
    since = {"before": {"rules": 2}} if starts else None
    audit = {"sites": [{"site": "campus", "fabrics": ["dcn-0", "pod-0"], "since": since}]}
    assert [*check_upgraded(upgraded, facts, audit)] == found
