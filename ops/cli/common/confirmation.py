"""Questions before changes that cannot be undone."""

import sys
from collections.abc import Callable
from typing import Annotated

import click
import typer

from ops.cli.common.progress import end_note
from shared.basics.errors import OperationFailed

AssumeYes = Annotated[
    bool, typer.Option("--yes", "-y", help="go on without a question; scripts never get one")
]


def confirm(question: Callable[[], str]) -> None:
    """Ask on a terminal; raises OperationFailed if the answer is no. Without a terminal, go on."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    found = question()
    end_note()
    if not click.confirm(found, err=True):
        raise OperationFailed("not confirmed; nothing was changed")
