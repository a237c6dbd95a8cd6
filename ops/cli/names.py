"""Names of things as arguments, completed from the running twin."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from shared.models.superpod.faults import FAULTS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ANSWER_S_MAX = 0.3
"""How long a person who pressed Tab waits for the twin."""
COMPLETIONS_MAX = 200
LISTED = {"host": "hosts", "chip": "hosts", "end": "links", "ocs": "ocs", "port": "ocs"}
"""Kind of part → the kind of thing whose names its own begins with."""
FAULT_KINDS = tuple(FAULTS)
CHIPS_PER_HOST = 4


class Name(click.ParamType):
    """A thing's name; of the given kind, or of the one that the command's KIND says."""

    name = "name"

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        kind = self.kind or ctx.params.get("kind")
        return _items(names_of(kind), incomplete) if kind else []


class Part(click.ParamType):
    """The name of a part: OCSes and cubes, and behind a whole cube's name what is in it."""

    name = "part"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        inside = incomplete.count("/") > 1
        kinds = ("hosts", "links") if inside else ("ocs", "cubes")
        return _items([name for kind in kinds for name in names_of(kind)], incomplete)


class Target(click.ParamType):
    """What a fault of the command's KIND can strike."""

    name = "target"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        fault = str(ctx.params.get("kind"))
        part = next((row.strikes for kind, row in FAULTS.items() if kind == fault), None)
        names = names_of(LISTED[part]) if part is not None else []
        if part == "chip":
            names = [f"{name}/chip-{chip}" for name in names for chip in range(CHIPS_PER_HOST)]
        elif part == "port":
            names = [f"{name}/{side}" for name in names for side in "NS"]
        return _items(names, incomplete)


def names_of(kind: str) -> list[str]:
    """The names of all things of a kind; none where no twin answers at once."""
    from ops.common.client import Client
    from shared.basics.errors import LightwaveError

    try:
        return [str(row["name"]) for row in Client(timeout_s=ANSWER_S_MAX).rows(f"/v1/{kind}", "name")]
    except LightwaveError:
        return []


def _items(names: Iterable[str], incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:COMPLETIONS_MAX]
