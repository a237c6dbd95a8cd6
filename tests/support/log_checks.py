"""Whole logs for tests: their lines, and what the invariants find in them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ops.invariants import AllCheckers
from schemas.envelope import Envelope
from shared.storage.log.log_lines import raw_lines


def check_all(log: Iterable[Envelope]) -> list[str]:
    """Every violation in one site's log."""
    checkers = AllCheckers()
    return [problem for message in log for problem in checkers.see(message)]


def read_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Every line of a log file without its newline; errors as in `raw_lines`."""
    return (line.rstrip(b"\n") for line in raw_lines(path, offset))
