"""Waiting of commands: notes go to stderr, and a timeout is a sentence."""

import contextlib

from ops.cli.common.output import echo
from ops.client.http_client import Client, FabricEnded, row_path
from ops.client.waiting import POLL_S, WaitTerms
from schemas.resource_kinds import FABRICS
from shared.basics.errors import LightwaveError
from shared.basics.time_format import format_time


def waiting_terms(timeout_s: float | None = None, *, poll_s: float = POLL_S) -> WaitTerms:
    """Return the terms of a wait for an event in simulated time. A note on stderr reports, once, that time
    stands still."""
    return WaitTerms(timeout_s, poll_s, note=lambda text: echo(f"lightwave: {text}", to_stderr=True))


def after_text(timeout_s: float | None) -> str:
    """Return ` after 30 s` for the end of a sentence; empty if the command looked only once."""
    return f" after {timeout_s:g} s" if timeout_s else ""


def retired_us(client: Client, fabric: str) -> int | None:
    """Return when a fabric retired, in microseconds of simulated time; None if it has not."""
    return client.resource(row_path(FABRICS, fabric), "retired_us").retired_us


def check_not_retired(client: Client, fabric: str | None) -> None:
    """Raise FabricEnded if the fabric that a command watches has retired. Nothing if it watches all."""
    if fabric is not None and (ended_us := retired_us(client, fabric)) is not None:
        raise FabricEnded(f"{fabric}: retired at {format_time(ended_us)}; nothing there changes any more")


def note_retired(client: Client, fabric: str) -> None:
    """Report on stderr that the shown objects are of a fabric that has retired."""
    with contextlib.suppress(LightwaveError):
        if (ended_us := retired_us(client, fabric)) is not None:
            note = f"{fabric}: retired at {format_time(ended_us)}; this is its last state"
            echo(f"lightwave: {note}", to_stderr=True)
