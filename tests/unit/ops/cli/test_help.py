"""The help: commands in groups, complete lines of 80 columns, and examples that parse."""

import shlex

import click
import pytest
from click.testing import CliRunner

from ops.cli.common.command_groups import summary_of
from ops.cli.common.param_types import DurationParam
from ops.cli.main import COMMAND_GROUPS, COMMANDS, ROOT_EXAMPLES, root
from tests.support.commands import groups, leaf, leaves
from tests.support.fake_twin import lightwave

WIDTH = 80
TITLES = [
    *("Run", "Look", "Explain", "What if", "Operate", "Drills", "Past and forks", "Lab and experiments"),
    "Models",
]


def help_of(words: list[str]) -> list[str]:
    shown = CliRunner().invoke(root, [*words, "--help"], prog_name="lightwave")
    assert shown.exit_code == 0, shown.output
    return shown.output.splitlines()


def examples_of(command: click.Command) -> list[str]:
    lines = (command.epilog or "").splitlines()
    return [line.removeprefix("  lightwave ") for line in lines if line.startswith("  lightwave ")]


def parse(line: str) -> click.Context:
    """Parse an example as the command line does, without running it."""
    words = shlex.split(line, comments=True)
    if ">" in words:
        words = words[: words.index(">")]
    context = root.make_context("lightwave", words)
    while isinstance(context.command, click.Group):
        name, command, rest = context.command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


def test_every_command_is_in_exactly_one_group() -> None:
    assert list(COMMAND_GROUPS) == TITLES
    names = [name for commands in COMMAND_GROUPS.values() for name in commands]
    assert len(names) == len(set(names))
    assert set(names) == set(COMMANDS)


def test_the_root_lists_every_command_below_the_title_of_its_group() -> None:
    lines = help_of([])
    for title, commands in COMMAND_GROUPS.items():
        start = lines.index(f"{title}:") + 1
        listed = lines[start : start + len(commands)]
        assert [line.split()[0] for line in listed] == list(commands)
        assert lines[start + len(commands)] == ""


def test_the_root_ends_with_five_examples() -> None:
    lines = help_of([])
    assert lines[-6] == "Examples:"
    assert [line.removeprefix("  lightwave ") for line in lines[-5:]] == list(ROOT_EXAMPLES)
    for example in ROOT_EXAMPLES:
        parse(example)


def test_lightwave_without_a_command_shows_the_help() -> None:
    alone = lightwave()
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == lightwave("--help").stdout


@pytest.mark.parametrize("words", [*groups(root), *leaves(root)], ids=" ".join)
def test_the_help_fits_the_terminal(words: list[str]) -> None:
    assert [line for line in help_of(words) if len(line) > WIDTH] == []


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_defaults_have_units_and_no_brackets_of_their_own(words: list[str]) -> None:
    text = " ".join(help_of(words))
    assert "[default: (" not in text
    for param in leaf(root, words).params:
        if isinstance(param.type, DurationParam) and param.default is not None:
            assert not isinstance(param.default, int), f"{param.name}: {param.default} s"


@pytest.mark.parametrize("words", groups(root), ids=" ".join)
def test_a_group_lists_its_commands_with_complete_sentences(words: list[str]) -> None:
    group = leaf(root, words)
    assert isinstance(group, click.Group)
    lines = help_of(words)
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        summary = summary_of(command)
        assert summary[:1].isupper()
        assert not summary.endswith("...")
        assert [line.split(maxsplit=1)[1] for line in lines if line.startswith(f"  {name} ")][-1:] == [
            summary
        ]


@pytest.mark.parametrize("words", groups(root), ids=" ".join)
def test_every_group_has_two_examples_that_parse(words: list[str]) -> None:
    lines = help_of(words)
    shown = [line.removeprefix("  lightwave ") for line in lines if line.startswith("  lightwave ")]
    assert len(shown) >= 2
    for example in shown:
        assert example.split()[: len(words)] == words
        parse(example)


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_every_command_has_two_examples_that_parse(words: list[str]) -> None:
    examples = examples_of(leaf(root, words))
    assert len(examples) >= 2
    for example in examples:
        assert example.split()[: len(words)] == words
        assert parse(example).command_path == f"lightwave {' '.join(words)}"
    shown = help_of(words)
    assert [f"  lightwave {example}" for example in examples] == [
        line for line in shown if line.startswith("  lightwave ")
    ]
