"""`lightwave topology route` at the command line."""

import json

import pytest
import yaml
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import InvalidInput
from tests.support.fake_twin import lightwave

pytestmark = pytest.mark.integration

KEYS = [
    *("shape", "twisted", "chips", "missing_links", "order", "virtual_channels", "pairs", "reached"),
    *("detours", "escapes", "deadlock_free", "dependencies", "cycle", "mean_hops", "max_hops", "mean_load"),
    *("max_load", "load_by_dimension", "all_to_all_throughput", "all_to_all_kept"),
]


def route(*words: str) -> Result:
    return CliRunner().invoke(root, ["topology", "route", *words], prog_name="lightwave")


def test_route_gives_every_figure_in_three_forms() -> None:
    report = json.loads(route("4x4x8", "--twisted", "-o", "json").output)
    assert list(report) == KEYS
    assert report["pairs"] == report["reached"] == 128 * 127
    assert report["deadlock_free"] is True
    assert report["cycle"] == []
    assert (report["virtual_channels"], report["missing_links"], report["order"]) == (2, 0, "xyz")
    assert report["all_to_all_kept"] == 1
    assert yaml.safe_load(route("4x4x8", "--twisted", "-o", "yaml").output) == report
    table = route("4x4x8", "--twisted").output.splitlines()
    assert [line.split()[0] for line in table] == ["FIGURE", *KEYS]


@pytest.mark.parametrize(
    "words",
    [
        ["--without", "0", "--without", "17"],
        ["--without", "pod-0/ocs-0,17"],
        ["--without", "17", "0", "--without-link", "0,+y"],
    ],
)
def test_failures_can_be_given_in_several_forms(words: list[str]) -> None:
    report = json.loads(route("4x4x4", *words, "-o", "json").output)
    assert report["missing_links"] == 2 + words.count("--without-link")
    assert report["order"] == "xyz"
    assert report["reached"] == report["pairs"]
    assert report["detours"] > 0
    assert report["virtual_channels"] == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["4x4x4", "--without", "48"], "ocs: 48 does not exist; must be between 0 and 47; the nearest is 47"),
        (
            ["4x4x4", "--without", "x"],
            "--without 'x': is not an OCS; must be a number from 0 to 47, such as 17",
        ),
        (["4x4x4", "17"], "Got unexpected extra argument (17)"),
        (["4x4x4", "--without-link", "5,up"], "--without-link '5,up': is not a link"),
        (["4x4x4", "--without", "myocs-17"], "--without 'myocs-17': is not an OCS"),
        (["4x4x4", "--without-link", "64,+x"], "chip: 64 does not exist; must be between 0 and 63"),
        (["2x2x2", "--without-link", "0,-x"], "link -x of chip 0: does not exist in this slice"),
        (["5x4x4"], "the nearest legal shape is 4x4x4"),
        (["4x4x4", "--twisted"], "twisted: true is not allowed; shape 4x4x4 cannot be twisted"),
        (["1x1x2", "--without-link", "0,+z"], "chip (0, 0, 0) cannot reach (0, 0, 1)"),
    ],
)
def test_each_mistake_is_an_error_in_one_sentence(words: list[str], sentence: str) -> None:
    done = route(*words)
    if isinstance(done.exception, InvalidInput):
        assert sentence in str(done.exception)
    else:
        assert done.exit_code == 2
        assert sentence in done.output


def test_a_mistake_is_reported_by_the_program() -> None:
    done = lightwave("topology", "route", "4x4x8", "--without", *map(str, range(32, 48)))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "lightwave: shape 4x4x8: too many links are missing; chip (0, 0, 0) cannot reach "
        "(0, 0, 4), (0, 0, 5), (0, 0, 6), (0, 0, 7) and 60 more\n"
    )
