"""The contents of docker-compose.yml and the Procfile, as plain values."""

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
    """Return the Compose file. YAML anchors are resolved; variables stay as written."""
    file: Compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return file


def services() -> dict[str, Compose]:
    services_: dict[str, Compose] = compose()["services"]
    return services_


def own_containers() -> dict[str, Compose]:
    """Return the containers that run the twin's image."""
    return {
        name: container for name, container in services().items() if container["image"] == "lightwave-twin"
    }


def filled(text: str) -> str:
    """Replace each variable by its default, or by `given` if it is required."""
    return VARIABLE.sub(lambda match: match[3] if match[2] == "-" else "given", text)


def procfile() -> dict[str, str]:
    lines = (ROOT / "ops/deploy/Procfile").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def commands_of(line: str) -> list[list[str]]:
    """Return every `lightwave …` command of a Procfile line, including one that another command keeps
    running."""
    commands = []
    for part in filled(line).split("&&"):
        words = [word for word in shlex.split(part) if word != "exec"]
        while words:
            commands.append(words)
            words = words[words.index("--") + 1 :] if "--" in words else []
    return commands


def parse(words: list[str]) -> str:
    """Return the path of the command that these words call, such as `live worker`. Its usage is checked; it
    does not run."""
    name, *args = words
    assert name == "lightwave"
    command: click.Command = root
    context = None
    while True:
        context = command.make_context(name, list(args), parent=context)
        if not isinstance(command, click.Group):
            return context.command_path.removeprefix("lightwave ")
        rest = [*context._protected_args, *context.args]
        name_found, next_command, args = command.resolve_command(context, rest)
        assert name_found is not None
        assert next_command is not None
        name, command = name_found, next_command
