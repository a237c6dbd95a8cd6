"""`lightwave reproduce`: when a claim holds, how claims are selected and shown, and a run of the quick
ones."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.reproduce import lab_runs
from ops.reproduce.claim import (
    EVIDENCE_MEANING,
    JUPITER_SOURCE,
    ON_MACHINES,
    UNEXPLAINED,
    Bound,
    ClaimRow,
    Evidence,
    EvidenceKind,
    Measured,
    PaperClaim,
    Stated,
    between_papers,
    calibrated,
    holds,
    on_machines,
    over_seeds,
    predicted,
    second_hand,
)
from ops.reproduce.claim_tables import claim_table, figure, tolerance
from ops.reproduce.claims_page import claims_page
from ops.reproduce.registry import CLAIMS, select_claims
from schemas.messages.scheduler import SliceAdmitted
from schemas.registry import decode
from shared.basics.errors import InvalidInput
from tests.support.fake_twin import lightwave

pytestmark = pytest.mark.integration

KEYS = (
    *("name", "claim", "kind", "basis", "source", "paper_value", "unit", "measured", "interval", "tolerance"),
    *("holds", "note", "how", "figures", "steady"),
)
NUMBERS = st.floats(-1e9, 1e9)
PREDICTED = predicted("nothing fitted")


def claim(
    measured: float | Measured, stated: Stated, note: str = "", evidence: Evidence = PREDICTED
) -> PaperClaim:
    return PaperClaim(
        "topic/name", "text of the claim", "[LF] 1", stated, evidence, "closed form", lambda: measured, note
    )


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
    assert tuple(asdict(row)) == KEYS
    assert asdict(row) == {
        "name": "topic/name",
        "claim": "text of the claim",
        "kind": "predicted",
        "basis": "nothing fitted",
        "source": "[LF] 1",
        "paper_value": 48,
        "unit": "OCSes",
        "measured": 48,
        "interval": None,
        "tolerance": 0.0,
        "holds": True,
        "note": "",
        "how": "closed form",
        "figures": {},
        "steady": True,
    }


def test_a_row_that_does_not_hold_explains_why() -> None:
    assert claim(3, Stated(4, "x"), "as expected").row().note == "as expected"
    assert claim(3, Stated(4, "x")).row().note == UNEXPLAINED
    assert claim(Measured(3, note="seen"), Stated(4, "x"), "known").row().note == "seen; known"


def test_a_measurement_may_bring_its_own_tolerance() -> None:
    row = claim(Measured(3, tolerance=1.5), Stated(4, "x")).row()
    assert (row.tolerance, row.holds) == (1.5, True)


# --- the claims ---------------------------------------------------------------------------------------------


def test_every_claim_is_complete_and_named_once() -> None:
    assert len(CLAIMS) >= 60
    assert len({claim_found.name for claim_found in CLAIMS}) == len(CLAIMS)
    assert len({(claim_found.claim, claim_found.source) for claim_found in CLAIMS}) == len(CLAIMS)
    for claim_found in CLAIMS:
        topic, _, rest = claim_found.name.partition("/")
        assert topic
        assert rest
        assert claim_found.name == claim_found.name.lower()
        assert " " not in claim_found.name
        assert claim_found.stated.unit
        assert claim_found.source.startswith(("[LF]", "[T4]", "NSDI 2024", JUPITER_SOURCE))
        assert isinstance(claim_found.stated.tolerance, str) or claim_found.stated.tolerance >= 0


def test_claims_are_chosen_by_name_prefix_and_pattern() -> None:
    assert select_claims(()) == list(CLAIMS)
    assert [one.name for one in select_claims(("twist/diameter",))] == ["twist/diameter"]
    prefixed = [one.name for one in select_claims(("goodput",))]
    assert len(prefixed) > 10
    assert all(name.startswith("goodput/") for name in prefixed)
    assert [one.name for one in select_claims(("*-static",))] == [
        "goodput/lf-1024-99.9-static",
        "goodput/times-static",
    ]
    assert len(select_claims(("goodput", "goodput/lf", "goodput/*"))) == len(prefixed)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("godput", "--only 'godput': no such claim; the nearest are goodput, "),
        ("twist/diametre", "the nearest are twist/diameter, "),
        ("", "--only '': no such claim; topics are mix, "),
        ("x*", "--only 'x*': no such claim; "),
    ],
)
def test_an_unknown_name_gets_the_nearest(word: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        select_claims((word,))
    assert sentence in str(error.value)


def row(name: str) -> ClaimRow:
    (one,) = select_claims((name,))
    return one.row()


def test_every_claim_has_evidence_and_a_basis() -> None:
    """Fits and constructions are named, derived figures are marked, and second-hand ones do not count."""
    for claim_found in CLAIMS:
        kind, basis = claim_found.evidence.kind, claim_found.evidence.basis
        assert isinstance(kind, EvidenceKind)
        assert basis, claim_found.name
        if kind is EvidenceKind.PREDICTED:
            assert any(word in basis for word in ("fitted", "assumed")), claim_found.name
        assert (kind is EvidenceKind.DERIVED) is claim_found.source.endswith("(derived)"), claim_found.name
        is_from_second_hand_source = claim_found.source.startswith(("NSDI 2024", JUPITER_SOURCE))
        assert (
            is_from_second_hand_source is (kind is EvidenceKind.SECOND_HAND) or kind is EvidenceKind.DERIVED
        ), claim_found.name
        if kind is EvidenceKind.SECOND_HAND:
            assert basis.partition(":")[0] in ("computed", "fitted"), claim_found.name
        if kind is EvidenceKind.CALIBRATED:
            assert " to " in basis, claim_found.name
        if kind is EvidenceKind.BETWEEN_PAPERS:
            assert claim_found.how == "closed form", claim_found.name
    assert set(EVIDENCE_MEANING) == {claim_found.evidence.kind for claim_found in CLAIMS} == set(EvidenceKind)


def test_a_claim_on_lab_runs_names_them_and_has_several_seeds() -> None:
    for one in CLAIMS:
        assert bool(one.runs) is (one.how == "lab run"), one.name
        if one.runs:
            seeds = [plan.seed for plan in one.runs]
            assert seeds == list(range(max(len(seeds), len(lab_runs.SEEDS)))), one.name


def test_a_mean_over_seeds_has_the_interval_of_the_t_distribution() -> None:
    measured = over_seeds([1.0, 2.0, 3.0, 4.0, 5.0], "more")
    # By hand: s = √2.5, t(4, 97.5 %) = 2.7764, s·t ÷ √5 = 1.9632.
    assert measured.interval == pytest.approx((3 - 1.9632, 3 + 1.9632), abs=1e-4)
    assert (measured.value, measured.tolerance) == (3.0, None)
    assert measured.note == "mean of 5 seeds (1, 2, 3, 4, 5); more"


def test_more_scatter_does_not_widen_the_tolerance() -> None:
    calm, wild = over_seeds([9.0, 10.0, 11.0]), over_seeds([0.0, 10.0, 20.0])
    assert (calm.value, calm.tolerance) == (wild.value, wild.tolerance) == (10.0, None)
    assert on_machines(8, "jobs/day") == Stated(8, "jobs/day", 8 * ON_MACHINES)
    assert [claim(found, on_machines(8, "jobs/day")).row().holds for found in (calm, wild)] == [False] * 2


def test_the_gain_over_a_static_pod_is_of_all_sizes_of_slices() -> None:
    """For six cubes on hosts of 99 %, the ratio is 48 to 6 cubes of 64; powers of two and 48 do not show
    it."""
    claim_row = row("goodput/times-static")
    assert (claim_row.measured, claim_row.holds, claim_row.kind) == (8, False, "derived by us")
    assert claim_row.note.startswith("at 384 chips, hosts of 99 %; 3 × for the sizes that we draw")


def test_goodput_with_fitted_ocses_is_calibrated() -> None:
    """[LF] has 50 % where [T4] has 75 %. Each figure follows with its own number of OCSes, here none and
    24."""
    of_t4, of_lf = row("goodput/t4-1024-99.0-reconfigurable"), row("goodput/lf-1024-99.0-reconfigurable")
    assert (of_t4.measured, of_lf.measured) == (75, 50)
    assert of_t4.kind == of_lf.kind == "calibrated"


@pytest.mark.parametrize(("kind", "fewest", "most"), [("cwdm4-bidi", 47, 56), ("cwdm8-bidi", 16, 25)])
def test_a_fabric_names_the_sufficient_numbers_of_ocses(kind: str, fewest: int, most: int) -> None:
    claim_row = row(f"fabric/{kind}")
    assert f"; {fewest} to {most} would do as well" in claim_row.basis
    assert claim_row.kind == "between papers"


QUICK = [one for one in CLAIMS if one.how == "closed form" or one.name.startswith("twist/")]


@pytest.mark.parametrize("quick", QUICK, ids=lambda one: one.name)
def test_a_quick_claim_holds_or_is_known_not_to(quick: PaperClaim) -> None:
    row = quick.row()
    assert row.holds or row.note
    assert row.note != UNEXPLAINED


# --- lab runs -----------------------------------------------------------------------------------------------


def test_a_lab_run_is_run_once_and_keeps_the_requested_types() -> None:
    plan = lab_runs.ClaimRunPlan(0.5, seed=3)
    first = lab_runs.lab_run(plan)
    assert lab_runs.lab_run(plan) is first
    assert {type(message.body).__name__ for message in first.messages} <= set(lab_runs.RECORDED_TYPES)
    admitted = sum(isinstance(message.body, SliceAdmitted) for message in first.messages)
    assert admitted == first.pod.slices["admitted"] > 0


@pytest.mark.slow("the same labs in one process and in several")
def test_runs_ahead_in_several_processes_are_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [lab_runs.ClaimRunPlan(0.25, seed=seed) for seed in (5, 6)]
    by_hand = [lab_runs.lab_run(plan) for plan in plans]
    monkeypatch.setattr(lab_runs, "_finished_runs", {})
    lab_runs.run_ahead(plans, jobs=2)
    ahead = lab_runs.lab_runs(plans)
    assert ahead == by_hand
    assert ahead[0] is not by_hand[0]
    assert ahead[0] != ahead[1]


def test_the_types_kept_are_types_of_messages(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = lightwave("lab", "run", "--days", "1", "--set", "failures.host_per_day=0.02", "--log", str(log))
    assert done.returncode == 0
    types_found = {decode(line).type for line in log.read_bytes().splitlines()}
    assert {
        "SliceAdmitted",
        "CubeSwapped",
        "ConnectCircuits",
        "CircuitsConnected",
        "FaultBegan",
    } <= types_found


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


def test_the_table_counts_predictions_and_every_other_kind_apart() -> None:
    rows = [
        claim(48, Stated(48, "OCSes"), evidence=between_papers("text and table")).row(),
        claim(3, Stated(4, "x", "above"), "for a reason").row(),
        claim(5, Stated(4, "x", "above")).row(),
        claim(5, Stated(4, "x"), "too much", second_hand("computed")).row(),
    ]
    lines = claim_table(rows).splitlines()
    assert lines[0] == f"PREDICTED, 1 of 2 hold: {EVIDENCE_MEANING[EvidenceKind.PREDICTED]}"
    heads = ["CLAIM", "PAPER", "MEASURED", "UNIT", "TOLERANCE", "HOLDS", "KIND", "HOW", "SOURCE"]
    assert lines[1].split() == heads
    assert [
        line.split(",")[0] for line in lines if EVIDENCE_MEANING[EvidenceKind.BETWEEN_PAPERS] in line
    ] == ["BETWEEN PAPERS"]
    assert lines[-5:] == [
        "1 of 2 predictions hold; others: between papers 1 of 1, second-hand 0 of 1",
        "",
        "Claims that do not hold:",
        "  topic/name (predicted): for a reason",
        "  topic/name (second-hand): too much",
    ]
    assert (
        claim_table(rows[:1]).splitlines()[-1] == "no predictions among these; others: between papers 1 of 1"
    )
    assert claim_table(rows[2:3]).splitlines()[-1] == "1 of 1 predictions hold"


def test_the_page_escapes_text_shows_every_kind_and_needs_no_network() -> None:
    row = claim(1, Stated(1, "<b>"), "a & b", calibrated("x < y to z")).row()
    text = claims_page([row], [])
    assert "&lt;b&gt;" in text
    assert "a &amp; b" in text
    assert "x &lt; y to z" in text
    assert '<h2 id="calibrated">CALIBRATED, 1 of 1 hold: ' in text
    assert "no predictions among these; others: calibrated 1 of 1." in text
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
    assert [row["holds"] for row in rows] == [True, False, True, True]


@pytest.mark.slow("runs a lab for each figure")
def test_the_command_draws_the_papers_figures(tmp_path: Path) -> None:
    out = tmp_path / "papers.html"
    done = lightwave("reproduce", "--only", "fabric", "-o", "html", "--out", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"written to {out}\n")
    text = out.read_text(encoding="utf-8")
    assert text.count("Plotly.newPlot(") >= 4
    assert "stated in the papers" in text
    assert 'id="fabric/cwdm4-bidi"' in text


def test_an_unknown_claim_is_an_error_in_one_sentence() -> None:
    done = lightwave("reproduce", "--only", "fabrics")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no such claim; the nearest are fabric" in done.stderr


def test_names_go_with_only() -> None:
    done = lightwave("reproduce", "fabric")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unexpected extra argument (fabric)" in done.stderr
