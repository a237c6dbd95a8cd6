"""`lightwave dcn plan --live|approve|abort`, `impact` and completions for a running network, against a fake
twin."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from schemas.api.whatif import LossReport
from tests.support.fake_twin import CLOCK_RUNS, Answer, answering, as_json, condition_report, lightwave

pytestmark = pytest.mark.integration

REFUSED, USAGE, NOT_FOUND = 1, 2, 3
ID, NAME = "operator@campus/7", "dcn-0/rewiring-2"
PLAN: dict[str, Any] = {
    "rewiring": NAME,
    "reason": "operator",
    "approval": "automatic",
    "circuits": 1_358,
    "stages": 4,
    "takes_us": 200_040_000,
    "use_ppm": 712_300,
    "use_then_ppm": 611_049,
    "transit_ppm": 305_000,
    "transit_then_ppm": 121_960,
    "bound_ppm": 600_000,
}
GAIN = "in the busiest recent hour: largest use 71.2% to 61.1%, transit 30.5% to 12.2%"
PLANNED = f"{NAME} planned: 1,358 circuits in 4 stages, 3m20s if nothing waits; {GAIN}"
KEPT = PLAN | {"why": "the largest use would rise"}


def receipt(*outcome: tuple[str, dict[str, Any]], **more: Any) -> Answer:
    rows = [
        {"id": f"t/{n}", "cause": ID, "type": kind, "body": body} for n, (kind, body) in enumerate(outcome)
    ]
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": rows}
    return as_json(answer | more)


def ended(outcome: str, reason: str) -> Answer:
    body = {"rewiring": NAME, "outcome": outcome, "reason": reason}
    return as_json([{"at_us": 5, "type": "RewiringEnded", "body": body}])


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (("RewiringPlanned", PLAN), PLANNED),
        (
            ("RewiringPlanned", PLAN | {"approval": "operator"}),
            f"{PLANNED}; `lightwave dcn approve {NAME}` starts it",
        ),
        (("TopologyKept", KEPT), f"nothing is rewired: the largest use would rise ({GAIN})"),
    ],
)
def test_a_plan_shows_its_changes_or_why_there_are_none(
    outcome: tuple[str, dict[str, Any]], sentence: str
) -> None:
    with answering({"/v1/rewirings": [receipt(outcome)]}) as twin:
        done = lightwave("dcn", "plan", "--live", "--key", "spring", url=twin.url)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{sentence} ({ID})\n", "")
        (request,) = twin.requests
        assert (json.loads(request.body), request.headers["idempotency-key"]) == ({"dcn": None}, "spring")


def test_a_plan_waits_until_it_is_carried_out() -> None:
    unknown = receipt(complete=False, reason=None)
    report = receipt(("RewiringPlanned", PLAN), reason=None)
    events = [ended("completed", "all stages are complete")]
    reports = [condition_report("null"), condition_report("5", holds=True)]
    answers = {"/v1/rewirings": [unknown], f"/v1/requests/{ID}": [unknown, report], "/v1/events": events}
    answers |= {"/v1/conditions": reports, "/v1/clock": [CLOCK_RUNS]}
    with answering(answers) as twin:
        done = lightwave("dcn", "plan", "dcn-0", "--live", "--wait", url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{PLANNED} ({ID})\n{NAME}: completed: all stages are complete\n"
        assert twin.requests[-1].query == "for=dcn-0%2Frewiring-2&type=RewiringEnded"


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            {
                "/v1/conditions": [condition_report("5", holds=True)],
                "/v1/events": [ended("taken-back", "block-1 would keep 60.0%")],
            },
            f"{NAME}: taken-back: block-1 would keep 60.0%",
        ),
        ({"/v1/conditions": [condition_report("null")]}, f"{NAME}: has not ended after 1 s; it continues"),
        (
            {"/v1/conditions": [condition_report("null", reasons=("dcn-0 retired at 0d01:00:00",))]},
            f"{NAME}: cannot end any more: dcn-0 retired at 0d01:00:00",
        ),
    ],
)
def test_a_plan_that_has_no_effect_is_a_failure(answers: dict[str, list[Answer]], sentence: str) -> None:
    planned = {"/v1/rewirings": [receipt(("RewiringPlanned", PLAN))], "/v1/clock": [CLOCK_RUNS]}
    with answering(planned | answers) as twin:
        done = lightwave("dcn", "plan", "--live", "--wait", "--timeout", "1s", url=twin.url)
        assert (done.returncode, done.stderr) == (REFUSED, f"lightwave: {sentence}\n")


def test_a_refused_plan_is_a_failure() -> None:
    reason = f"{NAME} is planned or under way; must be one at a time"
    refused = {
        "id": ID,
        "status": "refused",
        "repeated": False,
        "complete": True,
        "outcome": [],
        "error": reason,
    }
    with answering({"/v1/rewirings": [as_json(refused | {"reason": reason}, 409)]}) as twin:
        done = lightwave("dcn", "plan", "--live", url=twin.url)
        assert (done.returncode, done.stderr) == (REFUSED, f"lightwave: {reason} ({ID})\n")


@pytest.mark.parametrize(
    ("verb", "outcome", "sentence"),
    [
        ("approve", [("RewiringApproved", {"rewiring": NAME})], f"{NAME} approved; it starts now"),
        (
            "approve",
            [("RewiringApproved", {"rewiring": NAME}), ("StageWaits", {"rewiring": NAME, "reason": "r"})],
            f"{NAME} approved; it waits: r",
        ),
        ("abort", [("RewiringEnded", {"rewiring": NAME, "outcome": "aborted"})], f"{NAME} aborted"),
        ("abort", [], "it ends after its current stage"),
    ],
)
def test_the_outcome_of_a_rewiring_request_is_reported(
    verb: str, outcome: list[tuple[str, dict[str, Any]]], sentence: str
) -> None:
    answers = {f"/v1/rewirings/{NAME}/{verb}": [receipt(*outcome)]}
    with answering(answers) as twin:
        done = lightwave("dcn", verb, NAME, "--comment", "night", url=twin.url)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{sentence} ({ID})\n", "")
        assert "comment=night" in twin.requests[-1].query


def test_an_unknown_rewiring_is_not_found() -> None:
    sentence = {"error": "rewiring 'dcn-0/rewiring-9': no such rewiring; planned or under way is none"}
    with answering({"/v1/rewirings/dcn-0/rewiring-9/abort": [as_json(sentence, 404)]}) as twin:
        done = lightwave("dcn", "abort", "dcn-0/rewiring-9", url=twin.url)
        assert (done.returncode, done.stderr) == (NOT_FOUND, f"lightwave: {sentence['error']}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["net.yaml", "--live"], "FILE 'net.yaml' cannot be combined with --live"),
        (["--live", "dcn-0", "--demand", "m.csv"], "--demand cannot be combined with --live"),
        (
            ["--live", "--capacity-floor", "0.8"],
            "--capacity-floor cannot be combined with --live; a network of the twin has its own demand",
        ),
        (
            ["--live", "dcn-0", "--fabric", "dcn-1"],
            "--fabric cannot be combined with a network's name as FILE",
        ),
        (["--live", "--timeout", "1m"], "--timeout requires --wait"),
        (["net.yaml", "--wait"], "--wait requires --live"),
        (["net.yaml", "--key", "k"], "--key requires --live"),
        ([], "Missing argument 'FILE'; --live plans for a network of the running twin"),
    ],
)
def test_incompatible_options_are_reported(tmp_path: Path, words: list[str], sentence: str) -> None:
    for name in ("net.yaml", "m.csv"):
        (tmp_path / name).write_text("racks: 8\n")
    words = [str(tmp_path / word) if word == "m.csv" else word for word in words]
    words = [str(tmp_path / word) if word == "net.yaml" and "--live" not in words else word for word in words]
    done = CliRunner().invoke(root, ["dcn", "plan", *words], prog_name="lightwave", standalone_mode=False)
    assert sentence in str(done.exception), done.output


LOSS: dict[str, Any] = {
    "target": "dcn-0/rack-5",
    "kind": "rack",
    "at_us": 7,
    "down_by": [],
    "links": 1_536,
    "links_lost": 96,
    "gbps": 307_200.0,
    "gbps_lost": 19_200.0,
    "lost": 0.0625,
    "blocks": [
        {
            "name": "dcn-0/block-0",
            "pod": "pod-0",
            "links": 512,
            "links_lost": 32,
            "gbps": 102_400.0,
            "gbps_lost": 6_400.0,
            "lost": 0.0625,
            "cut_off": False,
        }
    ],
    "pods_cut_off": [],
    "before": {"use": 0.7, "bound": 0.7, "served": 1.0, "transit": 0.1, "path": 1.1, "cut_off": 0},
    "at_once": {"use": 0.9, "bound": 0.7, "served": 0.99, "transit": 0.1, "path": 1.1, "cut_off": 2},
    "after": {"use": 0.75, "bound": 0.7, "served": 0.999, "transit": 0.12, "path": 1.12, "cut_off": 2},
    "jobs": [],
    "circuits_fixed": 0,
    "rewiring": {"name": NAME, "effect": "could go on"},
}


def impacted(**more: Any) -> str:
    report = LossReport.model_validate_json(
        json.dumps(LOSS | more)
    )  # checks that the twin could give this answer
    with answering({"/v1/impact/dcn-0/rack-5": [as_json(report.model_dump(mode="json"))]}) as twin:
        done = lightwave("impact", "dcn-0/rack-5", url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


def test_a_loss_is_reported_in_sentences_and_by_block() -> None:
    first, at_once, carried, rewiring, _, heads, row = impacted().splitlines()
    assert first == "dcn-0/rack-5 breaks (rack): 96 of 1,536 links lost, 6.25% of all capacity, at 1 block"
    assert at_once == (
        "at once: largest use 70.0% to 90.0%, served 100.0% to 99.0%, transit 10.0% to 10.0%, "
        "2 more pairs of blocks cut off"
    )
    assert carried == (
        "with new weights: largest use 70.0% to 75.0%, served 100.0% to 99.9%, "
        "transit 10.0% to 12.0%, 2 more pairs of blocks cut off"
    )
    assert rewiring == f"{NAME}: could go on"
    assert heads.split() == ["BLOCK", "POD", "LINKS", "LOST", "GBPS-LOST", "SHARE"]
    assert row.split() == ["dcn-0/block-0", "pod-0", "512", "32", "6400", "6.25%"]


@pytest.mark.parametrize("reason", [None, "solved last at 0d01:00:00; solved again above 225.00%"])
def test_a_loss_says_what_new_weights_would_do_without_it(reason: str | None) -> None:
    """Otherwise a network seems to be better without the part."""
    new = LOSS["before"] | {"use": 0.6}
    line = "new weights now, without the failure: largest use 70.0% to 60.0%, served 100.0% to 100.0%, "
    line += "transit 10.0% to 10.0%" + (f" ({reason})" if reason else "")
    assert line in impacted(new_weights=new, weights_reason=reason).splitlines()
    assert "weights now" not in impacted(new_weights=LOSS["before"], weights_reason=reason)


def test_pods_that_are_cut_off_are_named_and_what_is_unknown_is_left_out() -> None:
    output = impacted(pods_cut_off=["pod-0"], before=None, rewiring=None)
    assert "\ncut off: pod-0\n" in output
    assert "weights" not in output
    assert "rewiring" not in output


def complete(line: str, url: str) -> list[str]:
    words = line.split(" ")
    more = {
        "_LIGHTWAVE_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = lightwave(url=url, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return [offer.removeprefix("plain,") for offer in done.stdout.split()]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("lightwave inject block dcn-0/", ["block-0", "block-1", "block-2"]),
        ("lightwave inject rack dcn-0/", ["rack-0", "rack-1"]),
        ("lightwave inject bundle dcn-0/block-2", ["block-2/bundle-0", "block-2/bundle-1"]),
        ("lightwave inject control dcn-0/", ["control-0", "control-1", "control-2", "control-3"]),
        ("lightwave impact dcn-0/po", ["power-0", "power-1", "power-2", "power-3"]),
        ("lightwave impact dcn-0/block-1/", ["block-1/bundle-0", "block-1/bundle-1"]),
    ],
)
def test_parts_of_a_network_are_completed(line: str, names: list[str]) -> None:
    listed = {
        "blocks": ["block-0", "block-1", "block-2"],
        "racks": ["rack-0", "rack-1"],
        "bundles": [f"block-{n}/bundle-{rack}" for n in range(3) for rack in range(2)],
        "domains": [f"{word}-{n}" for word in ("control", "power") for n in range(4)],
    }
    answers = {
        f"/v1/{kind}": [as_json([{"name": f"dcn-0/{name}"} for name in listed_names])]
        for kind, listed_names in listed.items()
    }
    with answering(answers, default=as_json([])) as twin:
        assert complete(line, twin.url) == [f"dcn-0/{name}" for name in names]
