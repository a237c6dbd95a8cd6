"""`lightwave reproduce`: when a claim holds, how claims are chosen and shown, and a run of those that are
quick."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.reproduce import geometry, labs, mix, optics
from ops.reproduce.claims import UNEXPLAINED, Bound, Claim, Measured, Stated, holds
from ops.reproduce.page import page
from ops.reproduce.registry import CLAIMS, chosen
from ops.reproduce.report import figure, table, tolerance
from schemas.registry import decode
from schemas.scheduler import SliceAdmitted, SliceStarted
from shared.basics.errors import InvalidInput
from shared.models.optics.palomar import manufactured_ocses
from tests.support.fake_twin import lightwave

KEYS = (*("name", "claim", "source", "paper_value", "unit", "measured", "tolerance", "holds", "note", "how"),)
NUMBERS = st.floats(-1e9, 1e9)


def claim(measured: float | Measured, stated: Stated, note: str = "") -> Claim:
    return Claim("topic/name", "what is said", "[LF] 1", stated, "closed form", lambda: measured, note)


# --- when a claim holds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "stated", "allowed", "kept"),
    [
        (48, 48, 0, True),
        (47, 48, 0, False),
        (0.1 + 0.2, 0.3, 0, True),
        (0.95, 0.94, 0.02, True),
        (0.97, 0.94, 0.02, False),
        (1.63, 1.63, "at least", True),
        (1.62, 1.63, "at least", False),
        (100, 100, "at most", True),
        (101, 100, "at most", False),
        (98, 98, "above", False),
        (98.1, 98, "above", True),
        (3, 3, "below", False),
        (0.7, 3, "below", True),
        (float("nan"), 3, "below", False),
        (float("inf"), 3, "above", False),
    ],
)
def test_a_claim_holds_within_its_tolerance(
    measured: float, stated: float, allowed: float | Bound, kept: bool
) -> None:
    assert holds(measured, stated, allowed) is kept


@given(NUMBERS, NUMBERS)
def test_one_sided_claims_are_complements(measured: float, stated: float) -> None:
    if abs(measured - stated) > 1e-6 * max(abs(measured), abs(stated)):
        assert holds(measured, stated, "at least") is not holds(measured, stated, "below")
        assert holds(measured, stated, "at most") is not holds(measured, stated, "above")


@given(st.floats(-1e3, 1e3), st.floats(1, 1e3), st.floats(-2, 2))
def test_a_two_sided_claim_holds_exactly_within(stated: float, allowed: float, off: float) -> None:
    if abs(abs(off) - 1.0) > 0.01:
        assert holds(stated + off * allowed, stated, allowed) is (abs(off) < 1.0)


def test_a_row_has_every_field_in_order() -> None:
    row = claim(48, Stated(48, "OCSes")).row()
    assert tuple(row) == KEYS
    assert row == {
        "name": "topic/name",
        "claim": "what is said",
        "source": "[LF] 1",
        "paper_value": 48,
        "unit": "OCSes",
        "measured": 48,
        "tolerance": 0.0,
        "holds": True,
        "note": "",
        "how": "closed form",
    }


def test_a_row_that_does_not_hold_says_why() -> None:
    assert claim(3, Stated(4, "x"), "as expected").row()["note"] == "as expected"
    assert claim(3, Stated(4, "x")).row()["note"] == UNEXPLAINED
    assert claim(Measured(3, note="seen"), Stated(4, "x"), "known").row()["note"] == "seen; known"


def test_a_measurement_may_bring_its_own_tolerance() -> None:
    row = claim(Measured(3, tolerance=1.5), Stated(4, "x")).row()
    assert (row["tolerance"], row["holds"]) == (1.5, True)


# --- the claims ---------------------------------------------------------------------------------------------


def test_every_claim_is_complete_and_named_once() -> None:
    assert len(CLAIMS) >= 60
    assert len({one.name for one in CLAIMS}) == len(CLAIMS)
    assert len({(one.claim, one.source) for one in CLAIMS}) == len(CLAIMS)
    for one in CLAIMS:
        topic, _, rest = one.name.partition("/")
        assert topic
        assert rest
        assert one.name == one.name.lower()
        assert " " not in one.name
        assert one.stated.unit
        assert one.source.startswith(("[LF]", "[T4]", "NSDI 2024"))
        assert isinstance(one.stated.tolerance, str) or one.stated.tolerance >= 0


def test_claims_are_chosen_by_name_prefix_and_pattern() -> None:
    assert chosen(()) == list(CLAIMS)
    assert [one.name for one in chosen(("geometry/ocs",))] == ["geometry/ocs"]
    prefixed = [one.name for one in chosen(("goodput",))]
    assert len(prefixed) > 10
    assert all(name.startswith("goodput/") for name in prefixed)
    assert [one.name for one in chosen(("*-static",))] == [
        "goodput/t4-1024-99.9-static",
        "goodput/lf-1024-99.9-static",
        "goodput/times-static",
    ]
    assert len(chosen(("goodput", "goodput/lf", "goodput/*"))) == len(prefixed)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("godput", "--only 'godput': no such claim; the nearest are goodput, "),
        ("geometry/chip-per-cube", "the nearest are geometry/chips-per-cube, "),
        ("", "--only '': no such claim; topics are geometry, "),
        ("x*", "--only 'x*': no such claim; "),
    ],
)
def test_an_unknown_name_gets_the_nearest(word: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        chosen((word,))
    assert sentence in str(error.value)


def row(name: str) -> dict[str, Any]:
    (one,) = chosen((name,))
    return one.row()


def test_jobs_are_those_that_start_and_the_notes_say_why_they_are_not_the_papers() -> None:
    run = labs.workload_run()
    started = sum(isinstance(message.body, SliceStarted) for message in run.messages)
    assert (
        row("jobs/mean")["measured"]
        == started / run.days
        < 0.8 * run.report["slices"]["requested"] / run.days
    )
    assert row("jobs/least")["measured"] < row("jobs/mean")["measured"] < row("jobs/most")["measured"]
    assert "138.8 a day are asked for" in row("jobs/mean")["note"]
    assert f"of {started:,} jobs started" in row("jobs/struck")["note"]
    held = re.findall(r"hold (\d+) of 64 cubes .* (\d+) on those of most", row("jobs/most")["note"])
    assert int(held[0][0]) > int(held[0][1])
    assert "those of one 2.3 %" in row("jobs/cross-connects")["note"]


def test_rows_that_read_a_constant_say_so_and_others_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("modules/lanes", "modules/spacing-cwdm4", "modules/spacing-cwdm8", "ocs/mirrors"):
        assert row(name)["how"] == "by construction"
    for name in ("slices/switching", "ocs/robotic-serial"):
        assert chosen((name,))[0].source.endswith("(derived)")
    assert row("ocs/ports")["measured"] == 136
    assert row("ocs/spare-mirrors")["measured"] == 40
    made = manufactured_ocses(0, "pod-0")
    twice = made.north_mirror.copy()
    twice[5, 1] = twice[5, 0]
    monkeypatch.setattr(optics, "manufactured_ocses", lambda *_: replace(made, north_mirror=twice))
    assert not row("ocs/ports")["holds"]
    assert row("ocs/spare-mirrors")["holds"]
    monkeypatch.setattr(geometry, "check", lambda *_: None)
    assert row("geometry/sub-cube-shapes")["measured"] == 19
    monkeypatch.setattr(mix, "PRODUCTION_MIX", [((4, 4, 4), False, 0.05)])
    assert not row("mix/listed")["holds"]


QUICK = [one for one in CLAIMS if one.how == "closed form" or one.name.startswith(("geometry/", "twist/"))]


@pytest.mark.parametrize("quick", QUICK, ids=lambda one: one.name)
def test_a_quick_claim_holds_or_is_known_not_to(quick: Claim) -> None:
    row = quick.row()
    assert row["holds"] or row["note"]
    assert row["note"] != UNEXPLAINED


# --- lab runs -----------------------------------------------------------------------------------------------


def test_a_lab_run_is_run_once_and_keeps_what_is_asked_for() -> None:
    labs.lab_run.cache_clear()
    first = labs.lab_run(0.5, (labs.NO_TELEMETRY,))
    assert labs.lab_run(0.5, (labs.NO_TELEMETRY,)) is first
    assert labs.lab_run.cache_info().misses == 1
    assert {type(message.body).__name__ for message in first.messages} <= set(labs.KEPT)
    admitted = sum(isinstance(message.body, SliceAdmitted) for message in first.messages)
    assert admitted == first.report["slices"]["admitted"] > 0


def test_the_types_kept_are_types_of_messages(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = lightwave("lab", "run", "--days", "1", "--set", "failures.host_per_day=0.02", "--log", str(log))
    assert done.returncode == 0
    said = {decode(line).type for line in log.read_bytes().splitlines()}
    assert {"SliceAdmitted", "CubeSwapped", "ConnectCircuits", "CircuitsConnected", "FaultBegan"} <= said


# --- how it is shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(4096, "4,096"), (75.0, "75"), (0.97627, "0.9763"), (61777.07, "61,777.1"), (-46.003, "-46"), (0, "0")],
)
def test_figures_are_short(value: float, text: str) -> None:
    assert figure(value) == text


def test_tolerances_are_words() -> None:
    assert [tolerance(one) for one in (0, 0.0213, 2_420, "at least")] == [
        "exact",
        "± 0.021",
        "± 2,400",
        "at least",
    ]


def test_the_table_ends_with_what_does_not_hold_and_why() -> None:
    rows = [claim(48, Stated(48, "OCSes")).row(), claim(3, Stated(4, "x", "above"), "for a reason").row()]
    lines = table(rows).splitlines()
    assert lines[0].split() == ["CLAIM", "PAPER", "MEASURED", "UNIT", "TOLERANCE", "HOLDS", "HOW", "SOURCE"]
    assert lines[-2:] == ["1 of 2 hold; those that do not:", "  topic/name: for a reason"]
    assert table(rows[:1]).splitlines()[-1] == "1 of 1 hold"


def test_the_page_escapes_what_it_shows_and_needs_no_network() -> None:
    row = claim(1, Stated(1, "<b>"), "a & b").row()
    text = page([row], [])
    assert "&lt;b&gt;" in text
    assert "a &amp; b" in text
    assert "<script src=" not in text
    assert '<tr id="topic/name" class="yes">' in text


def printed(*words: str) -> Any:
    done = lightwave("reproduce", *words, "-o", "json")
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def test_the_command_prints_rows() -> None:
    rows = printed("--only", "fabric", "twist/gain-4x4x8")
    assert rows == printed("--only", "fabric,twist/gain-4x4x8")
    assert rows == printed("--only", "fabric", "--only", "twist/gain-4x4x8")
    assert [row["name"] for row in rows] == [
        "twist/gain-4x4x8",
        "fabric/cwdm4-duplex",
        "fabric/cwdm4-bidi",
        "fabric/cwdm8-bidi",
    ]
    assert all(tuple(row) == KEYS for row in rows)
    assert all(row["holds"] for row in rows)


def test_the_command_draws_the_papers_figures(tmp_path: Path) -> None:
    out = tmp_path / "papers.html"
    done = lightwave("reproduce", "--only", "fabric", "-o", "html", "--out", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = out.read_text(encoding="utf-8")
    assert text.count("Plotly.newPlot(") >= 4
    assert "stated in the papers" in text
    assert 'id="fabric/cwdm4-bidi"' in text


def test_an_unknown_claim_is_one_sentence() -> None:
    done = lightwave("reproduce", "--only", "fabrics")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no such claim; the nearest are fabric" in done.stderr


def test_names_go_with_only() -> None:
    done = lightwave("reproduce", "fabric")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unexpected extra argument (fabric)" in done.stderr
