"""`lightwave model availability`, `goodput` and `placement` at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_twin import lightwave

pytestmark = pytest.mark.integration


def printed(*words: str) -> Any:
    done = lightwave(*words, "-o", "json")
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def test_fabric_availability_prints_kind_ocs_and_availability() -> None:
    report = printed("model", "availability", "--ocs-availability", "0.999", "--kind", "cwdm8-bidi")
    assert report == {"kind": "cwdm8-bidi", "ocs": 24, "availability": pytest.approx(0.999**24)}


def test_goodput_model_prints_the_promised_slices() -> None:
    words = ("--host-availability", "0.99", "--slice-chips", "1024", "--fabric", "reconfigurable")
    report = printed("model", "goodput", *words)
    assert report == {
        "goodput": 0.75,
        "slices": 3,
        "probability": pytest.approx(0.98940, abs=1e-5),
        "held_back_cubes": 16,
    }
    with_ocs = printed("model", "goodput", *words, "--ocs-availability", "0.999")
    assert isinstance(with_ocs, dict)
    assert (with_ocs["goodput"], with_ocs["slices"]) == (0.5, 2)


def test_the_sweep_is_a_table_json_and_a_page_that_needs_no_network(tmp_path: Path) -> None:
    rows = printed("model", "goodput", "--sweep")
    assert isinstance(rows, list)
    assert len(rows) == 48
    table = lightwave("model", "goodput", "--sweep", "--fabric", "static", "--host-availability", "0.999")
    assert table.stdout.splitlines()[0].split() == [
        *("HOST-AVAILABILITY", "SLICE-CHIPS", "FABRIC", "GOODPUT", "SLICES", "PROBABILITY"),
        "HELD-BACK-CUBES",
    ]
    assert len(table.stdout.splitlines()) == 1 + 8
    page = tmp_path / "goodput.html"
    done = lightwave("model", "goodput", "--sweep", "-o", "html", "--out", str(page))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"written to {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert "stated in the papers" in text
    assert '<script src="http' not in text
    other = ("--fabric", "static", "--host-availability", "0.95")
    assert lightwave("model", "goodput", "--sweep", *other, "-o", "html", "--out", str(page)).returncode == 0
    assert "stated in the papers" not in page.read_text(encoding="utf-8")


def test_placement_model_prints_a_curve_or_one_slice(tmp_path: Path) -> None:
    words = ("model", "placement", "--cube-availability", "0.882", "--ocs-availability", "0.9988")
    curve = printed(*words)
    assert isinstance(curve, list)
    assert len(curve) == 64
    row = printed(*words, "--slice-cubes", "53")
    assert row == curve[52]
    assert row["with_fault_routing"] == pytest.approx(0.93, abs=0.02)
    page = tmp_path / "placement.html"
    assert lightwave(*words, "-o", "html", "--out", str(page)).returncode == 0
    assert "any OCS fault is fatal" in page.read_text(encoding="utf-8")


def test_an_event_that_no_repetition_saw_has_no_interval() -> None:
    words = [
        "model",
        "rare",
        "--machines",
        "10",
        "--crews",
        "2",
        "--per-day",
        "1e-9",
        "--repair-h",
        "4",
        "--down",
        "10",
    ]
    report = printed(*words)
    assert (report["low"], report["high"], report["empty"]) == (None, None, 20)
    assert 0.0 < report["exactly"] < 1e-80


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            "model availability --kind lr4",
            "kind: 'lr4' is not a known kind of module; must be one of cwdm4-duplex, cw",
        ),
        ("model availability --ocs-availability 99.9", "ocs-availability 99.9: must be a probability"),
        ("model goodput --slice-chips 1000", "slice-chips: 1000 is not allowed"),
        ("model goodput --host-availability nan", "host-availability nan: must be a probability"),
        ("model goodput --host-availability often", "'often' is not a valid float"),
        ("model goodput --fabric clos", "fabric: 'clos' is not a known fabric"),
        (
            "model availability --ocs-availability 1.0000001",
            "ocs-availability 1.0000001: must be a probability",
        ),
        ("model goodput --fabric=", "fabric: '' is not a known fabric"),
        ("model goodput --sweep --out curves.html", "--out curves.html: ends in .html; use -o html"),
        ("model goodput --sweep -o html --out curves.txt", "--out curves.txt: must end in .html"),
        (
            "model placement --cube-availability 0.9 --ocs-availability 1 --slice-cubes 3 -o html",
            "--slice-cubes cannot be combined with -o html, which draws every size",
        ),
        ("model goodput -o html", "-o html requires --sweep"),
        ("model goodput --sweep --slice-chips 64", "--slice-chips cannot be combined with --sweep"),
        (
            "model placement --cube-availability 0.9 --ocs-availability 1 --slice-cubes 65",
            "slice-cubes 65: must be between 1 and 64; the nearest is 64",
        ),
        ("model placement --ocs-availability 1", "Missing option '--cube-availability'"),
        (
            "model rare --machines 48 --crews 2 --per-day 0.0004 --repair-h 72 --down 49",
            "down 49: must be between 1 and 48; the nearest is 48",
        ),
        (
            "model rare --machines 48 --crews 2 --per-day 0.0004 --repair-h 0 --down 4",
            "repair-h 0: must be between 2.4e-11 and 2.4e+13",
        ),
        (
            "model rare --machines 48 --crews 2 --per-day 1e308 --repair-h 72 --down 4",
            "per-day 1e+308: must be between 1e-12 and 1e+12; the nearest is 1e+12",
        ),
        (
            "model rare --machines 9 --crews 2 --per-day 1 --repair-h 1 --down 4 --effort 999999",
            "effort: 999999 is not allowed with 20 repetitions; all together must have at most 10,000,000",
        ),
    ],
)
def test_a_mistake_is_an_error_in_one_sentence(command: str, sentence: str) -> None:
    done = lightwave(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lightwave: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
