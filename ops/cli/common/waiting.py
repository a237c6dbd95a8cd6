"""Waiting of commands: notes go to stderr, and a timeout is a sentence."""

from ops.cli.common.output import echo
from ops.client.waiting import POLL_S, WaitTerms


def waiting_terms(timeout_s: float | None = None, *, poll_s: float = POLL_S) -> WaitTerms:
    """Return the terms of a wait for an event in simulated time. A note on stderr reports, once, that time
    stands still."""
    return WaitTerms(timeout_s, poll_s, note=lambda text: echo(f"lightwave: {text}", to_stderr=True))


def after_text(timeout_s: float | None) -> str:
    """Return ` after 30 s` for the end of a sentence; empty if the command looked only once."""
    return f" after {timeout_s:g} s" if timeout_s else ""
