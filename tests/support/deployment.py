"""What docker-compose.yml and the Procfile say, as plain values."""

import re
import shlex
from typing import Any

import click
import yaml

from ops.cli.main import root
from tests.unit.tree.tidy import ROOT

Compose = dict[str, Any]
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def compose() -> Compose:
    """The Compose file, with YAML's anchors resolved and the variables as written."""
    found: Compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def services() -> dict[str, Compose]:
    found: dict[str, Compose] = compose()["services"]
    return found


def ours() -> dict[str, Compose]:
    """The containers that run our image."""
    return {name: each for name, each in services().items() if each["image"] == "lightwave-twin"}


def filled(text: str) -> str:
    """With each variable's default in its place; one that must be given is `given`."""
    return VARIABLE.sub(lambda found: found[3] if found[2] == "-" else "given", text)


def procfile() -> dict[str, str]:
    lines = (ROOT / "ops/deploy/Procfile").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def commands_of(line: str) -> list[list[str]]:
    """Every `lightwave …` of a line of the Procfile, also the one that another command is given to keep."""
    found = []
    for part in filled(line).split("&&"):
        words = [word for word in shlex.split(part) if word != "exec"]
        while words:
            found.append(words)
            words = words[words.index("--") + 1 :] if "--" in words else []
    return found


def parse(words: list[str]) -> str:
    """The command that these words are, such as `live worker`, with its usage checked and nothing run."""
    name, *args = words
    assert name == "lightwave"
    command: click.Command = root
    context = None
    while True:
        context = command.make_context(name, list(args), parent=context)
        if not isinstance(command, click.Group):
            return context.command_path.removeprefix("lightwave ")
        rest = [*context._protected_args, *context.args]
        found, next_command, args = command.resolve_command(context, rest)
        assert found is not None
        assert next_command is not None
        name, command = found, next_command
