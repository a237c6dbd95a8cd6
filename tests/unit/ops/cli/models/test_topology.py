"""`lightwave topology` at the command line: figures, suggestions, pictures, mistakes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import LightwaveError
from tests.support.fake_twin import lightwave

pytestmark = pytest.mark.integration

KEYS = [
    *("shape", "twisted", "without_ocs", "chips", "hosts", "cubes", "links", "optical_links"),
    *("cross_connects", "ocs_used", "diameter", "mean_hops", "bisection_links", "all_to_all_throughput"),
    *("all_to_all_gain", "dimension_order_throughput", "all_reduce_bandwidth", "notes"),
]


def run_topology(*words: str) -> Result:
    return CliRunner().invoke(root, ["topology", *words], prog_name="lightwave")


def as_json(*words: str) -> dict[str, object]:
    done = run_topology(*words, "-o", "json")
    assert done.exit_code == 0, done
    report: dict[str, object] = json.loads(done.output)
    return report


def test_show_gives_every_figure_in_three_forms() -> None:
    report = as_json("show", "4x8x8", "--twisted")
    assert list(report) == KEYS
    assert report["shape"] == "4x8x8"
    assert report["twisted"] is True
    assert report["mean_hops"] == 4.3125
    assert yaml.safe_load(run_topology("show", "4x8x8", "--twisted", "-o", "yaml").output) == report
    table = run_topology("show", "4x8x8", "--twisted").output.splitlines()
    assert table[0].split() == ["FIGURE", "VALUE", "UNIT"]
    assert [line.split()[0] for line in table[1:17]] == [key for key in KEYS[:-1] if key != "without_ocs"]
    assert table[-1].startswith("bisection_links: the best plane cut; no bisection has fewer than")


@pytest.mark.parametrize(
    "words",
    [
        ["--without", "0", "--without", "17"],
        ["--without", "0,17"],
        ["--without", "0", "17"],
        ["--without", "ocs-17", "--without", "pod-0/ocs-0"],
    ],
)
def test_failed_ocses_can_be_given_in_several_forms(words: list[str]) -> None:
    report = as_json("show", "4x4x8", *words)
    assert report["without_ocs"] == [0, 17]
    assert report["links"] == 384 - 2 * 2


def test_one_chip_has_no_rates_and_the_table_reports_it() -> None:
    assert as_json("show", "1x1x1")["all_to_all_throughput"] is None
    assert "one chip: it has no other chip to send to" in run_topology("show", "1x1x1").output


def test_suggest_ranks_shapes_and_names_the_figure_that_does() -> None:
    report = as_json("suggest", "--chips", "128", "--traffic", "all-to-all")
    assert report["measure"] == "all_to_all_throughput"
    shapes = report["shapes"]
    assert isinstance(shapes, list)
    assert [(row["rank"], row["shape"], row["twisted"]) for row in shapes] == [
        (1, "4x4x8", True),
        (2, "4x4x8", False),
    ]
    table = run_topology("suggest", "--chips", "512", "--traffic", "ring:x").output.splitlines()
    assert table[0].split() == ["RANK", "SHAPE", "TWISTED", "CUBES", "RING-ALL-REDUCE-BANDWIDTH"]
    assert table[1].split() == ["1", "4x8x16", "no", "8", "1.333"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["show", "5x4x4"],
            "shape 5x4x4: sides must not decrease from x to z; the nearest legal shape is 4x4x4",
        ),
        (["show", "16x16x20"], "it needs 80 cubes and the pod has 64; the nearest legal shape is 16x16x16"),
        (["show", "8x8x8", "--twisted"], "twisted: true is not allowed; shape 8x8x8 cannot be twisted"),
        (["show", "4x4"], "shape: '4x4' is not three sides in chips; must be written like 4x4x8"),
        (["show", "4x4x4", "--without", "48"], "ocs: 48 does not exist; must be between 0 and 47"),
        (
            ["show", "4x4x4", "--without", "all"],
            "--without 'all': is not an OCS; must be a number from 0 to 47",
        ),
        (["show", "4x4x4", "3"], "Got unexpected extra argument (3)"),
        (["suggest", "--chips", "100"], "the nearest are 64 and 128"),
        (
            ["suggest", "--chips", "64", "--traffic", "x"],
            "traffic: 'x' is not a known pattern; must be one of all-to-all,",
        ),
        (
            ["draw", "4x4x4", "--out", "slice.gif"],
            "--out slice.gif: ends in '.gif'; must end in .html or .p",
        ),
        (["draw", "4x4x4", "--out", "slice"], "--out slice: has no ending; must end in .html or .png"),
        (["draw", "8x4x4", "--out", "slice.png"], "the nearest legal shape is 4x4x8"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_an_error_in_one_sentence(words: list[str], sentence: str) -> None:
    done = run_topology(*words)
    error = done.exception
    error_text = str(error) if isinstance(error, LightwaveError) else done.output
    assert sentence in error_text
    assert (error.exit_code if isinstance(error, LightwaveError) else done.exit_code) == 2


def test_a_mistake_ends_a_process_with_code_2_and_no_traceback() -> None:
    done = lightwave("topology", "show", "4x4x4", "--without", "48")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lightwave: ocs: 48 does not exist; must be between 0 and 47; the nearest is 47\n"


def test_healthy_figures_need_no_scipy_and_the_command_no_numpy() -> None:
    code = (
        "import sys, ops.cli.main, ops.cli.models.topology\n"
        "print([m for m in ('numpy', 'scipy', 'plotly', 'matplotlib', 'networkx') if m in sys.modules])\n"
        "from shared.models.topology import slice_figures\n"
        "slice_figures((16, 16, 16))\n"
        "print([m for m in ('scipy', 'networkx') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]


def test_an_unwritable_file_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    done = lightwave("topology", "draw", "1x1x2", "--out", str(tmp_path / "none" / "slice.png"))
    assert done.returncode == 2
    assert "there is no folder" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_in_a_missing_folder_is_refused_before_the_slice_is_checked(tmp_path: Path) -> None:
    out = str(tmp_path / "none" / "slice.html")
    done = run_topology("draw", "no-shape", "--out", out)
    assert done.exit_code == 2
    assert "there is no folder" in done.output


def test_throughput_shows_that_it_counts_a_chips_own_share() -> None:
    """1x1x2: two chips with one link, which carries half of what each chip sends."""
    report = as_json("show", "1x1x2")
    assert report["all_to_all_throughput"] == 2.0
    sentence = "all_to_all_throughput: with each chip's share to itself; 1/2 of it leave the chip"
    assert sentence in str(report["notes"])
    for words in (("show", "1x1x2"), ("route", "1x1x2")):
        assert "links one way per chip, including its share for itself" in run_topology(*words).output
    assert "(N-1)/N of it leaves the chip" in run_topology("suggest", "--chips", "2").output
    assert "share to itself" not in str(as_json("show", "8x8x8")["notes"])
