"""Repeated options, output files that are inputs, and forms of whole numbers, in every command."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ops.cli.common.param_types import FileParam, OutFileParam
from ops.cli.main import root
from tests.support.commands import leaf, leaves

LEAVES = leaves(root)


def options_of(words: list[str], *, whole: bool = False) -> list[click.Option]:
    """The options of a command that take one value; with `whole`, those of whole numbers."""
    return [
        param
        for param in leaf(root, words).params
        if isinstance(param, click.Option)
        and not (param.is_flag or param.multiple or param.count)
        and (not whole or isinstance(param.type, click.IntRange | type(click.INT)))
    ]


def refusal(*words: str) -> str:
    done = CliRunner().invoke(root, [*words], prog_name="lightwave", standalone_mode=False)
    error = done.exception
    assert getattr(error, "exit_code", None) == 2, (words, done.output, error)
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_an_option_of_one_value_is_given_once(words: list[str]) -> None:
    for option in options_of(words):
        for name in option.opts:
            expected = f"{max(option.opts, key=len)}: is given 2 times; must be given once"
            assert refusal(*words, name, "1", name, "2") == expected
            assert refusal(*words, f"{option.opts[-1]}", "1", name, "1") == expected


def test_there_are_many_such_options() -> None:
    assert sum(len(options_of(words)) for words in LEAVES) > 200


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_whole_number_has_no_zero_in_front(words: list[str]) -> None:
    for option in options_of(words, whole=True):
        for text in ("011", "-07", "00", "0_1"):
            assert f"{text!r} is not" in refusal(*words, option.opts[0], text)


def test_flags_can_be_repeated(tmp_path: Path) -> None:
    source = tmp_path / "log.swf"
    source.write_text("1 60 5 100 64 -1 -1 64 300 -1 1 7 2 -1 1 -1 -1 -1\n")
    words = ["lab", "import-trace", str(source), str(tmp_path / "out.csv"), "--format", "swf"]
    assert CliRunner().invoke(root, [*words, "--force", "--force"]).exit_code == 0


FILE_CASES = [
    (words, out, source)
    for words in LEAVES
    for out in leaf(root, words).params
    if isinstance(out.type, OutFileParam)
    for source in leaf(root, words).params
    if isinstance(source.type, FileParam) and source.name != out.name and source.nargs == 1
]


@pytest.mark.parametrize(
    ("words", "out", "source"), FILE_CASES, ids=lambda value: str(getattr(value, "name", value))
)
@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
def test_an_output_is_not_an_input(
    tmp_path: Path, words: list[str], out: click.Parameter, source: click.Parameter, link: str
) -> None:
    given, written = tmp_path / "in.html", tmp_path / "out.html"
    given.write_text("kept")
    if link == "same":
        written = given
    elif link == "symbolic":
        written.symlink_to(given)
    elif link == "hard":
        written.hardlink_to(given)
    else:
        (tmp_path / "below").mkdir()
        written = tmp_path / "below" / ".." / "in.html"
    line = [*words]
    for param in leaf(root, words).params:
        value = str(given) if param.name == source.name else str(written) if param.name == out.name else None
        if isinstance(param, click.Argument):
            line += [value or "1"] if param.required or value else []
        elif value is not None or param.required:
            line += [param.opts[0], value or next(iter(getattr(param.type, "words", ("1",))))]
    assert "is the same file as" in refusal(*line)
    assert given.read_text() == "kept"


FAULT_LINES = "date,failure\n2024-01-01,1\n"


@pytest.mark.parametrize(
    ("words", "source", "text"),
    [
        (
            ["import-trace", "--format", "swf"],
            "in.swf",
            "1 60 5 100 64 -1 -1 64 300 -1 1 7 2 -1 1 -1 -1 -1\n",
        ),
        (["import-faults", "--format", "backblaze", "--time-zone", "UTC"], "in.csv", FAULT_LINES),
    ],
    ids=["trace", "faults"],
)
def test_an_importer_replaces_only_what_it_may(
    tmp_path: Path, words: list[str], source: str, text: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    given, out = folder / source, tmp_path / "out.csv"
    given.write_text(text)
    out.write_text("mine")
    command, *options = words
    line = ["lab", command, str(given), str(out), *options]
    assert refusal(*line) == f"OUT {out}: already exists; give another name, or --force to replace it"
    assert out.read_text() == "mine"
    assert CliRunner().invoke(root, [*line, "--force"]).exit_code == 0
    assert out.read_text() != "mine"
    line = ["lab", command, str(folder), str(given), *options, "--force"]
    assert "is in the folder" in refusal(*line)
    assert given.read_text() == text
