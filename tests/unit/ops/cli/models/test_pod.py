"""`lightwave pod qualify` at the command line: output formats, options, mistakes."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import InvalidInput

SMALL = ["pod", "qualify", "--seed", "7", "--cubes", "8"]


def run(*words: str) -> Result:
    return CliRunner().invoke(root, list(words), catch_exceptions=True)


def test_json_repeats_itself() -> None:
    first = run(*SMALL, "-o", "json")
    assert first.exit_code == 0, first.output
    content = json.loads(first.stdout)
    assert (content["seed"], content["cubes"], content["qualified"]) == (7, 8, True)
    assert len(content["worst"]) == 10
    again = run(*content["repeat"].split()[1:])
    assert again.stdout == first.stdout


def test_switches_take_margin_away() -> None:
    """The worst pairing, with ports that reflect as much as allowed, loses margin with every option."""
    contents = [
        json.loads(run(*SMALL, "--return-loss-db", "-38", *options, "-o", "json").stdout)
        for options in ([], ["--no-mitigation"], ["--no-mitigation", "--no-soft-fec"])
    ]
    margins = [content["worst"][0]["margin_orders"] for content in contents]
    assert margins[0] > margins[1] > margins[2]
    assert [content["mitigation"] for content in contents] == [True, False, False]
    assert [content["soft_fec"] for content in contents] == [True, True, False]


def test_parts_and_rate_of_the_modules_are_taken_and_reported() -> None:
    words = ["--rate", "100G-PAM4", "--launch-dbm", "2", "--circulator", "external", "--laser", "DML"]
    done = run(*SMALL, *words, "-o", "json")
    content = json.loads(done.stdout)
    reported = [content[name] for name in ("rate", "launch_dbm", "circulator", "laser")]
    assert reported == ["100G-PAM4", 2.0, "external", "DML"]
    assert run(*content["repeat"].split()[1:]).stdout == done.stdout
    assert "modules: 100G-PAM4, DMLs, circulators external, 2 dBm a lane" in run(*SMALL, *words).stdout
    usual = json.loads(run(*SMALL, "-o", "json").stdout)
    assert [usual[name] for name in ("rate", "launch_dbm", "circulator", "laser")] == [
        *("50G-PAM4", 0.4, "integrated", "EML")
    ]
    refused = run(*SMALL, "--launch-dbm", "11")
    assert "launch-dbm 11 dBm: must be between -20 and 10 dBm; the nearest is 10" in str(refused.exception)


def test_return_loss_is_taken_for_every_port() -> None:
    relaxed = json.loads(run(*SMALL, "--return-loss-db", "-28", "-o", "json").stdout)
    assert relaxed["return_loss_db"] == -28.0
    assert relaxed["ends_above"] > 0


def test_output_formats(tmp_path: Path) -> None:
    assert run(*SMALL, "--worst", "1").stdout.startswith("qualified: 6,144 pairings of 768 link ends")
    assert yaml.safe_load(run(*SMALL, "-o", "yaml").stdout)["pairings"] == 6_144
    page = tmp_path / "page.html"
    done = run(*SMALL, "-o", "html", "--out", str(page))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--return-loss-db", "x"], "'x' is not a valid float"),
        (["--cubes", "3"], "3 is not in the range 4<=x<=144"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--worst", "1001"], "1001 is not in the range"),
        (["-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml', 'html'"),
        (["--out", ""], "'' is not a valid path"),
    ],
)
def test_mistakes(words: list[str], sentence: str) -> None:
    done = run("pod", "qualify", *words)
    assert done.exit_code == 2
    assert sentence in done.output


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("-9", "return-loss-db -9 dB: must be between -80 and -10 dB; the nearest is -10"),
        ("nan", "--return-loss-db nan: not a number; must be between -80 and -10 dB"),
        ("30", "return-loss-db 30 dB: must be between -80 and -10 dB; did you mean -30?"),
    ],
)
def test_a_return_loss_out_of_range_is_refused_as_in_budgets(value: str, sentence: str) -> None:
    raised = run("pod", "qualify", "--return-loss-db", value).exception
    assert isinstance(raised, InvalidInput)
    assert str(raised) == sentence


def test_the_group_lists_its_command() -> None:
    assert "no command 'qualfy'; did you mean qualify?" in run("pod", "qualfy").output
