"""The output of commands that inject, clear, drain and wait: it includes what an operator would otherwise
look up next."""

import json
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest

from tests.support.fake_twin import (
    CLOCK_PAUSED,
    CLOCK_RUNS,
    Answer,
    FakeTwin,
    answering,
    as_json,
    condition_report,
    lightwave,
)

pytestmark = pytest.mark.integration

REFUSED, USAGE, NOT_FOUND = 1, 2, 3
ID = "operator@pod-0/7"
OCS, FAULT = "pod-0/ocs-18", "pod-0/fault-10"
CUBE, SLICE = "/v1/cubes/pod-0/cube-59", "pod-0/slice-158"


def receipt(*outcome: tuple[str, dict[str, Any]], **more: Any) -> Answer:
    messages = [
        {"id": f"s/{n}", "cause": ID, "type": kind, "body": body} for n, (kind, body) in enumerate(outcome)
    ]
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": messages}
    return as_json(answer | more)


def fault(name: str, target: str = OCS, **more: Any) -> dict[str, Any]:
    return {"name": name, "target": target, "injected": True, "comment": None} | more


BEGAN = ("FaultBegan", {"fault": FAULT, "kind": "ocs", "target": OCS, "expires_us": None})
ENDED = ("FaultEnded", {"fault": FAULT, "kind": "ocs", "target": OCS, "how": "cleared"})
DRAINED = ("CubeDrained", {"cube": 59})
HERE = fault("pod-0/fault-9")
ELSEWHERE = fault("pod-0/fault-8", "pod-0/ocs-1")


def cube(*slices: str) -> Answer:
    return as_json({"name": "pod-0/cube-59", "slices": slices, "drained": not slices})


@pytest.mark.parametrize(
    ("active", "sentence"),
    [
        ([HERE, ELSEWHERE, fault(FAULT)], f"{OCS} is faulty already by pod-0/fault-9\n"),
        ([ELSEWHERE, fault(FAULT)], ""),
    ],
)
def test_a_fault_upon_a_fault_is_reported_where_it_is_injected(active: list[Any], sentence: str) -> None:
    with answering({"/v1/faults": [receipt(BEGAN), as_json(active)]}) as twin:
        done = lightwave("inject", "ocs", OCS, url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{FAULT} began: ocs {OCS} ({ID})\n{sentence}"
        assert twin.requests[-1].query == "fabric=pod-0&state=active"


def test_parts_that_stay_faulty_are_reported_when_a_fault_is_cleared() -> None:
    answers = {f"/v1/faults/{FAULT}/clear": [receipt(ENDED)], "/v1/faults": [as_json([HERE, ELSEWHERE])]}
    with answering(answers) as twin:
        done = lightwave("clear", FAULT, url=twin.url)
        assert done.stdout.endswith(f"\n{OCS} stays faulty because of pod-0/fault-9\n")


LIVING = {"/v1/fabrics/pod-0": [as_json({"name": "pod-0", "retired_us": None})]}


@pytest.mark.parametrize(
    ("words", "cleared"),
    [
        ((), ["pod-0/fault-9", "pod-0/fault-8", "pod-0/fault-11", "pod-1/fault-2"]),
        (("pod-0",), ["pod-0/fault-9", "pod-0/fault-8", "pod-0/fault-11"]),
        ((OCS,), ["pod-0/fault-9", "pod-0/fault-11"]),
        ((f"{OCS}/driver-1",), ["pod-0/fault-11"]),
        (("pod-0/fault-9",), ["pod-0/fault-9"]),
        (("pod-0/ocs-2",), []),
    ],
)
def test_all_faults_are_cleared_or_those_of_a_part(words: tuple[str, ...], cleared: list[str]) -> None:
    board = fault("pod-0/fault-11", f"{OCS}/driver-1")
    active = [HERE, ELSEWHERE, board, fault("pod-1/fault-2", "pod-1/ocs-18")]
    clears = {f"/v1/faults/{row['name']}/clear": [receipt(ENDED)] for row in active}
    answers = {"/v1/faults": [as_json(active)], "/v1/events": [as_json([])], **LIVING, **clears}
    with answering(answers) as twin:
        done = lightwave("clear", "--all", *words, url=twin.url)
        assert done.returncode == 0
        cleared_names = [
            request.path.removeprefix("/v1/faults/") for request in twin.requests if request.method == "POST"
        ]
        assert cleared_names == [f"{name}/clear" for name in cleared]
        assert len(done.stdout.splitlines()) == max(1, len(cleared))


def test_a_comment_of_some_of_all_faults_is_ambiguous() -> None:
    """`--all --comment X` could mean all of them, with X as the reason, or those injected with X."""
    active = [HERE, fault("pod-0/fault-2", "pod-0/ocs-1", comment="drill of May")]
    with answering({"/v1/faults": [as_json(active)]}) as twin:
        for option in ("--all", "--injected"):
            done = lightwave("clear", option, "--comment", "drill of May", url=twin.url)
            assert done.returncode == 2
            assert (
                "--comment: 'drill of May' is ambiguous with --all or --injected; 1 of the 2" in done.stderr
            )
        assert not [request for request in twin.requests if request.method == "POST"]


NATURAL = fault("pod-0/fault-1", f"{OCS}/driver-1", injected=False)
DRILL = fault("pod-0/fault-2", "pod-0/ocs-1", comment="drill of May")


@pytest.mark.parametrize(
    ("words", "cleared", "note"),
    [
        (["--all"], ["fault-9", "fault-2"], True),
        (["--injected"], ["fault-9", "fault-2"], True),
        (["--all", "--comment", "why"], ["fault-9", "fault-2"], True),
        (["--all", "--natural"], ["fault-9", "fault-1", "fault-2"], False),
        (["--all", "--natural", f"{OCS}/driver-1"], ["fault-1"], False),
        (["--all", "pod-0/ocs-1"], ["fault-2"], False),
        (["--injected", f"{OCS}/driver-1"], [], True),
        (["--comment", "drill of May"], ["fault-2"], False),
        (["--comment", "another"], [], False),
    ],
)
def test_only_injected_faults_are_cleared_unless_natural_ones_are_requested(
    words: list[str], cleared: list[str], note: bool
) -> None:
    active = [HERE, NATURAL, DRILL]
    clears = {f"/v1/faults/{row['name']}/clear": [receipt(ENDED)] for row in active}
    answers = {"/v1/faults": [as_json(active)], "/v1/events": [as_json([])], **LIVING, **clears}
    with answering(answers) as twin:
        done = lightwave("clear", *words, url=twin.url)
        cleared_names = [request.path.split("/")[-2] for request in twin.requests if request.method == "POST"]
    left = "lightwave: 1 natural fault is left; `--all --natural` ends natural faults, too\n"
    assert (done.returncode, cleared_names, done.stderr) == (0, cleared, left if note else "")


@pytest.mark.parametrize(
    "words", [["--natural"], ["--all", "--injected", "--natural"], ["--comment", "a", "--key", "b"]]
)
def test_options_that_choose_faults_are_checked(words: list[str]) -> None:
    assert lightwave("clear", *words).returncode == USAGE


@pytest.mark.parametrize(
    ("name", "requested"),
    [
        ("ocs-99", "pod-0/ocs-99"),
        ("pod-9", "pod-9"),
        ("pod-0/ocs-3/N5x", "pod-0/ocs-3/N5x"),
        ("nonsense", "nonsense"),
    ],
)
def test_clearing_faults_of_a_missing_part_is_an_error(name: str, requested: str) -> None:
    answers = {"/v1/faults": [as_json([])], "/v1/fabrics": [as_json([{"name": "pod-0"}])]}
    with answering(answers, default=as_json({"error": f"{name}: no such part"}, 404)) as twin:
        done = lightwave("clear", "--all", name, url=twin.url)
        assert (done.returncode, done.stdout) == (NOT_FOUND, "")
        assert done.stderr == f"lightwave: {name}: no such part\n"
        assert twin.requests[-1].path == "/v1/events"
        assert unquote(twin.requests[-1].query) == f"for={requested}&limit=1"


def test_a_drain_shows_the_slices_that_still_run_there() -> None:
    with answering({f"{CUBE}/drain": [receipt(DRAINED)], CUBE: [cube(SLICE)]}) as twin:
        done = lightwave("drain", "pod-0/cube-59", url=twin.url)
        still = f"pod-0/cube-59 takes nothing new; {SLICE} still runs there, no spare ({ID})\n"
        assert (done.returncode, done.stdout) == (0, still)


DRAIN = f"{CUBE}/drain"
CONDITIONS, CLOCK = "/v1/conditions", "/v1/clock"
PAUSED_NOTE = "lightwave: time stands still at 0d00:00:00: `lightwave clock resume` lets it run\n"


def test_a_drain_waits_until_nothing_runs_there() -> None:
    reports = [condition_report("false"), condition_report("false"), condition_report("true", holds=True)]
    rows = [cube(SLICE), cube()]
    answers = {DRAIN: [receipt(DRAINED)], CUBE: rows, CONDITIONS: reports, CLOCK: [CLOCK_RUNS]}
    with answering(answers) as twin:
        done = lightwave("drain", "pod-0/cube-59", "--wait", url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(f"({ID})\npod-0/cube-59 is drained, nothing runs there\n")
        assert [request.path for request in twin.requests if request.path != CLOCK] == [
            DRAIN,
            CUBE,
            *3 * [CONDITIONS],
            CUBE,
        ]


def test_a_drain_timeout_names_the_remaining_slices() -> None:
    reports = {CONDITIONS: [condition_report("false")], CLOCK: [CLOCK_PAUSED]}
    with answering({DRAIN: [receipt(DRAINED)], CUBE: [cube(SLICE)], **reports}) as twin:
        done = lightwave("drain", "pod-0/cube-59", "--wait", "--timeout", "1s", url=twin.url)
        assert done.returncode == REFUSED
        sentence = f"pod-0/cube-59: {SLICE} still runs there after 1 s; it accepts no new slices"
        assert done.stderr == f"{PAUSED_NOTE}lightwave: {sentence}\n"


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (
            condition_report("false", "false", holds=True),
            (
                f"was put back into use by mia's UndrainCube ({ID}) before it was drained; "
                f"{SLICE} still runs there"
            ),
        ),
        (
            condition_report("false", reasons=("pod-0 retired at 0d01:00:00",)),
            f"cannot be drained any more: pod-0 retired at 0d01:00:00; {SLICE} still runs there",
        ),
    ],
)
def test_a_drain_that_cannot_end_fails_at_once(report: Answer, sentence: str) -> None:
    why = [{"id": ID, "type": "UndrainCube", "body": {"asked_by": "mia"}}]
    answers = {
        DRAIN: [receipt(DRAINED)],
        CUBE: [cube(SLICE)],
        CONDITIONS: [condition_report("false"), report],
        "/v1/fabrics/pod-0": [as_json({"name": "pod-0", "retired_us": None})],
    }
    with answering(answers | {CLOCK: [CLOCK_RUNS], "/v1/why/pod-0/cube-59": [as_json(why)]}) as twin:
        done = lightwave("drain", "pod-0/cube-59", "--wait", url=twin.url)
        assert (done.returncode, done.stderr) == (REFUSED, f"lightwave: pod-0/cube-59: {sentence}\n")


@pytest.mark.parametrize(
    ("slices", "state"),
    [
        ((SLICE,), f"is draining already; {SLICE} still runs there, no spare"),
        ((), "is drained already, nothing runs there"),
    ],
)
def test_a_second_drain_reports_the_remaining_slices(slices: tuple[str, ...], state: str) -> None:
    with answering({DRAIN: [receipt()], CUBE: [cube(*slices)]}) as twin:
        done = lightwave("drain", "pod-0/cube-59", url=twin.url)
        assert (done.returncode, done.stdout) == (0, f"pod-0/cube-59 {state} ({ID})\n")


def test_a_slice_is_requested_by_an_owner_and_a_tier() -> None:
    requested = ("SliceRequested", {"slice": SLICE})
    with answering({"/v1/slices": [receipt(requested)]}) as twin:
        done = lightwave("request", "4x4x8", "--owner", "team-7", "--tier", "Filler", url=twin.url)
        assert (done.returncode, done.stdout) == (0, f"{SLICE} is queued ({ID})\n")
        request = json.loads(twin.requests[0].body)
        assert (request["owner"], request["tier"], request["shape"]) == ("team-7", "filler", "4x4x8")
        assert lightwave("request", "4x4x8", url=twin.url).returncode == 0
        request = json.loads(twin.requests[1].body)
        assert (request["owner"], request["tier"]) == ("operator", "production")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--owner", "Team 7"),
            "'Team 7' is not a valid owner; must be 1 to 67 lowercase letters, digits",
        ),
        (("--tier", "gold"), "no tier 'gold'; must be one of production, research, filler"),
        (("--tier", "reserch"), "no tier 'reserch'; did you mean research?"),
    ],
)
def test_no_such_owner_or_tier(words: tuple[str, str], sentence: str) -> None:
    done = lightwave("request", "4x4x8", *words)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert sentence in " ".join(done.stderr.split())


ROW = "/v1/slices/pod-0/slice-3"


def waiting(*reports: Answer, clock: Answer = CLOCK_RUNS) -> dict[str, list[Answer]]:
    return {ROW: [as_json({"name": "pod-0/slice-3"})], CONDITIONS: [*reports], CLOCK: [clock]}


def wait_for(twin: FakeTwin, state: str, *words: str) -> tuple[int, str]:
    done = lightwave("wait", "slice/pod-0/slice-3", "--for", state, *words, url=twin.url)
    return done.returncode, done.stdout + done.stderr


def conditions_of(twin: FakeTwin) -> list[str]:
    return [
        parse_qs(request.query)["condition"][0] for request in twin.requests if request.path == CONDITIONS
    ]


def test_a_wait_ends_when_the_object_has_the_state() -> None:
    queued = condition_report("queued")
    with answering(waiting(queued, queued, condition_report("running", holds=True))) as twin:
        assert wait_for(twin, "running") == (0, "pod-0/slice-3: state is running\n")
        assert conditions_of(twin) == 3 * ['slices.pod-0/slice-3.state == "running"']


@pytest.mark.parametrize(
    ("test", "condition"),
    [
        ("state!=queued", 'state != "queued"'),
        ("chips >= 64", 'chips >= "64"'),
        ("CHIPS=64", 'CHIPS == "64"'),
        ("LINKS-DOWN=0", 'LINKS-DOWN == "0"'),
        ("state in [running, degraded]", 'state in ["running", "degraded"]'),
        ("reason='no room'", 'reason == "no room"'),
    ],
)
def test_every_test_of_a_field_is_a_condition_as_of_bisect(test: str, condition: str) -> None:
    with answering(waiting(condition_report("1", holds=True))) as twin:
        assert wait_for(twin, test)[0] == 0
        assert conditions_of(twin) == [f"slices.pod-0/slice-3.{condition}"]


def test_a_wait_fails_at_its_timeout() -> None:
    with answering(waiting(condition_report("queued"), clock=CLOCK_PAUSED)) as twin:
        late = "lightwave: pod-0/slice-3: state is still queued, not running after 1 s\n"
        assert wait_for(twin, "running", "--timeout", "1s") == (REFUSED, PAUSED_NOTE + late)


def test_a_timeout_of_zero_checks_once() -> None:
    with answering(waiting(condition_report("queued"), clock=CLOCK_PAUSED)) as twin:
        now = "lightwave: pod-0/slice-3: state is queued, not running\n"
        assert wait_for(twin, "running", "--timeout", "0s") == (REFUSED, now)
        assert len(conditions_of(twin)) == 2  # the second is for the sentence


def test_a_wait_for_an_impossible_state_fails_at_once() -> None:
    ended = "pod-0/slice-3 ended as completed at 0d01:00:00"
    why = {
        "/v1/why/pod-0/slice-3": [as_json([{"id": ID, "type": "ReleaseSlice", "body": {"asked_by": "mia"}}])]
    }
    with answering(waiting(condition_report("completed", reasons=(ended,))) | why) as twin:
        over = (
            f"state is completed, not running, and cannot change: {ended} because of "
            f"mia's ReleaseSlice ({ID})"
        )
        assert wait_for(twin, "running", "--timeout", "1h") == (
            REFUSED,
            f"lightwave: pod-0/slice-3: {over}\n",
        )


def test_a_wait_for_a_missing_object_or_unknown_state_fails_at_once() -> None:
    with answering() as twin:
        assert wait_for(twin, "running")[0] == NOT_FOUND
    wrong = as_json({"error": "state: 'runing' is not allowed; must be"}, 422)
    with answering(waiting(wrong)) as twin:
        assert wait_for(twin, "runing") == (USAGE, "lightwave: state: 'runing' is not allowed; must be\n")
    assert lightwave("wait", "slice-3").returncode == USAGE


def test_a_wait_for_a_missing_object_must_be_allowed() -> None:
    absent, running = condition_report("absent"), condition_report("running", holds=True)
    answers = {CONDITIONS: [absent, absent, running], CLOCK: [CLOCK_RUNS]}
    with answering(answers) as twin:
        assert wait_for(twin, "running", "--allow-missing") == (0, "pod-0/slice-3: state is running\n")
    with answering(
        {CONDITIONS: [absent, condition_report("exists", holds=True)], CLOCK: [CLOCK_RUNS]}
    ) as twin:
        assert wait_for(twin, "exists") == (0, "pod-0/slice-3: exists\n")
        assert conditions_of(twin) == 2 * ["slices.pod-0/slice-3 exists"]


@pytest.mark.parametrize("fabrics", [["pod-0"], ["pod-0", "pod-1"]])
@pytest.mark.parametrize(
    ("words", "name", "requested"),
    [
        ("clear fault-10", "fault-10", "/v1/faults/NAME/clear?wait=10"),
        ("why ocs-17", "ocs-17", "/v1/why/NAME"),
        ("history cube-3/+y/7", "cube-3/+y/7", "/v1/events?for=NAME&ticks=false&limit=10000"),
        ("events --for slice-3", "slice-3", "/v1/events?for=NAME&limit=100"),
        (
            "events --for slice-3 -f --since -1h",
            "slice-3",
            "/v1/events/stream?for=NAME&since=-1h&fabric=pod-0",
        ),
    ],
)
def test_one_fabric_need_not_be_named(fabrics: list[str], words: str, name: str, requested: str) -> None:
    """If several fabrics can have the object, the name is refused before anything else is requested."""
    with answering({"/v1/fabrics": [as_json([{"name": name} for name in fabrics])]}) as twin:
        lightwave(*words.split(), url=twin.url)
        last = twin.requests[-1]
        url = f"{last.path}?{unquote(last.query)}".removesuffix("?")
        assert url == ("/v1/fabrics" if len(fabrics) > 1 else requested.replace("NAME", f"pod-0/{name}"))


def test_completion_proposes_only_faults_that_can_be_cleared() -> None:
    with answering({"/v1/faults": [as_json([HERE])]}) as twin:
        words = {
            "_LIGHTWAVE_COMPLETE": "bash_complete",
            "COMP_WORDS": "lightwave\nclear\n",
            "COMP_CWORD": "2",
        }
        done = lightwave(url=twin.url, **words)
        assert "pod-0/fault-9" in done.stdout
        assert twin.requests[-1].query == "state=active"


def test_json_output_contains_only_the_answer() -> None:
    with answering({"/v1/faults": [receipt(BEGAN)]}) as twin:
        done = lightwave("inject", "ocs", OCS, "-o", "json", url=twin.url)
        assert json.loads(done.stdout)["id"] == ID
        assert len(twin.requests) == 1


LOOPED = {"end": 1191, "expected_db": 2.4, "loss_db": 2.4, "log10_ber": -6.0, "verdict": "clean"}


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        ({}, "2.4000 dB out and back, expected 2.4000 dB, BER 1.0e-06: as made"),
        (
            {"loss_db": 5.4, "verdict": "lossy"},
            "3.0 dB more than factory matrix and fibre: dirt or a bend at this end",
        ),
        (
            {"loss_db": None, "log10_ber": None, "verdict": "dark"},
            "none of its light comes back: module or cable is dead (expected 2.4000 dB)",
        ),
    ],
)
def test_a_link_test_is_reported_in_a_line(measured: dict[str, Any], sentence: str) -> None:
    end = "pod-0/cube-12/+y/7"
    message = {"id": "s/0", "cause": ID, "type": "LinkTested", "body": LOOPED | measured, "about": [end]}
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": [message]}
    with answering({f"/v1/links/{end}/test": [as_json(answer)]}) as twin:
        done = lightwave("ocs", "test", end, url=twin.url)
        assert done.returncode == 0
        assert done.stdout.startswith(f"{end}: ")
        assert done.stdout.endswith(f"{sentence} ({ID})\n")


def test_an_ocs_is_shown_as_a_device() -> None:
    row: dict[str, Any] = {
        "key": "1A-5B",
        "a_side": "1A",
        "b_side": "5B",
        "oper_status": "failed",
        "reason": "1A down",
    }
    row |= {"factory_insertion_loss_db": 1.25, "accuracy_db": 0.1, "slice": SLICE}
    port = {"key": "1A", "label": "N0", "state": "normal", "oper_status": "down"}
    answer = {"name": OCS, "oper_status": "up", "ports_a_side": 136, "ports": [port], "cross_connects": [row]}
    with answering({f"/v1/ocs/{OCS}/management": [as_json(answer)]}) as twin:
        done = lightwave("ocs", "show", OCS, url=twin.url)
        assert done.returncode == 0
        first, ports, _, only = done.stdout.splitlines()
        assert first == f"{OCS} is up: 136 ports per side, 0 of 1 cross-connects tuned"
        assert ports == "ports: 1A down"
        assert only.split() == ["1A-5B", "failed", "1.2500", "0.1000", SLICE, "1A", "down"]


def test_a_manual_cross_connect_is_shown_with_its_requester() -> None:
    row = {"key": "1A-5B", "a_side": "1A", "b_side": "5B", "oper_status": "tuned", "reason": None}
    more = {"factory_insertion_loss_db": 1.25, "accuracy_db": 0.1, "slice": None, "made_by": ID}
    answer = {"name": OCS, "oper_status": "up", "ports_a_side": 136, "ports": []}
    with answering(
        {f"/v1/ocs/{OCS}/management": [as_json(answer | {"cross_connects": [row | more]})]}
    ) as twin:
        done = lightwave("ocs", "show", OCS, url=twin.url)
    assert done.stdout.splitlines()[-1].split() == ["1A-5B", "tuned", "1.2500", "0.1000", ID, "-"]


@pytest.mark.parametrize(
    ("verb", "kind", "refused", "not_tried", "code", "sentence"),
    [
        ("connect", "CrossConnectsTaken", [], [], 0, "1A-5B taken, and mirrors turn"),
        (
            *("connect", "CrossConnectsTaken", [["2A-6B", "2A is down"]], ["3A-7B"], 1),
            "1A-5B taken, and mirrors turn; 2A-6B refused: 2A is down; not tried: 3A-7B",
        ),
        ("disconnect", "CrossConnectsRemoved", [], [], 0, "1A-5B removed"),
    ],
)
def test_the_outcome_of_cross_connects_is_one_line(
    verb: str, kind: str, refused: Any, not_tried: Any, code: int, sentence: str
) -> None:
    body = {"ocs": 17, "circuits": [[0, 4]], "refused": refused, "not_tried": not_tried}
    about = [f"{OCS}/N0", f"{OCS}/S4"]
    message = {"id": "ocs@pod-0/0", "cause": ID, "type": kind, "body": body, "about": about}
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": [message]}
    path = f"/v1/ocs/{OCS}/cross-connects" + ("/remove" if verb == "disconnect" else "")
    with answering({path: [as_json(answer)]}) as twin:
        done = lightwave("ocs", verb, OCS, "1A:5B", "2A-6B", "--go-on", url=twin.url)
        assert (done.returncode, done.stdout) == (code, f"{OCS}: {sentence} ({ID})\n")
        sent = json.loads(twin.requests[0].body)
    assert sent == {"cross_connects": ["1A-5B", "2A-6B"], "error_mode": "ignore-error"}


@pytest.mark.parametrize("key", ["1A", "1B:5A", "0A:1B", "N0:S4"])
def test_an_invalid_pair_of_ports_is_not_sent(key: str) -> None:
    done = lightwave("ocs", "connect", OCS, key, url="http://127.0.0.1:1")
    assert done.returncode == 2
    assert "must be two ports, one on each side, such as 1A:5B" in " ".join(done.stderr.split())


def test_the_outcome_of_an_earlier_request_is_shown() -> None:
    report = {"key": "k1", "fabric": "pod-0", "type": "RequestSlice", "asked_by": None, "comment": None}
    answer = receipt(("SliceRequested", {"slice": SLICE}))
    whole = json.loads(answer[2]) | report | {"ahead": None, "at_us": 0, "reason": None}
    with answering({"/v1/requests/k1": [as_json(whole)]}) as twin:
        done = lightwave("requests", "show", "k1", url=twin.url)
    assert done.stdout == f"RequestSlice of pod-0 accepted at 0d00:00:00: {SLICE} is queued ({ID})\n"
